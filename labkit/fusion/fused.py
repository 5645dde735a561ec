"""A chain of PyTorch operators as one kernel."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit import chips, codegen, device, messages
from labkit.codegen import DOWN, PIECES, ROWS, WIDE, Plan, Refused, clock, tiling
from labkit.codegen.ir import identifier
from labkit.codegen.places import narrow_pitch, narrow_pitches
from labkit.fusion import lower as lowering
from labkit.fusion.graph import Traced, distinct, names_of, refuse, trace
from labkit.fusion.space import Space, space
from labkit.launch.kernel import Kernel
from labkit.launch.kernel import kernel as build
from labkit.launch.record import LaunchRecord
from labkit.launch.runner import clear_l2


@dataclass(eq=False)
class Prepared:
    """All that does not depend on what is in the tensors: for one set of shapes, strides and types."""

    traced: Traced
    space: Space
    plan: Plan
    source: str
    geometry: tiling.Geometry
    cut: tiling.Cut
    names: dict[str, str]  # of the function's tensors -> in the kernel

    @property
    def tiling(self) -> dict[str, int]:
        return tiling.values(self.plan, self.geometry, self.cut)


@dataclass(frozen=True)
class Check:
    """worst: the largest error as a share of what its type may be off; ok: it is not above 1, and no finding."""

    ok: bool
    worst: float
    record: LaunchRecord = field(repr=False)
    dtype: str = ""


# What a result may be off from the function in double: a share of the number itself (the rounding of its type), a share
# of the largest number, some times what the function is off in float on the CPU, where numbers cancel, and twice what
# the errors that our own formulas of some functions are known to have (formulas.FORMULAS) make of it.
TOLERANCE = {"float32": 2e-6, "float16": 2**-11 * 1.01, "bfloat16": 2**-8 * 1.01, "int32": 0.0, "bool": 0.0}
OF_LARGEST, FLOATS, KNOWN = 2e-6, 16, 2

TIMEOUT = 300  # seconds of a launch on the twin: a check of millions of elements beside other work
MOST_KERNELS = 256  # that stay built in this process; chains have many operators in common
MOST_SHAPES = 256  # for which a kernel stays prepared: a server's batches have ever new ones
_kernels: dict[tuple, Kernel] = {}


def lately(known: dict, key: tuple, make: Callable, most: int | None = None, stays: tuple | None = None):
    """known[key], made where it is not there. Of more than `most` the one that was not asked for the longest goes."""
    found = known.pop(key, None)
    found = known[key] = make() if found is None else found
    if (many := len(known) - (most or MOST_SHAPES)) > 0:
        for old in list(known)[:many]:
            if old not in (key, stays):
                known.pop(old, None)
    return found


class FusedKernel:
    """Made by labkit.fusion.kernel. Call it with npu tensors of any sizes of that rank: the function's result, by one
    launch. source: the Ascend C; record: of the last launch."""

    def __init__(
        self, function: Callable, examples: Sequence, name: str | None, rounding: str, chip: str, checks: bool
    ):
        import torch

        if rounding not in ("once", "every"):
            raise ValueError(messages.text("fusion.rounding", rounding=rounding))
        self.function, self.rounding, self.chip, self.checks = function, rounding, chip, checks
        self.parameters: list = []
        if isinstance(function, torch.nn.Module):
            self.parameters = [
                p.detach()
                for p in (*dict(function.named_parameters()).values(), *dict(function.named_buffers()).values())
            ]
        if not all(isinstance(t, torch.Tensor) for t in examples):
            raise refuse("examples")
        self.count = len(examples)
        made = getattr(function, "__name__", type(function).__name__)
        self.name = identifier(name or ("fused" if "<" in made else made).lower(), {})
        self.record: LaunchRecord | None = None
        self.operators: object = None  # the model's own graph of it, where it is a group of a model
        self._edited: dict[str, str] = {}  # a source of ours -> what the user made of it
        self._chosen: dict[tuple, tiling.Way] = {}
        self._prepared: dict[tuple, Prepared] = {}
        self._graphs: dict[tuple, Traced] = {}
        self._spaces: dict[tuple, Space] = {}
        self._plans: dict[tuple, tuple] = {}
        self.example = [*examples, *self.parameters]
        self.prepare(self.example)

    # ---- what it is

    @property
    def source(self) -> str:
        """The Ascend C for the example's sizes. The same text serves other sizes, as long as a row fits UB;
        many rows of at most 32 elements have one of their own, and rows of one."""
        return self._text(self._first)

    @property
    def _first(self) -> Prepared:
        return self.prepare(self.example)

    @property
    def plan(self) -> Plan:
        return self._first.plan

    @property
    def space(self) -> Space:
        return self._first.space

    def save(self, path: str | os.PathLike) -> Path:
        """Writes the source. An edited file comes back by `use`."""
        Path(path).write_text(self.source, encoding="utf-8")
        return Path(path)

    def use(self, path: str | os.PathLike | None = None, *, text: str | None = None) -> "FusedKernel":
        """From now on this text, or this file, is launched where the kernel's own would be. The tiling struct and the
        arguments must stay; they are computed from the sizes as before. Raises labkit.CompileError."""
        text = Path(path).read_text(encoding="utf-8") if text is None else text
        self._edited[self._first.source] = text
        self._kernel(self._first)
        return self

    def predict(self, *tensors, held: Sequence[str] = (), pushed: float = 0.0) -> clock.Prediction:
        """Its time by the predictor (modelled, nothing runs), for the example or for other tensors. held: names of
        inputs that the L2 has; pushed: bytes that have to leave the L2 for HBM meanwhile."""
        p = self.prepare([*tensors, *self.parameters]) if tensors else self._first
        names = frozenset(p.names[n] for n in held if n in p.names)
        geometry = replace(p.geometry, held=names, pushed=pushed)
        return clock.predict(p.plan, geometry, p.cut, self.chip)

    def __repr__(self) -> str:
        p = self._first
        tensors = ", ".join(f"{t.dtype} {t.name}" for t in (*p.plan.program.inputs, *p.plan.program.outputs))
        return messages.text(
            "fusion.kernel",
            name=self.name,
            tensors=tensors,
            shape=p.plan.program.shape,
            tile=p.plan.tile,
            us=f"{self.predict().us:.2f}",
        )

    # ---- launching

    def __call__(self, *tensors):
        """The function's result, computed by one launch. Raises Refused, labkit.LaunchError."""
        return self.launch(tensors)

    def launch(self, tensors: Sequence, timing_only: bool = False, blocks: int | None = None):
        import torch

        device.install(self.chip)
        given = [*tensors, *(p.npu() for p in self.parameters)]
        for i, t in enumerate(given):
            if t.device.type != "npu":
                raise refuse("cpu_tensor", index=i + 1, device=t.device)
        p = self.prepare(given)
        results = [
            torch.empty(tuple(n.meta["val"].shape), dtype=n.meta["val"].dtype, device=given[0].device)
            for n in p.traced.outputs
        ]
        arguments = self._arguments(p, given)
        kernel = self._kernel(p, timing_only)
        self.record = kernel[blocks or p.cut.blocks](*arguments, *(_bytes(r) for r in results), p.tiling)
        return results[0] if p.traced.single else tuple(results)

    def modelled(self, *tensors) -> LaunchRecord:
        """One launch that only the clock takes part in, on the example's sizes or on those of `tensors`, with an empty
        L2."""
        import torch

        device.install(self.chip)
        like = [*tensors, *self.parameters] if tensors else self.example
        empty = [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="npu") for t in like]
        clear_l2()
        self.launch(empty[: len(empty) - len(self.parameters)] if self.parameters else empty, timing_only=True)
        return self.record

    def check(self, *tensors) -> Check:
        """Runs it and compares with the function in double on the CPU; TOLERANCE says what each type may be off."""
        import torch

        got = self.launch([t.npu() for t in tensors])
        got = [got] if isinstance(got, torch.Tensor) else list(got)
        worst, kind = 0.0, ""
        wanted, known = self.reference(tensors), self._known(tensors)
        for one, want, near, off in zip(got, wanted, self.reference(tensors, torch.float32), known):
            noise = float((near.double() - want.double()).abs().nan_to_num(0.0, 0.0, 0.0).max())
            share = error(one.cpu(), want, noise, KNOWN * off, near)
            if share >= worst:
                worst, kind = share, str(one.dtype).removeprefix("torch.")
        return Check(worst <= 1 and not self.record.findings, worst, self.record, kind)

    def reference(self, tensors: Sequence, dtype=None) -> list:
        """The function on the CPU in double, or in another type, from the same numbers."""
        import torch

        dtype = dtype or torch.float64
        exact = [t.to(dtype) if t.is_floating_point() else t for t in tensors]
        function = self.function
        if isinstance(function, torch.nn.Module):
            function = copy.deepcopy(function).to(dtype)
        with torch.no_grad():
            made = function(*exact)
        return [made] if isinstance(made, torch.Tensor) else list(made)

    def _known(self, tensors: Sequence) -> list:
        """Of each result and element: how far the known errors of our formulas move it. Each is put to the function in
        double: all upwards, all downwards, and twice at random."""
        from labkit.fusion.formulas import Formulas

        wanted, most = self.reference(tensors), []
        for draw in range(Formulas.DRAWS):
            with Formulas(draw) as formulas:
                made = self.reference(tensors)
            off = [(m.double() - w.double()).abs().nan_to_num(0.0, 0.0, 0.0) for m, w in zip(made, wanted)]
            most = [a.maximum(b) for a, b in zip(most, off)] if most else off
            if not formulas.met:
                break
        return most

    def register(self, name: str):
        """An operator of PyTorch, "ns::name", that launches it; see labkit.fusion.operator."""
        from labkit.fusion.operator import register

        return register(self, name)

    def chain(self):
        """The same function as a launch for each operator; see labkit.fusion.chain."""
        from labkit.fusion.chain import Chain

        return Chain(self, self.operators)

    # ---- for sizes

    def variant(self, **changed) -> "FusedKernel":
        """The same kernel for the example's sizes with a part of what was prepared for it replaced: plan, cut, source,
        geometry. For trying what a choice costs."""
        other = copy.copy(self)
        made = replace(self._first, **changed)
        if "plan" in changed and "source" not in changed:
            made = replace(made, source=codegen.source(made.plan))
        other._prepared, other._edited = {_key(self.example): made}, dict(self._edited)
        other._chosen = dict(self._chosen)
        return other

    def prepare(self, tensors: Sequence) -> Prepared:
        """For tensors of these sizes, strides and types. Raises Refused."""
        key = _key(tensors)

        def make() -> Prepared:
            if len(tensors) != self.count + len(self.parameters):
                raise refuse("count", want=self.count, got=len(tensors) - len(self.parameters))
            return self._prepare(list(tensors), self._chosen.get(key))

        # what was prepared for a variant's example is nowhere else
        return lately(self._prepared, key, make, stays=_key(self.example))

    def choose(self, way: tiling.Way | None, *tensors) -> "FusedKernel":
        """From now on tensors of these sizes, the example's where none is given, are cut that way; None: as the planner
        would. Raises Refused where that is not possible, and changes nothing then."""
        given = [*tensors, *self.parameters] if tensors else self.example
        key, made = _key(given), self._prepare(given, way)
        self._prepared[key] = made
        self._chosen.pop(key, None)
        if way is not None:
            self._chosen[key] = way
        return self

    def shapes(self, *tensors) -> tuple[str, ...]:
        """The programs that this function may become, in the order in which the planner tries them."""
        return self._shapes([*tensors, *self.parameters] if tensors else self.example)

    def planned(self, way: tiling.Way, *tensors) -> tuple[Plan, tiling.Geometry]:
        """The program of way.shape with way.slots and way.order, and what it works on. Raises Refused."""
        return self._planned([*tensors, *self.parameters] if tensors else self.example, way)[1:3]

    def _shapes(self, tensors: list) -> tuple[str, ...]:
        traced = self._traced(tensors)
        if traced.down:  # columns that do not fit: as rows of a copy
            return (DOWN, ROWS, WIDE)
        if traced.reduced:
            return (ROWS, WIDE)
        return (ROWS, PIECES) if lowering.hoists(self._space(tensors, ROWS)) else (PIECES,)

    def _traced(self, tensors: list) -> Traced:
        def make() -> Traced:
            names = names_of(self.function, self.count)
            function = self.function
            if self.parameters:
                function, own = _lifted(function, self.count)
                names = [*names, *own]
            return trace(function, tensors, distinct(names))

        return lately(self._graphs, _key(tensors), make)

    def _space(self, tensors: list, shape: str) -> Space:
        def make() -> Space:
            traced = self._traced(tensors)
            return space(traced, tensors, traced.down) if shape == DOWN else space(traced, tensors)

        return lately(self._spaces, (_key(tensors), shape == DOWN), make)

    def _planned(self, tensors: list, way: tiling.Way) -> tuple[Space, Plan, tiling.Geometry, dict, str]:
        def make() -> tuple:
            seen = self._space(tensors, way.shape)
            program, named = self._program(self._traced(tensors), seen, way.shape)
            geometry = _geometry(seen, named)
            narrow = narrow_pitch(program, geometry.rows, geometry.width)
            plan = codegen.plan(program, self.chip, narrow, way.slots, way.order)
            if way.shape == DOWN:  # longer columns in narrower strips
                for pitch in reversed(narrow_pitches(program)):
                    if not tiling.fits(plan, geometry):
                        plan = codegen.plan(program, self.chip, pitch, way.slots, way.order)
            names = {n: t.name for n, t in named.items()}
            return seen, plan, geometry, names, codegen.source(plan)

        return lately(self._plans, (_key(tensors), way.shape, way.slots, way.order), make)

    def _prepare(self, tensors: list, way: tiling.Way | None = None) -> Prepared:
        way = way or tiling.Way()
        shapes = (way.shape,) if way.shape else self._shapes(tensors)
        refused = None
        for shape in shapes:
            try:
                seen, plan, geometry, names, text = self._planned(tensors, replace(way, shape=shape))
                cut = tiling.best(plan, geometry, self.chip) if shape == shapes[-1] or shape == DOWN else None
            except Refused as error:
                # of columns that fit in no way, the first refusal says why; a copy is our own idea
                refused = refused if refused and DOWN in shapes else error
                continue
            if shape != shapes[-1] and not tiling.fits(plan, geometry):
                continue
            chosen = (way.tall, way.wide, way.blocks)
            if None not in chosen:
                cut = tiling.cut(plan, geometry, *chosen)
            return Prepared(
                self._traced(tensors), seen, plan, text, geometry, cut or tiling.best(plan, geometry, self.chip), names
            )
        raise refused

    def _program(self, traced: Traced, seen: Space, shape: str):
        title = f"{self.name}: one kernel for a chain of PyTorch's operators"
        return lowering.lower(traced, seen, self.name, title, shape, self.rounding)

    def _text(self, p: Prepared) -> str:
        return self._edited.get(p.source, p.source)

    def _kernel(self, p: Prepared, timing_only: bool = False) -> Kernel:
        key = (self._text(p), self.name, self.chip, self.checks, timing_only)

        def make() -> Kernel:
            return build(
                text=key[0],
                filename=f"{self.name}.asc",
                chip=self.chip,
                checks=self.checks,
                timing_only=timing_only,
                timeout=TIMEOUT,
                l2="warm" if timing_only else None,
            )

        return lately(_kernels, key, make, most=MOST_KERNELS)

    def _arguments(self, p: Prepared, given: list) -> list:
        by_name = dict(zip(p.traced.names, given))
        made = []
        for o in p.space.inputs:
            t = by_name[o.name]
            if o.copied:
                t = _laid_out(t, p.traced.axes[p.traced.placeholders[p.traced.names.index(o.name)]], o.axes, p.traced)
            made.append((p.names[o.name], _bytes(_span(t))))
        there = dict(made)
        return [there[t.name] for t in p.plan.program.inputs]


def _key(tensors: Sequence) -> tuple:
    return tuple((tuple(t.shape), tuple(t.stride()), t.dtype) for t in tensors)


def _lifted(module, count: int):
    """A module as a function of its inputs and of its parameters and buffers, and what those are called."""
    import torch

    names = [*dict(module.named_parameters()), *dict(module.named_buffers())]

    def call(*given):
        return torch.func.functional_call(module, dict(zip(names, given[count:])), given[:count])

    return call, [n.replace(".", "_") for n in names]


def _geometry(seen: Space, named: dict) -> tiling.Geometry:
    strides = tuple((named[o.name].name, o.strides) for o in (*seen.inputs, *seen.outputs))
    return tiling.Geometry(seen.rows, seen.width, seen.inner, seen.outer, strides)


def _laid_out(t, axes: list, wanted: tuple[int, ...], traced: Traced):
    """A copy over the wanted axes, in their order: for tensors that rows cannot be taken of as they lie."""
    own = [a for a in axes if a is not None]
    t = t.reshape([n for n in t.shape if n != 1])
    t = t.permute(sorted(range(len(own)), key=lambda i: wanted.index(own[i])))
    for i, a in enumerate(wanted):
        if a not in own:
            t = t.unsqueeze(i)
    return t.expand([traced.sizes[a] for a in wanted]).contiguous()


def _span(t):
    """The memory from a tensor's first element to its last."""
    if t.is_contiguous():
        return t
    size = 1 + sum((n - 1) * s for n, s in zip(t.shape, t.stride()))
    return t.as_strided((size,), (1,))


def _bytes(t):
    import torch

    return t.view(torch.uint8) if t.dtype == torch.bool else t


def error(got, want, noise: float = 0.0, known=0.0, near=None) -> float:
    """The largest difference as a share of what the type may be off; infinite where only one of them is a number.
    noise: what the function is off on the CPU in float; known: what an element may be off besides. near: the function's
    results there in float; where these and `want` are the same infinite number, `got` must be it."""
    import torch

    if not got.is_floating_point():
        return 0.0 if torch.equal(got, want.to(got.dtype)) else float("inf")
    most = torch.finfo(got.dtype).max
    g, want = got.double(), want.double()
    finite = want.isfinite() & (want.abs() <= most)
    if not torch.equal(g.isnan(), want.isnan()) or not bool(g[finite].isfinite().all()):
        return float("inf")
    if near is not None:  # in double alone a result may be infinite by a cancellation that float does not have
        endless = want.isinf() & (near.double() == want)
        if not torch.equal(g[endless], want[endless]):
            return float("inf")
    if not bool(finite.any()):
        return 0.0
    size = want[finite].abs()
    tiny = torch.finfo(got.dtype).tiny * TOLERANCE[str(got.dtype).removeprefix("torch.")]
    allowed = TOLERANCE[str(got.dtype).removeprefix("torch.")] * size + OF_LARGEST * size.max() + FLOATS * noise + tiny
    allowed = allowed + (known[finite] if isinstance(known, torch.Tensor) else known)
    return float(((g[finite] - want[finite]).abs() / allowed).max())


def kernel(
    function: Callable,
    example_inputs: Sequence,
    *,
    name: str | None = None,
    rounding: str = "once",
    chip: str | None = None,
    checks: bool = True,
) -> FusedKernel:
    """One Ascend C kernel for a function, nn.Module or GraphModule that is a chain of elementwise operators, broadcasts
    and reductions: of the last dimensions, or of others that lie side by side and whose columns fit UB.

        swiglu = labkit.fusion.kernel(lambda gate, up: F.silu(gate) * up, (gate, up), name="swiglu")
        y = swiglu(gate.npu(), up.npu())
        print(swiglu.source)

    example_inputs: tensors, on any device; only their shapes and types are looked at. Sizes may change afterwards.
    rounding: all is computed in float. "once": 16-bit results are rounded where they are stored. "every": also in
    between, after each operator that gives a 16-bit type, as eager PyTorch does. checks=False skips the twin's race
    checks. chip: default LABKIT_CHIP's, else 910B1. Raises labkit.fusion.Refused for what cannot be such a kernel, with
    the node and the reason.
    """
    return FusedKernel(function, list(example_inputs), name, rounding, chip or chips.chosen(), checks)
