"""Cases of notebook 08.05's exercises: a loss that is far off, the curvature, recall, a verdict on two models."""

from __future__ import annotations

import random

from labkit import messages
from labkit.exercises import Case
from labkit.migrate.evaluation import metric


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def spike_cases(seed, quick):
    flat, steep = [2.0] * 20, [20.0 - i / 2 for i in range(20)]
    rising = [2.0] * 15 + [2.0, 2.5, 3.0, 3.5, 4.0]
    asked = [
        (say("a little above", "略高"), flat, 2.5, False),
        (say("far above", "远高于"), flat, 3.25, True),
        (say("exactly 1.0 above", "恰好高 1.0"), flat, 3.0, False),
        (
            say("above the last, which was low itself", "高于最后一步，而最后一步本身偏低"),
            [2.0] * 19 + [0.5],
            2.25,
            False,
        ),
        (say("one of the last steps was odd", "最近几步中有一步异常"), [2.0] * 18 + [9.0, 2.0], 3.5, True),
        (say("an odd step long before", "很早之前有一步异常"), [2.0] * 10 + [9.0] + [2.0] * 9, 3.5, True),
        (
            say("up and down, then quiet for five steps", "来回摆动，最近五步平静"),
            [2.0, 2.5] * 7 + [2.25] * 6,
            4.5,
            False,
        ),
        (say("it has risen, a little above", "已经升高，再略高一些"), [2.0] * 8 + [3.0] * 4 + [4.0] * 8, 4.5, False),
        (say("it has risen, a little below", "已经升高，略低一些"), [2.0] * 8 + [3.0] * 4 + [4.0] * 8, 3.75, False),
        (say("it goes up and down, and a little more", "来回摆动，再高一些"), [2.0, 2.3] * 10, 5.2, False),
        (say("it goes up and down by a quarter", "来回摆动四分之一"), [2.0, 2.25] * 10, 4.5, False),
        (say("a steep fall, a step back", "快速下降时的一次回升"), steep, 15.0, False),
        (say("a steep fall, a long way back", "快速下降时的大幅回升"), steep, 17.0, True),
        (say("a steep fall, just over the limit", "快速下降时刚超过界限"), steep, 16.75, True),
        (say("a steep fall, exactly at the limit", "快速下降时恰好在界限上"), steep, 16.5, False),
        (say("far below", "远低于"), flat, 0.5, False),
        (say("it rises, and a jump", "正在升高，再跳一次"), rising, 4.25, True),
        (
            say("up and down, then quiet for eight steps", "来回摆动，最近八步平静"),
            [2.0, 2.5] * 6 + [2.25] * 8,
            4.5,
            False,
        ),
        (
            say("up and down, then quiet for ten steps", "来回摆动，最近十步平静"),
            [2.0, 3.0] * 5 + [3.0] * 10,
            4.5,
            True,
        ),
    ]
    return [Case(name, (losses, loss), expected) for name, losses, loss, expected in asked]


def trace_cases(seed, quick):
    """The weights differ from one another, and one is below 0. Of the fourth powers the quotient depends on `step`; of
    the third powers a weight that was moved and not put back shows in the next vector."""
    ones, signs = [1, 1, 1], [[1, 1, 1], [1, -1, 1], [1, 1, -1], [1, -1, -1]]
    diagonal, mixed = [[1, 0, 0], [0, 2, 0], [0, 0, 4]], [[2, 3, -1], [3, 5, 2], [-1, 2, 8]]
    low, others = [[0.5, 0, 0], [0, 0.25, 0], [0, 0, 0.125]], [[1, 2, 0], [2, -1, 1]]
    asked = [
        (say("no mixed derivatives, one vector", "没有混合导数，一个向量"), diagonal, (0, 0), [ones], 0.25, 7.0),
        (say("one vector of signs", "一个符号向量"), diagonal, (0, 0), [[1, -1, -1]], 0.5, 7.0),
        (say("mixed derivatives, one vector", "有混合导数，一个向量"), mixed, (0, 0), [ones], 0.25, 23.0),
        (say("mixed derivatives, all vectors", "有混合导数，所有向量"), mixed, (0, 0), signs, 0.25, 15.0),
        (say("a flat loss", "平坦的损失"), low, (0, 0), [ones], 0.25, 0.875),
        (say("a loss that is no parabola", "不是抛物线的损失"), diagonal, (1, 0), [ones], 0.5, 11.0),
        (say("two vectors of other numbers", "两个向量，分量不全是 1 和 -1"), diagonal, (1, 0), others, 0.25, 23.5),
        (say("fourth powers, where the step shows", "四次方，看得出步长"), diagonal, (0, 1), [ones], 0.5, 25.75),
    ]
    return [
        Case(name, (matrix, powers, vectors, step), expected, tolerance=(1e-9, 1e-9))
        for name, matrix, powers, vectors, step, expected in (*asked, *drawn_curves(seed))
    ]


def drawn_curves(seed):
    """Of a class's seed: two weights to dozens, one vector to many, steps from thousandths to some whole ones."""
    draw, made = random.Random(seed), []
    sizes = (2, 1, 2.0**-10), (3, 5, 2.0**-6), (draw.randint(4, 9), 2, 2.5), (draw.randint(20, 40), 30, 0.0625)
    for count, many, step in sizes if seed else ():
        matrix = [[0.0] * count for _ in range(count)]
        for i in range(count):
            for j in range(i + 1):
                matrix[i][j] = matrix[j][i] = draw.randint(-8, 8) / 4
        vectors = [[draw.choice((-1, 1)) for _ in range(count)] for _ in range(many)]
        vectors[-1] = [draw.choice((-2, -1, 0.5, 1, 3)) for _ in range(count)]
        cubic, quartic = draw.choice((0.25, 0.5)), draw.choice((0.125, 0.5))
        found = [
            sum(a * s * t for row, s in zip(matrix, v) for a, t in zip(row, v))
            + sum(
                2 * cubic * w * s**2 + quartic * (3 * w**2 * s**2 + step**2 * s**4) for w, s in zip(weights(count), v)
            )
            for v in vectors
        ]
        name = say(f"drawn, {count} weights, step {step}", f"随机，{count} 个权重，步长 {step}")
        made.append((name, matrix, (cubic, quartic), vectors, step, sum(found) / many))
    return made


def weights(count):
    """Where the gradients are asked for: 1, 2, -1, and the like for more."""
    return [(1.0, 2.0, -1.0)[i % 3] * (1 + i // 3 / 8) for i in range(count)]


def run_trace(function, args, case):
    """The loss is w.Aw / 2 + cubic * sum(w ** 3) / 3 + quartic * sum(w ** 4) / 4; its gradient at w is
    A w + cubic * w ** 2 + quartic * w ** 3."""
    matrix, (cubic, quartic), vectors, step = args

    def gradient(at):
        return [sum(a * w for a, w in zip(row, at)) + cubic * own**2 + quartic * own**3 for row, own in zip(matrix, at)]

    return function(gradient, weights(len(matrix)), vectors, step)


def recall_cases(seed, quick):
    ranked = [[9.0, 1.0, 2.0], [5.0, 4.0, 3.0], [7.0, 8.0, 6.0]]  # the right one comes first, second, third
    turned = [list(row) for row in zip(*ranked)]
    asked = [
        (say("the best one", "最好的一个"), ranked, 1, 1 / 3),
        (say("among two", "前两个之中"), ranked, 2, 2 / 3),
        (say("among all", "全部之中"), ranked, 3, 1.0),
        (say("the other way round", "反方向"), turned, 1, 2 / 3),
        (
            say("a model that says the same of everything", "对一切给出相同分数的模型"),
            [[1.0] * 4 for _ in range(4)],
            1,
            0.0,
        ),
        (
            say("two come first, one second, one last", "两个第一，一个第二，一个最后"),
            [[9.0, 1.0, 2.0, 3.0], [1.0, 9.0, 2.0, 3.0], [9.0, 1.0, 8.0, 3.0], [9.0, 8.0, 7.0, 1.0]],
            2,
            3 / 4,
        ),
        (say("negative scores", "负的分数"), [[-1.0, -2.0], [-3.0, -4.0]], 1, 0.5),
        (
            say("equal scores, and there is room for both", "分数相同，而两个都放得下"),
            [[5.0, 5.0, 1.0], [2.0, 9.0, 1.0], [7.0, 3.0, 6.0]],
            2,
            1.0,
        ),
        (
            say("two equal ones stand before it", "前面有两个分数相同"),
            [[4.0, 9.0, 9.0], [2.0, 9.0, 1.0], [7.0, 3.0, 6.0]],
            2,
            2 / 3,
        ),
        (say("more items than queries", "项比查询多"), [[9.0, 1.0, 2.0, 3.0], [8.0, 4.0, 5.0, 6.0]], 2, 0.5),
    ]
    return [Case(name, (scores, k), expected, tolerance=(1e-9, 1e-9)) for name, scores, k, expected in asked]


def answers(right: int, wrong: int, lost: int, gained: int) -> tuple[list[float], list[float]]:
    """(before, after): of right + lost answers that were right before, `lost` are wrong afterwards."""
    before = [1.0] * right + [0.0] * wrong + [1.0] * lost + [0.0] * gained
    return before, [1.0] * right + [0.0] * wrong + [0.0] * lost + [1.0] * gained


def verdict_cases(seed, quick):
    one_each = answers(9, 9, 1, 1)
    at_the_margin = -metric("", [b - a for a, b in zip(*one_each)]).low
    asked = [
        (say("20 answers lost of 200", "200 个回答中丢了 20 个"), answers(90, 90, 20, 0), 0.05, "worse"),
        (say("6 lost, 6 gained of 400", "400 个中丢 6 个、得 6 个"), answers(200, 188, 6, 6), 0.05, "no worse"),
        (say("1 lost, 1 gained of 20", "20 个中丢 1 个、得 1 个"), answers(9, 9, 1, 1), 0.05, "undecided"),
        (
            say("12 lost of 400, within the margin", "400 个中丢了 12 个，在余量之内"),
            answers(194, 194, 12, 0),
            0.05,
            "worse",
        ),
        (say("10 gained of 200", "200 个中多得 10 个"), answers(100, 90, 0, 10), 0.05, "no worse"),
        (say("2 lost of 200", "200 个中丢了 2 个"), answers(100, 98, 2, 0), 0.05, "no worse"),
        (
            say("12 lost of 200, perhaps within the margin", "200 个中丢了 12 个，也许在余量之内"),
            answers(94, 94, 12, 0),
            0.05,
            "worse",
        ),
        (
            say("2 lost of 200, a narrow margin", "200 个中丢了 2 个，余量很小"),
            answers(100, 98, 2, 0),
            0.01,
            "undecided",
        ),
        (say("100 lost of 200", "200 个中丢了 100 个"), answers(60, 40, 100, 0), 0.05, "worse"),
        (say("6 lost, 3 gained of 200", "200 个中丢 6 个、得 3 个"), answers(100, 91, 6, 3), 0.03, "undecided"),
        (say("exactly at the margin", "恰好在余量上"), one_each, at_the_margin, "undecided"),
        (
            say(
                "scores between 0 and 1: 30 a little lower, 10 much higher", "0 到 1 之间的分数：30 个略低，10 个高得多"
            ),
            ([0.5] * 40, [0.4] * 30 + [1.0] * 10),
            0.05,
            "no worse",
        ),
    ]
    asked += [
        (say(f"drawn, {len(pair[0])} images", f"随机，{len(pair[0])} 张图"), pair, *m) for pair, *m in drawn(seed)
    ]
    return [Case(name, (*pair, margin), expected) for name, pair, margin, expected in asked]


def drawn(seed):
    """Of a class's seed: from few images to thousands, whose scores change anywhere, at the end, or at the beginning;
    no verdict is close."""
    draw, made = random.Random(seed), []
    for count, where in ((25, 0), (150, 0), (500, 0), (2000, 1), (2000, -1)) if seed else ():
        count += draw.randint(0, count // 4)
        for shift in (-0.4, 0.4, 0.0) if not where else (-0.4,):  # of many images the interval takes its time
            before, part = [draw.random() for _ in range(count)], count // 5
            changed = (
                draw.sample(range(count), part) if not where else range(count)[-part:] if where > 0 else range(part)
            )
            after = list(before)
            for i in changed:
                after[i] += draw.uniform(-0.5, 0.5) + shift
            found = metric("", [b - a for a, b in zip(before, after)])
            wide = found.high - found.low
            if min(abs(found.low), abs(found.high)) < wide / 5:
                continue
            margin = max(draw.uniform(0.3, 0.7) * wide if shift == 0 else draw.uniform(1.3, 3) * wide, 1e-3)
            if abs(found.low + margin) < wide / 5:
                continue
            expected = "worse" if found.high < 0 else "no worse" if found.low > -margin else "undecided"
            made.append(((before, after), margin, expected))
    return made
