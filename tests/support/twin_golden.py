"""What a vector instruction does to an image of UB, written in numpy from the public documents and nothing else.

An instruction in the mask/repeat form walks over repeats; a repeat has 8 blocks of 32 bytes; `blk` and `rep` are the
strides between them, in blocks. Within a repeat everything is read before anything is written.
"""

from __future__ import annotations

import numpy as np

F16, F32 = np.float16, np.float32
TYPES = "F16 BF16 F32 I8 U8 I16 U16 I32 U32 I64 U64".split()
NP = dict(
    F16=np.float16,
    BF16=np.uint16,
    F32=np.float32,
    I8=np.int8,
    U8=np.uint8,
    I16=np.int16,
    U16=np.uint16,
    I32=np.int32,
    U32=np.uint32,
    I64=np.int64,
    U64=np.uint64,
)
BLOCK, REPEAT = 32, 256


def lanes_of(form: dict, lanes: int) -> np.ndarray:
    """The numbers of the active lanes."""
    if form["kind"] == 1:
        return np.arange(min(form["low"], lanes))
    mask = form["low"] | form["high"] << 64
    return np.array([i for i in range(lanes) if mask >> i & 1], dtype=np.int64)


def places(base: int, repeat: int, lanes: np.ndarray, blk: int, rep: int, size: int) -> np.ndarray:
    """Byte addresses of lanes of `size` bytes."""
    per = BLOCK // size
    return base + repeat * rep * BLOCK + lanes // per * blk * BLOCK + lanes % per * size


def get(image: np.ndarray, at: np.ndarray, dtype) -> np.ndarray:
    dtype = np.dtype(dtype)
    return np.ascontiguousarray(image[at[:, None] + np.arange(dtype.itemsize)]).view(dtype).ravel()


def put(image: np.ndarray, at: np.ndarray, values: np.ndarray) -> None:
    image[at[:, None] + np.arange(values.itemsize)] = (
        np.ascontiguousarray(values).view(np.uint8).reshape(len(values), values.itemsize)
    )


def relu(x):
    return np.where(x <= 0, x.dtype.type(0), x)


def larger(a, b):
    return np.where(np.isnan(a) | (a > b), a, b) if a.dtype.kind == "f" else np.maximum(a, b)


def smaller(a, b):
    return np.where(np.isnan(a) | (a < b), a, b) if a.dtype.kind == "f" else np.minimum(a, b)


# f(a, b, v, d): first and second source, scalar, old destination; a half is computed in float and rounded once
ELEMENTWISE = {
    "Abs": lambda a, b, v, d: np.abs(a),
    "Exp": lambda a, b, v, d: np.exp(a.astype(np.float64)),
    "Ln": lambda a, b, v, d: np.log(a.astype(np.float64)),
    "Sqrt": lambda a, b, v, d: np.sqrt(a),
    "Rsqrt": lambda a, b, v, d: F32(1) / np.sqrt(a),
    "Reciprocal": lambda a, b, v, d: F32(1) / a,
    "Div": lambda a, b, v, d: a / b,
    "MulAddDst": lambda a, b, v, d: a * b + d,
    "FusedMulAdd": lambda a, b, v, d: a * d + b,
    "LeakyRelu": lambda a, b, v, d: np.where(a >= 0, a, a * v),
    "Axpy": lambda a, b, v, d: v * a + d,
    "Add": lambda a, b, v, d: a + b,
    "Sub": lambda a, b, v, d: a - b,
    "Mul": lambda a, b, v, d: a * b,
    "Max": lambda a, b, v, d: larger(a, b),
    "Min": lambda a, b, v, d: smaller(a, b),
    "Adds": lambda a, b, v, d: a + v,
    "Muls": lambda a, b, v, d: a * v,
    "Maxs": lambda a, b, v, d: larger(a, v),
    "Mins": lambda a, b, v, d: smaller(a, v),
    "Not": lambda a, b, v, d: ~a,
    "And": lambda a, b, v, d: a & b,
    "Or": lambda a, b, v, d: a | b,
    "ShiftLeft": lambda a, b, v, d: a << v,
    "ShiftRight": lambda a, b, v, d: a >> v,
    "AddRelu": lambda a, b, v, d: relu(a + b),
    "SubRelu": lambda a, b, v, d: relu(a - b),
    "Relu": lambda a, b, v, d: relu(a),
    "Duplicate": lambda a, b, v, d: np.broadcast_to(v, d.shape),
    "Copy": lambda a, b, v, d: a,
}
APPROXIMATE = {"Exp", "Ln"}


def compute(name: str, dtype, a, b, v, d):
    wide = F32 if dtype == F16 and name not in ("Copy", "Duplicate") else dtype
    v = np.frombuffer(int(v).to_bytes(8, "little"), dtype)[0]
    return ELEMENTWISE[name](a.astype(wide), b.astype(wide), wide(v), d.astype(wide)).astype(dtype)


def elementwise(image: np.ndarray, name: str, dtype, form: dict) -> None:
    size = np.dtype(dtype).itemsize
    if form["kind"] == 0:
        at = np.arange(form["count"]) * size
        a, b, d = (get(image, form[k] + at, dtype) for k in ("src0", "src1", "dst"))
        return put(image, form["dst"] + at, compute(name, dtype, a, b, form["value"], d))
    lanes = lanes_of(form, REPEAT // size)
    for r in range(form["times"]):
        at = places(form["dst"], r, lanes, form["dstBlk"], form["dstRep"], size)
        a, b = (
            get(image, places(form[s], r, lanes, form[f"{s}Blk"], form[f"{s}Rep"], size), dtype)
            for s in ("src0", "src1")
        )
        put(image, at, compute(name, dtype, a, b, form["value"], get(image, at, dtype)))


def cast(image: np.ndarray, to: str, frm: str, form: dict, convert) -> None:
    """convert(values) -> values of type `to`. The mask counts lanes of the wider type."""
    ds, ss = np.dtype(NP[to]).itemsize, np.dtype(NP[frm]).itemsize
    if form["kind"] == 0:
        at = np.arange(form["count"])
        return put(image, form["dst"] + at * ds, convert(get(image, form["src0"] + at * ss, NP[frm])))
    lanes = lanes_of(form, REPEAT // max(ds, ss))
    for r in range(form["times"]):
        source = get(image, places(form["src0"], r, lanes, form["src0Blk"], form["src0Rep"], ss), NP[frm])
        put(image, places(form["dst"], r, lanes, form["dstBlk"], form["dstRep"], ds), convert(source))


def tree(x: np.ndarray):
    """Neighbours are added, level by level, each sum rounded to the type."""
    while len(x) > 1:
        x = np.concatenate([x[0 : len(x) & ~1 : 2] + x[1::2], x[len(x) & ~1 :]])
    return x[0]


def index_bits(i: int, dtype) -> np.ndarray:
    return np.array([i], f"u{np.dtype(dtype).itemsize}").view(dtype)


def reduce(image: np.ndarray, name: str, dtype, form: dict) -> None:
    """ReduceSum/Max/Min over a count; mode: with the index."""
    size = np.dtype(dtype).itemsize
    x = get(image, form["src0"] + np.arange(form["count"]) * size, dtype)
    if name == "ReduceSum":
        parts = [tree(x[i : i + REPEAT // size]) for i in range(0, len(x), REPEAT // size)]
        result = np.array([sum(parts[1:], parts[0])], dtype)
    else:
        i = int((np.argmax if name == "ReduceMax" else np.argmin)(x))
        result = np.concatenate([x[i : i + 1], index_bits(i, dtype)]) if form["mode"] else x[i : i + 1]
    put(image, form["dst"] + np.arange(len(result)) * size, result)


def reduce_repeats(image: np.ndarray, name: str, dtype, form: dict) -> None:
    """WholeReduce*, BlockReduce*, PairReduceSum: what is fully masked leaves the destination alone."""
    size = np.dtype(dtype).itemsize
    lanes, family = REPEAT // size, name[:5]
    group = {"Whole": lanes, "Block": BLOCK // size, "PairR": 2}[family]
    sums, with_index = name.endswith("Sum"), not name.endswith("Sum") and family == "Whole"
    order = form["mode"] if with_index else 2  # value and index, index and value, value, index
    step = {"Whole": [2 * size, 2 * size, size, 4][order], "Block": 8 * size, "PairR": 128}[family]
    active = lanes_of(form, lanes)
    for r in range(form["times"]):
        for g in range(lanes // group):
            mine = active[(active >= g * group) & (active < (g + 1) * group)]
            if not len(mine):
                continue
            x = get(image, places(form["src0"], r, mine, form["src0Blk"], form["src0Rep"], size), dtype)
            if sums:
                full = np.full(group, -0.0, dtype)
                full[mine - g * group] = x
                result = np.array([tree(full)], dtype)
            else:
                i = int((np.argmax if name.endswith("Max") else np.argmin)(x))
                value, index = x[i : i + 1], index_bits(mine[i], dtype)
                result = [
                    np.concatenate([value, index]),
                    np.concatenate([index, value]),
                    value,
                    np.array([mine[i]], np.uint32),
                ][order]
            at = form["dst"] + r * form["dstRep"] * step + g * size
            put(image, at + np.arange(len(result)) * result.itemsize, result)


COMPARES = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]


def compare(image: np.ndarray, name: str, dtype, form: dict) -> None:
    size = np.dtype(dtype).itemsize
    at = np.arange(form["count"]) * size
    a = get(image, form["src0"] + at, dtype)
    b = (
        get(image, form["src1"] + at, dtype)
        if name == "Compare"
        else np.frombuffer(form["value"].to_bytes(8, "little"), dtype)[0]
    )
    bits = np.packbits(COMPARES[form["mode"]](a, b), bitorder="little")
    image[form["dst"] : form["dst"] + len(bits)] = bits


def select(image: np.ndarray, name: str, dtype, form: dict) -> None:
    """SelectMask: the same bits for each repeat; SelectScalar, SelectTensor: one bit an element.
    `value`: scalar or address.
    """
    size = np.dtype(dtype).itemsize
    n = form["count"]
    at = np.arange(n) * size
    which = np.arange(n) % (REPEAT // size) if name == "SelectMask" else np.arange(n)
    mask = image[form["src1"] + which // 8] >> (which % 8).astype(np.uint8) & 1
    a = get(image, form["src0"] + at, dtype)
    other = (
        np.frombuffer(form["value"].to_bytes(8, "little"), dtype)[0]
        if name == "SelectScalar"
        else get(image, form["value"] + at, dtype)
    )
    put(image, form["dst"] + at, np.where(mask == 1, a, other).astype(dtype))


def scalars(image: np.ndarray, dtype, form: dict) -> None:
    """count times SetValue(dstBlk * i, GetValue(src0Blk * i)), one after the other; then the scalar behind them."""
    size = np.dtype(dtype).itemsize
    one = np.zeros(1, np.int64)
    for i in range(form["count"]):
        put(
            image,
            one + form["dst"] + form["dstBlk"] * i * size,
            get(image, one + form["src0"] + form["src0Blk"] * i * size, dtype),
        )
    put(
        image,
        one + form["dst"] + form["dstBlk"] * form["count"] * size,
        np.frombuffer(form["value"].to_bytes(8, "little"), dtype)[:1],
    )


def move(image: np.ndarray, memory: np.ndarray, m: dict) -> np.ndarray:
    """One copy of tests/twin/kernels/copies.asc; returns which bytes of the image are unspecified."""
    kind, size, local = m["kind"], m["size"], m["local"]
    loose = np.zeros(len(image), bool)
    side = memory[m["global"] :]
    if kind in (0, 4, 8):
        n = m["count"] * size // BLOCK * BLOCK
        if kind == 0:
            image[local : local + n] = side[:n]
        elif kind == 4:
            side[:n] = image[local : local + n]
        else:
            image[local : local + n] = image[m["other"] : m["other"] + n].copy()
        return loose
    padded = kind in (2, 3, 6, 7)
    length = m["length"] if padded else m["length"] * BLOCK
    up = lambda n: -(-n // BLOCK) * BLOCK
    for b in range(m["blocks"] if length else 0):
        if padded and kind < 4:
            whole = length + (m["left"] + m["right"]) * size
            to, at = local + b * (up(whole) + m["dstGap"] * BLOCK), b * (length + m["srcGap"])
            data = to + m["left"] * size
            image[to : to + up(whole)] = 0
            fill = np.frombuffer(m["value"].to_bytes(8, "little"), np.uint8)[:size]
            for start, n in ((to, m["left"]), (data + length, m["right"])):
                image[start : start + n * size] = np.tile(fill, n)
                loose[start : start + n * size] = not m["pad"]
            image[data : data + length] = side[at : at + length]
            rest = slice(to + whole, to + up(whole))
            if m["left"] or m["right"]:
                loose[rest] = True
            else:  # the block's first element again
                image[rest] = np.tile(side[at : at + size], up(whole) // size)[: rest.stop - rest.start]
        elif padded:
            at, to = local + b * (up(length) + m["srcGap"] * BLOCK), b * (length + m["dstGap"])
            side[to : to + length] = image[at : at + length]
        else:
            at, to = b * (length + m["srcGap"] * BLOCK), b * (length + m["dstGap"] * BLOCK)
            if kind == 1:
                image[local + to : local + to + length] = side[at : at + length]
            elif kind == 5:
                side[to : to + length] = image[local + at : local + at + length]
            else:
                image[local + to : local + to + length] = image[m["other"] + at : m["other"] + at + length].copy()
    return loose
