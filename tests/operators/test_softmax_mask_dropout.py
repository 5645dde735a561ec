"""lab::softmax_mask_dropout: right for every mask, type and width, or refused with the reason; what it drops is what the
golden drops, bit for bit, and has the shares of a draw; its kernels' known-wrong versions told apart; its times.

The drawn cases: up to three leading sizes of 1 to 7, a width of 1 to 600, a mask whose leading sizes are each 1 or x's.
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
from ops_lab import ALLOWED, TYPES, close, golden, module, values  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
GOLD = golden("softmax_mask_dropout")
HOME = paths.kernels_dir() / "softmax_mask_dropout"
HALF, FLOAT = torch.float16, torch.float32
MUTANTS = load(HOME / "mutants.toml")
SEED = 0x123456789ABCDEF


@pytest.fixture(scope="module")
def op():
    labkit.register(HOME / "softmax_mask_dropout_torch.asc")
    return torch.ops.lab.softmax_mask_dropout


def masked(kind, shape, dtype, seed):
    made = torch.Generator().manual_seed(seed)
    if kind == "bool":
        return torch.rand(shape, generator=made) > 0.3  # some rows have no column at all
    return values(shape, dtype, seed, 2.0) if kind == "added" else None


def allowed(x, mask, scale, dtype):
    """Last places: exp loses as many as its argument is large, in float."""
    return 2 if dtype != FLOAT else 8 + 4 * float(GOLD.terms(x, mask, scale).max())


@settings(max_examples=70)
@given(
    lead=st.lists(st.integers(1, 7), min_size=1, max_size=3),
    width=st.one_of(st.integers(1, 130), st.integers(500, 600)),
    kind=st.sampled_from(["none", "bool", "added"]),
    shared=st.lists(st.booleans(), min_size=3, max_size=3),
    expanded=st.booleans(),
    p=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    scale=st.sampled_from([1.0, 0.125, -0.3]),
    dtype=st.sampled_from(list(TYPES)),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_any_mask(op, lead, width, kind, shared, expanded, p, scale, dtype, seed):
    shape = (*lead, width)
    x = values(shape, dtype, seed % 100, 2.0)
    mask = masked(kind, (*(1 if one else n for one, n in zip(shared, lead)), width), dtype, seed % 97)
    on = x.npu().requires_grad_()
    m = None if mask is None else mask.npu()
    if m is not None and expanded:
        m = m.expand(shape)
    y = op(on, m, scale, p, seed)
    want, shares = GOLD.softmax_mask_dropout(x, mask, scale, p, seed)
    close(y, want, allowed(x, mask, scale, dtype), 1e-6)
    if p:
        assert torch.equal(y.cpu() == 0, (want == 0) | (y.cpu() == 0))  # what the golden drops is dropped
    dy = values(shape, dtype, seed % 89, 1.0)
    y.backward(dy.npu())
    right, size = GOLD.backward(dy, shares, scale, p, seed)
    close(on.grad, right, *((3, size) if dtype != FLOAT else (60 + 8 * float(GOLD.terms(x, mask, scale).max()), size)))


@pytest.mark.parametrize("dtype", TYPES)
def test_the_widest_rows_and_wider(op, dtype):
    for width in (5120, 5121, 9000) if dtype != FLOAT else (3840, 3841, 9000):
        x, mask = values((2, 3, width), dtype, 1, 2.0), masked("added", (2, 1, width), dtype, 2)
        on = x.npu().requires_grad_()
        y = op(on, mask.npu(), 0.5, 0.3, SEED)
        want, shares = GOLD.softmax_mask_dropout(x, mask, 0.5, 0.3, SEED)
        close(y, want, allowed(x, mask, 0.5, dtype), 1e-6)
        dy = values(x.shape, dtype, 3, 1.0)
        y.backward(dy.npu())
        right, size = GOLD.backward(dy, shares, 0.5, 0.3, SEED)
        close(on.grad, right, 3 if dtype != FLOAT else 100, size)


def test_opcheck_and_refused(op):
    x, mask = values((2, 3, 9), FLOAT, 1, 1.0).npu(), torch.ones(2, 1, 9, dtype=torch.bool, device="npu")
    for args in ((x, None, 0.5, 0.0, 1), (x.clone().requires_grad_(), mask, 0.5, 0.25, 3)):
        assert set(torch.library.opcheck(op.default, args, test_utils=ALLOWED).values()) == {"SUCCESS"}
    assert op(x[:0], mask[:0]).shape == (0, 3, 9)
    for args, said in (
        ((x, mask[:, :, :5]), r"mask has the shape \[2, 1, 5\], which does not broadcast"),
        ((x, mask.half()), "scores is Float but mask is Half"),
        ((x.int(),), "scores is Int, the kernel takes"),
        ((x, None, 1.0, 1.5), "p is 1.5, a share from 0 to 1"),
    ):
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                op(*(a.to(there) if isinstance(a, torch.Tensor) else a for a in args))
    with pytest.raises(RuntimeError, match="mask has requires_grad"):
        op(x, x.clone().requires_grad_())


def test_rows_without_a_column(op):
    """False everywhere: equal shares. -inf everywhere: nan, as PyTorch says."""
    x = values((2, 4), FLOAT, 1, 1.0).npu()
    assert op(x, torch.zeros(2, 4, dtype=torch.bool, device="npu")).cpu().eq(0.25).all()
    assert op(x, torch.full((2, 4), -torch.inf, device="npu")).isnan().all()


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_what_is_dropped_is_a_draw(p):
    """The golden's hash, which the kernels repeat: shares of the whole, of rows and columns, correlations of pairs,
    triples and squares of four are those of independent draws. z: standard normal if they are."""
    rows, width = 2048, 384
    for seed in (0, 1, SEED):
        z = (GOLD.kept(rows, width, p, seed).double() - (1 - p)) / (p * (1 - p)) ** 0.5
        assert abs(z.sum()) / (rows * width) ** 0.5 < 4
        for totals in (z.sum(0) / rows**0.5, z.sum(1) / width**0.5):
            assert abs((totals**2).sum() - len(totals)) < 4.5 * (2 * len(totals)) ** 0.5
        for m, n in ((z.T @ z / rows**0.5, width), (z[:width] @ z[:width].T / width**0.5, width)):
            apart = m[~torch.eye(n, dtype=torch.bool)]
            assert abs(apart.std() - 1) < 0.02 and apart.abs().max() < 9
        a, b, c = (torch.randperm(width, generator=torch.Generator().manual_seed(i))[:300] for i in range(3))
        ok = (a != b) & (b != c) & (a != c)
        triples = (z[:, a] * z[:, b] * z[:, c]).sum(0)[ok] / rows**0.5
        pairs = z[:, a] * z[:, b]
        fours = (pairs[1:] * pairs[:-1]).sum(0)[a != b] / rows**0.5
        for found in (triples, fours):
            assert 0.85 < found.std() < 1.15 and found.abs().max() < 6
    assert not torch.equal(GOLD.kept(9, 99, p, 1), GOLD.kept(9, 99, p, 1 + 2**32))


class Scores(torch.nn.Module):
    def __init__(self, p=0.0):
        super().__init__()
        self.p = p

    def forward(self, x, mask):
        shares = torch.softmax(x / 4.0 + mask, -1, dtype=torch.float32).to(x.dtype)
        return torch.nn.functional.dropout(shares, self.p, self.training)


@pytest.mark.parametrize("dtype", TYPES)
def test_the_rule(op, dtype):
    """fuse() and backend() take it; dropout that is active stays PyTorch's, with PyTorch's numbers."""
    x, mask = values((2, 3, 4, 9), dtype, 1, 2.0).npu().requires_grad_(), values((2, 1, 1, 9), dtype, 2, 2.0).npu()
    plain = Scores(0.2).eval()
    made = labkit.fusion.fuse(plain, x, mask)
    assert dict(made.outcome.replaced) == {"softmax_mask": 1}, made.outcome
    close(made(x, mask), plain(x, mask), 16, 1e-3)
    torch._dynamo.reset()
    backend = labkit.fusion.backend()
    trained = torch.compile(Scores(0.5).train(), backend=backend)
    torch.npu.manual_seed(1)
    y = trained(x, mask)
    torch.npu.manual_seed(1)
    want = Scores(0.5).train()(x, mask)
    close(y, want, 16, 1e-3)
    assert dict(backend.outcome.replaced) == {"softmax_mask": 1}
    y.sum().backward()
    assert x.grad.isfinite().all()
    learned = mask.clone().requires_grad_()  # its gradient is not computed
    assert not labkit.fusion.fuse(plain, x, learned).outcome.replaced


# ---- the kernels

# x, mask, kind of mask, p, cores, wide rows
CASES = (
    ((3, 2, 5, 33), (3, 1, 5, 33), "added", 0.0, 3, False),
    ((2, 2, 30, 100), (2, 1, 1, 100), "bool", 0.3, 2, False),
    ((2, 600), (2, 600), "added", 0.3, 1, False),
    ((40, 64), None, "none", 0.5, 2, False),
    ((2, 2, 9000), (2, 1, 9000), "bool", 0.3, 3, True),
)


def wrong(kernel, dtype=HALF, until="") -> list[str]:
    """Codes of findings, "numbers" where results are off. kernel(name): what is built of the file's entry `name`."""
    found = []
    for shape, mask_shape, kind, p, blocks, wide in CASES:
        x, dy = (values(shape, dtype, i, 3.0) for i in range(2))
        x = x + (200 if mask_shape is None or kind == "bool" else -20)  # exp of it is infinite, or small beside 1
        mask = masked(kind, mask_shape, dtype, 4)
        want, shares = GOLD.softmax_mask_dropout(x, mask, 0.5, p, SEED)
        right, size = GOLD.backward(dy, shares, 0.5, p, SEED)
        name = "softmax_mask_dropout" + "_wide" * wide
        how = {"blocks": blocks, "wide": wide}
        try:
            m = None if mask is None else mask.npu()
            record, y, kept = GOLD.launch(x.npu(), m, 0.5, p, SEED, True, made=kernel(name), **how)
            found += record.codes()
            close(y, want, allowed(x, mask, 0.5, dtype), 1e-6)
            close(kept, shares, allowed(x, mask, 0.5, dtype), 1e-6)
            backward = kernel(name + "_backward")
            record, dx = GOLD.launch_backward(dy.npu(), shares.npu(), 0.5, p, SEED, made=backward, **how)
            found += record.codes()
            close(dx, right, 3 if dtype != FLOAT else 100, size)
        except LaunchError as error:
            found += error.record.codes()
        except AssertionError:
            found.append("numbers")
        if until in found:
            break
    return list(dict.fromkeys(found))


def whole(mutant) -> str:
    """The wrong text, with the headers beside it, so that a change can be in any of them."""
    text = mutant.file.read_text(encoding="utf-8")
    for name in ("softmax_wide.h", "scores.h"):
        part = (HOME / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        part = part.replace('#include "scores.h"\n', "")
        text = text.replace(f'#include "{name}"\n', part)
    return mutant.text(text)


def builder(dtype=HALF, text=None, **how):
    path = HOME / "softmax_mask_dropout.asc"
    given = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return lambda name: labkit.kernel(**given, entry=f"{name}<{TYPES[dtype]}>", **how)


ENTRIES = [f"softmax_mask_dropout{w}{b}" for w in ("", "_wide") for b in ("", "_backward")]


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    path = HOME / "softmax_mask_dropout.asc"
    plain = [{"path": path, "entry": f"{e}<{t}>"} for e in ENTRIES for t in TYPES.values()]
    changed = [{"text": whole(m), "filename": str(path), "entry": f"{ENTRIES[0]}<half>"} for m in MUTANTS.values()]
    build_all([*plain, *changed])


def test_right():
    for dtype in TYPES:
        assert wrong(builder(dtype), dtype) == []
    assert wrong(builder(schedule="worst")) == []  # every transfer as late as it may be


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    if mutant.noticed == "time":
        shape = (4, 12, 64, 128)
        x = torch.empty(shape, dtype=HALF, device="npu")
        before, after = (
            GOLD.launch(x, made=builder(text=t, timing_only=True)("softmax_mask_dropout"))[0].time_us
            for t in (None, whole(mutant))
        )
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(builder(text=whole(mutant), timeout=5), until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


def test_the_chain_gives_the_same():
    """naive.asc: rounded between its launches, so off by some places more."""
    x, mask = values((2, 3, 4, 50), HALF, 1, 2.0), masked("bool", (2, 1, 1, 50), HALF, 2)
    records, y = GOLD.chain(x.npu(), mask.npu(), 0.5, 0.3, SEED)
    assert len(records) == 3 and not sum((r.codes() for r in records), [])
    close(y, GOLD.softmax_mask_dropout(x, mask, 0.5, 0.3, SEED)[0], 16, 1e-3)


# ---- the clock

TIMES = module("softmax_mask_dropout_times", HOME / "times.py")


def test_the_table():
    """data/softmax_mask_dropout.csv: the fused launch beats both chains at every shape; a row comes out as it stands."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * len(TIMES.SHAPES) and {r["chosen"] for r in rows} == {"0", "1"}
    for row in rows:
        assert float(row["chain_over_fused"]) > 1 and float(row["device_over_fused"]) > 1, row
    for found, row in zip(TIMES.rows(TIMES.SHAPES[1:2]), rows[2:4]):
        assert TIMES.written(found) == row


@pytest.mark.parametrize("rows, width", [(9000, 100), (3000, 600)])
def test_a_row_that_is_no_number_spoils_no_other(op, rows, width):
    """Float is computed in place: the zeros behind a row's end have to stay for the row that comes there next."""
    x, dy = values((rows, width), FLOAT, 7, 1.0), values((rows, width), FLOAT, 8, 1.0)
    x[5], dy[100] = float("nan"), float("nan")
    shares = op(x.npu())
    dx = torch.ops.lab.softmax_mask_dropout_backward(dy.npu(), shares)
    assert shares.cpu().isnan().any(-1).nonzero().flatten().tolist() == [5]
    assert dx.cpu().isnan().any(-1).nonzero().flatten().tolist() == [5, 100]
