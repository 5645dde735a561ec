"""Cases on profiles: functions that record, read tables, or cure a program, each judged by its own recording."""

from __future__ import annotations

import math
import random
import tempfile
import weakref
from pathlib import Path
from unittest import mock

import numpy as np
import pandas
import torch
from torch import nn
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def seen(program):
    """(what it returned, the Session) of a program that runs on the simulated device; the Session is None on a card,
    where a cure is judged by its values alone."""
    from labkit import device

    if device.mode() == "npu":
        return program(), None
    from labkit.profiler.recorder import Recorder

    recorder = Recorder()
    torch.npu.synchronize()
    recorder.start()
    try:
        result = program()
        torch.npu.synchronize()
    finally:
        session = recorder.stop()
    return result, session


def at_most(limit: int, found: int | None) -> str:
    """The limit where it holds (or could not be counted), else the count."""
    return say(f"at most {limit}", f"至多 {limit}") if found is None or found <= limit else str(found)


def copies(session) -> int | None:
    """Between the host and the device."""
    return None if session is None else sum(t.kind in ("copy_in", "copy_out") for t in session.tasks)


def kernels(session) -> int | None:
    return None if session is None else sum(t.kind == "kernel" for t in session.tasks)


ASKED = "aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent"


def waited(session) -> int | None:
    """How often the host waited, or asked whether it must, beside the one wait of `seen`."""
    return None if session is None else sum(c.name.startswith(ASKED) for c in session.calls) - 1


def waits_for_the_last_copy(session) -> bool:
    """Whether the host waits once what it reads at last is on its way; the wait of `seen` is not its own."""
    waits = [c.end for c in session.calls if c.name.startswith(ASKED)][:-1]
    sent = [t.issued for t in session.tasks if t.kind == "copy_out"]
    return not sent or any(end > sent[-1] for end in waits)


# ---- recording

STEPS, LATER = 20, 2000  # those that are shown; and those that are looked at


def plan_cases(seed, quick):
    expected = ["WARMUP" if i == 4 else "RECORD_AND_SAVE" if i == 7 else "RECORD" if i in (5, 6) else "NONE"
                for i in range(STEPS)]  # fmt: skip
    steps = {say(f"step {i}", f"第 {i} 步"): name for i, name in enumerate(expected)}
    later = {say("all later ones", "此后的每一步"): ["NONE"], "chosen": "schedule(..., repeat=1)"}
    return [Case(f"{STEPS} steps", (), steps | later)]


def run_plan(function, args, case):
    from torch_npu.profiler import ProfilerAction, schedule

    plan = [function() for _ in range(3)][-1]  # asked again, it is as before
    # a schedule says itself how often it records; of another function nobody knows what it says of the next step
    chosen = f"schedule(..., repeat={plan.repeat})" if isinstance(plan, schedule) else type(plan).__name__
    steps = [plan(i) for i in range(LATER)]
    names = [step.name if isinstance(step, ProfilerAction) else type(step).__name__ for step in steps]
    shown = {say(f"step {i}", f"第 {i} 步"): name for i, name in enumerate(names[:STEPS])}
    return shown | {say("all later ones", "此后的每一步"): sorted({*names[STEPS:]}), "chosen": chosen}


def loop_cases(seed, quick):
    """What train launches is drawn for a class: nothing else has as many kernels of that name."""
    draw = np.random.default_rng(seed)
    counts = [int(n) for n in draw.permutation(9)[:5]] if seed else [*range(5)]
    kind = str(draw.choice(KINDS)) if seed else "relu"
    expected = {
        say("calls of train", "train 的调用次数"): 5,
        say("calls of train while one profiler runs", "同一个 profiler 运行期间 train 的调用次数"): 5,
        say("folders", "文件夹个数"): 1,
        say("recorded steps", "记录的步"): [2, 3],
        say("kernels of a step", "每步的 kernel 数"): [counts[2] + 2, counts[3] + 2],
        say(f"kernels of {kind} among them", f"其中 {kind} 的 kernel 数"): counts[2:4],
    }
    return [Case("five steps", (counts, kind), expected)]


KINDS = ("relu", "exp", "neg", "abs", "tanh")  # their kernels have these words in their names


def run_loop(function, args, case):
    x, calls, (counts, kind) = torch.ones(64, 64).npu(), [], args
    running, under = [], []

    def train():  # each step has another number of kernels: a step that is recorded for another shows
        y = x @ x
        for _ in range(counts[len(calls) % 5]):
            y = getattr(y, kind)()
        y.sum()
        calls.append(1)
        under.extend(running[-1:])

    with tempfile.TemporaryDirectory() as folder, noted(running):
        function(train, folder)
        found = sorted(Path(folder).glob("*_ascend_pt"))
        tables = [f / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv" for f in found]
        rows = pandas.concat([pandas.read_csv(t) for t in tables]) if tables else pandas.DataFrame()
        each = rows.groupby("Step Id").size() if "Step Id" in rows else pandas.Series(dtype=int)
        theirs = [sum(kind in str(n).lower() for n in rows[rows["Step Id"] == step]["Name"]) for step in each.index]
    together = max(map(under.count, under), default=0)
    return {
        say("calls of train", "train 的调用次数"): len(calls),
        say("calls of train while one profiler runs", "同一个 profiler 运行期间 train 的调用次数"): together,
        say("folders", "文件夹个数"): len(found),
        say("recorded steps", "记录的步"): [int(step) for step in each.index],
        say("kernels of a step", "每步的 kernel 数"): [int(n) for n in each],
        say(f"kernels of {kind} among them", f"其中 {kind} 的 kernel 数"): theirs,
    }


def noted(running):
    """`running` holds the profilers that have begun and not ended, whether by `with` or by start() and stop()."""
    from torch_npu.profiler import profile

    def begin(self, *more, start=profile.start):
        running.append(self)
        return start(self, *more)

    def end(self, *more, stop=profile.stop):
        running[:] = [one for one in running if one is not self]
        return stop(self, *more)

    return mock.patch.multiple(profile, start=begin, stop=end)


# ---- reading


def rows(*values):
    """A frame with the columns of kernel_details.csv that the exercises read."""
    return pandas.DataFrame(values, columns=["Type", "Start Time(us)", "Duration(us)", "Stream ID"])


def top_cases(seed, quick):
    many = rows(("Mul", 0.0, 2.0, 0), ("MatMulV2", 2.0, 5.0, 0), *(("Add", 10.0 + i, 1.0, 0) for i in range(8)))
    few = rows(*(("Add", float(i), 0.5, 0) for i in range(4)), ("MatMulV2", 10.0, 6.0, 0))
    adds = [("Add", 4.0 * i, 3.0, 0) for i in range(4)]
    three = rows(("Mul", 20.0, 1.0, 0), *adds, ("Cast", 30.0, 6.0, 0), ("Mul", 40.0, 9.0, 0))
    uneven = rows(("Add", 0.0, 2.0, 0), ("Mul", 2.0, 7.0, 0), ("Add", 9.0, 3.0, 1), ("Mul", 12.0, 1.0, 0),
                  ("Cast", 13.0, 6.0, 0), ("Add", 20.0, 7.0, 1), ("Mul", 30.0, 1.0, 0))  # fmt: skip
    asked = [("one long, many short", many, ("Add", 8 / 15)),
             ("many short, less than the long one", few, ("MatMulV2", 0.75)),
             ("neither the longest nor the largest mean", three, ("Add", 12 / 28)),
             ("launches of other lengths, on two streams", uneven, ("Add", 12 / 27)),
             ("one row", rows(("Cast", 5.0, 3.0, 0)), ("Cast", 1.0)),
             ("a gap between", rows(("Mul", 0.0, 3.0, 0), ("Add", 100.0, 1.0, 0)), ("Mul", 0.75))]  # fmt: skip
    made = [Case(name, (frame,), found, tolerance=(1e-9, 0)) for name, frame, found in asked]
    return [*made, *(drawn_top(seed + turn) for turn in range(4 * (seed != 0)))]


def drawn_top(seed):
    """A grader's case: types, numbers of launches and times that nobody has seen; one type is clearly ahead."""
    draw = np.random.default_rng(seed)
    types = draw.permutation(["Sub", "Exp", "Cast", "Gather", "MatMulV3", "SoftmaxV2"])[:4]
    held, begin, sums = [], 0.0, {}
    for kind, goal in zip(types, draw.integers(5, 40, 4) + np.array([80, 0, 0, 0])):
        parts = int(draw.integers(1, 9))
        sums[str(kind)] = float(goal)
        for _ in range(parts):
            held.append((str(kind), begin, float(goal) / parts, 0))
            begin += float(goal) / parts + float(draw.integers(0, 9))
    share = sums[str(types[0])] / sum(sums.values())
    return Case("drawn", (rows(*held),), (str(types[0]), share), tolerance=(1e-9, 0))


def run_top(function, args, case):
    kind, share = function(args[0].copy())
    return str(kind), float(share)


def idle_cases(seed, quick):
    chain = rows(("A", 2.0, 3.0, 0), ("B", 5.0, 1.0, 0), ("C", 8.0, 2.0, 0))
    streams = rows(("A", 0.0, 6.0, 0), ("B", 2.0, 2.0, 1), ("C", 5.0, 3.0, 1))
    inside = rows(("A", 0.0, 8.0, 0), ("B", 1.0, 1.0, 1), ("C", 9.0, 1.0, 0))
    edges = rows(("A", -2.0, 4.0, 0), ("B", 9.0, 5.0, 0))
    outside = rows(("A", -5.0, 2.0, 0), ("B", 1.0, 5.3, 0), ("C", 12.0, 3.0, 0), ("D", 13.0, 1.0, 1))
    shuffled = rows(("C", 8.0, 2.0, 0), ("A", 2.0, 3.0, 0), ("B", 5.0, 1.0, 0))
    late = rows(("A", 98.0, 4.0, 0), ("B", 103.0, 2.0, 0), ("C", 115.0, 9.0, 0))
    asked = [("a span that begins at 100", late, 100.0, 120.0, 0.55), ("one stream", chain, 0.0, 10.0, 0.4),
             ("two streams that overlap", streams, 0.0, 10.0, 0.2),
             ("a short one within a long one", inside, 0.0, 10.0, 0.1),
             ("kernels across the borders", edges, 0.0, 10.0, 0.7),
             ("rows in another order", shuffled, 0.0, 10.0, 0.4), ("no kernel", rows(), 0.0, 10.0, 1.0),
             ("kernels before and behind it", outside, 0.0, 10.0, 0.47)]  # fmt: skip
    draw = random.Random(seed)
    for unit in (1 / 8, 1.0, 512.0, 2.0**20) if seed else ():  # of a class: kernels of a moment, and of seconds
        count, begin = draw.randint(20, 300), unit * draw.randint(-100, 10_000)
        span = range(draw.randint(count, 9 * count))
        held = [(draw.randrange(-50, len(span) + 50), draw.randint(0, draw.choice((3, 30)))) for _ in range(count)]
        free = set(span).difference(*(range(at, at + length) for at, length in held))
        frame = rows(*(("A", begin + at * unit, length * unit, i % 3) for i, (at, length) in enumerate(held)))
        asked.append((f"drawn, {count} kernels", frame, begin, begin + len(span) * unit, len(free) / len(span)))
    return [Case(name, tuple(args), share, tolerance=(1e-9, 1e-12)) for name, *args, share in asked]


def run_idle(function, args, case):
    return float(function(args[0].copy(), *args[1:]))


# ---- cures


def launch_cases(seed, quick):
    made = []
    for count, width in ((8, 16),) if quick else ((64, 256), (3, 5)):
        g = torch.Generator().manual_seed(seed)
        # few bits, so that sums are exact on a card's cube, too; of a class any size, so that no rounding is right
        small = 2.0 ** -(6 if count == 64 else 12 + seed % 9)
        vectors = [torch.randint(-512, 513, (width,), generator=g) * small for _ in range(count)]
        weights = torch.randint(-64, 65, (count,), generator=g) / 16
        expected = {
            say("result", "结果"): sum(w * v for w, v in zip(weights, vectors)),
            say("kernels", "kernel 数"): at_most(4, 0),
            **_stays(0),
            **_kept(True),
        }
        near = (1e-5, 1e-3 * small)
        made.append(Case(f"{count} vectors of {width}", (vectors, weights), expected, tolerance=near))
    return made


def run_launch(function, args, case):
    vectors, weights = [v.npu() for v in args[0]], args[1].npu()
    result, session = seen(lambda: function(list(vectors), weights))
    counted = {say("kernels", "kernel 数"): at_most(4, kernels(session))}
    own, of_each = case.args
    same = all(torch.equal(v.cpu(), w.cpu()) for v, w in zip((*vectors, weights), (*own, of_each)))
    return {say("result", "结果"): result, **counted, **_stays(copies(session)), **_kept(same)}


def _kept(same: bool) -> dict:
    key = say("vectors and weights afterwards", "之后的 vectors 与 weights")
    return {key: say("unchanged", "没有改变") if same else say("changed", "被改写了")}


def _stays(found: int | None) -> dict:
    """What is computed on the host is no kernel; its way there and back is seen."""
    return {say("copies to the host and back", "与主机之间的拷贝"): say("none", "无") if not found else str(found)}


def _model(seed, width=32):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, 4))


class _Mark:
    """Hangs on a node of a graph, and lives as long."""

    def __call__(self, *gradients):
        return None


def _mark(out):
    mark = _Mark()
    out.grad_fn.register_hook(mark)
    return weakref.ref(mark)


def sync_cases(seed, quick):
    made = []
    for count in (3,) if quick else (8, 1, *([int(np.random.default_rng(seed).integers(9, 24))] if seed else [])):
        g = torch.Generator().manual_seed(seed)
        batches = [(torch.rand(16, 32, generator=g), torch.randint(0, 4, (16,), generator=g)) for _ in range(count)]
        model = _model(seed)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        total = 0.0
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        expected = {
            say("mean loss", "平均损失"): total / count,
            say("a Python number", "Python 数值"): True,
            say("times that the host waits", "host 等待的次数"): at_most(1, 0),
            say("graphs that stay alive", "一直保留的计算图"): say("none", "无"),
            say("parameters afterwards", "之后的参数"): _parameters(model),
        }
        made.append(Case(f"{count} batches", (seed, batches), expected, tolerance=(1e-4, 1e-5)))
    return made


def run_sync(function, args, case):
    seed, batches = args
    model = _model(seed).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [(x.npu(), y.npu()) for x, y in batches]
    alive = []  # of each step, when the next one begins
    graphs = []
    model.register_forward_pre_hook(lambda *_: alive.append(sum(mark() is not None for mark in graphs)))
    model.register_forward_hook(lambda module, given, out: graphs.append(_mark(out)))
    result, session = seen(lambda: function(model, optimizer, batches))
    most = max(alive, default=0)
    waits = waited(session)
    if waits == 0 or session is not None and not waits_for_the_last_copy(session):  # of a copy that is under way
        waits = say("never: it reads what has not arrived", "从不：读取了尚未到达的数据")
    else:
        waits = at_most(1, waits)
    return {
        say("mean loss", "平均损失"): float(result),
        say("a Python number", "Python 数值"): isinstance(result, float),
        say("times that the host waits", "host 等待的次数"): waits,
        say("graphs that stay alive", "一直保留的计算图"): str(most) if most > 1 else say("none", "无"),
        say("parameters afterwards", "之后的参数"): _parameters(model),
    }


def _parameters(model):
    """One vector, on the host: it is the training that is asked for, and the mean only tells of it."""
    return torch.cat([p.detach().cpu().flatten() for p in model.parameters()])


COPIES, WIDTH = 4, 1024  # each batch: 4 MB, 220 us over the link; the seven products of `work` take longer


def copy_cases(seed, quick):
    """Work that takes longer than a copy hides it. Work that is shorter begins too early wherever a batch is not waited
    for; of these a class has more, since a race that is won four times may be lost the fifth."""
    g = torch.Generator().manual_seed(seed)
    many = COPIES + (seed and int(np.random.default_rng(seed).integers(9, 30)))
    made, small = [], (WIDTH // 2, WIDTH // 2)
    drawn = random.Random(seed).sample((torch.float16, torch.float64, torch.int32, torch.int64, torch.uint8), 2)
    for name, count, shape, products, dtype in (
        (say(f"{COPIES} batches of 4 MB", f"{COPIES} 批，每批 4 MB"), COPIES, (WIDTH, WIDTH), 7, torch.float32),
        (say("batches of 1 MB, and little work", "每批 1 MB，计算很短"), many, small, 0, torch.float32),
        *((say(f"batches of {str(t)[6:]}, {len(s)} axes", f"{str(t)[6:]} 的批，{len(s)} 维"), COPIES, s, 0, t)
          for t, s in zip(drawn if seed else (), ((64, 8, 32, 32), (1 << 19,)))),  # of a class: any type, any axes
    )[: 1 if quick else None]:  # fmt: skip
        batches = [torch.randint(-2 if dtype.is_signed else 0, 3, shape, generator=g).to(dtype) for _ in range(count)]
        expected = {
            say("results", "结果"): [b.sum() for b in batches],
            **({say("us without a kernel", "没有 kernel 的时间 us"): at_most(60, 0)} if products else {}),
            say("kernels that begin before their batch is there", "数据到达之前就开始的 kernel"): at_most(0, 0),
            say("times that the host waits", "host 等待的次数"): at_most(1, 0),  # the trial's own, at its end
        }
        weight = torch.eye(WIDTH if products else 1)
        made.append(Case(name, (batches, weight, products), expected, tolerance=(1e-5, 1e-3)))
    return made


def run_copy(function, args, case):
    batches, weight, products, made = [b.pin_memory() for b in args[0]], args[1].npu(), args[2], []

    def work(x):
        if x.shape != batches[0].shape:
            return None
        for _ in range(products):
            x = x @ weight
        made.append(x.sum())
        return made[-1]

    results, session = seen(lambda: function(list(batches), work))
    theirs = len(results) == len(made) and all(r is m for r, m in zip(results, made))
    gap = early = waits = None
    if session is not None:
        waits = waited(session) + 1
        ran = sorted((t.start, t.end) for t in session.tasks if t.kind == "kernel")
        busy, until = 0.0, ran[0][0]
        for start, end in ran:
            busy += max(0.0, end - max(start, until))
            until = max(until, end)
        gap = round((until - ran[0][0] - busy) * 1e-3)
        there = [t.end for t in session.tasks if t.kind == "copy_in"]
        early = sum(start < there[i * len(there) // len(ran)] for i, (start, _) in enumerate(ran))
    return {
        say("results", "结果"): list(results) if theirs else say("not all are what work gave", "并非都是 work 的结果"),
        **({say("us without a kernel", "没有 kernel 的时间 us"): at_most(60, gap)} if products else {}),
        say("kernels that begin before their batch is there", "数据到达之前就开始的 kernel"): at_most(0, early),
        say("times that the host waits", "host 等待的次数"): at_most(1, waits),
    }


class Layers(nn.Module):
    """Linear layers in half precision."""

    def __init__(self, width, count=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(count)).half()


def cast_cases(seed, quick):
    g = torch.Generator().manual_seed(seed)
    least, made = torch.randint(-2, 3, (8, 16), generator=g).float() / 4, []
    for name, count, size, shape in (  # relu has no upper end: values far above 1, too, as far as half goes
        (say("three layers", "三层"), 3, 1, (8, 16)),
        (say("two layers", "两层"), 2, 256, (8, 16)),
        (say("five layers", "五层"), 5, 8192, (8, 16)),
        (say("x of three axes", "x 有三维"), 2, 1, (2, 4, 16)),
        (say("x of one axis", "x 只有一维"), 3, 1, (16,)),
        (say("x of five axes", "x 有五维"), 2, 1, (2, 1, 2, 2, 16)),
    )[: 6 if seed else 3]:
        size = size if seed else 1  # of a class
        x = size * least.flatten()[: math.prod(shape)].reshape(shape)
        expected = x.half()
        for layer in _layers(seed, count).layers:
            expected = F.relu(layer(expected))
        want = {say("result", "结果"): expected.float(), "Cast": at_most(2, 0), **_stays(0)}
        made.append(Case(name, (seed, x, count), want, tolerance=(2e-2, 2e-3 * size)))
    return made[:1] if quick else made


def _layers(seed, count):
    torch.manual_seed(seed)
    return Layers(16, count)


def _changes_type(task) -> bool:
    """By a copy, or within another operator that reads one type of numbers and writes or reads another; by way of
    integers, too. A comparison, which writes bools, casts nothing."""
    read, written = ({str(t.dtype).lower() for t in tensors} for tensors in (task.inputs, task.outputs))
    floats = {t for t in read | written if "float" in t}
    anew = any("bool" not in t for t in written - read)
    return task.kind == "kernel" and (len(floats) > 1 or bool(read) and anew)


def run_cast(function, args, case):
    seed, x, count = args
    model, x = _layers(seed, count).npu(), x.npu()
    result, session = seen(lambda: function(model.layers, x))
    casts = None
    if session is not None:
        casts = sum(_changes_type(t) for t in session.tasks)
    return {say("result", "结果"): result, "Cast": at_most(2, casts), **_stays(copies(session))}


def _step(computing: float, exposed: float, free: float, overlapped: float):
    """A row of step_trace_time.csv, with all its columns."""
    held = {"Step": 50, "Computing": computing, "Communication(Not Overlapped)": exposed, "Overlapped": overlapped}
    held |= {"Communication": exposed + overlapped, "Free": free, "Stage": computing + exposed + free, "Bubble": 0.0}
    held |= {"Communication(Not Overlapped and Exclude Receive)": exposed, "Preparing": 50.0}
    return pandas.DataFrame([held])


def real_cases(seed, quick):
    """Rows of HCCL count, and a type whose name begins like TransData's is another one."""
    kernels = rows(("TransData", 0, 30.0, 2), ("MatMulV2", 40, 40.0, 2), ("TransData", 90, 10.0, 2))
    few = rows(("TransData", 0, 10.0, 2), ("MatMulV2", 40, 20.0, 2), ("Add", 70, 5.0, 2), ("TransData", 90, 5.0, 2))
    all_kinds = rows(("TransData", 0, 20.0, 2), ("hcom_allReduce_", 5, 50.0, 7), ("Transpose", 30, 8.0, 2),
                     ("Conv2D", 60, 12.0, 2), ("TransData", 80, 10.0, 2))  # fmt: skip
    asked = [
        (say("a small table", "一张小表"), _step(800.0, 9000.0, 200.0, 0.0), kernels, (0.9, 0.5)),
        (say("TransData takes less than another type", "TransData 少于另一类型"),
         _step(500.0, 300.0, 200.0, 100.0), few, (0.3, 0.375)),
        (say("communication and a transpose among the rows", "行中有通信和 Transpose"),
         _step(500.0, 250.0, 250.0, 400.0), all_kinds, (0.25, 0.3)),
    ]  # fmt: skip
    made = []
    for name, step, those, expected in asked:
        cores = ["HCCL" if kind.startswith("hcom") else "AI_VECTOR_CORE" for kind in those["Type"]]
        made.append(Case(name, (step, those.assign(**{"Accelerator Core": cores})), expected, tolerance=(1e-9, 0)))
    return made


def run_real(function, args, case):
    return tuple(float(share) for share in function(args[0].copy(), args[1].copy()))


def wander(times):
    """The median of the steps behind the first two."""
    steady = sorted(times[2:])
    return steady[len(steady) // 2]
