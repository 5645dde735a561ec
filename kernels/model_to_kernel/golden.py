"""Cases of notebook 05.04's exercises: a launch planned for its kernel, a step's gain, a launch without copies."""

from __future__ import annotations

import random

import torch

from labkit import messages, paths
from labkit.exercises import Case

CORES, UB, LINE = 48, 184 * 1024, 128  # vector cores; bytes of UB that a kernel may fill; halves in 256 bytes


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def halves(g, *shape):
    return (torch.randint(-64, 65, shape, generator=g) / 16).half()


def silu_times(gate, up):
    g = gate.double()
    return (g / (1 + torch.exp(-g)) * up.double()).half()


def kernel(path, entry):
    import labkit

    return labkit.kernel(paths.kernels_dir() / path, entry=entry)


# ---- a plan for gated.asc


def our_plan(n: int, cores: int, ub: int) -> tuple[int, int, int]:
    """(blocks, tile, buffers): about four tiles a core, as long as two sets of buffers allow."""
    longest = ub // (8 + 2 * 6) // LINE * LINE
    tile = min(longest, -(-n // (4 * cores) // LINE) * LINE)
    return min(cores, -(-n // tile)), tile, 2


def plan_cases(seed, quick):
    """Those of our chip with enough elements are launched; the others, also of a chip with fewer cores and less room,
    are only looked at."""
    made = []
    expected = {"UB": say("enough", "放得下"), say("blocks", "核数"): say("each has a tile", "每核都有 tile")}
    launched = {"y": say("right", "正确")}
    for n in (720_896,) if quick else (720_896, 262_144, 2_883_584):
        made.append(
            Case(f"n={n:,}", (n, CORES, UB), expected | {"tile": _tile(*our_plan(n, CORES, UB)[1:])} | launched)
        )
    looked_at = [(n, CORES, UB) for n in (4096, 4200, 100, 192 * LINE, 192 * LINE + 16)]
    looked_at += [(720_896, 40, 64 * 1024), (5000, 8, UB), (720_896, 20, UB), *drawn_chips(seed)]
    for n, cores, ub in () if quick else looked_at:
        name = f"n={n:,}" if (cores, ub) == (CORES, UB) else f"n={n:,}, cores={cores}, ub={ub:,}"
        made.append(Case(name, (n, cores, ub), expected | {"tile": _tile(*our_plan(n, cores, ub)[1:])}))
    return made


def _tile(tile: int, buffers: int) -> str:
    return say(f"{tile:,} halves, {buffers} sets of buffers", f"{tile:,} 个 half，{buffers} 组缓冲区")


def drawn_chips(seed):
    """Of a class's seed: chips with other numbers of cores, one or thousands, and of bytes, and for each an n with
    fewer tiles than cores, one of which a quarter of a share fits, and one that UB cuts. Then chips whose UB has room
    for a line or two, and for megabytes."""
    draw, made = random.Random(seed), []
    many = (1, 2), (3, 9), (10, 47), (49, 99), (100, 3000)
    for i, cores in enumerate(draw.randint(*ends) for ends in many if seed):
        ub = draw.randint(16 * 1024, 250 * 1024) << (i == 2) * draw.randint(1, 5)
        longest = ub // (8 + 2 * 6)
        below = draw.randint(1, max(1, cores - 1)) * LINE, draw.randint(2 * LINE, longest - 1) * cores * 4 // 2
        made += [(n, cores, ub) for n in (*below, draw.randint(4, 9) * longest * cores + draw.randint(1, 99))]
    for lines in (1, 2, draw.randint(3, 6), draw.randint(10_000, 99_000)) if seed else ():
        cores, ub = draw.randint(1, 99), 20 * LINE * lines + draw.randint(0, 20 * LINE - 1)
        made += [
            (4 * cores * LINE * lines * times + draw.randint(1, 99), cores, ub) for times in (1, draw.randint(2, 9))
        ]
    return made


def run_plan(function, args, case):
    """Launched by the learner's plan. The plans of small n are only looked at."""
    n, cores, ub = args
    plan = function(n, cores, ub)
    said = dict(case.expected)
    fits, work, length, *shown = said
    blocks, tile, buffers = (int(part) for part in plan)
    tiles = -(-n // tile) if tile > 0 else 0
    if blocks != min(cores, tiles):
        said[work] = say(f"{blocks} for {tiles} tiles", f"{tiles} 个 tile 用了 {blocks} 个核")
    said[length] = _tile(tile, buffers)  # what is right the case says, so that nothing here computes it
    needed = tile * (8 + 6 * buffers)
    if needed > ub:  # a launch would only say the same, in more words
        said[fits] = say(f"{needed:,} of {ub:,} bytes", f"需要 {needed:,}，只有 {ub:,} 字节")
    if needed > ub or not shown:
        return said
    (right,) = shown
    if rest := tile * 2 % 32:  # the twin would say it of every copy
        said[right] = say(
            f"not launched: {tile * 2:,} bytes end {rest} bytes into a block of 32",
            f"没有启动：{tile * 2:,} 字节不是 32 字节块的整数倍，多出 {rest} 字节",
        )
        return said
    g = torch.Generator().manual_seed(n)
    gate, up = halves(g, n).npu(), halves(g, n).npu()
    gated, y = kernel("model_to_kernel/gated.asc", "gated"), torch.zeros(n).half().npu()

    gated[blocks](gate, up, y, n, tile, buffers)
    if not torch.allclose(y.cpu().float(), silu_times(gate.cpu(), up.cpu()).float(), rtol=2e-3, atol=1e-3):
        said[right] = say("wrong", "错误")
    return said


# ---- what the step gains


def amdahl_cases(seed, quick):
    profiles = {
        "gated": (
            [("LayerNormV4", 6.5), ("MatMulV2", 10.5), ("gated", 754.8), ("MatMulV2", 11.6), ("gated", 754.8)],
            1600,
        ),
        "MatMulV2": (
            [("MatMulV2", 10.5), ("gated", 4.8), ("MatMulV2", 11.6), ("Add", 5.4), ("BatchMatMulV2", 9.5)],
            96.0,
        ),
        # types whose names hold the one that is asked for
        "Add": ([("MatMulV2", 10.5), ("Add", 5.4), ("Add", 5.5), ("AddLayerNorm", 3.5), ("Add", 5.6)], 40.0),
    }
    asked = [("gated", 48.0), ("MatMulV2", 2.0), ("Add", float("inf")), ("MatMulV2", 1.0)]
    made = []
    for name, times in asked[:3] if quick else asked:
        rows, step = profiles[name]
        left = sum(us * (1 - 1 / times) for kind, us in rows if kind == name)
        made.append(Case(f"{name} {times:g} times", (rows, step, name, times), step / (step - left), (1e-6, 0.0)))
    return made


# ---- the case: no copies in front of the operator


def repair_cases(seed, quick):
    made, tokens = [], random.Random(seed).randint(1500, 3000)  # of a class's seed: a long text
    for rows, width in ((64, 704),) if quick else ((64, 704), (33, 160), (1, 2816), *[(tokens, 704)] * (seed != 0)):
        packed = halves(torch.Generator().manual_seed(seed + rows), rows, 2 * width)
        expected = {"y": silu_times(*packed.chunk(2, -1)), **_counted(1, 0, [48])}
        made.append(Case(f"{rows} x 2 * {width}", (packed,), expected, tolerance=(2e-3, 1e-3)))
    return made


def _counted(kernels: int, copies: int, blocks: list[int]) -> dict:
    return {
        say("kernels", "kernel 数"): kernels,
        say("copies between the host and the device", "主机与设备之间的拷贝"): copies,
        say("blocks of swiglu", "swiglu 的 block 数"): blocks[0] if len(blocks) == 1 else blocks,
    }


def run_repair(function, args, case):
    """On how many blocks it was launched is the launches' own record's to say, whichever way they were asked for."""
    from labkit import device
    from labkit.launch import record

    (packed,) = args
    rows, width = packed.shape[0], packed.shape[1] // 2
    swiglu, launched = kernel("swiglu/swiglu.asc", "swiglu<half>"), []
    y, packed = torch.zeros(rows, width).half().npu(), packed.npu()
    torch.npu.synchronize()
    before = device.clock().launches
    record.watchers.append(launched.append)
    try:
        function(swiglu, packed, y)
    finally:
        record.watchers.remove(launched.append)
    torch.npu.synchronize()
    blocks = [one.blocks for one in launched]
    counted = _counted(1, 0, blocks)
    if device.mode() == "sim":
        over_the_link = [span.engine.startswith("copy") for span in device.timeline_since(before)]
        counted = _counted(over_the_link.count(False), over_the_link.count(True), blocks)
    if y.device.type != packed.device.type:  # another tensor in its place
        return {"y": say("no longer on the device", "已不在设备上"), **counted}
    return {"y": y.cpu(), **counted}
