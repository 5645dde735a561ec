"""What each module of a model costs, forward and backward: time, traffic, memory, what bounds it and what would help.

    profile = labkit.profile_modules(model, x)            # one step on the simulated device
    profile                                               # a tree in the notebook, a table elsewhere
    profile["encoder.0.attention"].backward.device_us

All times are modelled. A module's numbers include those of the modules within it.
"""

from __future__ import annotations

import html
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from labkit import chips
from labkit.messages import text
from labkit.profiler.events import HostRange, Session, Task
from labkit.profiler.recorder import Recorder

BOUNDS = ("launch", "memory", "compute", "kernel", "start")
_HALVES = ("float16", "bfloat16")
_ENGINE = "autograd::engine::evaluate_function: "


@dataclass
class Part:
    """One direction of a module. host_us: from its begin to its end on the host, or of backward the sum of its
    operators; device_us: the sum of its kernels' times; kernels: how many; roof_compute_us, roof_memory_us: the least
    that its operations need at the cube's peak, and its bytes at HBM's rate; converting_us: of device_us, casts and
    changes of format; own_us: of device_us, kernels that the twin ran."""

    host_us: float = 0.0
    device_us: float = 0.0
    kernels: int = 0
    bytes: float = 0.0
    flops: float = 0.0
    roof_compute_us: float = 0.0
    roof_memory_us: float = 0.0
    converting_us: float = 0.0
    own_us: float = 0.0
    single: float = 0.0  # of flops, those in fp32

    @property
    def intensity(self) -> float:
        """Operations of the cube for each byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    @property
    def bound(self) -> str:
        """One of BOUNDS, "" where nothing ran: launch (the host issues more slowly than the device works), compute or
        memory (at least half the device's time is what the roof asks for), kernel (most of the time is a kernel of
        ours, far below its roof), start (kernels too small for either)."""
        if not self.kernels:
            return ""
        if self.host_us > self.device_us:
            return "launch"
        roof = max(self.roof_compute_us, self.roof_memory_us)
        if roof < 0.5 * self.device_us:
            return "kernel" if self.own_us > 0.5 * self.device_us else "start"
        return "compute" if self.roof_compute_us >= self.roof_memory_us else "memory"

    @property
    def advice(self) -> str:
        """What would help, in the reader's language."""
        if not self.bound:
            return ""
        if self.converting_us > 0.25 * self.device_us:
            return text("modules.try.convert", share=_percent(self.converting_us / self.device_us))
        if self.bound == "compute" and self.single > 0.5 * self.flops:
            return text("modules.try.half")
        return text(
            f"modules.try.{self.bound}",
            kernels=self.kernels,
            host=_us(self.host_us),
            device=_us(self.device_us),
            mean=_us(self.device_us / self.kernels),
            own=_percent(self.own_us / self.device_us if self.device_us else 0.0),
            roof=_percent(max(self.roof_compute_us, self.roof_memory_us) / self.device_us if self.device_us else 0.0),
        )


@dataclass
class ModuleCost:
    """A module, by its path in the model ("" is the model itself). parameters: bytes of its parameters and buffers;
    kept: bytes that its forward left behind for its backward; peak: bytes that its forward needed at most on top of
    what was there."""

    path: str
    kind: str
    calls: int = 0
    forward: Part = field(default_factory=Part)
    backward: Part = field(default_factory=Part)
    parameters: int = 0
    kept: int = 0
    peak: int = 0
    children: list["ModuleCost"] = field(default_factory=list)

    @property
    def device_us(self) -> float:
        return self.forward.device_us + self.backward.device_us

    @property
    def bound(self) -> str:
        """That of the direction which takes longer."""
        return max((self.forward, self.backward), key=lambda p: max(p.device_us, p.host_us)).bound

    @property
    def advice(self) -> str:
        return max((self.forward, self.backward), key=lambda p: max(p.device_us, p.host_us)).advice

    def walk(self, depth: int = 0) -> Iterator[tuple[int, "ModuleCost"]]:
        """(depth, module) of this one and those within, in the order of their first call."""
        yield depth, self
        for child in self.children:
            yield from child.walk(depth + 1)


@dataclass
class ModuleProfile:
    """root: the model; outside: work of the step that no module did (the loss, adding up of gradients)."""

    root: ModuleCost
    outside: Part
    session: Session = field(repr=False)

    def __getitem__(self, path: str) -> ModuleCost:
        for _, module in self.root.walk():
            if module.path == path:
                return module
        known = ", ".join(repr(module.path) for _, module in self.root.walk())
        raise KeyError(f"no module {path!r} was called; there are {known}")

    def table(self):
        """A pandas frame, one row a module."""
        import pandas

        rows = []
        for _, m in self.root.walk():
            row = {"module": m.path, "class": m.kind, "calls": m.calls}
            for side, part in (("forward", m.forward), ("backward", m.backward)):
                row |= {
                    f"{side} device (us)": round(part.device_us, 3),
                    f"{side} host (us)": round(part.host_us, 3),
                    f"{side} kernels": part.kernels,
                    f"{side} operations per byte": round(part.intensity, 3),
                    f"{side} bound": part.bound,
                }
            rows.append(row | {"parameters": m.parameters, "kept": m.kept, "peak": m.peak, "bound": m.bound})
        frame = pandas.DataFrame(rows)
        frame.attrs["time_kind"] = "modelled"
        return frame

    def __repr__(self) -> str:
        head = f"{text('modules.head', chip=self.session.chip)}\n"
        lines = []
        for depth, m in self.root.walk():
            name = ("  " * depth + (m.path.rsplit(".", 1)[-1] or m.kind))[:34]
            lines.append(
                f"{name:<34} {_us(m.forward.device_us):>9} {_us(m.backward.device_us):>9} "
                f"{m.forward.kernels + m.backward.kernels:>7} {_size(m.kept):>9} {m.bound:<8}"
            )
        names = [text(f"modules.column.{c}") for c in ("module", "forward", "backward", "kernels", "kept", "bound")]
        first = f"{names[0]:<34} {names[1]:>9} {names[2]:>9} {names[3]:>7} {names[4]:>9} {names[5]:<8}"
        return head + "\n".join([first, *lines])

    def _repr_html_(self) -> str:
        columns = ("module", "forward", "backward", "host", "kernels", "intensity", "kept", "bound", "advice")
        longest = max((m.device_us for _, m in self.root.walk()), default=0.0) or 1.0
        rows = []
        for depth, m in self.root.walk():
            bar = f"<div style='background:#0072b2;height:4px;width:{100 * m.device_us / longest:.1f}%'></div>"
            name = f"{html.escape(m.path.rsplit('.', 1)[-1] or m.kind)} <small>{html.escape(m.kind)}</small>{bar}"
            flops, moved = m.forward.flops + m.backward.flops, m.forward.bytes + m.backward.bytes
            cells = [
                _us(m.forward.device_us),
                _us(m.backward.device_us),
                _us(m.forward.host_us + m.backward.host_us),
                str(m.forward.kernels + m.backward.kernels),
                f"{flops / moved:.1f}" if moved else "",
                _size(m.kept),
                text(f"modules.bound.{m.bound}") if m.bound else "",
                html.escape(m.advice),
            ]
            rows.append(
                f"<tr><td style='text-align:left;padding-left:{depth + 0.4:.1f}em'>{name}</td>"
                + "".join(
                    f"<td style='text-align:{'left' if i > 5 else 'right'}'>{c}</td>" for i, c in enumerate(cells)
                )
                + "</tr>"
            )
        head = "".join(f"<th>{text(f'modules.column.{c}')}</th>" for c in columns)
        return (
            f"<table><caption>{text('modules.head', chip=self.session.chip)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        )


def profile_modules(
    model: torch.nn.Module, *inputs, loss: Callable | None = None, backward: bool = True, warm: int = 1
) -> ModuleProfile:
    """Runs one step of `model` on its device and says what each module cost.

    inputs: the arguments of its forward, on the same device. loss: from the output to a number, by default the sum of
    its elements. backward: also the way back. warm: steps before the one that is recorded. The parameters' gradients
    are what they were before. Raises RuntimeError where the model is not on the simulated device.
    """
    where = next((t.device for t in [*model.parameters(), *model.buffers()]), None)
    if where is None or where.type != "npu":
        raise RuntimeError(text("modules.not_on_npu", where=str(where)))
    before = [p.grad for p in model.parameters()]

    def step() -> None:
        with torch.set_grad_enabled(backward):
            out = model(*inputs)
            if backward:
                (_sum(out) if loss is None else loss(out)).backward()

    def forget() -> None:  # a gradient that is there would be added to
        for p in model.parameters():
            p.grad = None

    paths = {id(module): path for path, module in model.named_modules()}
    recorder = Recorder(shapes=True, memory=True, modules=lambda module: paths.get(id(module)))
    try:
        forget()
        for _ in range(warm):
            step()
            forget()
        torch.npu.synchronize()
        recorder.start()
        try:
            step()
        finally:
            session = recorder.stop()
    finally:
        for p, grad in zip(model.parameters(), before):
            p.grad = grad
    return _profile(model, session)


def _sum(out):
    """Of all floating tensors in a model's output."""
    if isinstance(out, torch.Tensor):
        return out.float().sum()
    parts = list(out.values()) if isinstance(out, dict) else list(out)
    return sum(_sum(part) for part in parts if not isinstance(part, torch.Tensor) or part.is_floating_point())


# ---- from what was recorded to modules


def _profile(model: torch.nn.Module, session: Session) -> ModuleProfile:
    kinds = {path: type(module).__name__ for path, module in model.named_modules()}
    sizes = {path: _bytes_of(module) for path, module in model.named_modules()}
    owner = _owners(session.ranges)  # of each range the innermost module's path, None outside
    costs: dict[str, ModuleCost] = {}
    for r in session.ranges:
        if r.kind == "module":
            cost = costs.setdefault(r.name, ModuleCost(r.name, kinds[r.name], parameters=sizes[r.name]))
            cost.calls += 1
            cost.forward.host_us += (r.end - r.start) * 1e-3
    forward_end = max((r.end for r in session.ranges if r.kind == "module" and r.name == ""), default=0.0)
    way_back = _ways_back(session.ranges, owner)
    outside = Part()
    for call in session.calls:  # what the way back costs the host: its launches
        if call.range in way_back and (path := way_back[call.range]) is not None:
            for inner in _ancestors(path, costs):
                costs[inner].backward.host_us += (call.end - call.start) * 1e-3
    for task in session.tasks:
        if task.kind != "kernel":
            continue
        back = task.range in way_back
        path = way_back.get(task.range) if back else owner.get(task.range)
        parts = [costs[p].backward if back else costs[p].forward for p in _ancestors(path, costs)] or [outside]
        for part in parts:
            _add(part, task, session.chip)
    for a in session.allocations:
        for path in _ancestors(owner.get(a.range), costs) if way_back else ():
            if a.freed is None or a.freed > forward_end:
                costs[path].kept += a.bytes
    _peaks(session, costs)
    for path, cost in costs.items():
        if path and (parent := next(iter(_ancestors(path.rpartition(".")[0], costs)), None)) is not None:
            costs[parent].children.append(cost)
    return ModuleProfile(costs.get("", ModuleCost("", type(model).__name__)), outside, session)


def _bytes_of(module: torch.nn.Module) -> int:
    return sum(t.numel() * t.element_size() for t in [*module.parameters(), *module.buffers()])


def _owners(ranges: list[HostRange]) -> dict[int, str | None]:
    owner: dict[int, str | None] = {-1: None}
    for i, r in enumerate(ranges):  # a parent stands before its children
        owner[i] = r.name if r.kind == "module" else owner[r.parent]
    return owner


def _ways_back(ranges: list[HostRange], owner: dict[int, str | None]) -> dict[int, str | None]:
    """Of each range within a backward node: the module whose forward made the node. Operators that make none carry the
    number of the next one, so the last operator with a number is the one that made it."""
    made: dict[int, str | None] = {}
    for i, r in enumerate(ranges):
        if r.kind == "op" and r.sequence >= 0:
            made[r.sequence] = owner[i]
    node = {r.parent: r.sequence for r in ranges if r.kind == "backward"}  # of the engine's range around each node
    back: dict[int, str | None] = {}
    for i, r in enumerate(ranges):
        if r.name.startswith(_ENGINE):
            back[i] = made.get(node.get(i, -1))
        elif r.kind == "backward":
            back[i] = made.get(r.sequence, back.get(r.parent))
        elif r.parent in back:
            back[i] = back[r.parent]
    return back


def _ancestors(path: str | None, costs: dict[str, ModuleCost]) -> Iterator[str]:
    """The module itself and those around it, innermost first, that were called."""
    while path is not None:
        if path in costs:
            yield path
        path = path.rpartition(".")[0] if path else None


def _add(part: Part, task: Task, chip: str) -> None:
    table = chips.flat(chip)
    us = (task.end - task.start) * 1e-3
    part.device_us += us
    part.kernels += 1
    part.bytes += task.bytes
    part.flops += task.flops
    dtype = task.inputs[0].dtype if task.inputs else "float32"
    kind = "half" if dtype in _HALVES else "int8" if dtype == "int8" else "float"
    # a fractal of 16 x 16 results and `k` multiply-adds each is a cycle of a cube core
    peak = table["cores.aic"] * table["clock.hz"] * 2 * 16 * 16 * table[f"cube.k.{kind}"]
    part.roof_compute_us += task.flops / peak * 1e6
    part.roof_memory_us += task.bytes / table["gm.hbm"] * 1e6
    if kind == "float":
        part.single += task.flops
    if task.ours:
        part.own_us += us
    if task.name == "TransData" or _casts(task):
        part.converting_us += us


def _casts(task: Task) -> bool:
    types = {t.dtype for t in task.inputs[:1]} | {t.dtype for t in task.outputs}
    return task.name == "aten::copy_" and len(types) > 1


def _peaks(session: Session, costs: dict[str, ModuleCost]) -> None:
    changes = sorted(session.allocations, key=lambda a: a.time)
    times = [a.time for a in changes]
    for r in session.ranges:
        if r.kind != "module":
            continue
        if within := changes[bisect_left(times, r.start) : bisect_right(times, r.end)]:
            before = within[0].allocated - within[0].bytes
            costs[r.name].peak = max(costs[r.name].peak, max(a.allocated for a in within) - before)


# ---- words


def _us(us: float) -> str:
    return f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def _percent(share: float) -> str:
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _size(count: float) -> str:
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GB"
