"""What the host's functions answer: the scratch that each function of whole tensors asks for, and every field of each
tiling, against tests/twin/tiling/answers.csv (`python tests/twin/tiling/test_host_answers.py` writes it anew).

A kernel computes the right result with nearly any tiling, in more or fewer pieces: the tests of results cannot see a
field that is wrong. What must hold of every tiling, whatever the table says, is the second test.
"""

from __future__ import annotations

import csv
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import rearrange_lab
from rearrange_lab import host  # noqa: F401  (a fixture)
from twin_adv import asked, factor, sizes, tiling

from labkit.build import headers

TABLE = Path(__file__).with_name("answers.csv")
HEAD = ["function", "question", "answer"]
C_TYPES = {"uint32_t": "u4", "int32_t": "i4", "float": "f4", "uint16_t": "u2", "bool": "?"}
MATH = (
    "Tanh Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf Erfc Log Log2 Log10 Lgamma Digamma Floor Ceil Trunc"
    " Frac Fmod Sign Xor GeGLU Axpy Clamp Exp ReGlu Sigmoid ReduceXorSum Round Power PowerInt Gelu SwiGLU Silu Swish"
).split()
# function: (struct, shape, original shape), for the shapes SMALL and LARGE
TILED = {
    "LayerNorm": ("LayerNormTiling", "bshw", ""),
    "LayerNormRstd": ("LayerNormSeparateTiling", "ah", ""),
    "DeepNorm": ("DeepNormTiling", "bsh", "bsw"),
    "RmsNorm": ("RmsNormTiling", "bsh", "bsw"),
    "BatchNorm": ("BatchNormTiling", "8sh", "bsh"),
    "GroupNorm": ("GroupNormTiling", "bcsw", ""),
    "LayerNormGrad": ("LayerNormGradTiling", "bshw", ""),
    "LayerNormGradBeta": ("LayerNormGradBetaTiling", "bshw", ""),
    "SoftMax": ("SoftMaxTiling", "ah", ""),
    "LogSoftMax": ("LogSoftMaxTiling", "ah", ""),
    "SoftmaxFlash": ("SoftMaxTiling", "ah", ""),
    "SoftmaxGrad": ("SoftMaxTiling", "ah", ""),
    "SoftmaxFlashV2": ("SoftMaxTiling", "ah", ""),
    "SoftmaxFlashV3": ("SoftMaxTiling", "ah", ""),
}
SMALL = {"b": 3, "s": 7, "h": 48, "w": 43, "a": 21, "c": 4, "8": 8}
LARGE = {"b": 5, "s": 16, "h": 128, "w": 128, "a": 70, "c": 6, "8": 8}


def layout(struct: str) -> np.dtype:
    text = (headers.TREES["kernel"] / "twin" / "base" / "tiling_structs.h").read_text(encoding="utf-8")
    body = re.search(rf"TWIN_FIELDS_{struct}\(F\)(.*?)\n#define", text, re.S)[1]
    kinds = re.findall(r"F\((\w+), (\w+)\)", body)
    return np.dtype([(name, C_TYPES[kind]) for kind, name in kinds], align=True)


def fields(struct: str, raw: np.ndarray) -> dict[str, int | float]:
    """The fields that are not zero."""
    kind = layout(struct)
    values = np.frombuffer(raw.tobytes()[: kind.itemsize].ljust(kind.itemsize, b"\0"), kind)[0]
    return {name: values[name].item() for name in kind.names if values[name]}


def told(values: dict) -> str:
    return " ".join(f"{k}={v:.9g}" if isinstance(v, float) else f"{k}={int(v)}" for k, v in values.items())


def pick(dims: dict[str, int], letters: str) -> list[int]:
    return [dims[x] for x in letters]


def questions(name: str):
    """(text, question, least scratch, most) for each of a function's questions."""
    _, shape, original = TILED[name]
    wide = "V2" in name or "V3" in name  # their `more` is the size of the statistics
    for dims, size, reuse in itertools.product((SMALL, LARGE), (2, 4), (False, True)):
        more = 2 if name == "GroupNorm" else 4 if wide else 0
        if name == "SoftmaxFlashV3" and size == 4:
            continue
        q = asked(pick(dims, shape), pick(dims, original), size, reuse, more)
        most, least = sizes(name, q)
        text = f"{'x'.join(map(str, pick(dims, shape)))} size {size}{' reuse' if reuse else ''}"
        yield text, q, least, most


def tilings():
    for name, (struct, *_) in TILED.items():
        for text, q, least, most in questions(name):
            for room in sorted({least, least + (most - least) * 2 // 5 // 32 * 32, most}):
                q.room = room
                yield name, f"{text} scratch {room}", struct, fields(struct, tiling(name, q))


def rearrangements(host):
    """Sizes and tilings of the functions that move elements about."""
    for size in (2, 4):
        for dims in ([5, 48], [9, 17]):
            yield "Pad", f"{dims} size {size}", host.sizes("pad", dims, size)
            wide = [dims[0], dims[1] - 3]
            raw = host.tiling("pad", dims, wide, 4096, size)
            yield "PadTiling", f"{dims} from {wide} size {size}", fields("PadTiling", raw)
            yield (
                "UnPadTiling",
                f"{dims} size {size}",
                fields("UnPadTiling", host.tiling("unpad", [dims[0], 64], size)),
            )
            yield "DropOut", f"{dims} size {size}", host.sizes("drop", dims, size)
        for own, small, largest in itertools.product((False, True), repeat=3):
            text = f"size {size} own {own:d} small {small:d} largest {largest:d}"
            yield "TopK", text, host.sizes("top", 32 if small else 96, 3, own, int(small), largest, size)
            raw = host.tiling("top", 32 if small else 96, 3, 5, size, own, int(small), largest)
            yield "TopkTiling", text, fields("TopkTiling", raw)
        for scene in range(1, 8):
            dims = [48, 32] if scene == 7 else [2, 3, 32, 48]
            yield (
                "Transpose",
                f"{dims} size {size} scene {scene}",
                host.sizes("transpose", dims, len(dims), size, scene),
            )
            raw = host.tiling("transpose", dims, len(dims), size, scene)
            yield (
                "ConfusionTransposeTiling",
                f"{dims} size {size} scene {scene}",
                fields("ConfusionTransposeTiling", raw),
            )
        for mask in (1, 2, 4):
            for step in (48, 64):
                question = [[5, 48], [5, step], size, mask, True]
                yield "Select", f"{question}", host.sizes("select", *question)
    for size in (1, 2, 4):
        for to, source in (([6, 20], [6, 1]), ([6, 20], [1, 20]), ([6, 20], [1, 1]), ([6, 20], [6, 20])):
            yield "BroadCast", f"{source} to {to} size {size}", host.sizes("broadcast", to, source, 2, size)
    # batches and channels, whole fractals and not; planes that are longer than their rounding up, and not
    for dims in ([16, 16, 1, 4, 4], [3, 5, 2, 3, 3], [30, 18, 2, 5, 5], [2, 40, 3, 4, 4], [40, 2, 1, 16, 1]):
        for fractal, back in itertools.product((False, True), repeat=2):
            answer = host.sizes("trans_data", dims, fractal, back)
            yield "TransData", f"{dims} fractal {fractal:d} back {back:d}", answer


def answers(host) -> dict[tuple[str, str], str]:
    found = {}
    for name in MATH:
        for size, n in itertools.product((2, 4), (40, 3000)):
            most, least = sizes(name, asked([n, 1], [n, 1], size, False))
            found[name, f"{n} size {size}"] = f"least={least} most={most}"
        for size in (2, 4):
            if (by := factor(name, size)) is not None:
                found[name, f"factor size {size}"] = f"bytes={by[0]} extra={by[1]}"
    for name in TILED:
        for text, _, least, most in questions(name):
            found[name, text] = f"least={least} most={most}"
    for name, text, _, values in tilings():
        found[name, text] = told(values)
    for name, text, answer in rearrangements(host):
        found[name, text] = told(answer) if isinstance(answer, dict) else f"least={answer[1]} most={answer[0]}"
    return found


def test_every_answer_is_the_tables(host):  # noqa: F811
    got = answers(host)
    known = {(row["function"], row["question"]): row["answer"] for row in csv.DictReader(TABLE.open())}
    told_ = [f"{' '.join(key)}: no question of the test any more" for key in known.keys() - got.keys()]
    told_ += [f"{' '.join(key)}: not in the table" for key in got.keys() - known.keys()]
    for key in got.keys() & known.keys():
        if got[key] != known[key]:
            now, was = ({p.partition("=")[0]: p for p in text.split()} for text in (got[key], known[key]))
            differ = [
                f"{was.get(k, k + '=0')}, now {now.get(k, k + '=0')}"
                for k in {**was, **now}
                if was.get(k) != now.get(k)
            ]
            told_.append(f"{' '.join(key)}: {'; '.join(differ[:4])}")
    assert not told_, f"{len(told_)} answers changed ({Path(__file__).name} writes the table anew):\n" + "\n".join(
        sorted(told_)[:20]
    )


@pytest.mark.parametrize(
    "name, dims, size", [("RmsNorm", {"b": 0}, 4), ("RmsNorm", {"s": 0}, 4), ("RmsNorm", {}, 0), ("BatchNorm", {}, 0)]
)
def test_what_has_no_rows_or_no_type_has_no_tiling(name, dims, size):
    struct, shape, original = TILED[name]
    q = asked(pick(SMALL | dims, shape), pick(SMALL | dims, original), size)
    q.room = 65536
    assert not fields(struct, tiling(name, q))  # and the program goes on


# struct: (elements or rows in all, in a whole piece, pieces, in the last)
PIECES = {
    "LayerNormTiling": ("bLength*sLength", "bsCurLength", "loopRound", "meanVarTailSize"),
    "DeepNormTiling": ("bLength*sLength", "bsCurLength", "loopRound", "meanVarTailSize"),
    "RmsNormTiling": ("bLength*sLength", "mainBsLength", "loopRound", "tailBsLength"),
    "LayerNormGradTiling": ("bLength*sLength", "nohCalSize", "loopNum", "nohTailSize"),
    "LayerNormGradBetaTiling": ("bsLength", "bsCurLength", "loopRound", "bsTailSize"),
    "LayerNormSeparateTiling": ("aLength", "aCurLength", "loopRound", "meanVarTailSize"),
    "SoftMaxTiling": ("srcM", "splitM", "rangeM", "tailM"),
    "LogSoftMaxTiling": ("srcM", "splitM", "rangeM", "tailM"),
}


def test_the_pieces_of_a_tiling_are_the_whole_and_more_scratch_needs_no_more_of_them():
    last = {}
    for name, text, struct, values in tilings():
        if struct not in PIECES:
            continue
        total, piece, rounds, tail = (
            int(np.prod([values.get(f, 0) for f in one.split("*")])) for one in PIECES[struct]
        )
        assert total and total == piece * rounds + tail, (
            f"{name} {text}: {rounds} pieces of {piece} and {tail} are not {total}"
        )
        assert tail < piece, f"{name} {text}: the rest of {tail} is a piece of {piece}"
        question = name, text.partition(" scratch")[0]
        assert rounds + bool(tail) <= last.get(question, rounds + bool(tail)), (
            f"{name} {text}: more pieces in more scratch"
        )
        last[question] = rounds + bool(tail)


if __name__ == "__main__":
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(HEAD)
        out.writerows([*key, answer] for key, answer in answers(rearrange_lab.host.__wrapped__()).items())
