"""Cases of notebook 08.04's exercises: the loss scale's next value, the factor that clips."""

from __future__ import annotations

import math
import random

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def colleague():
    """The model of mp_case: outputs of one layer are beyond fp16, its product with the next layer is as before."""
    import torch

    from labkit.migrate import model

    made = model.small(0)
    mlp = made.model.language_model.layers[1].mlp
    with torch.no_grad():
        mlp.up_proj.weight *= 2.0**18
        mlp.down_proj.weight *= 2.0**-18
    return made


def scale_cases(seed, quick):
    asked = [
        (say("an ordinary step", "普通的一步"), (1024.0, 3, False, 2.0, 0.5, 10), (1024.0, 4, False)),
        (say("an overflow", "一次溢出"), (1024.0, 7, True, 2.0, 0.5, 10), (512.0, 0, True)),
        (
            say("the last step before it grows", "增长前的最后一步"),
            (1024.0, 9, False, 2.0, 0.5, 10),
            (2048.0, 0, False),
        ),
        (
            say("an overflow where it would have grown", "本该增长时溢出"),
            (64.0, 4, True, 4.0, 0.25, 5),
            (16.0, 0, True),
        ),
        (say("every step grows", "每一步都增长"), (8.0, 0, False, 2.0, 0.5, 1), (16.0, 0, False)),
        # growth and backoff that are not each other's inverse, and a scale beyond the usual ones
        (say("it grows by four", "增长为四倍"), (32768.0, 4, False, 4.0, 0.5, 5), (131072.0, 0, False)),
        (say("it falls to an eighth", "减小到八分之一"), (0.5, 2, True, 2.0, 0.125, 5), (0.0625, 0, True)),
    ]
    return [Case(name, args, expected) for name, args, expected in (*asked, *drawn_steps(seed))]


def drawn_steps(seed):
    """Of a class's seed: scales far beyond the usual ones, which nothing bounds, counts and factors not shown. All are
    powers of 2, and exact."""
    draw, made = random.Random(seed), []
    for k in (20, -20, 100, -100, draw.randint(17, 60), -draw.randint(17, 60)) if seed else ():
        scale, growth, backoff, interval = (
            2.0**k,
            2.0 ** draw.randint(1, 5),
            2.0 ** -draw.randint(1, 5),
            draw.randint(3, 4000),
        )
        for good, overflowed in (
            (interval - 1, False),
            (draw.randrange(interval - 1), False),
            (draw.randrange(interval), True),
        ):
            if overflowed:
                expected = scale * backoff, 0, True
            else:
                grows = good + 1 == interval
                expected = scale * growth if grows else scale, 0 if grows else good + 1, False
            made.append((say("drawn", "随机"), (scale, good, overflowed, growth, backoff, interval), expected))
    return made


def clip_cases(seed, quick):
    asked = [
        (say("within the limit", "在限度以内"), [0.25, 0.0], 1.0, 1.0),
        (say("exactly at the limit", "正好到限度"), [3.0, 4.0], 5.0, 1.0),
        (say("twice the limit", "限度的两倍"), [6.0, 8.0], 5.0, 0.5),
        (say("each within the limit, together not", "单个都在限度内，合起来超过"), [3.0, 4.0], 4.0, 0.8),
        (say("one weight alone", "只有一个权重"), [16.0], 2.0, 0.125),
        (say("a norm and a limit below 1", "范数和限度都小于 1"), [0.375, 0.5], 0.25, 0.4),
        (say("three weights", "三个权重"), [1.0, 2.0, 2.0], 1.0, 1 / 3),
        (say("no gradient at all", "梯度全为零"), [0.0, 0.0], 1.0, 1.0),
    ]
    return [
        Case(name, (norms, largest), expected, tolerance=(1e-12, 1e-12))
        for name, norms, largest, expected in (*asked, *drawn_norms(seed))
    ]


def drawn_norms(seed):
    """Of a class's seed: one weight to hundreds, norms of all sizes and with all digits; limits below the norm of all
    together, close to it and above it."""
    draw, made = random.Random(seed), []
    for count in (1, draw.randint(4, 8), draw.randint(9, 20), draw.randint(200, 400)) if seed else ():
        for k in (draw.randint(-30, -6), draw.randint(-3, 3), draw.randint(6, 30)):
            norms = [draw.uniform(0.5, 2) * 10.0**k for _ in range(count)]
            norms[draw.randrange(count)] *= 10.0 ** draw.randint(-3, 3)
            together = math.hypot(*norms)
            for times in (draw.uniform(1e-6, 1e-3), draw.uniform(0.3, 0.99), draw.uniform(1.01, 3)):
                name = say(f"drawn, norms of about 1e{k}, weights: {count}, limit x {times:.2g}",
                           f"随机，范数约 1e{k}，权重数 {count}，上限 x {times:.2g}")  # fmt: skip
                made.append((name, norms, together * times, min(1.0, times)))
    return made
