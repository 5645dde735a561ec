"""Cases of notebook 08.06's exercises: gradients of parts, where to cut a pipeline."""

from __future__ import annotations

import random
from numbers import Integral

from labkit import messages
from labkit.exercises import Case


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def mean_cases(seed, quick):
    asked = [
        (say("equal parts", "各部分相等"), [8.0, 12.0], [4, 4], 2.5),
        (say("a short caption in one", "其中一部分的描述很短"), [12.0, 2.0], [6, 2], 1.75),
        (say("three parts", "三个部分"), [10.0, 9.0, 1.0], [5, 3, 2], 2.0),
        (say("a part without a word", "一个部分没有词"), [6.0, 0.0], [3, 0], 2.0),
        (say("a mean that is no short decimal", "平均值不是有限小数"), [1.5, 0.25, 3.0], [2, 1, 4], 4.75 / 7),
    ]
    return [Case(name, (sums, counts), expected, tolerance=(1e-9, 1e-9)) for name, sums, counts, expected in asked]


def slower(times, cut) -> float:
    return max(sum(times[:cut]), sum(times[cut:]))


def cut_cases(seed, quick):
    asked = [
        (say("equal layers", "各层相等"), [1, 1, 1, 1]),
        (say("a tower in front", "前面有视觉塔"), [7, 2, 2, 2]),
        (say("a large head", "输出层很大"), [1, 1, 1, 5]),
        (say("a long second layer", "第二层很长"), [3, 9, 1, 1]),
        (say("falling", "递减"), [6, 4, 3, 2, 1]),
        (say("a long layer in the middle", "中间一层很长"), [2, 5, 3]),
        (say("two layers", "两层"), [3, 8]),
        (say("an odd sum", "总和为奇数"), [5, 2, 6]),
        (say("parts of a millisecond", "不足一毫秒"), [0.5, 0.25, 0.75, 0.125]),
        *((say(f"drawn, {len(times)} layers", f"随机，{len(times)} 层"), times) for times in drawn_layers(seed)),
    ]
    return [
        Case(name, (times,), min(range(1, len(times)), key=lambda cut: slower(times, cut))) for name, times in asked
    ]


def drawn_layers(seed):
    """Of a class's seed: from few layers to very many, exact in binary; the place to cut lies anywhere."""
    draw, made = random.Random(seed), []
    for k in range(1, 10) if seed else ():
        times = [draw.randint(1, 800) / 8 for _ in range(draw.randint(1 << k, 2 << k))]
        if k % 2:  # a tower in front, or a head behind, as long as a part of the others
            times.insert(draw.choice((0, len(times))), draw.randint(1, 6 * int(sum(times))) / 8)
        made.append(times)
    return made + ([[0.125 * 2**i for i in range(30)][:: draw.choice((1, -1))]] if seed else [])


def run_cut(function, args, case):
    """The cut is right if its slower stage is as fast as can be: of equal cuts any will do."""
    (times,) = args
    cut = function(list(times))
    if not isinstance(cut, Integral) or not 0 < cut < len(times):  # NumPy's whole numbers, too
        return cut
    return case.expected if slower(times, cut) == slower(times, case.expected) else cut
