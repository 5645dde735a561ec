"""Cases of notebook 08.01's exercises: what leaves the card, how much fits it, a wait that need not be."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace

import torch
from torch import nn

from labkit import messages
from labkit.exercises import Case

GB = 1 << 30


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def rows(*given):
    """(name, kernel, forward, backward, perhaps optimizer) -> rows of a report."""
    return [
        SimpleNamespace(
            name=f"aten::{n}", kernel=k, forward=f, backward=b, optimizer=sum(o), calls=f + b + sum(o), us=float(f)
        )
        for n, k, f, b, *o in given
    ]


def leaves_cases(seed, quick):
    plain = rows(("mm", "aclnn", 3, 6), ("zeros_like", "others", 0, 9), ("t", "view", 4, 0))
    one = [*plain, *rows(("lgamma", "cpu", 2, 0))]
    more = [*rows(("lgamma", "cpu", 3, 0), ("clone", "torch_npu", 2, 2)), *plain, *rows(("digamma", "cpu", 0, 5))]
    return [
        Case(say("nothing leaves", "没有离开"), (plain,), []),
        Case(say("one operator", "一个算子"), (one,), ["aten::lgamma"]),
        Case(say("two, one of them backward", "两个，其中一个在反向"), (more,), ["aten::digamma", "aten::lgamma"]),
        Case(
            say("three, the fewest calls first in the report", "三个，报告中调用最少的在前"),
            (rows(("lgamma", "cpu", 3, 0), ("digamma", "cpu", 0, 5), ("polygamma", "cpu", 4, 0)),),
            ["aten::digamma", "aten::polygamma", "aten::lgamma"],
        ),
        Case(
            say("an aclop, and one that the optimizer calls", "一个 aclop，以及优化器调用的一个"),
            (
                rows(
                    ("im2col", "aclop", 15, 0),
                    ("lgamma", "cpu", 10, 0),
                    ("digamma", "cpu", 6, 5),
                    ("lerp", "cpu", 0, 0, 12),
                    ("polygamma", "cpu", 9, 0),
                ),
            ),
            ["aten::lerp", "aten::digamma", "aten::lgamma", "aten::polygamma"],
        ),
        *(drawn_leaves(seed + turn) for turn in range(3 * (seed != 0))),
    ]


def drawn_leaves(seed):
    draw = random.Random(seed)
    names = draw.sample(["erfinv", "logit", "igamma", "polygamma", "sinc", "heaviside", "histc", "mode"], 6)
    counts = draw.sample(range(1, 40), 6)
    held = [(n, "cpu" if i < 3 else draw.choice(["aclnn", "others"]), c // 2, c - c // 2)
            for i, (n, c) in enumerate(zip(names, counts))]  # fmt: skip
    leaving = sorted(zip(counts, names[:3]), reverse=True)
    draw.shuffle(held)
    return Case("drawn", (rows(*held),), [f"aten::{name}" for _, name in leaving])


def run_leaves(function, args, case):
    return list(function(*args))


def batch_cases(seed, quick):
    asked = [
        (1, 1, 2, 4, 4, 64),
        (2, 2, 4, 8, 16, 64),
        (7, 7, 14, 12, 3, 64),
        (7, 7, 14, 10, 3, 64),
        (7, 7, 14, 30, 3, 32),  # not one
        (2, 2, 4, 14, 51, 64),  # exactly full: float division says one fewer
        (5, 5, 10, 11, 55, 32),
        (4, 8, 10, 8, 4, 64),  # gradients in float
    ]
    return [
        Case(
            f"{w}+{g}+{s} GB, {a} GB / {b}",
            (SimpleNamespace(weights=w * GB, gradients=g * GB, states=s * GB, activations=a * GB, hbm_bytes=h * GB), b),
            (h - w - g - s) * b // a,
        )
        for w, g, s, a, b, h in asked
    ]


class _Held(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def wait_cases(seed, quick):
    expected = {
        say("values", "数值"): say("right", "正确"),
        say("waits", "等待"): 0,
        say("x is changed", "x 被修改"): False,
    }
    inputs = {
        "small": [0.5, -0.25, 0.0],
        "large": [0.5, -96.0, 2.0],
        "just one": [1.0, -1.0, 0.5],
        "one of them": [0.5, -1.5, 0.0, 0.25],
        "two rows": [[0.5, -4.0, 1.5], [0.25, 1.25, 0.0]],
    }
    if seed:
        draw = random.Random(seed)
        inputs["drawn"] = [draw.randint(-64, 64) / 8 for _ in range(draw.randint(4, 9))]
        for power in (draw.randint(4, 15), draw.randint(16, 100)):  # no size is too large to be divided by
            inputs[f"drawn, up to 2^{power}"] = [draw.uniform(-1, 1) * 2.0**power for _ in range(draw.randint(2, 9))]
        # one axis, two, four; hundreds of numbers and many thousands
        for shape in ((draw.randint(200, 900),), (draw.randint(90, 200), 300), (2, 3, draw.randint(7, 40), 5)):
            for most in (0.5, 96.0):
                flat = torch.tensor([draw.uniform(-most, most) for _ in range(math.prod(shape))])
                inputs[f"drawn, {shape} up to {most}"] = flat.reshape(shape)
    return [Case(name, (torch.as_tensor(values),), expected) for name, values in inputs.items()]


def _shown(values) -> str:
    return " ".join(f"{v:.3f}" for v in values.detach().cpu().flatten().tolist()[:12])


def run_wait(function, args, case):
    from labkit import device, migrate
    from labkit.profiler.recorder import Recorder

    x = args[0].cpu()
    wanted = x / max(1.0, float(x.abs().max()))
    there, recorder = x.npu(), Recorder()
    before = there.clone()
    recorder.start()
    try:
        got = function(there)
    finally:
        calls = recorder.stop().calls if device.mode() == "sim" else []
    close = got.shape == wanted.shape and torch.allclose(got.cpu(), wanted, atol=1e-6)
    changed = not torch.equal(there, before)
    report = migrate.assess(_Held(function), x.clone(), optimizer=None)
    waits = sum(risk.calls for risk in report.risks if risk.kind in ("waits", "shapes"))
    asked = ("aclrtSynchronize", "aclrtStreamQuery", "aclrtQueryEvent")
    waits = waits or sum(call.name.startswith(asked) for call in calls)  # where its values came from, too
    return {
        say("values", "数值"): say("right", "正确") if close else _shown(got),
        say("waits", "等待"): waits,
        say("x is changed", "x 被修改"): changed,
    }
