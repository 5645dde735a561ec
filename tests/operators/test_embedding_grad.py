"""lab::embedding_dense_grad: each way right for any ids; ids out of range named; bits repeat where they are promised;
nn.Embedding's gradient; known-wrong kernels told apart; what the table says of the clock.

The drawn cases: 1 to 600 ids (one in six up to 3000) over 1 to 500 rows, uniform, Zipf, all one or three ids, in int32 or
int64, 1 to 200 columns (one in six more than a part of a row), float32, float16, bfloat16, with and without a padding
index and scale_grad_by_freq. Each case goes all ways. Gradients are eighths between -2 and 2: their sums are exact in
float, so a float32 result is right in every bit, and a 16-bit one is rounded once.
"""

from __future__ import annotations

import csv
import os
import random

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples, half  # noqa: E402
from faults import load  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_lab import TYPES, close, golden, module, values  # noqa: E402
from torch import nn  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
GOLD = golden("embedding_grad")
HOME = paths.kernels_dir() / "embedding_grad"
TIMES = module("embedding_grad_times", HOME / "times.py")
FLOAT, HALF, LONG, INT = torch.float32, torch.float16, torch.int64, torch.int32
WAYS = GOLD.WAYS
MUTANTS = load(HOME / "mutants.toml")


@pytest.fixture(scope="module")
def grad_of():
    device.install()
    assert labkit.operator("embedding_grad").load() == ""
    return torch.ops.lab.embedding_dense_grad


def eighths(shape, dtype, seed):
    return (torch.randint(-16, 17, shape, generator=torch.Generator().manual_seed(seed)) / 8).to(dtype)


@settings(max_examples=200 if examples(200) == 200 else 25)
@given(
    count=st.integers(1, 600),
    many=st.integers(0, 5),
    rows=st.integers(1, 500),
    width=st.integers(1, 200),
    wide=st.integers(0, 5),
    kind=st.sampled_from(["uniform", "zipf", "one", "runs"]),
    dtype=st.sampled_from(list(TYPES)),
    ids_type=st.sampled_from([INT, LONG]),
    padded=st.booleans(),
    by_freq=st.integers(0, 4),
    seed=st.integers(0, 99),
)
def test_any_ids(grad_of, count, many, rows, width, wide, kind, dtype, ids_type, padded, by_freq, seed):
    count, width, by_freq = count * (5 if many == 0 else 1), width + (4000 if wide == 0 else 0), by_freq == 0
    if wide == 0:
        count = count % 60 + 1
    grad, ids = eighths((count, width), dtype, seed), GOLD.draw(kind, count, rows, seed)
    padding = int(ids[seed % count]) if padded else -1
    want = GOLD.table(grad, ids, rows, padding, by_freq)
    size = GOLD.table(grad.abs(), ids, rows, padding, by_freq)
    for way in WAYS:
        got = grad_of(grad.npu(), ids.to(ids_type).npu(), rows, padding, by_freq, way)
        close(got, want.to(dtype), 2 if by_freq else 0, size if by_freq else 0.0)


def test_shapes_and_ids_as_programs_have_them(grad_of):
    """Ids of any shape, rows with gaps, no ids at all; more ids than sort_ids takes; against PyTorch's own."""
    grad, ids = eighths((3, 5, 24), FLOAT, 1), GOLD.draw("zipf", 15, 9, 1).view(3, 5)
    want = torch.ops.aten.embedding_dense_backward(grad, ids, 9, 2, False)
    apart = torch.cat([grad, grad], -1).npu()[..., :24]
    many, of = GOLD.draw("zipf", 9000, 40, 2), eighths((9000, 8), HALF, 3)
    for way in WAYS:
        assert torch.equal(grad_of(apart, ids.npu().t().contiguous().t(), 9, 2, False, way).cpu(), want)
        assert grad_of(grad[:0].npu(), ids[:0].npu(), 9, 2, False, way).eq(0).all()
        assert torch.equal(grad_of(of.npu(), many.npu(), 40, -1, False, way).cpu(), GOLD.table(of, many, 40).half())


def test_ids_out_of_range(grad_of):
    """Named, with their place; without the check they add nothing."""
    grad, ids = eighths((7, 6), FLOAT, 1), GOLD.draw("uniform", 7, 9, 1)
    for way in WAYS:
        for wrong, kind in ((9, INT), (-1, LONG), (2**31 - 1, LONG)):
            ids[3] = wrong
            on = grad.npu(), ids.to(kind).npu(), 9, -1, False, way
            with pytest.raises(RuntimeError, match=rf"id {wrong} at place 3 of .* out of range, the table has 9 rows"):
                grad_of(*on)
            assert torch.equal(grad_of(*on, False).cpu().double(), GOLD.table(grad, ids, 9))


def test_refused(grad_of):
    grad, ids = torch.ones(5, 6, device="npu"), torch.zeros(5, dtype=LONG, device="npu")
    for args, said in (
        ((grad.int(), ids, 9), "grad is Int, the kernel takes float16"),
        ((grad, ids.float(), 9), "ids is Float; it is int32 or int64"),
        ((grad, ids[:4], 9), r"grad has the shape \[5, 6\] and ids \[4\]"),
        ((grad, ids, 9, -1, False, "sort"), 'way is "sort"; it is auto, scatter, combine or segments'),
        ((grad, ids, 9, -1, False, "auto", True, 2.0), "top_share is 2"),
        ((grad, ids, 2**23 + 1, -1, False, "combine"), "combine is for tables of up to 8388608 rows"),
    ):
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                grad_of(*(a.to(there) if isinstance(a, torch.Tensor) else a for a in args))
    how = {"test_utils": ("test_schema", "test_faketensor")}
    done = torch.library.opcheck(grad_of.default, (grad, ids, 9, -1, False, "auto", False), **how)
    assert set(done.values()) == {"SUCCESS"}


def test_bits_repeat(grad_of):
    """Sums that round: segments gives the same bits when every transfer comes as late as it may, and under
    torch.use_deterministic_algorithms nothing else runs. The order of atomic additions is free: whatever it is, the
    sum is within its rounding."""
    ids, grad = GOLD.draw("runs", 500, 30, 4).int(), values((500, 40), FLOAT, 5)
    first, *others = (GOLD.launch("segments", grad.npu(), ids.npu(), 30, **how)[1].cpu()
                      for how in ({}, {"schedule": "worst"}, {"checks": False}))  # fmt: skip
    assert all(torch.equal(first, other) for other in others)
    assert not torch.equal(first.double(), GOLD.table(grad, ids, 30))  # these sums do round
    for way in ("scatter", "combine"):
        close(grad_of(grad.npu(), ids.npu(), 30, -1, False, way), GOLD.table(grad, ids, 30).float(), 500,
              GOLD.table(grad.abs(), ids, 30))  # fmt: skip
    torch.use_deterministic_algorithms(True)
    try:
        for way in ("scatter", "combine"):
            with pytest.raises(RuntimeError, match="the order of atomic additions is not fixed"):
                grad_of(grad.npu(), ids.npu(), 30, -1, False, way)
        assert torch.equal(grad_of(grad.npu(), ids.npu(), 30).cpu(), first)
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("way", WAYS)
def test_an_embedding(grad_of, way):
    """The whole module by torch.autograd.gradcheck's rule: in float, against float64 index_add; tied and named as before;
    and a step of training is that of nn.Embedding."""
    op = labkit.operator("embedding_grad")
    torch.manual_seed(0)
    plain = nn.Sequential(nn.Embedding(30, 16, padding_idx=3), nn.Linear(16, 30, bias=False)).npu()
    plain[1].weight = nn.Parameter(plain[0].weight.detach().clone())
    ids, names = GOLD.draw("zipf", 40, 30, 6).view(4, 10).npu(), list(plain.state_dict())
    grads = []
    for model in (plain, op.replace(plain, way)):
        model.zero_grad()
        model(ids).square().sum().backward()
        grads.append([p.grad.cpu().clone() for p in model.parameters()])
    assert type(plain[0]) is op.Embedding and not plain[0].why_not() and list(plain.state_dict()) == names
    for got, want in zip(grads[1], grads[0]):
        close(got, want, 16, want.abs().max().item())
    assert grads[1][0][3].eq(0).all()
    seed = eighths((4, 10, 16), FLOAT, 7)
    plain.zero_grad()
    plain[0](ids).backward(seed.npu())
    assert torch.equal(plain[0].weight.grad.cpu().double(), GOLD.table(seed.view(40, 16), ids.cpu().view(-1), 30, 3))
    with pytest.raises(ValueError, match="sparse=True and max_norm"):
        op.Embedding(4, 4, max_norm=1.0)


# ---- the kernels

CASES = (  # kind, ids, rows, columns, padding, cores
    ("runs", 90, 12, 40, None, 5),
    ("one", 600, 12, 24, None, 4),  # large sums, over several tiles
    ("zipf", 300, 30, 72, 0, 3),
    ("uniform", 40, 7, 33, None, 2),
    ("zipf", 130, 30, 500, 0, 1),  # several tiles of few rows, with places that are left of a sort of 32
    ("runs", 20, 5, 2100, None, 2),  # rows of two parts
)


def wrong(way, kernel, dtype=HALF, until="") -> list[str]:
    """What is noticed of a kernel: findings, and "numbers". One id is out of range in each case."""
    codes = []
    for kind, count, rows, width, padding, blocks in CASES:
        grad, ids = eighths((count, width), dtype, count).abs() * 1.125, GOLD.draw(kind, count, rows, count).int()
        ids[5], ids[7] = rows, rows - 1
        pad = -1 if padding is None else int(ids[padding])
        try:
            record, got, seen = GOLD.launch(way, grad.npu(), ids.npu(), rows, pad, blocks, made=kernel)
        except LaunchError as error:
            codes += error.record.codes()
            continue
        codes += record.codes()
        first = [r[:3] for r in seen.cpu().tolist() if r[0]]
        want = GOLD.table(grad, ids, rows, pad).to(got.dtype)
        if not torch.equal(got.cpu(), want) or first != [[1, 5, rows]]:
            codes.append("numbers")
        if until in codes:
            break
    return list(dict.fromkeys(codes))


def wrong_sort(kernel, until="") -> list[str]:
    codes = []
    for count in (100, 5000, 8192):
        ids = GOLD.draw("zipf", count, 3000, count).int()
        record, found, order = GOLD.sort(ids.npu(), made=kernel)
        codes += record.codes()
        places = order.cpu().long()
        right = torch.equal(found.cpu(), ids.sort().values) and torch.equal(places.sort().values, torch.arange(count))
        if not right or not torch.equal(ids[places], found.cpu()):
            codes.append("numbers")
        if until in codes:
            break
    return list(dict.fromkeys(codes))


ENTRIES = {
    "scatter": "scatter<{}, int32_t>",
    "combine": "combine<{}, int32_t>",
    "segments": "segments<{}, int32_t, int32_t>",
    "sort_ids": "sort_ids<int32_t>",
}


def told(name: str, dtype=HALF) -> dict:
    m = MUTANTS[name]
    return {"text": m.text(), "filename": str(m.file), "entry": ENTRIES[m.entry].format(TYPES[dtype])}


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    plain = [{"path": GOLD.file(w), "entry": ENTRIES[w].format(t)} for w in WAYS for t in TYPES.values()]
    build_all([*plain, *map(told, MUTANTS)])


def test_right():
    for way in WAYS:
        path = GOLD.file(way)
        for dtype in TYPES:
            assert wrong(way, labkit.kernel(path, entry=ENTRIES[way].format(TYPES[dtype])), dtype) == []
        late = labkit.kernel(path, entry=ENTRIES[way].format("half"), schedule="worst")
        assert wrong(way, late) == []  # every transfer as late as it may be
    assert wrong_sort(None) == []


def drawn_launch(seed: int):
    """One launch of combine under each schedule: nothing is found, the table is right in every bit, and of the ids that
    the table does not have each core says how many it saw, and one of them with its place."""
    draw = random.Random(seed)
    dtype, itype = draw.choice(list(TYPES)), draw.choice((INT, LONG))
    count, width = int(2 ** draw.uniform(0, 11)), int(2 ** draw.uniform(0, 9))
    if draw.random() < 0.15:  # rows of several parts
        count, width = count % 40 + 1, draw.randint(2000, 9000)
    rows, blocks = int(2 ** draw.uniform(0, 10)), draw.randint(1, 12)
    grad = eighths((count, width), dtype, seed)
    ids = GOLD.draw(draw.choice(["uniform", "zipf", "one", "runs"]), count, rows, seed)
    padding = int(ids[draw.randrange(count)]) if draw.random() < 0.3 else -1
    far = (-1, rows, rows + 1, 2**31 - 1, -(2**31)) + ((2**40, -(2**40), 2**32) if itype is LONG else ())
    for _ in range(draw.choice((0, 0, 1, 5))):
        ids[draw.randrange(count)] = draw.choice(far)
    want, share = GOLD.table(grad, ids, rows, padding), -(-count // blocks)
    for schedule in ("program", "worst", "worst:1"):
        how = (grad.npu(), ids.to(itype).npu(), rows, padding, blocks)
        record, got, seen = GOLD.launch("combine", *how, schedule=schedule)
        said = seed, schedule, record.codes()
        assert record.finished and not record.findings and torch.equal(got.cpu().double(), want), said
        for core, (many, place, id, *_) in enumerate(seen.cpu().tolist()):
            mine = ids[core * share : (core + 1) * share]
            assert many == ((mine < 0) | (mine >= rows)).sum(), said
            if many:
                assert core * share <= place < (core + 1) * share, said
                assert id == int(ids[place].clamp(-(2**31), 2**31 - 1)), said


@pytest.mark.parametrize("seeds", range(8))
def test_drawn_launches_of_combine(seeds):
    for seed in range(5 * seeds, 5 * seeds + 5):
        drawn_launch(seed)


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    kernel = labkit.kernel(**told(name), timeout=5)
    if mutant.noticed == "time":
        kind = "one" if mutant.entry == "combine" else "uniform"
        grad, ids = torch.empty(2000, 64, dtype=HALF, device="npu"), GOLD.draw(kind, 2000, 4000).int().npu()
        before, after = (GOLD.launch(mutant.entry, grad, ids, 4000, made=k)[0].time_us for k in (None, kernel))
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = (
            wrong_sort(kernel, mutant.noticed)
            if mutant.entry == "sort_ids"
            else wrong(mutant.entry, kernel, until=mutant.noticed)
        )
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


# ---- the clock


def test_the_table(grad_of):
    """data/embedding_grad.csv, rows of float: scatter alone is twice as slow as the fastest way for ids by Zipf's law,
    sort and sum for uniform ones, wherever a way as fast as the gradient comes from HBM would be; but for one shape,
    where the last stores of a frequent id wait after all rows have come. What is chosen is nearly the fastest, and even
    where nothing is known of the ids never much slower; a row comes out as it stands."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(TIMES.SHAPES) * len(TIMES.KINDS)
    less = set()
    for r in rows:
        more = float(r["more_us"])
        us = {"scatter": float(r["scatter_us"]) + more, "combine": float(r["combine_us"]) + more}
        us["segments"] = float(r["sorted_us"])
        fast = min(us.values())
        assert us[r["faster"]] == fast or r["dtype"] == "bfloat16", r
        assert us[r["chosen"]] < 1.1 * fast and us[r["unknown"]] < 1.25 * fast and float(r["floor_us"]) < fast, r
        other = {"zipf": "scatter", "uniform": "sorted"}.get(r["kind"])
        if other and r["dtype"] == "float32" and float(r[f"{other}_over_floor"]) >= 2:
            if float(r[f"{other}_over_fast"]) < 2:
                less.add((r["count"], r["width"], r["kind"]))
    assert less == {("2048", "512", "zipf")}
    assert [TIMES.written(row) for row in TIMES.rows(((2048, 80, "float32"),), ("one",))] == rows[5:6]


def test_combine_at_the_last_row_that_it_takes():
    """Ids are sorted as numbers of float, which is exact below 2^24."""
    rows = 1 << 23
    ids = torch.tensor([0, rows - 1, rows - 1, rows, -1, rows - 2, 5, 2**24 + 1, -(2**31), rows + 1] * 7)
    grad = eighths((len(ids), 1), FLOAT, 3)
    record, got, seen = GOLD.launch("combine", grad.npu(), ids.int().npu(), rows, -1, 1, schedule="worst")
    assert not record.findings and torch.equal(got.cpu().double(), GOLD.table(grad, ids, rows, -1).double())
    assert seen.cpu()[0, 0] == ((ids < 0) | (ids >= rows)).sum()
