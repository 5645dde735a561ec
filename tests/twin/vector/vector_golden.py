"""The vector unit's registers in numpy: masks from outside, counter mode, CMPMASK, DEQSCALE; instructions of two types.

A form is tests/twin/kernels/vector.asc's. `state` is the mask register: its mode (True: counter) and its 128 bits.
"""

from __future__ import annotations

import numpy as np
from twin_golden import BLOCK, F16, F32, REPEAT, get, index_bits, places, put, relu, tree

FULL = (False, 2**128 - 1)


def state_of(form: dict) -> tuple[bool, int]:
    """The register that the instruction works by."""
    if form["counter"]:
        return True, form["low" if form["kind"] == 2 else "setLow"]
    own = {1: (1 << min(form["low"], 128)) - 1, 2: form["low"] | form["high"] << 64}
    return False, own.get(form["kind"], form["setLow"] | form["setHigh"] << 64)


def show(image: np.ndarray, form: dict, state: tuple[bool, int]) -> None:
    """Duplicate of int16_t 1 by register, at `probe`."""
    counter, mask = state
    lanes = np.arange(mask) if counter else np.array([i for i in range(128) if mask >> i & 1], int)
    put(image, form["probe"] + lanes * 2, np.ones(len(lanes), np.int16))


def runs(form: dict, lanes: int) -> list[np.ndarray]:
    """The active lanes of each repeat."""
    counter, mask = state_of(form)
    if form["kind"] == 0 or counter:
        n = mask if form["kind"] else form["count"]
        return [np.arange(min(lanes, n - i)) for i in range(0, n, lanes)]
    return [np.array([i for i in range(lanes) if mask >> i & 1], int)] * form["times"]


def spots(form: dict, operand: str, repeat: int, active: np.ndarray, lanes: int, size: int) -> np.ndarray:
    if form["kind"] == 0:
        return places(form[operand], repeat, active, 1, lanes * size // BLOCK, size)
    return places(form[operand], repeat, active, form[f"{operand}Blk"], form[f"{operand}Rep"], size)


def walk(image: np.ndarray, form: dict, to, sources: list, compute) -> None:
    """dst = compute(old dst, source...), repeat by repeat; sources: (operand, dtype)."""
    to = np.dtype(to)
    lanes = REPEAT // max(to.itemsize, *(np.dtype(t).itemsize for _, t in sources), 1)
    for r, active in enumerate(runs(form, lanes)):
        at = spots(form, "dst", r, active, lanes, to.itemsize)
        values = [get(image, spots(form, s, r, active, lanes, np.dtype(t).itemsize), t) for s, t in sources]
        put(image, at, np.asarray(compute(get(image, at, to), *values)).astype(to))


def nibbles(image: np.ndarray, form: dict, into: bool) -> None:
    """int4b_t <- half, or half <- int4b_t: two lanes a byte, the first in the lower half."""
    lanes = REPEAT // 2
    for r, active in enumerate(runs(form, lanes)):
        small, large = ("dst", "src0") if into else ("src0", "dst")
        rep = 2 if form["kind"] == 0 else form[f"{small}Rep"]
        blk = 1 if form["kind"] == 0 else form[f"{small}Blk"]
        at = form[small] + r * rep * BLOCK + active // 64 * blk * BLOCK + active % 64 // 2
        wide = spots(form, large, r, active, lanes, 2)
        if into:
            values = np.clip(np.rint(get(image, wide, F16).astype(F32)), -8, 7).astype(int) & 15
            for a, lane, v in zip(at, active, values):
                image[a] = image[a] & 0x0F | v << 4 if lane % 2 else image[a] & 0xF0 | v
        else:
            v = (image[at] >> np.where(active % 2, 4, 0).astype(np.uint8) & 15).astype(int)
            put(image, wide, (v - 16 * (v > 7)).astype(F16))


def whole(x: np.ndarray, to) -> np.ndarray:
    """Rounded to even, kept within the type."""
    limits = np.iinfo(to)
    return np.clip(np.rint(x.astype(np.float64)), limits.min, limits.max)


def half(x: np.ndarray) -> np.ndarray:
    return x.astype(F16).astype(F32)


def scaled(x: np.ndarray, scale) -> np.ndarray:
    return (x.astype(F32) * F32(2**-17) * F32(scale) * F32(2**17)).astype(F16)


# number in vector.asc: (name, dst, source, sources, compute(old, a, b, scalar)); halves come as float
TWO_TYPES = {
    20: ("MulAddDst", F32, F16, 2, lambda d, a, b, v: a * b + d),
    21: ("AddReluCast", np.int8, F16, 2, lambda d, a, b, v: whole(relu(half(a + b)), np.int8)),
    22: ("AddReluCast", F16, F32, 2, lambda d, a, b, v: relu(a + b)),
    23: ("AddReluCast", np.int8, np.int16, 2, lambda d, a, b, v: whole(relu(a + b), np.int8)),
    24: ("SubReluCast", np.int8, F16, 2, lambda d, a, b, v: whole(relu(half(a - b)), np.int8)),
    25: ("SubReluCast", F16, F32, 2, lambda d, a, b, v: relu(a - b)),
    26: ("SubReluCast", np.int8, np.int16, 2, lambda d, a, b, v: whole(relu(a - b), np.int8)),
    27: ("MulCast", np.int8, F16, 2, lambda d, a, b, v: whole(half(a * b), np.int8)),
    28: ("MulCast", np.uint8, F16, 2, lambda d, a, b, v: whole(half(a * b), np.uint8)),
    29: ("AddDeqRelu", F16, np.int32, 2, lambda d, a, b, v: relu(scaled(a + b, v))),
    30: ("Axpy", F32, F16, 1, lambda d, a, b, v: v * a + d),
    40: ("Cast", F32, F16, 1, lambda d, a, b, v: a),
    41: ("Cast", F16, np.int32, 1, lambda d, a, b, v: scaled(a, v)),
    42: ("Cast", np.int8, F16, 1, lambda d, a, b, v: whole(a, np.int8)),
    45: ("Cast", np.int64, F32, 1, lambda d, a, b, v: np.rint(a)),
}
# the same for one type
ONE_TYPE = {
    0: ("Add", 2, lambda d, a, b, v: a + b),
    1: ("Adds", 1, lambda d, a, b, v: a + v),
    2: ("Relu", 1, lambda d, a, b, v: relu(a)),
    3: ("Duplicate", 0, lambda d, a, b, v: v),
    4: ("Copy", 1, lambda d, a, b, v: a),
    5: ("ShiftRight", 1, lambda d, a, b, v: (a.astype(np.int64) + (1 << int(v) >> 1)) >> int(v)),
    6: ("MulAddRelu", 2, lambda d, a, b, v: relu(a * d + b)),
    7: ("FusedMulAddRelu", 2, lambda d, a, b, v: relu(a * d + b)),
    8: ("FusedMulAdd", 2, lambda d, a, b, v: a * d + b),
    9: ("MulAddDst", 2, lambda d, a, b, v: a * b + d),
    10: ("Axpy", 1, lambda d, a, b, v: v * a + d),
}


def join(image: np.ndarray, form: dict, to, frm, count: int, compute, value) -> None:
    wide = lambda x: x.astype(F32) if x.dtype == F16 else x
    sources = [(f"src{i}", frm) for i in range(count)]
    walk(
        image,
        form,
        to,
        sources,
        lambda d, a=None, b=None: np.broadcast_to(
            compute(wide(d), a if a is None else wide(a), b if b is None else wide(b), wide(value)), d.shape
        ),
    )


def copy_counted(image: np.ndarray, form: dict, dtype) -> None:
    """Copy alone keeps its repeats in counter mode, each of as many elements as the register says."""
    size = np.dtype(dtype).itemsize
    lane = np.arange(state_of(form)[1])
    for r in range(form["times"]):
        values = get(image, places(form["src0"], r, lane, form["src0Blk"], form["src0Rep"], size), dtype)
        put(image, places(form["dst"], r, lane, form["dstBlk"], form["dstRep"], size), values)


def dequant(image: np.ndarray, form: dict, scales, offsets, to) -> None:
    """16 int16_t of a block leave 16 bytes in one half of a block; the unit reads 19 bits of each scale."""
    scales = (np.asarray(scales, F32).view(np.uint32) & np.uint32(0xFFFFE000)).view(F32)
    limits, upper = np.iinfo(to), form["mode"] & 1
    for r, active in enumerate(runs(form, 128)):
        x = get(image, spots(form, "src0", r, active, 128, 2), np.int16).astype(F32)
        y = np.clip(x * scales[active % 16] + offsets[active % 16], limits.min, limits.max)
        rep, blk = (8, 1) if form["kind"] == 0 else (form["dstRep"], form["dstBlk"])
        at = form["dst"] + r * rep * BLOCK + active // 16 * blk * BLOCK + 16 * upper + active % 16
        image[at] = np.rint(y).astype(np.int64) & 255


def select(image: np.ndarray, form: dict, dtype, bits: np.ndarray) -> None:
    """`bits`: of the lanes of each repeat."""
    size = np.dtype(dtype).itemsize
    scalar = image[form["src2"] : form["src2"] + size].view(dtype)[0]
    lanes = REPEAT // size
    for r, active in enumerate(runs(form, lanes)):
        a = get(image, spots(form, "src0", r, active, lanes, size), dtype)
        b = scalar if form["op"] == 63 else get(image, spots(form, "src1", r, active, lanes, size), dtype)
        put(image, spots(form, "dst", r, active, lanes, size), np.where(bits[r][active], a, b).astype(dtype))


def reduce_one(image: np.ndarray, form: dict, dtype) -> None:
    """ReduceSum/Max/Min over repeats."""
    size = np.dtype(dtype).itemsize
    lanes, parts, where = REPEAT // size, [], []
    for r, active in enumerate(runs(form, lanes)):
        x = get(image, places(form["src0"], r, active, 1, form["src0Rep"], size), dtype)
        if form["op"] == 80:
            full = np.full(lanes, -0.0, dtype)
            full[active] = x
            parts.append(tree(full))
        else:
            i = int((np.argmax if form["op"] == 81 else np.argmin)(x))
            parts.append(x[i])
            where.append(r * form["src0Rep"] * (BLOCK // size) + active[i])
    parts = np.array(parts, dtype)
    if form["op"] == 80:
        while len(parts) > 1:
            parts = np.array([tree(parts[i : i + lanes]) for i in range(0, len(parts), lanes)], dtype)
        result = parts
    else:
        i = int((np.argmax if form["op"] == 81 else np.argmin)(parts))
        result = np.concatenate([parts[i : i + 1], index_bits(where[i], dtype)[: form["mode"]]])
    put(image, form["dst"] + np.arange(len(result)) * size, result)


def reduce_each(image: np.ndarray, form: dict, dtype) -> None:
    size = np.dtype(dtype).itemsize
    lanes, family = (
        REPEAT // size,
        {90: "Whole", 91: "WholeMax", 94: "WholeMin", 92: "BlockMin", 95: "Block", 93: "Pair"}[form["op"]],
    )
    group = {"W": lanes, "B": BLOCK // size, "P": 2}[family[0]]
    indexed = family == "WholeMax"
    step = {"W": size << indexed, "B": 8 * size, "P": 128}[family[0]]
    best = None
    for r, active in enumerate(runs(form, lanes)):
        for g in range(lanes // group):
            mine = active[(active >= g * group) & (active < (g + 1) * group)]
            if not len(mine):
                continue
            x = get(image, places(form["src0"], r, mine, form["src0Blk"], form["src0Rep"], size), dtype)
            if family[-3:] in ("Max", "Min"):
                i = int((np.argmax if family[-3:] == "Max" else np.argmin)(x))
                result = np.concatenate([x[i : i + 1], index_bits(mine[i], dtype)[:indexed]])
                if best is None or x[i] > best[0]:
                    best = (x[i], r * lanes + mine[i])
            else:
                full = np.full(group, -0.0, dtype)
                full[mine - g * group] = x
                result = np.array([tree(full)], dtype)
            at = form["dst"] + r * form["dstRep"] * step + g * size
            put(image, at + np.arange(len(result)) * size, result)
    if indexed:
        put(
            image,
            form["src2"] + np.arange(2) * size,
            np.concatenate([np.array([best[0]], dtype), index_bits(best[1], dtype)]),
        )
