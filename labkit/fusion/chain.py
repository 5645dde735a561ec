"""The same function unfused: a kernel for each operator, written by the same generator, one launch after the other."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from labkit.codegen.clock import Prediction
from labkit.fusion.graph import CONSTANTS, SAME, TURNED, VIEWS, name_of
from labkit.fusion.l2 import L2, bytes_of

if TYPE_CHECKING:
    from labkit.fusion.fused import FusedKernel

FREE = VIEWS | TURNED | CONSTANTS | {"expand", "getitem", "detach", "alias", "lift_fresh_copy", "lift_fresh"}
KEPT = SAME | {"to"}  # nothing, where the type stays


@dataclass(eq=False)
class Link:
    """One operator: its kernel, and its launch where those before it have been."""

    node: object
    kernel: FusedKernel
    tensors: list = field(repr=False)
    prediction: Prediction

    @property
    def predicted_us(self) -> float:
        return self.prediction.us


class Chain:
    """Of a FusedKernel. links: in the order of launches; predicted_us, modelled_us(): the sum of their times.

    graph: the operators where they are not those of the kernel's own graph: in a model's group an operator may be one
    piece (rms_norm) that the kernel's graph has in several.
    """

    def __init__(self, whole: FusedKernel, graph: object = None):
        import torch

        self.links: list[Link] = []
        traced = whole.prepare(whole.example).traced
        values: dict = {}
        l2 = L2(whole.chip)
        for node in (graph or traced.graph.graph).nodes:
            if node.op == "get_attr":
                values[node] = getattr(traced.graph, node.target)
                continue
            made = node.meta.get("val", node.meta.get("example_value"))
            if isinstance(made, torch.Tensor):
                values[node] = torch.empty_strided(made.shape, made.stride(), dtype=made.dtype, device="meta")
            if node.op != "call_function":
                continue
            source = [n for n in node.all_input_nodes if n.op != "get_attr" and not _constant(n)]
            free = name_of(node) in FREE or (name_of(node) in KEPT and made.dtype == source[0].meta["val"].dtype)
            if not free and source:
                self.links.append(self._link(whole, node, source, values, l2))
            elif source and free:
                node.meta["view_of"] = source[0]

    @staticmethod
    def _link(whole, node, source: list, values: dict, l2: L2) -> Link:
        import torch

        tensors = [values[n] for n in source]
        fixed = {
            n: values[n].item() if n.op == "get_attr" else _number(n) for n in node.all_input_nodes if n not in source
        }

        def one(*given):
            there = dict(zip(source, given)) | fixed
            args, kwargs = torch.fx.map_arg((node.args, node.kwargs), lambda n: there[n])
            made = node.target(*args, **kwargs)
            return made[0] if isinstance(made, (tuple, list)) else made

        kernel = type(whole)(one, tensors, f"{name_of(node).strip('_')}_alone", "once", whole.chip, False)
        reads = {f"x{i}": (_origin(n), bytes_of(t)) for i, (n, t) in enumerate(zip(source, tensors))}
        made = {node: sum(bytes_of(n.meta["val"]) for n in kernel.prepare(kernel.example).traced.outputs)}
        return Link(node, kernel, tensors, l2.launch(kernel, reads, made))

    @property
    def launches(self) -> int:
        return len(self.links)

    @property
    def predictions(self) -> list[Prediction]:
        return [link.prediction for link in self.links]

    @property
    def predicted_us(self) -> float:
        return sum(p.us for p in self.predictions)

    @property
    def traffic(self) -> int:
        """Bytes read and written by all launches together."""
        return sum(p.read + p.written for p in self.predictions)

    def modelled_us(self) -> float:
        """By the twin's clock: one launch after the other on the same tensors, the L2 as they leave it."""
        import torch

        from labkit import device
        from labkit.launch.runner import clear_l2

        device.install()
        clear_l2()
        there: dict = {}
        total = 0.0
        for link in self.links:
            given = []
            for node, like in zip(
                (n for n in link.node.all_input_nodes if n.op != "get_attr" and not _constant(n)), link.tensors
            ):
                home = _origin(node)
                size = 1 + sum((n - 1) * s for n, s in zip(like.shape, like.stride()))
                if home not in there:
                    there[home] = torch.empty(size, dtype=like.dtype, device="npu")
                given.append(there[home].as_strided(like.shape, like.stride()))
            made = link.kernel.launch(given, timing_only=True)
            there[link.node] = made.reshape(-1)
            total += link.kernel.record.time_us
        return total


def _origin(node):
    """Whose memory a view shows."""
    while "view_of" in node.meta:
        node = node.meta["view_of"]
    return node


def _constant(node) -> bool:
    return node.op == "call_function" and name_of(node) in CONSTANTS


def _number(node):
    return (
        node.args[1]
        if name_of(node).startswith("full")
        else node.args[0]
        if name_of(node) == "scalar_tensor"
        else float(name_of(node).startswith("ones"))
    )
