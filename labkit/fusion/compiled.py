"""Fusion as a backend of torch.compile, and for a model that only infers.

    model = torch.compile(model, backend=labkit.fusion.backend())    # keeps training, dynamic shapes, export
    fast = labkit.fusion.fuse(model.eval(), x)                       # a graph with the batch norms folded for good
    labkit.fusion.plan("npu")                                        # what the same call does where

One call for every device: on cpu, on the simulated npu and on a real one each takes what there is, and `plan` says
what it cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from labkit.fusion import batchnorm
from labkit.fusion.passes import Outcome, apply
from labkit.fusion.precision import Judge, Precision, policy
from labkit.fusion.rules import RULES
from labkit.fusion.spelling import capture, name_of, normalized, sweep, value
from labkit.fusion.targets import Plan, here, rules_by_name
from labkit.messages import text

# ---- torch.compile


class Backend:
    """A backend of torch.compile: rules over the graph that Dynamo captured, then `inner`.

    rules: names of labkit.fusion.RULES. freeze: batch norms are folded where no gradient is asked for their parameters;
    should a parameter change later, the folded weights are made anew at the next call. live: they are folded in every
    graph, by algebra that is part of it. precision: "fp32", "unfused", "report" or a labkit.fusion.Precision: what is
    done with parts that lose digits, measured with the inputs of the first call. target: as plan() has it; None: where
    the tensors are. outcome: of all graphs so far; graphs: how many there were; recompiled: of these, because shapes or
    something else that was guarded had changed; plan: of the last.
    """

    def __init__(
        self,
        rules: Sequence[str] | None = None,
        inner: str | None = None,
        freeze: bool = True,
        live: bool = False,
        precision: str | Precision | None = None,
        target: str | None = None,
    ):
        rules_by_name(rules)
        self.rules, self.inner, self.freeze, self.live = rules, inner, freeze, live
        self.precision, self.target = policy(precision), target
        if target is not None:
            here(target, None, rules, inner)  # what is not to be had is refused at once
        self._made: dict[tuple, tuple[int, list[Outcome]]] = {}
        self.plan: Plan | None = None

    def __call__(self, module: fx.GraphModule, example_inputs: Sequence, **options) -> Callable:
        kinds = {t.device.type for t in example_inputs if isinstance(t, torch.Tensor)} - {"meta"}
        kind = "npu" if "npu" in kinds else "cpu"
        self.plan = here(self.target, kind, self.rules, self.inner)
        module = _copied(module)
        folded = _Folded(module, list(example_inputs))
        self._count(self.transform(module, folded))
        inner = torch._dynamo.lookup_backend(self.plan.inner)
        compiled = inner(module, [*example_inputs, *folded.known], **options)
        return folded.around(compiled)

    def transform(self, module: fx.GraphModule, folded: "_Folded") -> Outcome:
        rules = [RULES[name] for name in self.plan.rules]
        bn = batchnorm.rule(folded.constant if self.freeze else _never, folded.keep, self.live)
        judge = None
        if self.precision is not None:
            normalized(module)
            judge = Judge(self.precision, module, _drawn(folded.inputs), folded.always, _folded_part)
        return apply(module, [bn, *rules], judge)  # batch norm first: behind it the others find what it leaves

    def _count(self, outcome: Outcome) -> None:
        """Dynamo may begin a graph anew (a number was no symbol after all): only the last attempt counts."""
        this = torch._guards.CompileContext.current_trace_id()
        if this is None:
            self._made[-1, len(self._made)] = (0, [outcome])
            return
        key = (this.compile_id.frame_id, this.compile_id.frame_compile_id)
        attempt, found = self._made.get(key, (this.attempt, []))
        self._made[key] = (this.attempt, [*(found if attempt == this.attempt else []), outcome])

    @property
    def outcome(self) -> Outcome:
        whole = Outcome()
        for _, found in self._made.values():
            for one in found:
                whole += one
        return whole

    @property
    def graphs(self) -> int:
        return sum(len(found) for _, found in self._made.values())

    @property
    def recompiled(self) -> int:
        """How often Dynamo compiled a piece of the program again, because a guard no longer held."""
        return sum(n > 0 for frame, n in self._made if frame >= 0)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {name}" for name, n in sorted(self.outcome.replaced.items())) or "0"
        return text("fusion.backend", replaced=counts, left=len(self.outcome.left), graphs=self.graphs)


def backend(rules: Sequence[str] | None = None, inner: str | None = None, **options) -> Backend:
    """A new Backend; torch.compile(model, backend=labkit.fusion.backend())."""
    return Backend(rules, inner, **options)


def _drawn(inputs: Sequence) -> list:
    """What Dynamo gives for an example, to compute with: symbols are numbers as in the example, tensors without memory
    are drawn, others copied."""
    g, made = torch.Generator().manual_seed(0), []
    for t in inputs:
        if isinstance(t, torch.SymInt):
            made.append(t.node.hint)
        elif isinstance(t, torch._subclasses.FakeTensor):
            shape = [n.node.hint if isinstance(n, torch.SymInt) else n for n in t.shape]
            drawn = torch.randn(shape, generator=g).to(t.dtype) if t.is_floating_point() else torch.zeros(shape)
            made.append(drawn.to(t.dtype).to(t.device))
        else:
            made.append(t.detach().clone() if isinstance(t, torch.Tensor) else t)
    return made


def _folded_part(part: fx.GraphModule, wide: bool) -> fx.GraphModule:
    """A layer and its batch norm as a graph with constants, folded."""

    def keep(before: fx.Node, tensors: tuple, *how) -> tuple:
        given = [t if t is None else _attribute(t) for t in tensors]
        parts = _make(given, tuple(None if t is None else i for i, t in enumerate(tensors)), how)
        return _buffers(part, before, parts, parts)

    bn = batchnorm.rule(_attribute, keep)
    apply(part, [replace(bn, build=bn.wide) if wide else bn])
    return part


def _never(_node) -> None:
    return None


class _Folded:
    """Weights that are made of a graph's own inputs ahead of its calls, as further inputs of it; made anew when one of
    those has changed, which PyTorch counts (Tensor._version)."""

    def __init__(self, module: fx.GraphModule, inputs: list):
        self.module, self.inputs = module, inputs
        self.places = {node: i for i, node in enumerate(module.graph.find_nodes(op="placeholder"))}
        self.recipes: list[tuple[tuple[int | None, ...], tuple]] = []
        self.results: list[torch.Tensor] = []
        self.known: list[torch.Tensor] = []  # the same without memory
        self.state: list[tuple] = []

    def constant(self, node: fx.Node) -> torch.Tensor | None:
        i = self.places.get(node)
        tensor = self.inputs[i] if i is not None and i < len(self.inputs) else None
        if not isinstance(tensor, torch.Tensor) or isinstance(tensor, torch._subclasses.FakeTensor):
            return None
        wanted = tensor.requires_grad and torch.is_grad_enabled()
        return None if wanted or _version(tensor) is None else tensor

    def always(self, node: fx.Node) -> torch.Tensor | None:
        """What a node gives now, for measuring a part: of a parameter that is asked for its gradient too."""
        i = self.places.get(node)
        tensor = self.inputs[i] if i is not None and i < len(self.inputs) else None
        parameter = isinstance(tensor, torch.nn.Parameter) or "buffers" in node.name or "parameters" in node.name
        fake = isinstance(tensor, torch._subclasses.FakeTensor)
        return tensor if parameter and isinstance(tensor, torch.Tensor) and not fake else None

    def keep(self, before: fx.Node, tensors: tuple, *how) -> tuple:
        sources = tuple(None if t is None else self.places[t] for t in tensors)
        known = [t if t is None else value(t) for t in tensors]
        self.recipes.append((sources, how))
        self.results += _make(self.inputs, sources, how)
        self.state.append(_versions(self.inputs, sources))
        nodes, last = [], list(self.places)[-1]
        for part, fake in zip(("weight", "bias"), batchnorm.fold(*known, *how)):
            with self.module.graph.inserting_after(last):
                last = self.module.graph.placeholder(f"folded_{part}_{len(self.recipes) - 1}")
            last.meta["example_value"] = last.meta["val"] = fake
            self.known.append(fake)
            last._dynamo_source = None  # as DDP's splitter says it: no name in the user's program
            self.places[last] = len(self.places)
            nodes.append(last)
        return tuple(nodes)

    def around(self, compiled: Callable) -> Callable:
        self.inputs, self.module, self.places = [], None, {}  # nothing keeps the example alive
        if not self.recipes:
            return compiled

        def call(*inputs):
            for k, (sources, how) in enumerate(self.recipes):
                now = _versions(inputs, sources)
                if now != self.state[k]:
                    self.results[2 * k : 2 * k + 2] = _make(inputs, sources, how)
                    self.state[k] = now
            return compiled(*inputs, *self.results)

        return call


def _copied(module: fx.GraphModule) -> fx.GraphModule:
    """The graph is Dynamo's, who looks at it again afterwards; what Dynamo says of its inputs goes along."""
    graph, places = fx.Graph(), {}
    graph.output(graph.graph_copy(module.graph, places))
    for node in module.graph.find_nodes(op="placeholder"):
        if hasattr(node, "_dynamo_source"):
            places[node]._dynamo_source = node._dynamo_source
    made = fx.GraphModule(module, graph)
    made.meta = dict(module.meta)
    if hasattr(module, "_param_name_to_source"):
        made._param_name_to_source = module._param_name_to_source
    return made


def _make(inputs: Sequence, sources: tuple, how: tuple) -> list[torch.Tensor]:
    with torch.no_grad():
        return [t.detach() for t in batchnorm.fold(*(None if i is None else inputs[i] for i in sources), *how)]


def _versions(inputs: Sequence, sources: tuple) -> tuple:
    return tuple(None if i is None else (inputs[i].data_ptr(), _version(inputs[i])) for i in sources)


def _buffers(module: fx.GraphModule, before: fx.Node, tensors: Sequence, known: Sequence) -> tuple[fx.Node, fx.Node]:
    """Nodes of a folded weight and its bias, which become buffers of the module."""
    number, nodes = sum(name.startswith("folded_weight_") for name, _ in module.named_buffers()), []
    for part, tensor, fake in zip(("weight", "bias"), tensors, known):
        module.register_buffer(f"folded_{part}_{number}", tensor)
        nodes.append(before.graph.get_attr(f"folded_{part}_{number}"))
        nodes[-1].meta["val"] = fake
    return tuple(nodes)


def _version(tensor: torch.Tensor) -> int | None:
    try:
        return tensor._version
    except RuntimeError:  # a tensor of inference mode has none
        return None


# ---- a model that only infers


def fuse(
    model: torch.nn.Module,
    *example,
    rules: Sequence[str] | None = None,
    dynamic_shapes=None,
    kwargs: dict | None = None,
    precision: str | Precision | None = None,
    target: str | None = None,
) -> fx.GraphModule:
    """The model as a graph with its batch norms folded into constants and the rules applied; `.outcome` says what was
    done and what was not, `.plan` why. Its parameters are those of the model, but for the folded ones: for training use
    backend(). precision: "fp32", "unfused", "report" or a labkit.fusion.Precision: parts that lose digits by being
    fused are computed in float, left, or named; `.outcome.judged` has what was measured with the example's numbers.
    target: as plan() has it; None: where the model is. Raises RuntimeError where torch.export cannot capture the model.
    """
    where = next((t.device for t in [*model.parameters(), *model.buffers(), *example] if hasattr(t, "device")), "cpu")
    made = capture(model, example, kwargs, dynamic_shapes)
    made.plan = here(target, torch.device(where).type, rules, "eager")
    judge, wanted = None, policy(precision)
    if wanted is not None:
        inputs = list(tree_leaves((example, kwargs or {})))
        judge = Judge(wanted, made, _drawn(inputs), _attribute, _folded_part)
    made = fold_batchnorm(made, judge=judge)
    made.outcome += apply(made, [RULES[name] for name in made.plan.rules], judge)
    _lay_out_weights(made)
    _drop_unused(made)
    return made


def fold_batchnorm(model: torch.nn.Module, *example, dynamic_shapes=None, judge: Judge | None = None) -> fx.GraphModule:
    """The model as a graph, with each batch norm folded into the convolution or linear layer before it where that gives
    the same numbers; `.outcome` says which were not, and why. A graph of capture() or torch.export is changed in place.
    """
    made = normalized(model) if isinstance(model, fx.GraphModule) else capture(model, example, None, dynamic_shapes)

    def keep(before: fx.Node, tensors: tuple, *how) -> tuple:
        given = [t if t is None else _attribute(t) for t in tensors]
        parts = _make(given, tuple(None if t is None else i for i, t in enumerate(tensors)), how)
        known = batchnorm.fold(*(t if t is None else value(t) for t in tensors), *how)
        return _buffers(made, before, parts, known)

    for node in made.graph.find_nodes(op="get_attr"):  # torch.export leaves out what every reader can look up
        node.meta.setdefault("val", _attribute(node))
    made.outcome = apply(made, [batchnorm.rule(_attribute, keep)], judge)
    _drop_unused(made)
    return made


def _attribute(node: fx.Node) -> torch.Tensor | None:
    """The tensor that a get_attr node gives, None for another node."""
    if node.op != "get_attr":
        return None
    at = node.graph.owning_module
    for name in node.target.split("."):
        at = getattr(at, name)
    return at.detach() if isinstance(at, torch.Tensor) else None


_LAYS_OUT = ("reshape", "permute", "view", "transpose")


def _lay_out_weights(module: fx.GraphModule) -> None:
    """Does once what rules want done to a weight's layout in each call."""
    graph, fresh = module.graph, {}
    for node in list(graph.nodes):
        if name_of(node) in _LAYS_OUT and (node.args[0].op == "get_attr" or node.args[0] in fresh):
            source = fresh.get(node.args[0])
            source = _attribute(node.args[0]) if source is None else source
            fresh[node] = node.target(source, *node.args[1:])
    for i, (node, tensor) in enumerate(fresh.items()):
        if any(user not in fresh for user in node.users):
            module.register_buffer(f"laid_out_{i}", tensor.contiguous())
            with graph.inserting_before(node):
                made = graph.get_attr(f"laid_out_{i}")
            made.meta["val"] = value(node)
            node.replace_all_uses_with(made, delete_user_cb=lambda user: user not in fresh)
    sweep(graph)
    module.recompile()


def _drop_unused(module: fx.GraphModule) -> None:
    """Takes out parameters and buffers that no node reads any more."""
    used = {node.target for node in module.graph.find_nodes(op="get_attr")}
    for name in [n for n, _ in [*module.named_parameters(), *module.named_buffers()] if n not in used]:
        owner, _, last = name.rpartition(".")
        delattr(module.get_submodule(owner), last)
    module.delete_all_unused_submodules()
