"""lab::embedding_bags and lab::embedding_bag_mlp: right for any tables, bags and types; ids out of range named or read
nowhere; known-wrong kernels told apart; one launch beats a launch for each table.

The drawn cases: 1 to 5 tables of 2 to 40 rows and 1 to 70 columns, 1 to 40 samples, bags of 1 to 5 ids, up to 20 dense
features, ids by a Zipf law, with and without padding and weights of samples.
"""

from __future__ import annotations

import csv
import os

import pytest
from drawn import half

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from faults import load  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_lab import TYPES, close, golden, module, values  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
GOLD = golden("embedding_bag_mlp")
HOME = paths.kernels_dir() / "embedding_bag_mlp"
TIMES = module("embedding_bag_mlp_times", HOME / "times.py")
HALF, FLOAT = torch.float16, torch.float32
MUTANTS = load(HOME / "mutants.toml")


@pytest.fixture(scope="module")
def ops():
    labkit.register(HOME / "embedding_bag_mlp_torch.asc")
    return torch.ops.lab


def drawn(rows, width, samples, bag, dense, dtype, seed, padding=None, weighs=False, ids=torch.int32):
    """(tables, ids, dense, weights): of each table every id occurs, where there are enough samples."""
    tables = [values((n, width), dtype, seed + i, 1.0) for i, n in enumerate(rows)]
    found = torch.stack([TIMES.zipf((samples, bag), n, seed + i) for i, n in enumerate(rows)])
    if padding is not None:
        found[:, ::3, 0] = padding
        found[:, 0] = found[:, -1] = padding  # empty bags
    return (tables, found.to(ids), values((samples, dense), dtype, seed + 9, 1.0) if dense else None,
            values(found.shape, FLOAT, seed + 8, 1.0) if weighs else None)  # fmt: skip


def judge(x, tables, ids, dense, weights, mode, padding):
    want = GOLD.bags(tables, ids, dense, weights, mode, padding)
    absolute = [t.abs() for t in tables], ids, None if dense is None else dense.abs()
    size = GOLD.bags(*absolute, None if weights is None else weights.abs(), mode, padding)
    close(x, want.to(x.dtype), 2 if x.dtype != FLOAT else 8, size * (2e-3 if x.dtype != FLOAT else 1))


@settings(max_examples=60)
@given(
    rows=st.lists(st.integers(2, 40), min_size=1, max_size=5),
    width=st.integers(1, 70),
    samples=st.integers(1, 40),
    bag=st.integers(1, 5),
    dense=st.integers(0, 20),
    mode=st.sampled_from(["sum", "mean"]),
    padding=st.sampled_from([None, 0, 1]),
    weighs=st.booleans(),
    dtype=st.sampled_from(list(TYPES)),
    kind=st.sampled_from([torch.int32, torch.int64]),
    seed=st.integers(0, 99),
)
def test_any_bags(ops, rows, width, samples, bag, dense, mode, padding, weighs, dtype, kind, seed):
    weighs = weighs and mode == "sum"
    tables, ids, more, weights = drawn(rows, width, samples, bag, dense, dtype, seed, padding, weighs, kind)
    on = [None if t is None else t.npu() for t in (torch.cat(tables), ids, more, weights)]
    x = ops.embedding_bags(on[0], rows, on[1], on[2], on[3], mode, padding)
    judge(x, tables, ids, more, weights, mode, padding)


def test_ids_out_of_range(ops):
    """Named with table, sample and place; without the check they read nothing and count as zeros."""
    rows = [5, 9]
    tables, ids, dense, _ = drawn(rows, 6, 7, 3, 2, FLOAT, 1)
    for wrong in (9, -1, 2**31 - 1):
        ids[1, 3, 2] = wrong
        on = torch.cat(tables).npu(), rows, ids.npu(), dense.npu()
        said = rf"id {wrong} of table 1, sample 3, place 2 is out of range, the table has 9 rows"
        with pytest.raises(RuntimeError, match=said):
            ops.embedding_bags(*on)
        judge(ops.embedding_bags(*on, check=False), tables, ids, dense, None, "sum", None)


def test_refused(ops):
    table, rows = torch.ones(14, 6, device="npu"), [5, 9]
    ids = torch.zeros(2, 7, 3, dtype=torch.int32, device="npu")
    for args, said in (
        ((table, [5, 8], ids), "table has 14 rows, but rows adds up to 13"),
        ((table, [14], ids), "ids is for 2 tables, rows names 1"),
        ((table, rows, ids[0]), r"ids is Int of shape \[7, 3\]"),
        ((table, rows, ids.float()), "ids is Float"),
        ((table, rows, ids, table[:3]), r"dense has the shape \[3, 6\]"),
        ((table, rows, ids, None, None, "max"), 'mode is "max"'),
        ((table, rows, ids, None, ids.float(), "mean"), 'per_sample_weights is for mode "sum"'),
    ):
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                ops.embedding_bags(*(a.to(there) if isinstance(a, torch.Tensor) else a for a in args))
    assert ops.embedding_bags(table, rows, ids[:, :0]).shape == (0, 12)
    how = {"test_utils": ("test_schema", "test_faketensor")}
    done = torch.library.opcheck(ops.embedding_bags.default, (table, rows, ids, None, None, "sum", None, False), **how)
    assert set(done.values()) == {"SUCCESS"}


def test_a_recommender(ops):
    """The whole model, its tables packed: the same numbers, the same names; an update of a table is seen."""
    from labkit.fusion.models import Recommender

    torch.manual_seed(0)
    model = Recommender(3, 50, 16, 5, (32, 16)).npu()
    ids, dense = torch.randint(0, 50, (3, 8, 2)).npu(), torch.randn(8, 5).npu()
    names, want = list(model.state_dict()), model(ids, dense)
    packed = labkit.operator("embedding_bag_mlp").pack(model)
    assert not packed.why_not() and list(model.state_dict()) == names
    close(packed(ids, dense), want, 64, 1.0)
    with torch.no_grad():
        model.bags[1].weight.mul_(2)
    close(packed(ids, dense), model(ids, dense), 64, 1.0)
    ids[2, 1, 0] = 50
    with pytest.raises(RuntimeError, match="id 50 of table 2, sample 1, place 0"):
        packed(ids, dense)


# ---- the kernel

CASES = (  # rows, width, samples, bag, dense, mode, padding, weights, cores
    ((20, 9, 33), 24, 90, 1, 13, "sum", None, False, 2),
    ((7, 40), 64, 70, 3, 0, "mean", 1, False, 1),
    ((30,), 33, 50, 2, 5, "sum", 0, True, 2),
)


def wrong(kernel, dtype=HALF, until="") -> list[str]:
    found = []
    for rows, width, samples, bag, dense, mode, padding, weighs, blocks in CASES:
        tables, ids, more, weights = drawn(rows, width, samples, bag, dense, dtype, 3, padding, weighs)
        ids[0, 5, 0] = rows[0] + 1  # out of range
        on = [None if t is None else t.npu() for t in (ids, more, weights)]
        try:
            record, x, seen = GOLD.launch([t.npu() for t in tables], *on, mode, padding, blocks, made=kernel)
            found += record.codes()
            judge(x, tables, ids, more, weights, mode, padding)
            first = [r for r in seen.cpu().tolist() if r[0]]
            assert [r[:5] for r in first] == [[1, 0, 5, 0, rows[0] + 1]]
        except LaunchError as error:
            found += error.record.codes()
        except AssertionError:
            found.append("numbers")
        if until in found:
            break
    return list(dict.fromkeys(found))


def build(dtype=HALF, text=None, **how):
    path = HOME / "embedding_bag.asc"
    given_ = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return labkit.kernel(**given_, entry=f"embedding_bags<{TYPES[dtype]}, int32_t>", **how)


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    path = HOME / "embedding_bag.asc"
    plain = [{"path": path, "entry": f"embedding_bags<{t}, int32_t>"} for t in TYPES.values()]
    changed = [
        {"text": m.text(), "filename": str(path), "entry": "embedding_bags<half, int32_t>"} for m in MUTANTS.values()
    ]
    build_all([*plain, *changed])


def test_right():
    for dtype in TYPES:
        assert wrong(build(dtype), dtype) == []
    assert wrong(build(schedule="worst")) == []  # every transfer as late as it may be


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    if mutant.noticed == "time":
        tables, ids, *_ = drawn((30, 30), 64, 400, 1, 0, HALF, 1)
        given_ = [t.npu() for t in tables], ids.npu()
        before, after = (GOLD.launch(*given_, made=build(text=t))[0].time_us for t in (None, mutant.text()))
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(build(text=mutant.text(), timeout=5), until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


# ---- the clock


def test_the_table():
    """data/embedding_bag_mlp.csv: the one launch beats both chains at every shape; a row comes out as it stands."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(TIMES.SHAPES) and all(r["chosen"] == "1" for r in rows)
    for row in rows:
        assert float(row["chain_over_fused"]) > 1 and float(row["device_over_fused"]) > 1, row
    found = [TIMES.written(row) for row in TIMES.rows(TIMES.SHAPES[:1])]
    assert found == rows[:1]
