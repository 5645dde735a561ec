"""Cases of notebook 06.09's exercises: the law of scaling, the sweet spot of a sweep, copies that do not wait."""

from __future__ import annotations

import random

import torch

from labkit import messages
from labkit.exercises import Case

STREAMS, TURNS = 4, 12
# further requests, none like another: elements, shape, type
OTHERS = (
    (7, (7,), torch.float64),
    (6, (2, 3), torch.float16),
    (5, (5,), torch.int32),
    (8, (4, 1, 2), torch.bool),
    (3, (3,), torch.float32),
)


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def law_cases(seed, quick):
    asked = [(1, 0.3, 0.1), (4, 0.0, 0.0), (8, 0.25, 0.0), (2, 0.1, 0.02), (16, 0.05, 0.01), (64, 0.1, 0.05)]
    draw = random.Random(
        seed
    )  # a grader's: from few workers to very many, and ways that cost from nearly nothing to much
    for k in range(1, 19) if seed else ():
        asked.append((draw.randint(1 << k, 2 << k), draw.random(), draw.random() * (1 / 8, 1, 30, 1e-6)[k % 4]))
    return [
        Case(f"n={n}, {a}, {b}", (n, a, b), n / (1 + a * (n - 1) + b * n * (n - 1)), tolerance=(1e-9, 0.0))
        for n, a, b in asked
    ]


def spot_cases(seed, quick):
    def case(name, sizes, rates, p99, limit, expected, *share):
        """rates: (middle, half of the interval)"""
        return Case(name, (sizes, [(r - h, r, r + h) for r, h in rates], p99, limit, *share), expected)

    sizes, flat = [1, 2, 4, 8], [(100, 1), (200, 1), (390, 1), (400, 1)]
    return [
        case(say("narrow intervals", "区间窄"), sizes, flat, [10, 10, 11, 20], 100, 4),
        case(say("a wide interval", "区间宽"), sizes, [(100, 1), (200, 1), (370, 20), (400, 1)], [1, 2, 3, 4], 9, 8),
        case(
            say("another has the highest end", "上界最高的是另一个"),
            [*sizes, 16],
            [(100, 1), (351, 1), (358, 1), (385, 20), (390, 2)],
            [1, 2, 3, 4, 5],
            9,
            4,
        ),
        case(say("a limit", "有时延限制"), sizes, [(90, 1), (380, 1), (390, 1), (400, 1)], [9, 30, 9, 9], 10, 4),
        case(say("nothing keeps both", "没有同时满足的"), sizes, flat, [9, 9, 30, 40], 10, None),
        case(say("exactly the limit", "恰好等于时延限制"), sizes, flat, [9, 9, 10, 9], 10, 4),
        case(say("exactly the share", "恰好达到份额"), sizes, [(100, 0), (360, 0), (390, 0), (400, 0)], [1] * 4, 9, 2),
        case(
            say("the best one's interval is wide", "最佳者的区间宽"),
            sizes,
            [(100, 1), (370, 2), (385, 2), (400, 20)],
            [1] * 4,
            9,
            4,
        ),
        case(
            say("falls far behind the best", "最佳之后大幅下降"),
            sizes,
            [(90, 1), (280, 1), (400, 1), (300, 1)],
            [1] * 4,
            9,
            4,
        ),
        case(
            say("four fifths of the best", "最佳的五分之四"),
            sizes,
            [(50, 1), (66, 1), (78, 1), (80, 1)],
            [1] * 4,
            9,
            2,
            0.8,
        ),
        case(
            say("falls behind the best", "最佳之后下降"), sizes, [(90, 1), (370, 1), (400, 1), (300, 1)], [1] * 4, 9, 2
        ),
    ]


def repair_cases(seed, quick):
    g = torch.Generator().manual_seed(seed)
    expected = {
        say("values", "数值"): say("those of the requests", "与请求相同"),
        say("pinned", "锁页"): True,
        say("four streams", "四个流"): say("at least twice one", "至少两倍于一个流"),
    }
    return [Case(f"n={n:,}", ([torch.randint(0, 99, (n,), generator=g) for _ in range(STREAMS)],), expected)
            for n in ((1 << 15,) if quick else (1 << 15, 1 << 16))]  # fmt: skip


def run_repair(function, args, case):
    (requests,) = args
    requests = [r.cpu().float() for r in requests]
    buffers = function([r.clone() for r in requests])
    few = [requests[0][:n].reshape(shape).to(t) for n, shape, t in OTHERS]
    others = function([r.clone() for r in few])
    pinned = all(b.is_pinned() for b in [*buffers, *others])
    gain = turns_us(buffers[:1], STREAMS * TURNS) / turns_us(buffers, TURNS)
    found = say("at least twice one", "至少两倍于一个流") if gain > 1.9 else say(f"{gain:.1f} times", f"{gain:.1f} 倍")
    return {
        say("values", "数值"): _not_kept(buffers, requests)
        or _not_kept(others, few)
        or say("those of the requests", "与请求相同"),
        say("pinned", "锁页"): pinned,
        say("four streams", "四个流"): found,
    }


def _not_kept(buffers, requests) -> str:
    """What of the requests the buffers do not hold."""
    if len(buffers) != len(requests):
        return say(
            f"{len(buffers)} buffers for {len(requests)} requests", f"{len(requests)} 个请求有 {len(buffers)} 个缓冲"
        )
    for b, r in zip(buffers, requests):
        if b.dtype != r.dtype:
            return say(f"{b.dtype} for a request of {r.dtype}", f"请求是 {r.dtype}，缓冲是 {b.dtype}")
        if b.shape != r.shape:
            shapes = tuple(b.shape), tuple(r.shape)
            return say("shape {} for a request of {}".format(*shapes), "请求的形状是 {1}，缓冲的是 {0}".format(*shapes))
        if not torch.equal(b, r):
            return say("others", "不同")
    return ""


def turns_us(buffers, turns: int) -> float:
    """Copies each buffer in on its stream, computes, copies out; microseconds on the host's clock."""
    from labkit import device

    streams = [torch.npu.Stream() for _ in buffers]
    inside = [torch.empty_like(b, device="npu") for b in buffers]
    outside = [torch.empty_like(b, pin_memory=True) for b in buffers]
    torch.npu.synchronize()
    begin = clock(device)
    for _ in range(turns):
        for stream, b, x, out in zip(streams, buffers, inside, outside):
            with torch.npu.stream(stream):
                x.copy_(b, non_blocking=True)
                out.copy_(x.relu_(), non_blocking=True)
    torch.npu.synchronize()
    return clock(device) - begin


def clock(device) -> float:
    import time

    return device.clock().host_us if device.mode() == "sim" else time.perf_counter() * 1e6
