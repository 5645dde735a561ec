"""lab::unscale_: every gradient of a list times 1/scale, rounded once; inf and nan found wherever they are; known-wrong
kernels told apart; one launch beats the chain of launches.

The drawn cases: 1 to 9 tensors of 1 to 3000 elements (one in nine has up to 20,000), types mixed, shapes with gaps among
them, eighths between -8 and 8; a third of the lists have one inf or nan, at a drawn place; 1/scale a power of two.
"""

from __future__ import annotations

import csv
import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples, half  # noqa: E402
from faults import load  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_lab import TYPES, golden, module  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
GOLD = golden("unscale")
HOME = paths.kernels_dir() / "unscale"
TIMES = module("unscale_times", HOME / "times.py")
FLOAT, HALF = torch.float32, torch.float16
MUTANTS = load(HOME / "mutants.toml")


@pytest.fixture(scope="module")
def unscale_():
    device.install()
    assert labkit.operator("unscale").load() == ""
    return labkit.operator("unscale").unscale_


def eighths(n, dtype, seed):
    return (torch.randint(-64, 65, (n,), generator=torch.Generator().manual_seed(seed)) / 8).to(dtype)


def same(got, want) -> bool:
    """Bit for bit; a nan is a nan."""
    got = got.cpu()
    return got.dtype == want.dtype and bool(((got == want) | (got.isnan() & want.isnan())).all())


@settings(max_examples=200 if examples(200) == 200 else 25)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 3000), st.sampled_from(list(TYPES))), min_size=1, max_size=9),
    large=st.integers(0, 8),
    bad=st.sampled_from([None, None, None, None, "inf", "-inf", "nan"]),
    where=st.tuples(st.integers(0, 8), st.floats(0, 1, exclude_max=True)),
    shift=st.integers(-16, 3),
    found=st.sampled_from([0.0, 1.0]),
    gap=st.booleans(),
)
def test_any_list(unscale_, sizes, large, bad, where, shift, found, gap):
    grads = [eighths(n * (7 if i == large else 1), dtype, i) for i, (n, dtype) in enumerate(sizes)]
    if bad:
        grads[where[0] % len(grads)][int(where[1] * len(grads[where[0] % len(grads)]))] = float(bad)
    want, flag = GOLD.unscale(grads, 2.0**shift, found)
    on = [torch.stack([g, g], 1).npu()[:, 0] if gap and i == 0 else g.npu() for i, g in enumerate(grads)]
    scale, seen = torch.tensor(2.0**shift).npu(), torch.tensor([found]).npu()
    unscale_(on, scale, seen)
    assert all(same(g, w) for g, w in zip(on, want)) and seen.item() == flag


def test_as_pytorch_does(unscale_):
    """Against torch._amp_foreach_non_finite_check_and_unscale_ on the CPU, with a scale that rounds; more tensors than
    one launch takes, an empty one and one of no dimension among them."""
    grads = [eighths(n, FLOAT, n) * 0.3 for n in [*range(140), 5000]] + [torch.tensor(0.7)]
    for bad in (None, 139):
        if bad:
            grads[bad][3] = torch.inf
        want, flag = [g.clone() for g in grads], torch.zeros(1)
        on, seen = [g.npu() for g in grads], torch.zeros(1).npu()
        torch._amp_foreach_non_finite_check_and_unscale_(want, flag, torch.tensor(0.1))
        unscale_(on, torch.tensor(0.1).npu(), seen)
        assert all(same(g, w) for g, w in zip(on, want)) and seen.item() == flag.item()


def test_refused(unscale_):
    one, flag, g = torch.ones(1, device="npu"), torch.zeros(1, device="npu"), torch.ones(3, device="npu")
    for args, said in (
        (([g, g.int()], one, flag), r"grads\[1\] is Int, the kernel takes float16"),
        (([g.cpu()], one, flag), r"grads\[0\] is on cpu, inv_scale on npu"),
        (([g], one.half(), flag), "inv_scale is Half"),
        (([g], one, g), r"found_inf is Float\[3\]"),
    ):
        with pytest.raises(RuntimeError, match=said):
            torch.ops.lab.unscale_(*args)
    unscale_([], one, flag)
    how = {"test_utils": ("test_schema", "test_faketensor")}
    assert set(torch.library.opcheck(torch.ops.lab.unscale_.default, ([g, g.half()], one, flag), **how).values()) == {
        "SUCCESS"
    }


# ---- the kernel

LISTS = (  # sizes, the tensor and element that is bad, cores, tile
    ((700, 1, 33, 5000, 64), None, 7, 512),
    ((700, 1, 33, 5000, 64), (3, 4999), 7, 512),
    ((3, 130), (0, 0), 4, 64),
    ((2000,), (0, 1023), 2, 256),
)


def wrong(kernel, dtype=HALF, until="") -> list[str]:
    codes = []
    for sizes, bad, blocks, tile in LISTS:
        for value in ("inf", "nan"):
            grads = [eighths(n, dtype, n) for n in sizes]
            if bad:
                grads[bad[0]][bad[1]] = float(value)
            try:
                record, got, seen = GOLD.launch(grads, 0.375, 0.0, blocks, tile, made=kernel)
            except LaunchError as error:
                codes += error.record.codes()
                continue
            codes += record.codes()
            want, flag = GOLD.unscale(grads, 0.375)
            if not all(same(g, w) for g, w in zip(got, want)) or seen.item() != flag:
                codes.append("numbers")
            if until in codes:
                return codes
    return list(dict.fromkeys(codes))


def build(dtype=HALF, text=None, **how):
    path = HOME / "unscale.asc"
    given_ = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return labkit.kernel(**given_, entry=f"unscale<{TYPES[dtype]}>", **how)


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    plain = [{"path": HOME / "unscale.asc", "entry": f"unscale<{t}>"} for t in TYPES.values()]
    changed = [
        {"text": m.text(), "filename": str(HOME / "unscale.asc"), "entry": "unscale<half>"} for m in MUTANTS.values()
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
        grads = [eighths(200_000, HALF, 1)]
        before, after = (
            GOLD.launch(grads, 0.5, tile=2048, made=build(text=t))[0].time_us for t in (None, mutant.text())
        )
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
    """data/unscale.csv: one launch beats the chain everywhere; a row comes out as it stands."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(TIMES.LISTS)
    for row in rows:
        assert float(row["chain_over_fused"]) > 1, row
    assert [TIMES.written(row) for row in TIMES.rows(TIMES.LISTS[:1])] == rows[:1]
