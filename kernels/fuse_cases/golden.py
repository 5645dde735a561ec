"""Cases of notebooks 04.09 and 04.10: launches behind a host, rows of tables, a claim, a Focus, an LSTM cell."""

from __future__ import annotations

import torch
from torch.nn import functional as F

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


# ---- the time of a request, and of each of many


def pace(launches: list[float], issue: float) -> tuple[float, float]:
    end = 0.0
    for k, us in enumerate(launches):
        end = max(end, (k + 1) * issue) + us
    return end, max(sum(launches), len(launches) * issue)


def pace_cases(seed, quick):
    """Exact in binary: those that are shown are multiples of 1/8."""
    g = generator(seed)
    rows = [
        (say("the host is slower", "主机较慢"), [1.25, 7.0] * 8 + [3.5, 5.25, 4.0, 5.0, 3.0, 3.5, 1.5], 6.0),
        (say("the device is slower", "设备较慢"), [3.25, 191.0] * 3 + [12.0, 24.0, 10.0], 6.0),
        (say("one launch", "一次启动"), [35.5], 6.0),
        (say("a long one at first", "第一次很长"), [40.0, 1.0, 1.0, 1.0, 1.0], 6.0),
        (say("a long one at last", "最后一次很长"), [1.0, 1.0, 1.0, 1.0, 40.0], 6.0),
    ]
    for k in range(1 if quick else 4):
        us = (torch.randint(1, 160, (5 + 3 * k,), generator=g) / 8).tolist()
        rows.append((say(f"drawn, {k + 1}", f"随机，{k + 1}"), us, 1.0 + 2 * k))
    # of a class's seed, still exact in binary: a millionth of a us counts, and launches may be many or take seconds
    for k, (count, most) in enumerate(((6, 16), (9, 4096), (700, 64), (40, 1 << 24)) if seed else ()):
        us = (torch.randint(1, most << 20, (count,), generator=g, dtype=torch.int64) / 2**20).tolist()
        issue = int(torch.randint(most << 17, most << 20, (), generator=g)) / 2**20
        rows.append((say(f"drawn, {k + 5}", f"随机，{k + 5}"), us, issue))
    return [Case(name, (us, issue), pace(us, issue)) for name, us, issue in rows]


# ---- rows of tables


def rows_cases(seed, quick):
    g, made = generator(seed), []
    for tables, batch, each, rows, width, size in (
        (1, 4, 3, 10, 64, 2), (3, 8, 5, 20, 16, 4), (8, 16, 20, 1000, 64, 2), (2, 1, 6, 3, 32, 4),
    ):  # fmt: skip
        ids = torch.randint(0, rows, (tables, batch, each), generator=g) ** 3 // rows**2  # most of them small
        distinct = sum(len(set(table.flatten().tolist())) for table in ids)
        asked = f"{batch} x {each}"
        name = say(f"{tables} tables of {rows} rows, {asked} ids", f"{tables} 张 {rows} 行的表，{asked} 个 id")
        made.append(Case(name, (ids, width, size), (ids.numel() * width * size, distinct * width * size)))
    return made


# ---- which of the published figures is reached


def judged(before: dict, after: dict) -> tuple[bool, ...]:
    """Latency, throughput, results, memory."""

    def slower(run):
        return max(run["host"], run["device"])

    whole = [run["results"] + run["tables"] for run in (before, after)]
    return (
        before["latency"] / after["latency"] >= 2.8,
        slower(before) / slower(after) >= 3.1,
        1 - after["results"] / before["results"] >= 0.45,
        1 - whole[1] / whole[0] >= 0.45,
    )


# (latency, host, device: us; results, tables: MB), before and after: the recommender at three batches, as the analysis
# gave them, rounded; then systems that we made up, for which other claims hold.
SYSTEMS = {
    "batch 1": ((139, 138, 43.5, 0.004, 1025), (14.5, 6, 14.5, 0.001, 1025)),
    "batch 128": ((139, 138, 91.5, 0.27, 1025), (35.5, 6, 35.5, 0.001, 1025)),
    "batch 8192": ((1635, 138, 1632, 24.3, 1025), (1523, 6, 1523, 0.02, 1025)),
    "small tables": ((400, 120, 396, 60, 20), (120, 30, 118, 8, 20)),
    "half the results": ((300, 290, 150, 10, 0.5), (80, 78, 60, 5, 0.5)),
    "a slow host": ((180, 186, 60, 8, 100), (60, 58, 50, 5, 100)),
    "a quick host": ((280, 60, 280, 9, 4), (96, 20, 84, 6, 4)),
    "the device decides": ((420, 100, 400, 9, 4), (150, 90, 100, 6, 4)),
    "the host decides afterwards": ((420, 100, 400, 9, 4), (140, 130, 90, 6, 4)),
    "another one decides": ((420, 400, 100, 9, 4), (140, 90, 130, 6, 4)),
    "a busy device": ((300, 60, 280, 9, 4), (110, 20, 95, 4, 4)),
    "exactly as many": ((300, 186, 120, 9, 4), (120, 60, 55, 4, 4)),
    "nearly": ((278, 90, 152.5, 100, 4), (100, 40, 50, 58, 2)),
    "a little more than asked": ((290, 96, 160, 100, 50), (100, 40, 50, 53, 26)),
}
ZH = {
    "small tables": "小表",
    "half the results": "结果减半",
    "a slow host": "慢主机",
    "the host decides afterwards": "之后由主机决定",
    "a quick host": "快主机",
    "the device decides": "由设备决定",
    "another one decides": "之后由另一方决定",
    "a busy device": "忙设备",
    "exactly as many": "恰好达到",
    "nearly": "差一点",
    "a little more than asked": "略多于要求",
}
WHAT = ("latency", "host", "device", "results", "tables")


def judge_cases(seed, quick):
    made = []
    for name, pair in SYSTEMS.items():
        before, after = (dict(zip(WHAT, numbers)) for numbers in pair)
        made.append(Case(say(name, ZH.get(name, name)), (before, after), judged(before, after)))
    return made


# ---- Focus as one convolution


def eighths(*shape: int, g: torch.Generator) -> torch.Tensor:
    """Small integers / 8, in double: products and sums are exact."""
    return torch.randint(-8, 9, shape, generator=g).double() / 8


def focus(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x[..., ::2, ::2], x[..., 1::2, ::2], x[..., ::2, 1::2], x[..., 1::2, 1::2]], 1)


def focus_cases(seed, quick):
    """The weight is settled by its size, so it is compared itself; that it is right, a convolution says. Weights of any
    kind: they are only moved, so each has to come back as it was."""
    g, made = generator(seed), []
    for channels, out, kernel, side in ((3, 4, 3, 8), (1, 2, 1, 6), (2, 3, 5, 12), (2, 2, 2, 8), (1, 2, 4, 8)):
        shapes = (2, channels, side, side), (out, 4 * channels, kernel, kernel)
        x, weight = (torch.randn(s, generator=g).double() for s in shapes)
        # [out, column's slice, row's slice, channels, row, column], put in the order of the places
        by_place = weight.view(out, 2, 2, channels, kernel, kernel).permute(0, 3, 4, 2, 5, 1)
        want, padding = by_place.reshape(out, channels, 2 * kernel, 2 * kernel), 2 * (kernel // 2)
        after = F.conv2d(x, want, stride=2, padding=padding)
        assert torch.allclose(after, F.conv2d(focus(x), weight, padding=kernel // 2))
        name = say(f"{channels} channels, kernel {kernel}", f"{channels} 通道，卷积核 {kernel}")
        made.append(Case(name, (weight,), (want, padding), tolerance=(0, 0)))
    return made


# ---- two products as one


def run_concat(function, args, case):
    """Weight and bias, and which of the two layers' tensors are no longer what they were."""
    before = [t.clone() for t in args]
    weight, bias = function(*args)
    names = zip(("of_x", "x_bias", "of_h", "h_bias"), args, before)
    changed = ", ".join(name for name, now, then in names if not torch.equal(now, then))
    return {"weight": weight, "bias": bias, "changed": changed or say("nothing", "无")}


def all_digits(*shape: int, g: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=g, dtype=torch.float64)


def of_any_size(*shape: int, g: torch.Generator) -> torch.Tensor:
    """From 1e-30 to 1e30."""
    return all_digits(*shape, g=g) * 10 ** (60 * torch.rand(shape, generator=g, dtype=torch.float64) - 30)


def concat_cases(seed, quick):
    """Of a class's seed: numbers with all their digits, then of any size, also as float, and other widths."""
    g, made = generator(seed), []
    asked = [(3, 4, eighths, torch.float64), (8, 8, eighths, torch.float64), (6, 2, eighths, torch.float64)]
    if seed:
        for drawn, dtype in ((all_digits, torch.float64), (of_any_size, torch.float64), (of_any_size, torch.float32)):
            inputs, width = torch.randint(1, 80, (2,), generator=g).tolist()
            asked.append((inputs, width, drawn, dtype))
    for inputs, width, drawn, dtype in asked:
        shapes = (4 * width, inputs), (4 * width,), (4 * width, width), (4 * width,)
        of_x, x_bias, of_h, h_bias = (drawn(*s, g=g).to(dtype) for s in shapes)
        both = torch.hstack([of_x, of_h]), x_bias + h_bias
        want = {"weight": both[0], "bias": both[1], "changed": say("nothing", "无")}
        name = say(f"{inputs} inputs, width {width}", f"{inputs} 个输入，宽度 {width}")
        made.append(Case(name, (of_x, x_bias, of_h, h_bias), want, tolerance=(0, 0)))
    return made
