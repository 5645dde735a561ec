"""Cases of notebooks 05.05 and 05.06: who waits for whom, what is hidden, a step of two ranks that hides its sums.

The functions that run in the ranks stand at the top level: labkit.ranks sends them, and the learner's with them, by
their code.
"""

from __future__ import annotations

import random

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from labkit import messages
from labkit.exercises import Case

WORLD, TIMEOUT = 2, 45
WAITS = ("aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent")  # asked again and again it is a wait
HIDDEN_BY = 0.5  # at most this share of the sums' time may stay visible; ours leaves 0.3


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


# ---- who is slow


def slow_cases(seed, quick):
    asked = {
        "one late": {0: [196.5, 43.9], 1: [196.5, 43.9], 2: [43.9, 43.9], 3: [196.5, 43.9]},
        "late in turn": {0: [44.0, 144.0], 1: [64.0, 44.0]},
        "three others, all different": {0: [61.0, 100.5], 1: [52.25, 80.0], 2: [90.0, 41.0], 3: [70.0, 70.1]},
        "a group of its own": {8: [90.0, 50.0, 70.0], 9: [60.0, 50.0, 40.0], 11: [75.0, 56.0, 40.0]},
        "late in the last of five": {0: [41.0, 60.0, 50.5, 45.0, 250.0], 1: [58.0, 44.0, 72.0, 61.25, 46.0]},
        **drawn_stays(seed),
    }
    made = []
    for name, stays in asked.items():
        least = [min(column) for column in zip(*stays.values())]
        waits = {rank: sum(mine) - sum(least) for rank, mine in stays.items()}
        slow = min(waits, key=waits.get)
        others = [us for rank, us in waits.items() if rank != slow]
        expected = {say("slow rank", "慢的 rank"): slow, say("us waited", "等待的 us"): sum(others) / len(others)}
        made.append(Case(name, (stays,), expected, (1e-6, 1e-9)))
    return made


def drawn_stays(seed) -> dict:
    """Of a class's seed: other numbers of ranks and of collectives, one of each long; in the last, stays from a
    microsecond to minutes."""
    draw, made = random.Random(seed), {}
    for most_ranks, most_collectives in ((12, 4), (4, 60), (7, 12)) if seed else ():
        ranks = draw.sample(range(100), draw.randint(most_ranks // 2, most_ranks))
        count = draw.randint(most_collectives // 2, most_collectives)
        stays = {rank: [round(draw.uniform(40, 200), 2) for _ in range(count)] for rank in ranks}
        if most_ranks == 7:
            stays = {rank: [10 ** draw.uniform(0, 8) for _ in range(count)] for rank in ranks}
        late = draw.choice(ranks)  # in most of them, not in each: so that it waits itself now and then
        stays[late] = [us / 2 if k % 3 else us for k, us in enumerate(stays[late])]
        made[f"{len(ranks)} ranks, {count} collectives"] = stays
    return made


def run_slow(function, args, case):
    slow, us = function(*args)
    return dict(zip(case.expected, (slow, us)))


# ---- what is visible


def exposed_cases(seed, quick):
    asked = [
        ("one behind the other", [(100, 140)], [(0, 100), (140, 200)]),
        ("hidden", [(10, 50)], [(0, 100)]),
        ("begins beside, ends alone", [(60, 140)], [(0, 100), (150, 160)]),
        ("across a gap", [(20, 120)], [(0, 40), (50, 90), (110, 200)]),
        ("in any order", [(90, 130), (0, 30)], [(100, 110), (10, 95)]),
        ("parts of a microsecond", [(0.5, 3.75)], [(1.25, 2.0), (3.0, 9.0)]),
        ("two sums", [(0, 30), (90, 130)], [(10, 100), (100, 110)]),
        ("nothing to do", [(0, 30), (40, 50)], []),
    ]
    made = []
    draw = random.Random(seed)
    asked = asked[:6] if quick else asked
    for k in range(4 if seed else 0):  # of a class's seed; hidden.py's changes would let pieces overlap
        asked.append((f"drawn {k}", _pieces(draw), _pieces(draw)))
    for name, sums, work in asked:
        made.append(Case(name, (sums, work), len(_quarters(sums) - _quarters(work)) / 4))
    return made


def _pieces(draw) -> list:
    """Such that do not overlap, in any order."""
    ends = [t / 4 for t in sorted(draw.sample(range(1600), 2 * draw.randint(2, 9)))]
    made = [*zip(ends[::2], ends[1::2])]
    draw.shuffle(made)
    return made


def _quarters(pieces) -> set:
    """The quarters of a microsecond in them."""
    return {t for a, b in pieces for t in range(int(4 * a), int(4 * b))}


# ---- hidden sums


def overlap_cases(seed, quick):
    said = {
        say("each has the shape of", "各自的形状"): say("its gradient", "与梯度相同"),
        say("sums begin", "求和开始"): say("behind their gradient", "在各自的梯度之后"),
        say("gradients are read", "读梯度"): say("behind their sum", "在各自的求和之后"),
        say("sums", "求和"): say("beside the work", "与计算同时"),
        say("sums are issued to", "求和下发到"): "side",
        "host": say("waits for nothing", "不等待"),
    }
    return [
        Case(
            f"{layers} layers",
            (layers,),
            {_mean_of(rank): torch.arange(layers) + (WORLD + 1) / 2 for rank in range(WORLD)} | said,
        )
        for layers in ((4,) if quick else (4, 6))
    ]


def _mean_of(rank: int) -> str:
    return say(f"mean gradients, rank {rank}", f"平均梯度，rank {rank}")


def _shape_of(layer: int) -> tuple:
    return ((64, 1024), (65536,), (4, 16, 1024))[layer % 3]


def _overlap_in_rank(rank, function, layers):
    """Layer i's gradient is `pattern` times (rank + 1 + i): another number in each row and nearby columns, so that no
    part of it stands for the rest, and exact in any order of additions. What the means are of `pattern` is returned.
    A layer's gradient has two axes, or one, as a bias's, or three."""
    import torch.distributed as dist

    from labkit import device
    from labkit.profiler.recorder import Recorder

    along_rows, along_columns = 1 + torch.arange(1024) % 64 / 64, 1 + torch.arange(1024) % 16 / 16
    pattern = along_rows[:64, None] * along_columns
    a = ((rank + 1) * along_rows)[:, None].expand(1024, 1024).contiguous().npu()
    b = (along_columns / 1024).expand(1024, 1024).contiguous().npu()
    further = [(i * pattern).npu() for i in range(layers)]

    def layer(i):
        def gradient():
            for _ in range(2):
                product = a @ b
            return (product[:64] + further[i]).reshape(_shape_of(i))

        return gradient

    side, reduce, elsewhere, recorder = torch.npu.Stream(), dist.all_reduce, [], Recorder()

    def noted(*args, **kwargs):
        if torch.npu.current_stream() != side:
            elsewhere.append(1)
        return reduce(*args, **kwargs)

    torch.npu.synchronize()
    before = device.clock().launches
    simulated = device.mode() == "sim"
    if simulated:
        recorder.start()
    dist.all_reduce = noted
    try:
        means = function([layer(i) for i in range(layers)], side)
    finally:
        dist.all_reduce = reduce
        calls = recorder.stop().calls if simulated else []
    waits = sum(call.name.startswith(WAITS) for call in calls)
    torch.npu.synchronize()
    spans = device.timeline_since(before)
    each = [g.cpu() for g in means]
    wrong = [tuple(g.shape) for i, g in enumerate(each) if tuple(g.shape) != _shape_of(i)]
    if wrong or len(each) != layers:
        return None, wrong, spans, len(elsewhere), waits
    each = [
        (g.reshape(pattern.shape) / pattern).flatten() for g in each
    ]  # of each its first element, or the one that is farthest from it
    return torch.stack([g[(g - g[0]).abs().argmax()] for g in each]), wrong, spans, len(elsewhere), waits


def run_overlap(function, args, case):
    """Every rank is looked at. In a grader's worker `case.expected` has the words alone: numbers are compared there."""
    import labkit

    (layers,) = args
    run = labkit.ranks(WORLD, _overlap_in_rank, function, layers, timeout=TIMEOUT)
    said = dict(case.expected)
    shape, begin, read, beside, issued, host = list(said)[WORLD:]
    for rank, (values, wrong, spans, elsewhere, waits) in enumerate(run):
        said[_mean_of(rank)] = values
        if wrong:
            said[shape] = ", ".join(map(str, wrong))
        if elsewhere:
            said[issued] = say("another stream", "另一个流")
        if waits:
            said[host] = say("waits for the device", "等待设备")
        if spans:  # on a card: values alone
            told = _overlap_by_spans(spans, layers, said[begin], said[read], said[beside])
            said |= dict(zip((begin, read, beside), told))
    return said


def _overlap_by_spans(spans, layers, begin, read, beside):
    """The three of one rank, where they are not as they have to be."""
    sums = [s for s in spans if s.engine == "link"]
    if len(sums) != layers:
        return begin, read, say(f"{len(sums)} instead of {layers}", f"有 {len(sums)} 次，应为 {layers} 次")
    made = [s.end_us for s in spans if s.name.startswith("aten::add")]
    reads = [s.start_us for s in spans if s.name.startswith("aten::div")]
    if any(s.start_us < end - 1e-6 for s, end in zip(sums, made)):
        begin = say("before the gradient is there", "梯度还没算完")
    if any(start < s.end_us - 1e-6 for s, start in zip(sums, reads)):
        read = say("before the sum is there", "求和还没完成")
    work = [(s.start_us, s.end_us) for s in spans if s.engine in ("cube", "vector")]
    whole = sum(s.end_us - s.start_us for s in sums)
    hidden = sum(max(0.0, min(s.end_us, e) - max(s.start_us, b)) for s in sums for b, e in work)
    if min(s.start_us for s in sums) > max(made, default=0.0) - 1e-6:
        beside = say("only when all the work is done", "全部计算之后才开始")
    elif hidden < (1 - HIDDEN_BY) * whole:
        share = 100 * (1 - hidden / whole)
        beside = say(f"{share:.0f} % of their time alone", f"{share:.0f} % 的时间没有被遮盖")
    return begin, read, beside


# ---- the case: rank 0 logs its losses


def log_cases(seed, quick):
    """Weights and batches follow the seed: nothing but the model has the losses."""
    asked = [(0, 4)] if quick else [(0, 4), (0, 7)]
    if seed:
        asked.append((0, random.Random(seed).randint(12, 40)))
    made = []
    for rank, batches in (*asked, (1, 4)):
        weight, drawn = logged(seed, batches)
        losses = [float((batch @ weight.T).square().mean()) for batch in drawn]
        expected = {
            say("losses", "损失"): losses if rank == 0 else [],
            say("the host waits", "host 等待"): say("at most once", "至多一次"),
            say("copies to the host", "到 host 的复制"): say("at most one", "至多一次"),
            say("gradients", "梯度"): say("of all batches, added up", "所有 batch 之和"),
            say("each batch goes through the model", "每个 batch 经过模型"): say("once", "一次"),
        }
        made.append(Case(f"rank {rank}, {batches} batches", (rank, batches, seed), expected, (1e-5, 0.0)))
    return made


def logged(seed: int, count: int):
    """The weight of the model, and the batches: in fp64, which no loss is rounded in."""
    g = torch.Generator().manual_seed(seed)
    weight, *batches = (torch.randn(shape, generator=g).double() for shape in ((16, 16), *[(8, 16)] * count))
    return weight / 4, [(i + 1) * batch for i, batch in enumerate(batches)]


def run_log(function, args, case):
    """How often the host waited is counted by a recording."""
    from labkit import device
    from labkit.profiler.recorder import Recorder

    rank, count, seed = args
    weight, drawn = logged(seed, count)
    model = nn.Linear(16, 16, bias=False)
    model.load_state_dict({"weight": weight.float()})
    model.npu()
    batches = [batch.float().npu() for batch in drawn]
    passes, before, reads = [], device.clock().launches, _Reads()
    model.register_forward_hook(lambda *_: passes.append(1))
    torch.npu.synchronize()
    simulated = device.mode() == "sim"
    recorder = Recorder()
    if simulated:
        recorder.start()
    try:
        with reads:
            losses = function(model, batches, rank)
    finally:
        calls = recorder.stop().calls if simulated else []
    ends = [call.end / 1e3 for call in calls if call.name.startswith(WAITS)]
    waits = len(ends)
    arrived = [span.end_us for span in device.timeline_since(before) if span.engine == "copy out"]
    copies = len(arrived)
    said = dict(case.expected)
    kept, waited, copied, gradients, through = said
    said[kept] = losses
    if waits > 1:
        said[waited] = say(f"{waits} times", f"{waits} 次")
    if copies > 1:
        said[copied] = str(copies)
    if simulated and copies and min(reads.at_us, max(ends, default=0.0)) < max(arrived) - 1e-6:
        said[waited] = say("not until the copy has arrived", "没有等到复制完成")
    if len(passes) != count:
        said[through] = say(f"{len(passes) / count:g} times", f"{len(passes) / count:g} 次")
    added = sum(batch.T @ (batch @ weight.T) for batch in drawn).T / 64  # the slopes of the mean of 8 x 16 squares
    near = 1e-4 * float(added.abs().max())
    if model.weight.grad is None or not torch.allclose(model.weight.grad.cpu().double(), added, 1e-4, near):
        said[gradients] = say("others", "不同")
    return said


class _Reads(TorchFunctionMode):
    """When numbers of a tensor of the host were first read: a copy for which nobody waits has not brought them yet."""

    READ = {
        "tolist",
        "item",
        "numpy",
        "__float__",
        "__iter__",
        "__getitem__",
        "unbind",
        "sum",
        "mean",
        "clone",
        "stack",
    }
    at_us = float("inf")

    def __torch_function__(self, func, types, args=(), kwargs=None):
        from labkit import device

        if getattr(func, "__name__", "") in self.READ and isinstance(args[0] if args else None, torch.Tensor):
            if args[0].device.type == "cpu":
                self.at_us = min(self.at_us, device.clock().host_us)
        return func(*args, **(kwargs or {}))
