"""lab::linear_act: right for every shape, act and type, or refused with the reason; both its ways give the golden's
numbers; known-wrong kernels told apart; the one launch beats the chain wherever it is taken.

The drawn cases: up to two leading sizes of 1 to 20, sides of 1 to 80, any act, with and without bias and residual.
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
from labkit.fusion import rules_fused  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
GOLD = golden("linear_act")
HOME = paths.kernels_dir() / "linear_act"
HALF, FLOAT = torch.float16, torch.float32
MUTANTS = load(HOME / "mutants.toml")


@pytest.fixture(scope="module")
def op():
    labkit.register(HOME / "linear_act_torch.asc")
    return torch.ops.lab.linear_act


def operands(lead, h, i, dtype, seed, bias=True, residual=True):
    x, w = values((*lead, h), dtype, seed, 1.0), values((i, h), dtype, seed + 1, 1.0 / max(h, 1) ** 0.5)
    return (x, w, values((i,), dtype, seed + 2, 1.0) if bias else None,
            values((*lead, i), dtype, seed + 3, 1.0) if residual else None)  # fmt: skip


def judge(y, given, act, dtype, rounded_twice=False):
    want, size = GOLD.linear_act(*given, act), GOLD.terms(*given) + 1e-3
    if dtype == FLOAT:
        close(y, want.float(), 4, 4 * size)
    elif rounded_twice:
        close(y, want.to(dtype), 2, size)
    else:
        close(y, want.to(dtype), 2, 2e-3 * size)


@settings(max_examples=60)
@given(
    lead=st.lists(st.integers(1, 20), min_size=1, max_size=2),
    h=st.integers(1, 80),
    i=st.integers(1, 80),
    act=st.sampled_from(GOLD.ACT_NAMES),
    bias=st.booleans(),
    residual=st.booleans(),
    turned=st.booleans(),
    dtype=st.sampled_from(list(TYPES)),
    seed=st.integers(0, 999),
)
def test_any_layer(op, lead, h, i, act, bias, residual, turned, dtype, seed):
    """The operator takes two launches at such sizes, the fused kernel is launched beside it."""
    given_ = operands(lead, h, i, dtype, seed, bias, residual)
    on = [None if t is None else t.npu() for t in given_]
    if turned:
        on[1] = on[1].t().contiguous().t()
    judge(op(*on, act), given_, act, dtype, rounded_twice=True)
    flat = [None if t is None else t.reshape(-1, t.shape[-1]) if t.dim() > 1 else t for t in given_]
    record, y = GOLD.fused(*(None if t is None else t.npu() for t in flat), act=act, cores=3)
    assert not record.codes()
    judge(y, flat, act, dtype)


@pytest.mark.parametrize("act", GOLD.ACT_NAMES)
def test_gradients(op, act):
    given_ = operands((2, 3), 7, 9, FLOAT, 5)
    on, plain = ([f(t).requires_grad_() for t in given_] for f in (torch.Tensor.npu, torch.Tensor.double))
    weights = values((2, 3, 9), FLOAT, 1, 1.0)
    (op(*on, act) * weights.npu()).sum().backward()
    (GOLD.linear_act(*plain, act) * weights).sum().backward()
    for got, right in zip(on, plain):
        torch.testing.assert_close(got.grad.cpu().double(), right.grad, rtol=1e-4, atol=1e-4)


def test_opcheck_and_refused(op):
    x, w, b, r = (t.npu() for t in operands((4,), 6, 5, FLOAT, 1))
    assert set(torch.library.opcheck(op.default, (x, w, b, r, "gelu"), test_utils=ALLOWED).values()) == {"SUCCESS"}
    assert op(x[:0], w).shape == (0, 5)
    assert torch.equal(op(x[:, :0], w[:, :0], b, None, "relu").cpu(), b.cpu().relu().expand(4, 5))  # a sum of nothing
    for args, said in (
        ((x, w[:, :5]), r"x has the shape \[4, 6\] and weight \[5, 5\]"),
        ((x, w.half()), "x is Float but weight is Half"),
        ((x, w, b[:3]), r"bias has the shape \[3\]"),
        ((x, w, b, r[:1]), "the kernel does not broadcast"),
        ((x, w, b, r, "elu"), 'act is "elu"; it is one of none, relu'),
    ):
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                op(*(a.to(there) if isinstance(a, torch.Tensor) else a for a in args))


def test_large_results_take_one_launch(op):
    """2048 x 2048 with gelu pays, 64 x 64 does not; both right."""
    for m, i, launches in ((2048, 2048, 1), (64, 64, 2)):
        assert rules_fused.pays(m, i, "gelu") == (launches == 1)
        given_ = operands((m,), 16, i, HALF, 3, residual=False)
        on = [None if t is None else t.npu() for t in given_]
        device.reset_clock()
        y = op(*on, "gelu")
        assert len([s for s in device.timeline() if s.engine in ("vector", "cube", "cores")]) == launches
        judge(y, given_, "gelu", HALF, rounded_twice=True)


class Head(torch.nn.Module):
    def __init__(self, m, i, act):
        super().__init__()
        self.linear, self.act = torch.nn.Linear(16, i), act

    def forward(self, x):
        return GOLD.ACTS[self.act](self.linear(x))


def test_the_rule(op):
    x = values((2048, 16), HALF, 1, 1.0).npu()
    model = Head(2048, 2048, "gelu").half().npu()
    with torch.no_grad():
        made = labkit.fusion.fuse(model, x)
        assert dict(made.outcome.replaced) == {"linear_act": 1}, made.outcome
        close(made(x), model(x), 4, 1.0)
    for m, what in ((2048, "product again"), (64, "not known to be faster")):
        left = labkit.fusion.fuse(model, x[:m]).outcome
        assert not left.replaced and any(what in said for said in left.left), left


# ---- the kernels

CASES = (  # m, h, i, act, bias, residual, cores
    (40, 33, 300, "gelu", True, True, 2),
    (150, 40, 47, "sigmoid", True, False, 1),
    (260, 16, 520, "tanh", False, True, 2),
    (33, 300, 16, "none", True, True, 2),
)


def wrong(build, dtype=HALF, until="") -> list[str]:
    """Codes of findings, "numbers" where results are off, "bits" where they are not those that were rounded once."""
    found = []
    for m, h, i, act, bias, residual, cores in CASES:
        given_ = operands((m,), h, i, dtype, 7, bias, residual)
        on = [None if t is None else t.npu() for t in given_]
        try:
            record, y = GOLD.fused(*on, act=act, made=build("linear_act"), cores=cores)
            found += record.codes()
            judge(y, given_, act, dtype)
            if dtype == HALF and (y.cpu() == GOLD.linear_act(*given_, act).half()).double().mean() < 0.98:
                found.append("bits")
            record, z = GOLD.product(*on[:2], made=build("linear_relu"))
            found += record.codes()
            judge(z, (*given_[:2], None, None), "none", dtype)
        except LaunchError as error:
            found += error.record.codes()
        except AssertionError:
            found.append("numbers")
        if until in found:
            break
    return list(dict.fromkeys(found))


def whole(mutant) -> str:
    """The wrong text, with the header beside it, so that a change can be in either."""
    part = (HOME / "linear_act.h").read_text(encoding="utf-8").replace("#pragma once\n", "")
    return mutant.text(mutant.file.read_text(encoding="utf-8").replace('#include "linear_act.h"\n', part))


def builder(dtype=HALF, text=None, **how):
    path = HOME / "linear_act.asc"
    given_ = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return lambda name: labkit.kernel(**given_, entry=f"{name}<{TYPES[dtype]}>", **how)


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    path = HOME / "linear_act.asc"
    plain = [
        {"path": path, "entry": f"{e}<{t}>"} for e in ("linear_act", "linear_relu", "finish") for t in TYPES.values()
    ]
    changed = [{"text": whole(m), "filename": str(path), "entry": "linear_act<half>"} for m in MUTANTS.values()]
    build_all([*plain, *changed])


def test_right():
    for dtype in TYPES:
        assert wrong(builder(dtype), dtype) == []
    assert wrong(builder(schedule="worst")) == []  # every transfer as late as it may be


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    if mutant.noticed == "time":
        x, w = (torch.empty(s, dtype=HALF, device="npu") for s in ((1024, 256), (512, 256)))
        before, after = (
            GOLD.fused(x, w, act="gelu", made=builder(text=t, timing_only=True)("linear_act"))[0].time_us
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


# ---- the clock

TIMES = module("linear_act_times", HOME / "times.py")


def test_the_table():
    """data/linear_act.csv: where the one launch is chosen it beats our chain and the device's; rows as they stand."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [r for r in rows if r["chosen"] == "1"]
    assert len(rows) == len(TIMES.SHAPES) and 3 <= len(chosen) < len(rows)
    for row in chosen:
        assert float(row["chain_over_fused"]) > 1 and float(row["device_over_fused"]) > 1, row
    for act in GOLD.ACT_NAMES:  # the rule's constants are the adapter's
        for m in (32, 1024, 2048, 4096):
            assert TIMES.pays(m, 1024, act) == rules_fused.pays(m, 1024, act)
    picked = [TIMES.SHAPES[1], TIMES.SHAPES[5]]
    for found, row in zip(TIMES.rows(picked), (rows[1], rows[5])):
        assert TIMES.written(found) == row
