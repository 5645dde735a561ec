"""Instructions that pick elements, against numpy written from the public documents (Gather, Gatherb, GatherMask, Brcb,
CreateVecIndex, Arange): byte for byte over an image of UB, so that a wrongly written lane is seen as well.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_golden import BLOCK, NP, REPEAT, TYPES, get, lanes_of, places, put
from twin_image import BYTES, HERE, REGION, Shared, agree, bits, blocks, fill

import labkit

TYPED = ["F16", "BF16", "F32", "I16", "U16", "I32", "U32"]
OP = {"Gather": 0, "Gatherb": 1, "GatherMask": 2, "Brcb": 3, "CreateVecIndex": 4, "Arange": 5, "ArithProgression": 6}
few, some = settings(max_examples=10, deadline=None), settings(max_examples=25, deadline=None)


@pytest.fixture(scope="module")
def run():
    kernel = labkit.kernel(HERE / "gather.asc")
    image, out, counts = Shared(BYTES), Shared(BYTES), Shared(16)
    blank = dict(
        kind=0,
        count=0,
        times=0,
        low=0,
        high=0,
        first=0,
        step=0,
        dst=0,
        src0=0,
        src1=0,
        base=0,
        dstBlk=1,
        srcBlk=1,
        dstRep=8,
        srcRep=8,
        bitsRep=8,
        pattern=0,
        reduce=0,
    )

    def form(start, name, t, findings=(), **f):
        image.bytes[:], out.bytes[:], counts.bytes[:] = start, 0x5A, 0
        record = kernel[1](
            image.tensor,
            out.tensor,
            counts.tensor,
            kernel.struct("Form", **(blank | dict(op=OP[name], type=TYPES.index(t), bytes=BYTES) | f)),
        )
        stays = not (blank | f)["dstRep"]  # the last result stays: that is looked at
        found = [x.code for x in record.findings if not (stays and x.code == "repeat-lost")]
        assert record.finished and found == list(findings), record.report()
        return out.bytes.copy(), counts.bytes.view(np.int64).copy()

    return form


def item(t: str) -> int:
    return np.dtype(NP[t]).itemsize


# ---- by offsets


@pytest.mark.parametrize("t", TYPED)
def test_gather(run, t):
    size, lanes = item(t), REPEAT // item(t)

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        kind = data.draw(st.sampled_from([0, 1, 2]))
        f = dict(
            kind=kind,
            dst=data.draw(blocks),
            src0=REGION + data.draw(blocks),
            src1=2 * REGION + data.draw(blocks),
            base=size * data.draw(st.integers(0, 20)),
            count=data.draw(st.integers(0, 300)),
            times=data.draw(st.integers(0, 4)),
            dstRep=data.draw(st.integers(0, 10)),
            low=data.draw(st.integers(0, lanes)) if kind == 1 else data.draw(st.integers(0, 2**64 - 1)),
            high=data.draw(st.integers(0, 2**64 - 1)),
        )
        start = fill(seed, t)
        at = np.random.default_rng(seed).integers(0, 1024 // size, 700).astype(np.uint32) * size
        start[f["src1"] : f["src1"] + at.nbytes] = at.view(np.uint8)
        want = start.copy()
        if kind == 0:
            put(
                want,
                f["dst"] + size * np.arange(f["count"]),
                get(start, f["src0"] + f["base"] + at[: f["count"]].astype(np.int64), NP[t]),
            )
        for i in range(f["times"] if kind else 0):
            on = lanes_of(f, lanes)
            put(
                want,
                places(f["dst"], i, on, 1, f["dstRep"], size),
                get(start, f["src0"] + f["base"] + at[i * lanes + on].astype(np.int64), NP[t]),
            )
        got, _ = run(start, "Gather", t, **f)
        agree(got, want, NP[t])

    check()


@pytest.mark.parametrize("t", ["U16", "U32"])
@some
@given(data=st.data(), seed=st.integers(0, 99))
def test_gather_blocks(run, t, data, seed):
    f = dict(
        dst=data.draw(blocks),
        src0=REGION + data.draw(blocks),
        src1=2 * REGION + data.draw(blocks),
        times=data.draw(st.integers(0, 4)),
        dstBlk=data.draw(st.integers(0, 2)),
        dstRep=data.draw(st.integers(0, 17)),
    )
    start = fill(seed, t)
    at = np.random.default_rng(seed).integers(0, 60, 40).astype(np.uint32) * BLOCK
    start[f["src1"] : f["src1"] + at.nbytes] = at.view(np.uint8)
    want = start.copy()
    for i in range(f["times"]):
        for b in range(8):
            to, frm = f["dst"] + (i * f["dstRep"] + b * (f["dstBlk"] or 1)) * BLOCK, f["src0"] + int(at[i * 8 + b])
            want[to : to + BLOCK] = start[frm : frm + BLOCK]
    agree(run(start, "Gatherb", t, **f)[0], want, NP[t])


@pytest.mark.parametrize("offset", [3, 1 << 20, 0xFFFFFFFF])
def test_gather_offsets_are_checked(run, offset):
    start = fill(1, "F32")
    start[2 * REGION : 2 * REGION + 4] = np.array([offset], np.uint32).view(np.uint8)
    run(start, "Gather", "F32", findings=["gather-offset"], dst=0, src0=REGION, src1=2 * REGION, count=1)


def test_gather_in_place_means_the_old_source(run):
    """Not allowed by the documents, done by kernels in production: reported as a warning, computed as they mean it."""
    start = fill(4, "F32")
    at = (np.arange(256, dtype=np.uint32) // 8) * 4
    start[2 * REGION : 2 * REGION + at.nbytes] = at.view(np.uint8)
    want = start.copy()
    put(want, 4 * np.arange(256), get(start, at.astype(np.int64), np.float32))
    got, _ = run(start, "Gather", "F32", findings=["overlap"], dst=0, src0=0, src1=2 * REGION, count=256)
    agree(got, want, np.float32)


# ---- by bits

FIXED = {1: 0x5555, 2: 0xAAAA, 3: 0x1111, 4: 0x2222, 5: 0x4444, 6: 0x8888, 7: 0xFFFF}


@pytest.mark.parametrize("t", TYPED)
def test_gather_mask(run, t):
    size, per, lanes = item(t), BLOCK // item(t), REPEAT // item(t)

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        f = dict(
            dst=data.draw(blocks),
            src0=REGION + data.draw(blocks),
            src1=3 * REGION + data.draw(blocks),
            times=data.draw(st.integers(0, 4)),
            srcBlk=data.draw(st.integers(1, 2)),
            srcRep=data.draw(st.integers(0, 10)),
            bitsRep=data.draw(st.integers(0, 3)),
            pattern=data.draw(st.integers(0, 7)),
            reduce=data.draw(st.integers(0, 1)),
            count=data.draw(st.integers(0, 200)),
        )
        if data.draw(st.booleans()):
            f |= dict(dst=f["src0"], srcBlk=1, srcRep=8, times=1)  # packed in place
        start = fill(seed, t)
        want, packed = start.copy(), []
        each = f["count"] if f["reduce"] else lanes
        for i in range(f["times"]):
            lane = np.arange(each)
            if f["pattern"]:
                on = FIXED[f["pattern"]] >> lane % 16 & 1
            else:
                where = f["src1"] + i * f["bitsRep"] * BLOCK
                on = np.unpackbits(start[where : where + 64], bitorder="little")[:each]
            at = f["src0"] + i * f["srcRep"] * BLOCK + lane // per * f["srcBlk"] * BLOCK + lane % per * size
            packed.append(get(start, at[on == 1], NP[t]))
        kept = np.concatenate([np.empty(0, NP[t]), *packed]).astype(NP[t])
        put(want, f["dst"] + size * np.arange(len(kept)), kept)
        got, counts = run(start, "GatherMask", t, **f)
        agree(got, want, NP[t])
        assert counts.tolist() == [len(kept)] * 2

    check()


def test_gather_mask_knows_seven_patterns(run):
    run(fill(1, "F32"), "GatherMask", "F32", findings=["gather-pattern"], dst=0, src0=REGION, pattern=8, times=1)


# ---- one element a block


@pytest.mark.parametrize("t", TYPED)
def test_brcb(run, t):
    size = item(t)

    @few
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        f = dict(
            dst=data.draw(blocks),
            src0=REGION + data.draw(blocks),
            times=data.draw(st.integers(0, 5)),
            dstBlk=data.draw(st.integers(1, 2)),
            dstRep=data.draw(st.integers(0, 18)),
        )
        start = fill(seed, t)
        want = start.copy()
        for i in range(f["times"]):
            for b in range(8):
                to, one = f["dst"] + (i * f["dstRep"] + b * f["dstBlk"]) * BLOCK, f["src0"] + (8 * i + b) * size
                want[to : to + BLOCK] = np.tile(start[one : one + size], BLOCK // size)
        agree(run(start, "Brcb", t, **f)[0], want, NP[t])

    check()


# ---- index sequences: sums in the tensor's own type, block by block up to a repeat, then repeat by repeat


def sequence(first, step, n: int, dtype):
    block, repeat = BLOCK // np.dtype(dtype).itemsize, REPEAT // np.dtype(dtype).itemsize
    wide = np.float32 if np.dtype(dtype).kind == "f" else np.int64
    x = np.empty(n, dtype)
    x[:block] = (wide(first) + wide(step) * np.arange(min(n, block)).astype(wide)).astype(dtype)
    for i in range(block, n, 1):
        back = block if i < repeat else repeat
        add = (wide(step) * wide(back)).astype(dtype)
        x[i] = (
            dtype(wide(x[i - back]) + wide(add))
            if wide is np.float32
            else (wide(x[i - back]) + wide(add)).astype(dtype)
        )
    return x


@pytest.mark.parametrize("t", ["F16", "F32", "I16", "I32"])
def test_index_sequences(run, t):
    dtype, size = NP[t], item(t)

    @some
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        name = data.draw(st.sampled_from(["CreateVecIndex", "Arange", "ArithProgression"]))
        n = data.draw(st.integers(0, 600) | st.sampled_from([1, 8, 16, 17, 64, 128, 129]))
        if np.dtype(dtype).kind == "f":
            first, step = dtype(data.draw(st.integers(-3000, 3000)) / 4), dtype(data.draw(st.integers(0, 40)) / 8)
        else:
            first, step = dtype(data.draw(st.integers(-30000, 30000))), dtype(data.draw(st.integers(0, 40)))
        step = dtype(1) if name == "CreateVecIndex" else step
        block = BLOCK // size
        dst = data.draw(blocks) + (size * data.draw(st.integers(0, block - 1)) if n <= block else 0)
        start = fill(seed, t)
        want = start.copy()
        written = n if name == "CreateVecIndex" or n <= block else -(-n // block) * block
        with np.errstate(all="ignore"):
            put(want, dst + size * np.arange(written), sequence(first, step, written, dtype))
        agree(run(start, name, t, dst=dst, count=n, first=bits(first), step=bits(step))[0], want, dtype)

    check()


@pytest.mark.parametrize("t", ["F16", "F32", "I16", "I32"])
def test_index_in_repeats(run, t):
    dtype, size, lanes = NP[t], item(t), REPEAT // item(t)

    @few
    @given(st.data(), st.integers(0, 99))
    def check(data, seed):
        kind = data.draw(st.sampled_from([1, 2]))
        f = dict(
            kind=kind,
            dst=data.draw(blocks),
            times=data.draw(st.integers(0, 4)),
            dstBlk=data.draw(st.integers(1, 2)),
            dstRep=data.draw(st.integers(16, 20)),
            low=data.draw(st.integers(0, lanes)) if kind == 1 else data.draw(st.integers(0, 2**64 - 1)),
            high=data.draw(st.integers(0, 2**64 - 1)),
        )
        first = dtype(data.draw(st.integers(-500, 500)))
        start = fill(seed, t)
        want = start.copy()
        for i in range(f["times"]):
            on = lanes_of(f, lanes)
            put(
                want,
                places(f["dst"], i, on, f["dstBlk"], f["dstRep"], size),
                (first.astype(np.int64) + i * lanes + on).astype(dtype),
            )
        agree(run(start, "CreateVecIndex", t, first=bits(first), **f)[0], want, dtype)

    check()
