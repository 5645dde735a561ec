"""Cases of notebooks 05.05 and 05.06: who waits for whom, what is hidden, a step of two ranks that hides its sums.

The functions that run in the ranks stand at the top level: labkit.ranks sends them, and the learner's with them, by
their code.
"""

from __future__ import annotations

import torch
from torch import nn

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
    for name, sums, work in asked[:6] if quick else asked:
        made.append(Case(name, (sums, work), len(_quarters(sums) - _quarters(work)) / 4))
    return made


def _quarters(pieces) -> set:
    """The quarters of a microsecond in them."""
    return {t for a, b in pieces for t in range(int(4 * a), int(4 * b))}


# ---- hidden sums


def overlap_cases(seed, quick):
    said = {
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
            {say("mean gradients", "平均梯度"): torch.arange(layers) + (WORLD + 1) / 2} | said,
        )
        for layers in ((4,) if quick else (4, 6))
    ]


def _overlap_in_rank(rank, function, layers):
    import torch.distributed as dist

    from labkit import device
    from labkit.profiler.recorder import Recorder

    # every product is exact: rank + 1 in each element
    a, b = torch.full((1024, 1024), rank + 1.0).npu(), torch.full((1024, 1024), 1 / 1024).npu()

    def layer(i):
        def gradient():
            for _ in range(2):
                product = a @ b
            return product[:64] + i

        return gradient

    side, reduce, elsewhere, recorder = torch.npu.Stream(), dist.all_reduce, [], Recorder()

    def noted(*args, **kwargs):
        if torch.npu.current_stream() != side:
            elsewhere.append(1)
        return reduce(*args, **kwargs)

    torch.npu.synchronize()
    before = len(device.timeline())
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
    spans = device.timeline()[before:]
    each = [g.cpu().flatten() for g in means]  # of each its first element, or the one that is farthest from it
    return torch.stack([g[(g - g[0]).abs().argmax()] for g in each]), spans, len(elsewhere), waits


def run_overlap(function, args, case):
    import labkit

    (layers,) = args
    (values, spans, elsewhere, waits), (others, *_) = labkit.ranks(
        WORLD, _overlap_in_rank, function, layers, timeout=TIMEOUT
    )
    said = dict(case.expected)
    means, begin, read, beside, issued, host = said
    said[means] = others if torch.equal(values, case.expected[means]) else values
    if elsewhere:
        said[issued] = say("another stream", "另一个流")
    if waits:
        said[host] = say("waits for the device", "等待设备")
    sums = [s for s in spans if s.engine == "link"]
    if not spans:  # on a card: values alone
        return said
    if len(sums) != layers:
        said[beside] = say(f"{len(sums)} instead of {layers}", f"有 {len(sums)} 次，应为 {layers} 次")
        return said
    made = [s.end_us for s in spans if s.name.startswith("aten::add")]
    reads = [s.start_us for s in spans if s.name.startswith("aten::div")]
    if any(s.start_us < end - 1e-6 for s, end in zip(sums, made)):
        said[begin] = say("before the gradient is there", "梯度还没算完")
    if any(start < s.end_us - 1e-6 for s, start in zip(sums, reads)):
        said[read] = say("before the sum is there", "求和还没完成")
    work = [(s.start_us, s.end_us) for s in spans if s.engine in ("cube", "vector")]
    whole = sum(s.end_us - s.start_us for s in sums)
    hidden = sum(max(0.0, min(s.end_us, e) - max(s.start_us, b)) for s in sums for b, e in work)
    if min(s.start_us for s in sums) > max(made, default=0.0) - 1e-6:
        said[beside] = say("only when all the work is done", "全部计算之后才开始")
    elif hidden < (1 - HIDDEN_BY) * whole:
        share = 100 * (1 - hidden / whole)
        said[beside] = say(f"{share:.0f} % of their time alone", f"{share:.0f} % 的时间没有被遮盖")
    return said


# ---- the case: rank 0 logs its losses


FIRST = 1.1  # the elements of the first batch: no loss is a whole number, none has a half's digits


def log_cases(seed, quick):
    made = []
    for rank, batches in ((0, 4), (1, 4)) if quick else ((0, 4), (0, 7), (1, 4)):
        losses = [float((16 * FIRST * (i + 1) * 0.25) ** 2) for i in range(batches)]
        expected = {
            say("losses", "损失"): losses if rank == 0 else [],
            say("the host waits", "host 等待"): say("at most once", "至多一次"),
            say("copies to the host", "到 host 的复制"): say("at most one", "至多一次"),
            say("gradients", "梯度"): say("of all batches, added up", "所有 batch 之和"),
            say("each batch goes through the model", "每个 batch 经过模型"): say("once", "一次"),
        }
        made.append(Case(f"rank {rank}, {batches} batches", (rank, batches), expected, (1e-5, 0.0)))
    return made


def run_log(function, args, case):
    """How often the host waited is counted by a recording."""
    from labkit import device
    from labkit.profiler.recorder import Recorder

    rank, count = args
    model = nn.Linear(16, 16, bias=False)
    nn.init.constant_(model.weight, 0.25)
    model.npu()
    batches = [torch.full((8, 16), FIRST * (i + 1)).npu() for i in range(count)]
    passes, before = [], len(device.timeline())
    model.register_forward_hook(lambda *_: passes.append(1))
    torch.npu.synchronize()
    simulated = device.mode() == "sim"
    recorder = Recorder()
    if simulated:
        recorder.start()
    try:
        losses = function(model, batches, rank)
    finally:
        calls = recorder.stop().calls if simulated else []
    waits = sum(call.name.startswith(WAITS) for call in calls)
    copies = sum(span.engine == "copy out" for span in device.timeline()[before:])
    said = dict(case.expected)
    kept, waited, copied, gradients, through = said
    said[kept] = losses
    if waits > 1:
        said[waited] = say(f"{waits} times", f"{waits} 次")
    if copies > 1:
        said[copied] = str(copies)
    if len(passes) != count:
        said[through] = say(f"{len(passes) / count:g} times", f"{len(passes) / count:g} 次")
    added = sum((FIRST * (i + 1)) ** 2 / 2 for i in range(count))  # the slope of every weight, by all batches
    if model.weight.grad is None or not torch.allclose(model.weight.grad.cpu(), torch.tensor(added), rtol=1e-4):
        said[gradients] = say("others", "不同")
    return said
