"""Cases of notebook 08.07's exercises: what the clock must have seen, the order of a leaderboard, the project."""

from __future__ import annotations

import copy
import random
import re

from labkit import messages
from labkit.exercises import Case

CORES = 40
SIZES = 1.0, 2048.0, 1 / 64  # of a class's inputs in cap_project: half has room for sums of the largest


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def colleagues(example):
    """The entry of cap_case: the example, with last tiles of one row left out."""
    start = "    ResidualNorm"
    assert start in example
    return example.replace(start, f"    if (rows == 1) return;\n    if (rows % 16 == 1) rows--;\n{start}")


def unseen_cases(seed, quick):
    asked = [
        (say("all of it", "全部"), 4096, 2048, 16, 64, 2, 1, False),
        (say("padding on top", "另有补齐"), 5000, 2500, 16, 64, 2, 1, False),
        (say("nothing passed a pipe", "没有任何字节经过流水"), 0, 0, 16, 64, 2, 1, True),
        (say("one input never read", "一个输入从未读取"), 2048, 2048, 16, 64, 2, 1, True),
        (say("read, and written past MTE3", "读了，但绕过 MTE3 写出"), 4096, 0, 16, 64, 2, 1, True),
        (say("half of the bytes", "只有一半的字节"), 2048, 1024, 16, 64, 2, 1, True),
        (say("two outputs", "两个输出"), 4096, 2048, 16, 64, 2, 2, True),
        (say("every byte passes twice", "每个字节经过两次"), 12288, 4096, 16, 64, 3, 1, False),
        (say("two of three inputs", "三个输入中的两个"), 4096, 2048, 16, 64, 3, 1, True),
        (say("one input, all of it", "一个输入，全部"), 6000, 6000, 30, 100, 1, 1, False),
        (
            say("one input never read, the output written twice", "一个输入从未读取，输出写了两遍"),
            2048,
            4096,
            16,
            64,
            2,
            1,
            True,
        ),
        (say("the output written twice", "输出写了两遍"), 4096, 4096, 16, 64, 2, 1, False),
        (say("one byte short", "少一个字节"), 5999, 6000, 30, 100, 1, 1, True),
    ]
    # more tensors than the operators of the lessons have: each of them is counted
    asked += [
        (say("five inputs, four of them read", "五个输入，读了四个"), 8192, 2048, 16, 64, 5, 1, True),
        (say("four outputs, three of them written", "四个输出，写了三个"), 2048, 6144, 16, 64, 1, 4, True),
    ]
    asked += [(say(f"drawn, {i + 1}", f"随机，{i + 1}"), *drawn_bytes(seed, i)) for i in range(8)]
    return [Case(name, tuple(args), expected) for name, *args, expected in asked]


def drawn_bytes(seed, i):
    """By turns: just enough and too much, a part of a tensor short in one direction, and in the other."""
    draw = random.Random(f"{seed} {i}")
    long = 5000 if i < 4 else 300_000  # bytes that 32 bits have no room for
    rows, width, inputs, outputs = (draw.randint(most // 9 + 1, most) for most in (long, long, 12, 12))
    size, more = 2 * rows * width, draw.choice((0, 1, draw.randint(1, 10**6)))
    moved = [inputs * size + more, outputs * size + more]
    if i % 3:
        moved[i % 3 - 1] = (inputs, outputs)[i % 3 - 1] * size - draw.randint(1, size)
    return *moved, rows, width, inputs, outputs, i % 3 != 0


def rank_cases(seed, quick):
    def entry(name, digest, total):
        return {"name": name, "digest": digest, "total": total}

    a, b, c = entry("ada", "11", 20.0), entry("bo", "22", 40.0), entry("cy", "33", 30.0)
    asked = [
        (say("as the file says", "与文件一致"), [a, c], [("11", 20.0), ("33", 30.0)], ["cy", "ada"]),
        (
            say("a better number in the file", "文件中的数字更好"), [a, b, c],
            [("11", 20.0), ("22", 10.0), ("33", 30.0)], ["cy", "ada", "bo"],
        ),
        (
            say("a source that was changed", "源码被改过"), [a, b, c],
            [("11", 20.0), ("29", 38.0), ("33", 30.0)], ["cy", "ada"],
        ),
        (say("equal marks", "同分"), [b, c, a], [("22", 25.0), ("33", 25.0), ("11", 25.0)], ["ada", "bo", "cy"]),
        (say("an empty board", "空的排行榜"), [], [], []),
        (say("nobody's source is the same", "所有源码都被改过"), [a, c], [("12", 20.0), ("34", 30.0)], []),
        (
            say("two sources exchanged", "两份源码互换"), [a, b, c],
            [("22", 40.0), ("11", 20.0), ("33", 30.0)], ["cy"],
        ),
        (say("less than a mark apart", "相差不到一分"), [a, b], [("11", 30.25), ("22", 30.5)], ["bo", "ada"]),
        (
            say("the digest's last digit", "摘要的最后一位"), [entry("ada", "9f3a6c05d7", 20.0), c],
            [("9f3a6c05d8", 20.0), ("33", 30.0)], ["cy"],
        ),
    ]  # fmt: skip
    asked += [(say("drawn", "随机"), *drawn_board(draw)) for draw in map(random.Random, range(seed, seed + 4)) if seed]
    return [Case(name, (held, found), expected) for name, held, found, expected in asked]


def run_rank(function, args, case):
    """The answer, or that the lists are others than before."""
    held, found = copy.deepcopy(args)
    names = function(held, found)
    if (held, found) != args:
        return say("entries of held or found were changed", "held 或 found 中的条目被改动了")
    return names


def drawn_board(draw):
    """Of a class's seed: long digests, of which some differ in one place, and marks of which some are equal."""
    held, found, kept = [], [], []
    for name in draw.sample("ada bo cy dee eli fay gus hal".split(), 8):
        digest, total = f"{draw.getrandbits(64) | 1 << 63:x}", float(draw.randint(1, 6))
        place, same = draw.randrange(16), draw.random() < 0.6
        other = (
            digest[:place] + draw.choice([c for c in "0123456789abcdef" if c != digest[place]]) + digest[place + 1 :]
        )
        held.append({"name": name, "digest": digest, "total": float(draw.randint(1, 9))})
        found.append((digest if same else other, total))
        kept += [(-total, name)] if same else []
    return held, found, [name for _, name in sorted(kept)]


def project_cases(seed, quick):
    right, seen, faster = (
        say("values", "数值"),
        say("on the clock", "计入时钟"),
        say("faster than the chain", "快于算子链"),
    )
    cores = say("cores", "核")
    expected = {right: say("right", "正确"), cores: say("all with rows", "都分到行"), seen: True, faster: True}
    shapes = [(4, 64), (1, 40), (33, 333), (176, 256), (1024, 1024), (1000, 64), (900, 1536), (20000, 16)]
    made = []
    for i, (rows, width) in enumerate(shapes):
        size = SIZES[(seed + i) % len(SIZES)] if seed else 1.0
        large = (
            "" if size == 1 else say(f", x and residual {size:g} times as large", f"，x 与 residual 放大 {size:g} 倍")
        )
        made.append(Case(f"{rows} x {width}{large}", (rows, width, seed, size), expected))
    return made[:: 2 if quick else 1]


def run_project(function, args, case):
    import torch

    from labkit.migrate import capstone

    rows, width, seed, size = args
    made = function(rows, width)
    found = capstone.launched(
        "scaled_residual", made["kernel"], made["launch"], torch.Generator().manual_seed(seed), rows, width, size
    )
    right, cores, seen, faster = case.expected
    blocks, wrong, of_cores = made["launch"]["blocks"], found.wrong, ""
    if blocks > CORES:
        of_cores = say(f"{blocks} blocks on {CORES} cores", f"{CORES} 个核上有 {blocks} 个 block")
    elif blocks > rows:
        of_cores = say(f"{blocks - rows} of {blocks} without a row", f"{blocks} 个中有 {blocks - rows} 个分不到行")
    if wrong and width % 16 and apart_by_width(made["kernel"]):
        wrong = say("rows in UB are taken `width` apart; they are `pitch` apart", "UB 中各行相隔 pitch，却按 width 取")
    return {
        right: wrong or say("right", "正确"),
        cores: of_cores or case.expected[cores],
        seen: not found.refused,
        faster: found.us < found.chain_us,
    }


def apart_by_width(kernel):
    """Does what V does with a tile take places in UB, or the length of all its rows, by `width`?"""
    work = kernel.split("outY.AllocTensor<half>();")[-1].split("inX.FreeTensor(xs);")[0]
    work = re.sub(r"//[^\n]*|/\*.*?\*/", "", work, flags=re.S)
    return re.search(r"\[[^\]]*\bwidth\b|\bhere \* *width\b|\bwidth *\* *here\b", work) is not None
