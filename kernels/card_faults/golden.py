"""What a card leaves of a failing kernel, and the kernel behind it.

`extract` writes the text of aclGetRecentErrMsg() and of plog in the form that CANN's runtime gives it on Atlas A2. The
form (fields, errcode, errorStr, retCode) is that of messages in public issues: vllm-project/vllm-ascend 2757, 3263 and
3955, tile-ai/tilelang-ascend 995, hw-native-sys/PTOAS 251, 862 and 1167. Every number in it is made up here.
"""

from __future__ import annotations

import random
import re

import torch

from labkit.exercises import Case, Out

TILE = 512

# name: errcode, errorStr, retCode with its words, the code that the synchronisation returns, for a vector kernel
CAUSES = {
    "align": ("(0, 0x800, 0)", "The UB address accessed by the VEC instruction is not aligned", "exception"),
    "ub": ("(0x4000000000000000, 0, 0)", "VEC instruction error: the ub address out of bounds", "exception"),
    "ddr": ("(0x800000, 0, 0)", "The DDR address of the MTE instruction is out of range", "exception"),
    "late": ("(0, 0, 0)", "timeout or trap error", "timeout"),
}
ENDS = {"exception": ("0x31", "vector core exception", 507035), "timeout": ("0x30", "vector core timeout", 507034)}


def extract(cause: str, blocks, start: int = 0x124400000000, offset: int = 0x2C4) -> str:
    """The message of a launch in which these blocks failed at `offset` bytes behind the kernel's first instruction. A
    block that stands twice failed on both of its vector cores."""
    errcode, words, end = CAUSES[cause]
    code, told, _ = ENDS[end]
    lines = []
    for i, block in enumerate(blocks):
        core = (block * 7 + 5) % 48
        lines += [
            f"The error from device(chipId:0, dieId:0), serial number is 12, there is an exception of aivec error, "
            f"core id is {core}, error code = {errcode[1:].partition(',')[0]}, dump info: pc start: {start:#x}, "
            f"current: {start + offset:#x}, vec error info: 0x9f{block:02x}, mte error info: 0x60000{block:02x}, "
            "aic error mask: 0x6500020bd00028c, para base: 0x12c100000000.[FUNC:PrintCoreInfo]",
            f"The extend info: errcode:{errcode} errorStr: {words}. fixp_error0 info: 0x60000{block:02x}, "
            f"fixp_error1 info: 0x{0x26 + i:x}, fsmId:1, tslot:0, thread:0, ctxid:0, blk:{block}, "
            f"sublk:{int(block in blocks[:i])}, subErrType:4.[FUNC:PrintCoreInfo]",
        ]
    lines.append(f"Kernel task happen error, retCode={code}, [{told}].[FUNC:PreCheckTaskErr]")
    return "\n".join(lines)


def plog_cases(seed, quick):
    """Drawn: the cause, one to six of 48 blocks in any order, in some messages one of them twice, the address of the
    kernel, the place in it."""
    draw = random.Random(seed)
    made = []
    for i in range(3 if quick else 6):
        cause = draw.choice(list(CAUSES))
        blocks = sorted(draw.sample(range(48), draw.randint(1, 6)))
        start, offset = 0x124000000000 + draw.randrange(1 << 16) * 0x1000, 4 * draw.randint(20, 2000)
        wanted = {"cause": CAUSES[cause][1], "blocks": blocks, "offset": hex(offset)}
        named = draw.sample(blocks, len(blocks)) + blocks[: i % 2]
        made.append(Case(f"message {i + 1}", (extract(cause, named, start, offset),), wanted))
    return made


def repair_cases(seed, quick):
    g = torch.Generator().manual_seed(seed)
    made = []
    for n, blocks in ((2048, 4), (4000, 4)) if quick else ((2048, 4), (4000, 4), (777, 3), (1500, 2)):
        x = torch.randint(-64, 64, (n,), generator=g) / 8
        share = -(-(-(-n // 8)) // blocks) * 8
        args = (x, Out(n, torch.float), n, share)
        split = [*range(0, n, share), n]
        made.append(Case(f"n={n}", args, 2 * x, blocks=blocks, tile=TILE, split=split))
    return made


def shorter(text: str) -> str:
    """The message without the fields that this lesson does not read, for the screen."""
    text = re.sub(r", (?:vec|mte) error info: \w+|, aic error mask: \w+|, para base: \w+", "", text)
    text = re.sub(r" fixp_error0 info: .*?ctxid:0,", " ...", text)
    return re.sub(r"\.?\[FUNC:[^\n]*", "", text)
