"""Sort32, MrgSort, Sort and Extract against numpy written from the public documents,
byte for byte over an image of UB.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twin_image import HERE, Shared, agree

import labkit

BYTES = 40960
OP = {"Sort32": 0, "MrgSort": 1, "MrgSort exhausted": 2, "Sort": 3, "Sort full": 4, "Extract": 5}
LISTS = [f"list{i}" for i in range(4)]
some = settings(max_examples=25, deadline=None)
DT = {"half": np.float16, "float": np.float32}


@pytest.fixture(scope="module")
def run():
    kernel = labkit.kernel(HERE / "sort.asc")
    image, out, counts = Shared(BYTES), Shared(BYTES), Shared(32)
    blank = dict(
        dst=0,
        src0=0,
        src1=0,
        work=0,
        times=0,
        valid=0,
        stop=0,
        **dict.fromkeys(LISTS, 0),
        **{f"length{i}": 0 for i in range(4)},
    )

    def form(start, name, t, findings=(), **f):
        image.bytes[:], out.bytes[:], counts.bytes[:] = start, 0x5A, 0
        record = kernel[1](
            image.tensor,
            out.tensor,
            counts.tensor,
            kernel.struct("Form", **(blank | dict(op=OP[name], half_scores=t == "half", bytes=BYTES) | f)),
        )
        assert record.finished and [x.code for x in record.findings] == list(findings), record.report()
        seen = counts.bytes.view(np.uint32)
        assert seen[4] == 24 // DT[t]().itemsize and seen[5] == 40 // DT[t]().itemsize
        return out.bytes.copy(), seen[:4].tolist()

    return form


def scores(rng, n: int, t: str) -> np.ndarray:
    """Many ties, both zeros, infinities and a few NaN."""
    x = rng.integers(-20, 20, n).astype(DT[t]) / 4
    odd = rng.integers(0, 12, n)
    for i, special in enumerate([-0.0, np.inf, -np.inf, np.nan]):
        x[odd == i] = DT[t](special)
    return x


def order(x: np.ndarray) -> np.ndarray:
    """Descending, NaN first, of equal ones the earlier first."""
    return np.array(
        sorted(range(len(x)), key=lambda i: (0, 0) if np.isnan(x[i]) else (1, -float(x[i]))), dtype=np.int64
    )


def records(x: np.ndarray, index: np.ndarray) -> np.ndarray:
    r = np.zeros((len(x), 8), np.uint8)
    r[:, : x.itemsize] = x.view(np.uint8).reshape(len(x), x.itemsize)
    r[:, 4:] = index.astype(np.uint32).view(np.uint8).reshape(-1, 4)
    return r


def place(image, at, values):
    raw = np.ascontiguousarray(values).view(np.uint8).ravel()
    image[at : at + len(raw)] = raw


@pytest.mark.parametrize("t", DT)
@pytest.mark.parametrize("name", ["Sort32", "Sort", "Sort full"])
@some
@given(times=st.integers(0, 20), seed=st.integers(0, 999))
def test_sort(run, name, t, times, seed):
    rng = np.random.default_rng(seed)
    n, size = 32 * times, DT[t]().itemsize
    start = rng.integers(0, 256, BYTES).astype(np.uint8)
    x, index = scores(rng, n, t), rng.integers(0, 2**32, n).astype(np.uint32)
    f = dict(src0=64, src1=64 + n * size, dst=10240, work=20480 + 32, times=times)
    place(start, f["src0"], x)
    place(start, f["src1"], index)
    want = start.copy()
    runs = [np.arange(n)] if name == "Sort full" else np.split(np.arange(n), times) if times else []
    by = np.concatenate([np.empty(0, np.int64), *(r[order(x[r])] for r in runs)]).astype(np.int64)
    place(want, f["dst"], records(x[by], index[by]))
    got, _ = run(start, name, t, **f)
    if name == "Sort full":
        want[f["work"] : f["work"] + 8 * n] = got[f["work"] : f["work"] + 8 * n]  # scratch
    agree(got, want, np.uint8)


@pytest.mark.parametrize("t", DT)
@some
@given(data=st.data(), seed=st.integers(0, 999))
def test_merge(run, t, data, seed):
    rng = np.random.default_rng(seed)
    ways = data.draw(st.integers(2, 4))
    # a run that is off counts for nothing
    lengths = [data.draw(st.integers(0, 40)) for _ in range(ways)] + [7] * (4 - ways)
    stop = data.draw(st.booleans())
    name = "MrgSort exhausted" if stop and data.draw(st.booleans()) else "MrgSort"
    start = rng.integers(0, 256, BYTES).astype(np.uint8)
    f, runs = dict(dst=20480, times=data.draw(st.integers(1, 3)), valid=2**ways - 1, stop=stop), []
    for i in range(4):
        x = scores(rng, lengths[i], t)
        x = x[order(x)]
        runs.append(records(x, rng.integers(0, 2**32, lengths[i])))
        f |= {f"list{i}": 8 + 2048 * i + 8 * data.draw(st.integers(0, 5)), f"length{i}": lengths[i]}
        place(start, f[f"list{i}"], runs[i])
    at, out = [0, 0, 0, 0], []
    while not (stop and any(at[i] == lengths[i] for i in range(ways))):
        heads = [(runs[i][at[i]], i) for i in range(ways) if at[i] < lengths[i]]
        if not heads:
            break
        values = np.array([h[0][: DT[t]().itemsize].copy().view(DT[t])[0] for h in heads])
        i = heads[order(values)[0]][1]
        out.append(runs[i][at[i]])
        at[i] += 1
    want = start.copy()
    place(want, f["dst"], np.array(out, np.uint8).reshape(-1, 8))
    got, taken = run(start, name, t, **f)
    agree(got, want, np.uint8)
    assert taken == at


@pytest.mark.parametrize("t", DT)
def test_merge_repeats(run, t):
    """Four runs of one length one behind the other, several times over; a run that ends does not stop the others."""
    rng = np.random.default_rng(1)
    x = scores(rng, 3 * 4 * 24, t).reshape(12, 24)
    x = np.array([row[order(row)] for row in x])
    start = rng.integers(0, 256, BYTES).astype(np.uint8)
    index = np.arange(x.size)
    place(start, 0, records(x.ravel(), index))
    f = dict(
        dst=20480,
        times=3,
        valid=15,
        **{f"list{i}": i * 24 * 8 for i in range(4)},
        **{f"length{i}": 24 for i in range(4)},
    )
    want = start.copy()
    by = np.concatenate([96 * i + order(x.ravel()[96 * i : 96 * i + 96]) for i in range(3)])
    place(want, f["dst"], records(x.ravel()[by], index[by]))
    agree(run(start, "MrgSort", t, **f)[0], want, np.uint8)


@pytest.mark.parametrize("t", DT)
@some
@given(times=st.integers(0, 8), seed=st.integers(0, 999))
def test_extract(run, t, times, seed):
    rng = np.random.default_rng(seed)
    n = 32 * times
    start = rng.integers(0, 256, BYTES).astype(np.uint8)
    x, index = scores(rng, n, t), rng.integers(0, 2**32, n).astype(np.uint32)
    place(start, 64, records(x, index))
    want = start.copy()
    place(want, 20480, x)
    place(want, 32768, index)
    agree(run(start, "Extract", t, src0=64, dst=20480, src1=32768, times=times)[0], want, np.uint8)
