"""lab::residual_rms_norm and lab::layer_norm_gelu: right for every shape, stride and offset, or refused with the reason;
their kernels' known-wrong versions told apart; faster than the chain of launches on the modelled clock."""

from __future__ import annotations

import csv
import os

import pytest
from drawn import half

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from faults import Fault, load  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from ops_cases import TIMES, apart, empty, name_of, span  # noqa: E402
from ops_lab import ALLOWED, TYPES, close, golden, in_rows, laid, module, values  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import LaunchError, expect  # noqa: E402

pytestmark = simulated
NAMES = ("residual_rms_norm", "layer_norm_gelu")
GOLD = {name: golden(name) for name in NAMES}
HALF, FLOAT = torch.float16, torch.float32
ULPS = {torch.float16: 2, torch.bfloat16: 2, torch.float32: 8}
LAYOUTS = st.sampled_from(["plain", "packed", "offset", "turned"])
MUTANTS = {
    f"{name}:{which}": fault
    for name in NAMES
    for which, fault in load(paths.kernels_dir() / name / "mutants.toml").items()
}


@pytest.fixture(scope="module")
def ops():
    for name in NAMES:
        labkit.register(f"kernels/{name}/{name}_torch.asc")
    return torch.ops.lab


def columns(width, dtype):
    return values((width,), dtype, 5, 1.0), values((width,), dtype, 6, 1.0)


def judged(name, x, other, dtype):
    """[(what must come out, last places, scale)] for rows x; other: the residual."""
    weight, bias = columns(x.shape[-1], dtype)
    if name == "residual_rms_norm":
        y, total, rstd = GOLD[name].residual_rms_norm(x, other, weight)
        return [(y, ULPS[dtype], 1e-6), (total, 0, 0), (rstd, 8, 0)]
    y, mean, rstd = GOLD[name].layer_norm_gelu(x, weight, bias)
    scale = GOLD[name].terms(x, weight, bias) * (4 if dtype == FLOAT else 0.25)
    size = x.double().abs().mean(-1, keepdim=True)
    # rstd: of rows that hardly differ the variance is what is left of x - mean
    return [(y, ULPS[dtype], scale), (mean, 8, size), (rstd, 16, (rstd * rstd * size).double())]


@settings(max_examples=40)
@given(
    name=st.sampled_from(NAMES),
    lead=st.lists(st.integers(1, 12), max_size=2),
    width=st.one_of(st.integers(2, 130), st.integers(500, 600)),
    how=st.lists(LAYOUTS, min_size=2, max_size=2),
    dtype=st.sampled_from(list(TYPES)),
    seed=st.integers(0, 99),
)
def test_any_tensors(ops, name, lead, width, how, dtype, seed):
    x, other = (values((*lead, width), dtype, seed + i, 2.0) for i in range(2))
    weight, bias = columns(width, dtype)
    on, second = laid(x, how[0]), laid(other, how[1])
    args = (on, second, weight.npu()) if name == "residual_rms_norm" else (on, weight.npu(), bias.npu())
    if not (in_rows(on) and (in_rows(second) or name != "residual_rms_norm")):
        with pytest.raises(RuntimeError, match=r"call \w+\.contiguous\(\) first"):
            getattr(ops, name)(*args)
        return
    for got, (want, ulps, scale) in zip(getattr(ops, name)(*args), judged(name, x, other, dtype)):
        close(got, want, ulps, scale)


@pytest.mark.parametrize("name, width", [("residual_rms_norm", 6656), ("layer_norm_gelu", 7424)])
def test_the_widest_rows_and_wider(ops, name, width):
    for dtype in TYPES:
        for wide in (width, width + 1):
            x, other = (values((3, wide), dtype, i, 2.0) for i in range(2))
            weight, bias = (t.npu() for t in columns(wide, dtype))
            args = (x.npu(), other.npu(), weight) if name == "residual_rms_norm" else (x.npu(), weight, bias)
            for got, (want, ulps, scale) in zip(getattr(ops, name)(*args), judged(name, x, other, dtype)):
                # wider: the device's own LayerNorm and GELU, each rounded
                close(got, want, 8 if wide > width else ulps, 1.0 if wide > width else scale)


@pytest.mark.parametrize("name", NAMES)
def test_opcheck_and_gradients(ops, name):
    shapes = [(3, 7), (3, 7), (7,)] if name == "residual_rms_norm" else [(3, 7), (7,), (7,)]
    args = [values(shape, FLOAT, i, 1.0).npu().requires_grad_() for i, shape in enumerate(shapes)]
    op = getattr(ops, name)
    assert set(torch.library.opcheck(op.default, tuple(args), test_utils=ALLOWED).values()) == {"SUCCESS"}
    made = op(*args)
    assert [t.requires_grad for t in made] == ([True, True, False] if len(shapes[1]) > 1 else [True, False, False])
    weights = [values((3, 7), FLOAT, 9 + i, 1.0) for i in range(2)]
    sum((t * w.npu()).sum() for t, w in zip(made[: len(shapes[1])], weights)).backward()
    plain = [t.detach().cpu().double() for t in args]
    if name == "residual_rms_norm":
        _, total, rstd = GOLD[name].residual_rms_norm(*plain)
        dx, dweight = GOLD[name].backward(*weights, total, plain[2], rstd)
        want = (dx, dx, dweight)
    else:
        want = GOLD[name].backward(weights[0], *plain)
    for got, right in zip(args, want):
        torch.testing.assert_close(got.grad.cpu().double(), right, rtol=1e-4, atol=1e-4)


def test_the_sum_alone_has_a_gradient(ops):
    """As in a model: the norm of the last block may go nowhere."""
    x, r, w = (values(s, FLOAT, 1, 1.0).npu().requires_grad_() for s in ((4, 6), (4, 6), (6,)))
    ops.residual_rms_norm(x, r, w)[1].sum().backward()
    assert torch.equal(x.grad.cpu(), torch.ones(4, 6)) and torch.equal(r.grad.cpu(), torch.ones(4, 6))
    assert not w.grad.cpu().any()


def test_nothing_and_refused(ops):
    x, w = torch.ones(0, 6, device="npu"), torch.ones(6, device="npu")
    assert ops.residual_rms_norm(x, x, w)[0].shape == (0, 6) and ops.layer_norm_gelu(x, w, w)[2].shape == (0, 1)
    x = torch.ones(4, 6, device="npu")
    for op, args, said in (
        (ops.residual_rms_norm, (x, x[:2], w), r"x has the shape \[4, 6\] but residual has \[2, 6\]"),
        (ops.residual_rms_norm, (x, x.half(), w), "x is Float but residual is Half"),
        (ops.layer_norm_gelu, (x, w[:5], w), r"weight has the shape \[5\]"),
        (ops.layer_norm_gelu, (x, w, w.half()), "x is Float but bias is Half"),
        (ops.layer_norm_gelu, (x.int(), w, w), "x is Int, the kernel takes"),
    ):
        for there in ("npu", "meta"):  # Meta says the same
            with pytest.raises(RuntimeError, match=said):
                op(*(t.to(there) for t in args))


# ---- the kernels

CASES = ((1, 2, 3), (7, 33, 3), (100, 100, 4), (40, 500, 2), (9, 4096, 2))  # rows, width, cores


def build(name, dtype=HALF, text=None, **how):
    path = paths.kernels_dir() / name / f"{name}.asc"
    given = {"path": path} if text is None else {"text": text, "filename": str(path)}
    return labkit.kernel(**given, entry=f"{name}<{TYPES[dtype]}>", **how)


def wrong(name, kernel, dtype=HALF, until="") -> list[str]:
    """Codes of findings, "numbers" where results are off, "bits" where they are not those that were rounded once."""
    found = []
    for rows, width, blocks in CASES:
        x, other = (values((rows, width), dtype, i, 2.0) for i in range(2))
        x = x + torch.arange(rows)[:, None].to(dtype) / 8  # another mean for each row
        weight, bias = columns(width, dtype)
        on, second = laid(x, "packed"), laid(other, "offset")
        outs = [empty(rows, width, dtype=dtype), *(empty(rows, n, dtype=t) for n, t in ((1, FLOAT), (1, FLOAT)))]
        if name == "residual_rms_norm":
            outs[1] = empty(rows, width, dtype=dtype)
            args = (span(on), span(second), weight.npu(), *outs, rows, width, apart(on), apart(second), 1e-6)
        else:
            args = (span(on), weight.npu(), bias.npu(), *outs, rows, width, apart(on), 1e-5)
        try:
            found += kernel[blocks](*args).codes()
            for got, (want, ulps, scale) in zip(outs, judged(name, x, other, dtype)):
                close(got, want, ulps, scale)
                if want.dtype == HALF and want.numel() > 100 and (got.cpu() == want).double().mean() < 0.98:
                    found.append("bits")
        except LaunchError as error:
            found += error.record.codes()
        except AssertionError:
            found.append("numbers")
        if until in found:
            break
    return list(dict.fromkeys(found))


def whole(mutant: Fault) -> str:
    """The wrong text, with what it includes from kernels/."""
    text = mutant.file.read_text(encoding="utf-8")
    for name in ("../rms_norm/rms_norm.h", "../rows.h"):
        part = (paths.kernels_dir() / "rms_norm" / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        text = text.replace(f'#include "{name}"\n', part)
    return mutant.text(text)


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    plain = [
        {"path": paths.kernels_dir() / name / f"{name}.asc", "entry": f"{name}<{kind}>"}
        for name in NAMES
        for kind in TYPES.values()
    ]
    changed = [
        {"text": whole(m), "filename": str(m.file), "entry": f"{m.file.stem}<half>"} for m in MUTANTS.values()
    ]  # fmt: skip
    build_all([*plain, *changed])


@pytest.mark.parametrize("name", NAMES)
def test_right(name):
    for dtype in TYPES:
        assert wrong(name, build(name, dtype), dtype) == []
    assert wrong(name, build(name, schedule="worst")) == []  # every transfer as late as it may be


@pytest.mark.parametrize("name", half(MUTANTS, *(paths.kernels_dir() / name for name in NAMES)))
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    operator = mutant.file.stem
    if mutant.noticed == "time":
        before, after = (FUSED.timed(operator, 4096, 128, text=t).time_us for t in (None, whole(mutant)))
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(operator, build(operator, text=whole(mutant), timeout=5), until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


# ---- the clock

FUSED = module("fused_norm_times", paths.repo_root() / "scripts" / "fused_norm_times.py")


def test_the_table():
    """data/fused_norms.csv, by scripts/fused_norm_times.py: every shape gains, and a row comes out as it stands."""
    with open(FUSED.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {r["operator"] for r in rows} == set(NAMES) and all(float(r["chain_over_fused"]) > 1 for r in rows)
    for name in NAMES:
        row = next(r for r in rows if r["operator"] == name and r["rows"] == "16")
        assert FUSED.written(FUSED.line(name, 16, int(row["width"]))) == row


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows", [1, 16, 256])
def test_the_operators_choose_their_cores_well(name, rows):
    best = min(FUSED.timed(name, rows, 4096, blocks=min(b, rows)).time_us for b in (1, 4, 12, 32, 48))
    assert FUSED.timed(name, rows, 4096).time_us < 1.125 * best
    assert FUSED.blocks_for(name, rows, 4096) <= TIMES.constant("rows_torch.h", "CORES") and name_of(HALF) == "float16"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("rows, width", [(9000, 100), (3000, 600)])
def test_a_row_that_is_no_number_spoils_no_other(ops, name, rows, width):
    """Float is computed in place: the zeros behind a row's end have to stay for the row that comes there next."""
    x, residual = values((rows, width), FLOAT, 7, 1.0), values((rows, width), FLOAT, 8, 1.0)
    x[5], x[77, 3] = float("nan"), float("inf")
    weight, bias = (t.npu() for t in columns(width, FLOAT))
    if name == "residual_rms_norm":
        y = ops.residual_rms_norm(x.npu(), residual.npu(), weight)[0]
    else:
        y = ops.layer_norm_gelu(x.npu(), weight, bias)[0]
    assert y.cpu().isnan().any(-1).nonzero().flatten().tolist() == [5, 77]
