"""The capstone's judge: an entry (capstone_entry.py) against its task (capstone_tasks.py), by a rubric of 40 marks.

    verdict = judge(Path("my_operator.py").read_text())
    print(verdict)

| part | marks | how |
|---|---|---|
| function | 15 | share of launches that are right: shown shapes and others drawn now, two each, inputs drawn now |
| network | 5 | the model of stage 08 with the operator in it is no further from fp64 than twice what the chain is |
| operator speed | 5 | (chain - own) / (chain - bound) of the modelled times; the bound is reading the inputs from HBM |
| network speed | 5 | (chain - own) / (chain - without), without: the same network in which the operator costs nothing |
| defence | 10 | two for each of five numbers of the report that is as recomputed; none if one is too good |

Every launch that is timed is checked, and outputs hold NaN before it. The clock sees what passes the pipes, so a kernel
that moves less than its inputs and outputs, computes less than an operation an element, or is faster than memory is
refused: it has no marks. A kernel is native code in the twin's process: this stops wishful numbers, not a burglar.
"""

from __future__ import annotations

import math
import re
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch

import labkit
from labkit import chips, device
from labkit.launch.record import PIPES, LaunchRecord, expect
from labkit.messages import text
from labkit.migrate import capstone_entry, scenes
from labkit.migrate import model as model_
from labkit.migrate.bisecting import TOLERANCE, excess
from labkit.migrate.capstone_entry import Entry
from labkit.migrate.capstone_tasks import TASKS, Task

MARKS = {"function": 15, "network": 5, "operator": 5, "speed": 5, "defence": 10}
CLOCKED = 3  # hidden shapes whose times count, beside the last of the shown ones
STATED = ("operator_us", "chain_us", "network_us", "network_chain_us")  # and bound_by, a pipe
NEAR = 0.02  # of a stated number
ALLOWED = TOLERANCE[torch.float16]  # of every output: inputs are half, and so is the sum that leaves
SIZES = (1.0, 1 / 64, 64.0)  # of inputs: a half has room for none of their squares' sums
NETWORK = {"hidden": 256, "inner": 512, "layers": 2, "vision_layers": 2}


@dataclass(frozen=True)
class Verdict:
    """marks: of each part. wrong: launches that are not right, in words. refused: why the entry counts for nothing.
    figures: modelled microseconds and a ratio, as recomputed. stated: what the report says of them, {} for what it does
    not say. gain: geometric mean of chain / own over the timed shapes."""

    name: str
    task: str
    digest: str
    marks: dict[str, float] = field(default_factory=dict)
    right: int = 0
    launches: int = 0
    wrong: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    figures: dict[str, float | str] = field(default_factory=dict)
    stated: dict[str, float | str] = field(default_factory=dict)
    overstated: tuple[str, ...] = ()
    gain: float = 0.0

    @property
    def total(self) -> float:
        return round(sum(self.marks.values()), 1)

    @property
    def listed(self) -> bool:
        """Whether a leaderboard takes it: right everywhere, and nothing refused."""
        return not self.refused and not self.wrong and self.marks.get("network", 0) > 0

    def __str__(self) -> str:
        lines = [f"{self.name} [{self.task}] {self.digest}"]
        lines += [
            f"  {text(f'capstone.{part}'):18}{self.marks.get(part, 0):5.1f} / {most}" for part, most in MARKS.items()
        ]
        lines += [f"  {text('capstone.total'):18}{self.total:5.1f} / {sum(MARKS.values())}"]
        lines += [f"  {text('capstone.launches', right=self.right, launches=self.launches)}"]
        lines += [f"  - {line}" for line in (*self.refused[:3], *self.wrong[:3])]
        for key, true in self.figures.items():
            said = self.stated.get(key, text("capstone.unsaid"))
            note = text("capstone.overstated") if key in self.overstated else ""
            lines += [f"  {text('capstone.figure', key=key, true=_shown(true), said=_shown(said))} {note}".rstrip()]
        return "\n".join(lines)


def judge(source: str, seed: int | None = None, timed: int = 0) -> Verdict:
    """The verdict on an entry's text. seed: of hidden shapes and inputs, None (for anything that counts) a fresh one.
    timed: seed of the hidden shapes whose times count, the same for all entries of one leaderboard.

    Raises ValueError for a text that is no entry, labkit.CompileError for a kernel that does not compile.
    """
    entry, threads = capstone_entry.read(source), torch.get_num_threads()
    torch.set_num_threads(1)  # operators this small take longer on several
    try:
        return _judge(entry, seed, timed)
    finally:
        torch.set_num_threads(threads)


def _judge(entry: Entry, seed: int | None, timed: int) -> Verdict:
    if raw := [word for word in ("GetPhyAddr", "__ubuf__") if word in entry.kernel]:
        return Verdict(entry.name, entry.task.name, entry.digest, refused=(text("capstone.raw", word=raw[0]),))
    seed = secrets.randbits(62) if seed is None else seed
    task, draw = entry.task, torch.Generator().manual_seed(seed)
    hidden, clock = _hidden(task, draw), torch.Generator().manual_seed(timed)
    clocked = [_any(task, clock) for _ in range(CLOCKED)]
    net = _Network(task, seed)
    shapes = list(dict.fromkeys([*task.shown, *hidden, *clocked, *net.shapes]))
    order = torch.randperm(len(shapes), generator=draw).tolist()  # which of them are shown is not said
    made = capstone_entry.plans(entry, [shapes[i] for i in order])
    own = _Operator(entry, {shapes[i]: plan for i, plan in zip(order, made)})
    try:
        wrong, refused, times = [], [], {}
        launches = 0
        for shape in dict.fromkeys([*task.shown, *hidden, *clocked]):
            for number in range(2):
                launches += 1
                size = SIZES[int(torch.randint(len(SIZES), (1,), generator=draw))]
                times[shape], bad, false = _launch(own, shape, task.draw(*shape, draw, size))
                wrong += [text("capstone.wrong", rows=shape[0], width=shape[1], why=bad)] if bad else []
                refused += [false] if false else []
    except _Unlaunchable as error:
        right = launches - 1 - len(wrong)
        return Verdict(entry.name, task.name, entry.digest, {}, right, launches, tuple(wrong), (str(error),))
    if refused:
        return Verdict(
            entry.name, task.name, entry.digest, dict.fromkeys(MARKS, 0.0), launches - len(wrong), launches,
            tuple(wrong), tuple(dict.fromkeys(refused)),
        )  # fmt: skip
    chains = {shape: _chain_us(task, shape) for shape in times}
    bounds = {shape: _bound_us(task, shape) for shape in times}
    counted = [*task.shown[-1:], *clocked]
    shares = [(chains[s] - times[s].us) / (chains[s] - bounds[s]) for s in counted]
    network = net.judge(own)
    last = task.shown[-1]
    figures = {
        "operator_us": times[last].us, "chain_us": chains[last], "network_us": network.us["own"],
        "network_chain_us": network.us["chain"], "bound_by": times[last].pipe,
    }  # fmt: skip
    stated = _stated(entry.report)
    better = tuple(key for key in STATED if key in stated and _better(key, stated[key], figures[key]))
    good = sum(_agrees(stated.get(key), true) for key, true in figures.items())
    us = network.us
    marks = {
        "function": MARKS["function"] * (launches - len(wrong)) / launches,
        "network": MARKS["network"] * float(network.right),
        "operator": MARKS["operator"] * _within(sum(shares) / len(shares)),
        "speed": MARKS["speed"] * _within((us["chain"] - us["own"]) / max(us["chain"] - us["without"], 1e-9)),
        "defence": 0.0 if better else MARKS["defence"] * good / len(figures),
    }
    if wrong or not network.right:
        marks["operator"] = marks["speed"] = 0.0  # fast and wrong is not fast
    return Verdict(
        entry.name, task.name, entry.digest, {k: round(v, 1) for k, v in marks.items()},
        launches - len(wrong), launches,
        tuple(wrong) + (() if network.right else (text("capstone.network-wrong", times=f"{network.times:.1f}"),)),
        (), {k: v if isinstance(v, str) else round(v, 2) for k, v in figures.items()}, stated, better,
        round(math.exp(sum(math.log(chains[s] / times[s].us) for s in counted) / len(counted)), 4),
    )  # fmt: skip


@dataclass(frozen=True)
class Launched:
    """One launch beside the chain. wrong, refused: in words, empty where it is right. Times are modelled."""

    wrong: str
    refused: str
    us: float
    chain_us: float


def launched(
    task: str, kernel: str, plan: dict, draw: torch.Generator, rows: int, width: int, size: float = 1.0
) -> Launched:
    """What a kernel of a task's own gives at one shape, on inputs drawn now. plan: as launch() of an entry gives it.
    size: of the inputs. Raises ValueError for another task or plan, labkit.CompileError."""
    if task not in TASKS:
        raise ValueError(text("capstone.no-task", task=task, all=", ".join(TASKS)))
    if not capstone_entry.plain(plan):
        raise ValueError(text("capstone.plan"))
    shape = rows, width
    try:
        own = _Operator(Entry("", TASKS[task], kernel, "", "", ""), {shape: plan})
        timed, wrong, refused = _launch(own, shape, own.task.draw(rows, width, draw, size))
    except _Unlaunchable as error:
        return Launched(str(error), "", math.inf, math.nan)
    return Launched(wrong, refused, timed.us, _chain_us(own.task, shape))


def bound_us(task: str, rows: int, width: int) -> float:
    """Modelled microseconds in which a task's inputs are read from HBM: no entry is faster."""
    return _bound_us(TASKS[task], (rows, width))


# ---- one launch


class _Unlaunchable(Exception):
    """A launch that did not finish, or whose arguments do not fit the kernel."""


@dataclass(frozen=True)
class _Timed:
    us: float
    pipe: str


class _Operator:
    """The entry's kernel on npu tensors. record: of the last launch."""

    def __init__(self, entry: Entry, plans: dict[tuple[int, int], dict]):
        self.task, self.plans, self.cold, self.record = entry.task, plans, True, None
        entries = {plan.get("entry") for plan in plans.values()}
        self._kernels = {
            (name, l2): labkit.kernel(text=entry.kernel, filename=entry.filename, entry=name, l2=l2)
            for name in sorted(entries, key=str)
            for l2 in ("cold", "warm")
        }

    def __call__(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        inputs = [t.contiguous() for t in inputs]
        plan, out = self.plans[tuple(inputs[0].shape)], self.task.empty(inputs[0])
        return self.fill(plan, inputs, out)

    def fill(self, plan: dict, inputs: list[torch.Tensor], out: list[torch.Tensor]) -> list[torch.Tensor]:
        kernel = self._kernels[plan.get("entry"), "cold" if self.cold else "warm"]
        seen = expect("*")
        expect._open.append(seen)  # findings are the verdict's, not printed
        try:
            self.record = kernel[plan["blocks"]](*inputs, *out, *plan.get("scalars", []))
        except (labkit.LaunchError, TypeError) as error:
            raise _Unlaunchable(text("capstone.unlaunchable", why=str(error).splitlines()[0])) from None
        finally:
            expect._open.remove(seen)
        return out


def _launch(own: _Operator, shape: tuple[int, int], inputs: list[torch.Tensor]) -> tuple[_Timed, str, str]:
    """(time, what is wrong or "", why it is refused or "")."""
    there = [t.npu() for t in inputs]
    out = own.fill(own.plans[shape], there, own.task.empty(there[0], poison=True))
    record: LaunchRecord = own.record
    pipes = {pipe: busy for pipe, busy in record.busy.items() if busy}
    timed = _Timed(record.time_us, max(sorted(pipes), key=pipes.get) if pipes else "S")
    errors = [f for f in record.findings if f.severity == "error"]
    golden = own.task.chain(*[t.double() for t in inputs])
    bad = ""
    if errors:
        codes = ", ".join(sorted({f.code for f in errors}))
        bad = text("capstone.finding", codes=codes, what=errors[0].lines()[0].rstrip(".。"))
    elif not all(torch.equal(a.cpu(), b) for a, b in zip(there, inputs)):
        bad = text("capstone.inputs-changed")
    else:
        worst = max((excess(o, g.to(o.dtype), ALLOWED), name) for o, g, name in zip(out, golden, own.task.outputs))
        if worst[0] > 1:
            bad = text("capstone.differs", output=worst[1], times=f"{worst[0]:.3g}")
    return timed, bad, "" if bad else _unseen(own.task, shape, record)  # what is wrong need not be suspected


def _unseen(task: Task, shape: tuple[int, int], record: LaunchRecord) -> str:
    """What the clock cannot have seen: empty for a kernel that goes through the pipes."""
    total = Counter()
    for core in record.cores:
        total.update({k: v for k, v in core.items() if isinstance(v, (int, float))})
    size = 2 * shape[0] * shape[1]
    moved = [
        sum(total[f"bytes.{way}"] for way in ways) for ways in (("to_ub", "to_l1", "to_l1_nz"), ("from_ub", "from_l0c"))
    ]
    needed = [size * task.rows, size * sum(name != "rstd" for name in task.outputs)]
    for done, least, way in zip(moved, needed, ("in", "out")):
        if done < least:
            return text(f"capstone.moved-{way}", bytes=f"{done:,.0f}", least=f"{least:,}")
    if total["vector16"] + total["vector32"] + total["vector_other"] + total["fractals16"] < size // 2:
        return text("capstone.no-work")
    if record.time_us < _bound_us(task, shape):
        return text("capstone.too-fast", us=f"{record.time_us:.2f}", bound=f"{_bound_us(task, shape):.2f}")
    return ""


def _bound_us(task: Task, shape: tuple[int, int]) -> float:
    """Reading the inputs from HBM once; what is written may stay in the L2."""
    return 2 * shape[0] * shape[1] * task.rows / chips.load(chips.chosen())["operators"]["hbm"] * 1e6


def _chain_us(task: Task, shape: tuple[int, int]) -> float:
    """The modelled device time of PyTorch's operators, beginning with an empty L2."""
    inputs = [t.npu() for t in task.draw(*shape, torch.Generator().manual_seed(0))]
    labkit.clear_l2()
    before = device.clock().launches
    task.chain(*inputs)
    torch.npu.synchronize()
    return sum(s.end_us - s.start_us for s in device.timeline_since(before))


# ---- the network


@dataclass(frozen=True)
class _Found:
    right: bool
    times: float  # the distance from fp64, over what is allowed
    us: dict[str, float]


class _Network:
    """The model of stage 08 with fresh weights and scenes: in fp64 on the CPU as it is, in half on the npu with the
    chain, with the entry, and with an operator that does nothing. shapes: that the operator is called with."""

    def __init__(self, task: Task, seed: int):
        self.task = task
        batch = scenes.batch(scenes.draw(8, seed=seed % 2**31), "caption")
        model = model_.small(seed % 2**31, **NETWORK).eval()
        self.inputs = {"input_ids": batch["input_ids"].npu(), "pixel_values": batch["pixel_values"].half().npu()}
        wide = {"input_ids": batch["input_ids"], "pixel_values": batch["pixel_values"].half().double()}
        half = model.half()
        self.golden = self._logits(half.double(), wide)
        self.model = half.half().npu()
        self.us: dict[str, float] = {}
        self.shapes: list[tuple[int, int]] = []
        self.chain = self._run("chain", lambda *t: self._noted(t) or self.task.chain(*t))

    def judge(self, own: _Operator) -> _Found:
        own.cold = False
        logits = self._run("own", own)
        self._run("without", lambda *t: [t[0]] * len(self.task.outputs))
        allowed = 2 * self._distance(self.chain) + 1e-4
        times = self._distance(logits) / allowed
        return _Found(times <= 1, times, self.us)

    def _noted(self, tensors) -> None:
        self.shapes.append(tuple(tensors[0].shape))

    def _distance(self, logits: torch.Tensor) -> float:
        far = ((logits - self.golden).square().mean() / self.golden.square().mean()).sqrt().item()
        return far if math.isfinite(far) else math.inf

    def _logits(self, model, inputs) -> torch.Tensor:
        with torch.no_grad():
            return model(**inputs).logits.double().cpu()

    def _run(self, name: str, operator: Callable) -> torch.Tensor:
        with self.task.installed(self.model, lambda *t: [o for o in operator(*t) if o is not None]), torch.no_grad():
            self.model(**self.inputs)  # first launches
            torch.npu.synchronize()
            labkit.clear_l2()
            before = device.clock().host_us
            logits = self.model(**self.inputs).logits
            torch.npu.synchronize()
            self.us[name] = device.clock().host_us - before
        return logits.double().cpu()


# ---- the report


def _stated(report: str) -> dict[str, float | str]:
    """`operator_us: 12.5` anywhere at the beginning of a line, a list's dash allowed; the last one counts."""
    found: dict[str, float | str] = {}
    for key, value in re.findall(r"(?m)^[ \t]*[-*]?[ \t]*(\w+)[ \t]*[:=][ \t]*([\w.,]+)", report):
        pipe = value.strip(".,").upper()
        if key == "bound_by" and pipe in PIPES:
            found[key] = pipe
        elif key in STATED:
            try:
                found[key] = float(value.replace(",", "").rstrip("."))
            except ValueError:
                continue
    return found


def _better(key: str, said: float | str, true: float | str) -> bool:
    """For the chain's times the larger number flatters."""
    flattering = said > true * (1 + NEAR) if "chain" in key else said < true * (1 - NEAR)
    return flattering or not math.isfinite(said)


def _agrees(said: float | str | None, true: float | str) -> bool:
    if isinstance(true, str) or isinstance(said, str) or said is None:
        return said == true
    return abs(said - true) <= NEAR * true


def _within(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _shown(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:,.2f}"


def _hidden(task: Task, draw: torch.Generator) -> list[tuple[int, int]]:
    """Shapes where kernels fail: one row; one row more than a power of two; a narrow row; and one of any size."""
    rows, width = _any(task, draw), _any(task, draw)
    powers = [2**n + 1 for n in range(1, 10) if 2**n < task.tallest]
    return [
        (1, rows[1]), (powers[_number(draw, 0, len(powers) - 1)], width[1]), (rows[0], _number(draw, 8, 40)),
        _any(task, draw),
    ]  # fmt: skip


def _any(task: Task, draw: torch.Generator) -> tuple[int, int]:
    return _number(draw, 1, task.tallest), _number(draw, 8, task.widest)


def _number(draw: torch.Generator, low: int, high: int) -> int:
    return int(torch.randint(low, high + 1, (1,), generator=draw))
