"""Cases of the cube and Matmul exercises: C = A B, A and B half, C float; sizes that fill their fractals and sizes that
do not.
"""

from __future__ import annotations

import ctypes
import random
import re

import torch

from labkit import messages
from labkit.exercises import Case, Out

TOLERANCE = (1e-4, 1e-3)  # float sums of exact products, in an order that is not ours
TILING_WORDS = 50


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def _operands(seed, m, n, k):
    g = torch.Generator().manual_seed(seed)
    return torch.randn(m, k, generator=g).half(), torch.randn(k, n, generator=g).half()


def _case(seed, m, n, k, *, turned=False, blocks=1, timed=False, more=None):
    a, b = _operands(seed, m, n, k)
    want = (a.double() @ b.double()).float()
    args = (
        a,
        b.T.contiguous() if turned else b,
        Out((m, n), torch.float32),
        *(more if more is not None else (m, n, k)),
    )
    return Case(f"m={m} n={n} k={k}", args, want, TOLERANCE, blocks=blocks, tile=n, timed=timed)


def left_cases(seed, quick):
    """One, two and three rows and columns of fractals of A, each with each, and some that are drawn. m is never 1:
    Mmad takes that for a vector."""
    sizes = ((16, 16, 16), (16, 16, 48), (48, 16, 16), (64, 80, 112), (40, 72, 100), (128, 128, 128))
    draw = random.Random(seed)
    few = [(16 * down, 16, 16 * deep) for down in (1, 2, 3) for deep in (1, 2, 3)]
    drawn = [tuple(draw.randint(2, 128) for _ in range(3)) for _ in range(6)]
    narrow = [(draw.randint(17, 32), 16, draw.randint(17, 128)), (draw.randint(17, 128), 16, draw.randint(17, 32))]
    sizes = (*sizes[:5], *few[4:], *drawn[: 2 if quick else 6], *narrow, sizes[5])
    return [_case(seed, *s, turned=True) for s in (sizes[1:-1] if quick else sizes)]


def right_cases(seed, quick):
    sizes = ((16, 16, 16), (16, 48, 16), (16, 16, 48), (64, 80, 112), (40, 72, 100), (128, 128, 128))
    return [_case(seed, *s) for s in (sizes[1:5] if quick else sizes)]


def sum_cases(seed, quick):
    """k in pieces of 64: one piece, whole pieces, a short last piece. A class has a k beyond all of these, and the
    largest m and n.
    """
    sizes = ((16, 16, 32), (32, 48, 64), (64, 64, 128), (40, 72, 100), (128, 112, 1000), (33, 17, 320))
    draw = random.Random(seed)
    long = (draw.randint(2, 64), draw.randint(1, 64), draw.randint(3000, 9000))
    wide = (128, 128, 64 * draw.randint(2, 12) + draw.randint(1, 63))
    some = tuple(draw.randint(2, most) for most in (128, 128, 2000))
    return [_case(seed, *s) for s in (sizes[1:5] if quick else (*((long, wide, some) if seed else ()), *sizes))]


def overlap_cases(seed, quick):
    """All of A and B lie in L1; the last case is long enough to see whether MTE1 and M overlap."""
    sizes = ((16, 32, 160), (40, 72, 100), (128, 128, 320), (128, 128, 1024))
    return [_case(seed, *s, timed=s[2] == 1024) for s in (sizes[1:] if quick else sizes)]


def tail_cases(seed, quick):
    sizes = ((16, 16, 16), (48, 64, 64), (40, 16, 32), (40, 72, 100), (33, 128, 64), (120, 100, 90))
    return [_case(seed, *s) for s in (sizes[1:5] if quick else sizes)]


def nz_cases(seed, quick):
    """(row, column, rows) -> place, from a matrix that was really laid out."""
    made = []
    for rows, columns, asked in (
        (32, 32, ((0, 0), (0, 15), (0, 16), (1, 0), (16, 0), (31, 31))),
        (40, 72, ((0, 16), (39, 5), (39, 71), (17, 40))),
        (1, 64, ((0, 63), (0, 16))),
        (100, 16, ((99, 15), (50, 3))),
        (100, 48, ((0, 16), (99, 47))),
        (64, 32, ((0, 16), (63, 31))),
    ):
        tall = -(-rows // 16) * 16
        places = torch.arange(tall * -(-columns // 16) * 16).view(-1, tall, 16).transpose(0, 1).reshape(tall, -1)
        made += [Case(f"{rows} x {columns}", (row, column, rows), int(places[row, column])) for row, column in asked]
    return made[2:] if quick else made


# ---- the Matmul object: (m, n, k, cores) instead of the kernel's last arguments; `run` makes the tiling

SIZES = (
    (64, 64, 64, 1),
    (256, 256, 128, 4),
    (300, 257, 177, 4),
    (1000, 520, 256, 12),
    (1, 1000, 64, 8),
    (1024, 1024, 512, 24),
)


def object_cases(seed, quick):
    """In a class each of m, n and k is once larger than in all others."""
    draw = random.Random(seed)
    drawn = []
    for longest in range(3):
        size = [draw.randint(260, 400) for _ in range(3)]  # enough for parts that begin in other rows and columns
        size[longest] = draw.randint(1100, 2500)
        drawn.append((*size, draw.randint(6, 24)))
    return [
        _case(seed, m, n, k, blocks=cores, more=((m, n, k, cores),), timed=m == 1024)
        for m, n, k, cores in (SIZES[1:4] if quick else (*(drawn if seed else ()), *SIZES))
    ]


def host_cases(seed, quick):
    """And one that nobody has seen, on some of the cores."""
    draw = random.Random(seed)
    m, n, k, cores = draw.randint(100, 400), draw.randint(100, 400), draw.randint(20, 200), draw.randint(2, 20)
    return [_case(seed, m, n, k, blocks=cores, more=((m, n, k, cores),)), *object_cases(seed, quick)]


def _sizes(words) -> list[int]:
    """M, N, Ka, Kb and singleCoreK of a tiling: where they are others, results are wrong and say it better."""
    return [*words[1:5], words[7]]


def _launch(kernel, args, make, least=0, wanted=None):
    a, b, c, asked = args
    words = (ctypes.c_int32 * TILING_WORDS)()
    told = ""
    if make(*asked, words):
        told = say(
            f"make_tiling found no tiling for m, n, k, cores = {asked}: GetTiling returned -1",
            f"m, n, k, cores = {asked} 时 make_tiling 没有得到切分：GetTiling 返回 -1",
        )
    elif words[0] > asked[3]:
        told = say(
            f"the tiling is for {words[0]} cores, and `cores` is {asked[3]}",
            f"切分用了 {words[0]} 个核，而 `cores` 为 {asked[3]}",
        )
    elif words[0] < least:
        told = say(
            f"m, n, k = {asked[:3]}: the tiling is for {words[0]} cores; of the {asked[3]} that can take part {least} "
            f"get a piece when SetDim is given `cores`",
            f"m, n, k = {asked[:3]} 时，切分只用了 {words[0]} 个核；SetDim 的参数为 `cores` 时，"
            f"可参加的 {asked[3]} 个核中有 {least} 个分到任务",
        )
    elif wanted is not None and _sizes(words) == _sizes(wanted) and list(words) != list(wanted):
        told = say(
            f"m, n, k, cores = {asked}: the tiling is not that of A and B half and C float, rows of ND in GM, none of "
            f"them transposed: for these sizes the host was told something else",
            f"m, n, k, cores = {asked} 时，切分不是 A、B 为 half、C 为 float（在 GM 中、ND、均不转置）时的切分："
            f"对这组大小告诉主机的是别的",
        )
    if told:
        from labkit.launch.record import LaunchError, LaunchRecord

        raise LaunchError(
            LaunchRecord(
                kernel.target, kernel.signature.name, 0, 0.0, "modelled", kernel.chip, finished=False, crashed=told
            )
        )
    return kernel[max(1, min(words[0], 64))](a, b, c, torch.zeros(1 << 20, dtype=torch.uint8).npu(), words)


def run_object(kernel, args, case):
    """With the tiling of the finished file."""
    import labkit
    from labkit.launch.host_function import host_function

    make = host_function(labkit.kernel("kernels/matmul/matmul.asc", entry="product_mdl"), "make_tiling")
    return _launch(kernel, args, lambda m, n, k, cores, words: make(m, n, k, cores, -1, -1, -1, words))


def run_host(kernel, args, case):
    """With the learner's own tiling. It is to be for as many cores as the finished file's, for each size and not only
    for the one that is timed: fewer cores give the same numbers. And where the calls
    themselves name no wrong type, each size's tiling is to be that of the finished file: a variable may be another type
    for some sizes."""
    import labkit
    from labkit.launch.host_function import host_function

    make = host_function(labkit.kernel("kernels/matmul/matmul.asc", entry="product_mdl"), "make_tiling")
    possible = (ctypes.c_int32 * TILING_WORDS)()
    make(*args[3], -1, -1, -1, possible)
    wanted = None if host_asked(kernel.text, None) else possible
    return _launch(kernel, args, host_function(kernel, "make_tiling"), possible[0], wanted)


def host_asked(text, builds):
    """The types that make_tiling tells, where they stand in the calls themselves."""
    region = re.sub(r"//[^\n]*|/\*.*?\*/", "", text.split("make_tiling(")[1].split("ReadTiling(")[0], flags=re.S)
    for name, wanted in (("A", "DT_FLOAT16"), ("B", "DT_FLOAT16"), ("C", "DT_FLOAT")):
        calls = re.findall(rf"\bSet{name}Type\s*\(([^()]*)\)", region)
        if len(calls) != len(re.findall(rf"\bSet{name}Type\b", region)) or not calls:
            return say(
                f"Set{name}Type is not called: the tiling is not told position, format and type of {name}.",
                f"没有调用 Set{name}Type：切分不知道 {name} 的位置、格式和类型。",
            )
        for kind, right in ((r"\bDT_\w+", wanted), (r"(?<=CubeFormat::)\w+", "ND"), (r"(?<=TPosition::)\w+", "GM")):
            for told in re.findall(kind, ", ".join(calls)):  # of more than one, for some sizes another, each
                if told != right:
                    return say(
                        f"Set{name}Type is given {told}: of {name} it is {right}.",
                        f"Set{name}Type 的参数是 {told}：{name} 应为 {right}。",
                    )
        if re.search(r"\btrue\b", ", ".join(calls)):
            return say(
                f"Set{name}Type says that {name} is transposed: it is not.",
                f"Set{name}Type 说 {name} 是转置的：其实不是。",
            )
    return ""
