"""AddScaled, an operator project: cases of its exercises, and known-wrong tilings that a unit test must notice."""

from __future__ import annotations

import re
import shutil
import struct
from pathlib import Path

import torch

from labkit import messages
from labkit.build.cache import keep, key
from labkit.exercises import Case

FOLDER = Path(__file__).parent
CORES = 48
DTYPES = {"half": torch.half, "float": torch.float}


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def golden(x, y, alpha=1.0):
    """The product is rounded before the sum, as Muls and Add do it."""
    return x + y * torch.tensor(alpha, dtype=x.dtype)


def fields(tiling) -> dict:
    """The tiling's bytes by name."""
    return dict(zip(("total", "share", "tile", "alpha"), struct.unpack("<IIIf", tiling.data[:16])))


# ---- writing the tiling: what its decisions come to


def tiling_cases(seed, quick):
    asked = [("half", 1000), ("float", 5), ("half", 48 * 16 * 7), ("float", 100_003), ("half", 16 * 100 + 1)]
    asked += [("float", (1 << 30) + 5)]  # its bytes need more than 32 bits
    return [Case(f"{name} n={n}", (name, n), say("right", "正确")) for name, n in (asked[:3] if quick else asked)]


def tiling_asked(text, builds):
    """The number of cores as the platform says it; that of these cases is one of several."""
    region = re.sub(r"//[^\n]*|/\*.*?\*/", "", _cpp(text.split('return """', 1)[-1]), flags=re.S)
    if not re.search(r"\bcores\b", region):
        return say(
            "The number of cores is written as a number: it is `cores`, and another chip has another.",
            "核数写成了常数：应使用 cores，其他芯片的核数不同。",
        )
    return ""


def _cpp(lines: str) -> str:
    """A cell of Python begins with `# TODO`: in C++ that is a comment, too."""
    return re.sub(r"(?m)^(\s*)# TODO", r"\1// TODO", lines)


def run_tiling(function, args, case):
    """Builds the project with the learner's tiling function and asks it; what is wrong with its answer, or "right"."""
    from labkit.build.compiler import ToolError
    from labkit.program import operator_project
    from labkit.source.errors import CompileError

    text = (FOLDER / "op_host" / "add_scaled.cpp").read_text(encoding="utf-8")
    begin, end = text.index("    const uint32_t unit ="), text.index("    AddScaledTiling* tiling")
    text = (
        text[:begin]
        + _cpp(function())
        + text[end:].replace("SetBlockDim((total + share - 1) / share)", "SetBlockDim(blocks)")
    )

    def make(work):
        shutil.copytree(FOLDER / "op_kernel", work / "op_kernel")
        (work / "op_host").mkdir()
        (work / "op_host" / "add_scaled.cpp").write_text(text, encoding="utf-8")

    name, n = args
    try:
        project = operator_project.load(keep("package_tiling", key(text, *_kernel_texts()), "", make))
        empty = torch.empty(n, dtype=DTYPES[name], device="meta")
        tiling = project.tile(empty, empty)
    except (CompileError, ToolError, operator_project.ProjectError) as error:
        return str(error).split("\n")[0].rpartition("/")[2]
    return judge(n, 2 if name == "half" else 4, tiling.blocks, fields(tiling)["share"])


def _kernel_texts() -> list[str]:
    return [f.read_text(encoding="utf-8") for f in sorted((FOLDER / "op_kernel").iterdir())]


def judge(n: int, size: int, blocks: int, share: int) -> str:
    """What is wrong with such a cut of n elements of `size` bytes, or "right"."""
    if share * size % 32 or not share:
        return say(
            f"share {share} is no multiple of 32 bytes ({size} bytes an element)",
            f"每份 {share} 个，不是 32 字节的整数倍（每个元素 {size} 字节）",
        )
    if blocks * share < n:
        return say(
            f"{blocks} blocks of {share} leave {n - blocks * share} of {n} out",
            f"{blocks} 个核每核 {share} 个，{n} 个中漏掉 {n - blocks * share} 个",
        )
    if (blocks - 1) * share >= n:
        return say(
            f"{blocks} blocks of {share}: the last begins behind element {n}",
            f"{blocks} 个核每核 {share} 个：最后一个核从第 {n} 个元素之后开始",
        )
    if blocks > CORES:
        return say(
            f"{blocks} blocks on {CORES} cores: a second round for some",
            f"{CORES} 个核上有 {blocks} 个 block：有的核要跑两轮",
        )
    if share > best_share(n, size):
        return say(
            f"share {share}, {best_share(n, size)} is possible", f"每份 {share} 个，可以做到 {best_share(n, size)} 个"
        )
    return say("right", "正确")


def best_share(n: int, size: int) -> int:
    unit = 32 // size
    return -(-(-(-n // unit)) // CORES) * unit


# ---- writing the unit test: the wrong tilings that its cases must notice


def _cut(units: int, unit: int, n: int) -> tuple[int, int]:
    share = -(-units // CORES) * unit
    return (-(-n // share) if share else 0), share


def wrong_tilings() -> dict:
    """name -> (n, bytes of an element) -> (blocks, share)."""
    return {
        say("the share is rounded down", "每份向下取整"): lambda n, s: _blocks(
            n, max(n * s // 32 // CORES, 1) * (32 // s)
        ),
        say("the last piece below 32 bytes is forgotten", "忘记不足 32 字节的最后一段"): lambda n, s: _short(n, s),
        say("always all 48 cores", "总是用全部 48 个核"): lambda n, s: (CORES, _cut(-(-n * s // 32), 32 // s, n)[1]),
        say("every element has two bytes", "每个元素都当作两个字节"): lambda n, s: _cut(-(-n // 16), 16, n),
    }


def _blocks(n: int, share: int) -> tuple[int, int]:
    return min(-(-n // share), CORES), share


def _short(n: int, size: int) -> tuple[int, int]:
    unit = 32 // size
    share = -(-(n // unit) // CORES) * unit
    return (n // unit * unit + share - 1) // share if share else 0, share


def ut_cases(seed, quick):
    caught = {name: say("noticed", "发现") for name in wrong_tilings()}
    expected = {say("cases", "用例数"): say("at most five", "至多五个")}
    expected |= {say("the right one", "正确的 tiling"): say("passes", "通过"), **caught}
    return [Case("known-wrong tilings", (), expected)]


def run_ut(function, args, case):
    """Each tiling against the learner's cases: a case notices one whose decisions are not right."""
    given, right = function(), say("right", "正确")
    odd = next((n for _, n in given if not isinstance(n, int) or n < 1), None)
    asked = [(int(n), {"half": 2, "float": 4}[name]) for name, n in given]
    found = {say("cases", "用例数"): say("at most five", "至多五个") if len(asked) <= 5 else str(len(asked))}
    if odd is not None:
        found[say("cases", "用例数")] = say(f"{odd!r} is no number of elements", f"{odd!r} 不是元素个数")
    found[say("the right one", "正确的 tiling")] = say("passes", "通过")
    for name, cut in wrong_tilings().items():
        seen = any(judge(n, s, *cut(n, s)) != right for n, s in asked)
        found[name] = say("noticed", "发现") if seen else say("passes all your cases", "通过你的全部用例")
    if any(judge(n, s, *_cut(-(-n * s // 32), 32 // s, n)) != right for n, s in asked):
        found[say("the right one", "正确的 tiling")] = say("fails", "失败")
    return found
