"""labkit.fusion.kernel: right for drawn chains, as fast as by hand, faster than unfused, and what it refuses."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
import torch.nn.functional as F  # noqa: E402
from device_lab import simulated  # noqa: E402
from fused_by_hand import chains, residual_us, softmax_us, swiglu_us  # noqa: E402
from ops_lab import ALLOWED

import labkit  # noqa: E402
from labkit import fusion, paths  # noqa: E402

pytestmark = simulated


def values(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def swiglu(gate, up):
    return F.silu(gate) * up


def residual_norm(x, added, weight):
    whole = x + added
    return F.rms_norm(whole, (whole.shape[-1],), weight, 1e-6)


def softmax(x):
    return torch.softmax(x, -1)


# ---- drawn chains: scripts/drawn_chains.py has hundreds


@pytest.mark.parametrize("number", range(12))
def test_a_drawn_chain(number):
    row = chains().outcome(1, number, unfused=False)
    assert row["ok"], (row["why"], row["description"])
    assert float(row["fused_predicted_us"]) == pytest.approx(float(row["fused_us"]), rel=0.2)


@pytest.mark.parametrize("number", [1, 5])
def test_unfused_it_takes_longer(number):
    row = chains().outcome(1, number)
    assert float(row["fused_us"]) < float(row["chain_us"]) and int(row["launches"]) > 1
    assert float(row["chain_predicted_us"]) == pytest.approx(float(row["chain_us"]), rel=0.2)


def test_the_last_chain_that_is_looked_at_may_be_the_one_that_was_wanted(monkeypatch):
    """scripts/generated_sources.py ended there, with everything found, and said that it had too few of nothing."""
    monkeypatch.syspath_prepend(paths.repo_root() / "scripts")
    import generated_sources

    monkeypatch.setattr(generated_sources, "families", lambda: {"any": lambda drawn, kernel: True})
    monkeypatch.setattr(generated_sources, "EACH", 1)
    (first,) = generated_sources.sources(1)
    monkeypatch.setattr(generated_sources, "MOST", first[1] + 1)
    assert list(generated_sources.sources(1)) == [first]
    monkeypatch.setattr(generated_sources, "EACH", 2)
    with pytest.raises(SystemExit, match="too few of: any"):
        list(generated_sources.sources(1))


@pytest.mark.parametrize("megabytes", [8, 128])
def test_what_does_not_fit_the_l2_comes_from_hbm_again(megabytes):
    """Of 128 MB each launch finds less than what the one before it wrote, and the L2 gives back what it holds."""
    x = torch.empty(megabytes * 512, 1024, dtype=torch.float16, device="meta")
    chain = fusion.kernel(lambda x, y: torch.sigmoid(x * y) + x, (x, x), checks=False).chain()
    assert chain.predicted_us == pytest.approx(chain.modelled_us(), rel=0.05)


# ---- against kernels by hand; the shapes of their own tests


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize(
    "function, by_hand, shapes",
    [
        (swiglu, swiglu_us, ((1, 11008), (128, 11008), (4096, 11008))),
        (residual_norm, residual_us, ((16, 4096), (4096, 4096), (131072, 128))),
        (softmax, softmax_us, ((183, 781), (16, 1000), (4096, 1024))),
    ],
    ids=["swiglu", "residual+rms_norm", "softmax"],
)
def test_as_fast_as_by_hand(function, by_hand, shapes, dtype):
    kind = getattr(torch, dtype)
    for rows, width in shapes:
        wide = torch.empty(rows, width, dtype=kind, device="meta")
        given = {swiglu: (wide, wide), residual_norm: (wide, wide, wide[0]), softmax: (wide,)}[function]
        kernel = fusion.kernel(function, given)
        ours, theirs = kernel.modelled().time_us, by_hand(dtype, rows, width)
        assert ours <= theirs / 0.8, (rows, width, ours, theirs)
        assert kernel.predict().us == pytest.approx(ours, rel=0.2), (rows, width)


# ---- what chains are made of


def layer(x, weight, bias):
    return F.layer_norm(x, (x.shape[-1],), weight, bias)


def masked(x, keep, scale):
    return torch.softmax(x.masked_fill(~keep, -1e4) * scale, -1), x > scale


def counted(a, b):
    return torch.where(a < b, a * 3 - b, torch.maximum(a, -b)), a == b


def axes(x, channel, column, factor):
    return torch.tanh(x * channel + column) * factor - F.gelu(x)


CHAINS = {
    "layer_norm": (layer, (values(7, 3, 100), values(100, seed=1), values(100, seed=2))),
    "mask and scale": (masked, (values(33, 65), values(33, 65, seed=1) > 0, torch.tensor(0.7))),
    "integers": (counted, (values(9, 33).mul(20).int(), values(33, seed=1).mul(20).int())),
    "four axes": (
        axes,
        (values(2, 3, 5, 40).half(), values(3, 1, 1), values(2, 1, 5, 1, seed=1).bfloat16(), torch.tensor(1.5)),
    ),
    "rows wider than UB": (
        lambda x, w: (torch.softmax(x * w, -1), (x * w).sum(-1)),
        (values(5, 40000), values(40000, seed=1)),
    ),
    "several dimensions reduced": (lambda x, b: (x + b).mean((-2, -1)), (values(6, 5, 9), values(9, seed=1))),
    "log_softmax and the spread": (
        lambda x: (torch.log_softmax(x, -1), x.var(-1)),
        (values(20, 130, dtype=torch.bfloat16),),
    ),
    "rows of one element": (lambda x, y: torch.softmax(x * y, -1) + x.sum(-1, True), (values(5, 1), values(1, seed=1))),
    "one element of each is reduced": (
        lambda x, y: (x.var(-1, correction=0) + torch.logsumexp(x, -1) * y, x.amax(-1) - x.mean(-1) * y),
        (values(5, 70, 1), values(70, seed=1)),
    ),
    "one integer of each is reduced": (
        lambda x: (x.sum(-1, dtype=torch.int32), x.amax(-1)),
        (values(50, 1).mul(9).int(),),
    ),
    "an infinite number": (lambda x, m: x.masked_fill(m, float("-inf")), (values(5, 70), values(5, 70, seed=1) > 0)),
    "columns": (lambda x, w: torch.softmax(x * w, 0), (values(40, 130).half(), values(130, seed=1))),
    "a dimension in the middle": (
        lambda x, b: (x - x.amax(1, keepdim=True) + b, torch.logsumexp(x, 1)),
        (values(3, 20, 4, 9), values(4, 1, seed=1)),
    ),
    "long columns": (lambda x: x / (x.abs().mean(0) + 1), (values(500, 70),)),
    "integers down columns": (
        lambda x, y: ((x + y).sum(0, dtype=torch.int32), x.amax(0)),
        (values(33, 50).mul(1e6).int(), values(50, seed=1).mul(90).int()),
    ),
    "two dimensions of columns": (lambda x: x.var((0, 1), keepdim=True), (values(6, 7, 66),)),
    "narrow rows": (
        lambda x, w, c: (torch.softmax(x * w - c, -1), (x * w).amax(-1)),
        (values(700, 7), values(7, seed=1), values(700, 1, seed=2)),
    ),
    "narrow rows of half, with a mask": (
        lambda x, m: (x.masked_fill(m, 0) - x.mean(-1, keepdim=True)) * 2,
        (values(5, 90, 13).half(), values(13, seed=1) > 0),
    ),
    "narrow rows of conditions": (
        lambda x, m, c: (torch.where(m & (c > 0), x, c), x > c),
        (values(300, 20), values(300, 20, seed=1) > 0, values(300, 1, seed=2)),
    ),
    "one element": (lambda x: torch.sigmoid(x) + 1, (values(1),)),
}


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name):
    function, tensors = CHAINS[name]
    check = fusion.kernel(function, tensors, name="chain").check(*tensors)
    assert check.ok, (check, check.record.report())


def infinite() -> torch.Tensor:
    x = values(40, 70)
    x[0], x[1, 3], x[2, :9], x[3, 5] = float("-inf"), float("inf"), float("-inf"), float("nan")
    return x


REDUCED = {
    "logsumexp of infinite numbers": (lambda x: torch.logsumexp(x * 2, -1), infinite()),
    "logsumexp of infinite columns": (lambda x: torch.logsumexp(x * 2, 0), infinite().T.contiguous()),
    "a correction that is no whole number": (lambda x: (x * 2).var(-1, correction=0.5), values(40, 4)),
    "the same of one": (lambda x: (x * 2).var(-1, correction=0.5), values(40, 1)),
    "a correction of more than there are": (lambda x: (x * 2).var(0, correction=80), values(40, 7)),
}


@pytest.mark.filterwarnings("ignore:.*degrees of freedom")
@pytest.mark.parametrize("name", REDUCED)
def test_reductions_at_their_edges(name):
    """Compared here, value by value: what is inf has to be inf."""
    function, x = REDUCED[name]
    got, want = fusion.kernel(function, (x,), name="edge")(x.npu()).cpu(), function(x)
    assert torch.allclose(got, want, rtol=1e-5, atol=1e-5, equal_nan=True), (got[:5], want[:5])


@pytest.mark.parametrize("got, near, right", [
    ("inf", "inf", True), (3e38, "inf", False), ("-inf", "inf", False), (3e38, 3e38, True), ("inf", 3e38, True),
])  # fmt: skip
def test_what_is_infinite_in_double_and_float_has_to_be(got, near, right):
    from labkit.fusion.fused import error

    got, want, near = (torch.tensor([1.0, float(n)]) for n in (got, "inf", near))
    assert (error(got, want.double(), near=near) <= 1) is right


ARGUMENTS = {
    "selu": lambda x: F.selu(x) + torch.ops.aten.elu(x, 0.5, 2.0, 3.0),
    "rsub": lambda x: torch.rsub(x, 2, alpha=3),
    "hardtanh": lambda x: torch.ops.aten.hardtanh(x * 3),
    "conditions": lambda x: (
        torch.where((x > 0) + (x < -1), x, 0.0),
        torch.maximum(x > 0, x < -1),
        torch.minimum(x > -1, x < 1),
    ),
    "numbers that are tensors": lambda x: (
        torch.where(torch.tensor(3) > 2, x * torch.tensor(2.7).to(torch.int32), 0.0),
        x.masked_fill(~(torch.tensor(3) > 2), 0.0) + 1,
    ),
    "tiny divisors": lambda x: (x * 2.0**-40 / 2.0**-130 * 2.0**-60, x / 2.0**127),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_each_argument_counts(name):
    x = values(5, 70)
    got, want = (
        f if isinstance(f, tuple) else (f,) for f in (fusion.kernel(ARGUMENTS[name], (x,))(x.npu()), ARGUMENTS[name](x))
    )
    for g, w in zip(got, want):
        torch.testing.assert_close(g.cpu(), w, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_number_beside_a_16_bit_tensor_has_its_type(dtype):
    def compared(x):
        return x >= 0.1, x == 0.1, 0.1 < x

    x = torch.tensor([0.1, 0.09, 0.11]).to(dtype)
    for got, want in zip(fusion.kernel(compared, (x,))(x.npu()), compared(x)):
        assert got.cpu().tolist() == want.tolist()


def test_other_sizes_use_the_same_text():
    kernel = fusion.kernel(softmax, (values(8, 100),))
    text = kernel.source
    for shape in ((3, 17), (1, 2), (200, 640), (2, 3, 70)):
        x = values(*shape)
        assert kernel.check(x).ok
        assert kernel.prepare([x]).source == text
    assert kernel.check(values(1, 1)).ok
    wide = values(2, 30000)
    assert kernel.check(wide).ok and kernel.prepare([wide]).plan.program.shape == "wide"


def test_a_server_with_ever_new_sizes_keeps_the_newest(monkeypatch):
    """And what somebody chose for some sizes stays chosen, and a variant what it is."""
    from labkit.codegen.tiling import Way
    from labkit.fusion import fused

    monkeypatch.setattr(fused, "MOST_SHAPES", 8)
    kernel = fusion.kernel(swiglu, (values(4, 256), values(4, 256)))
    own = values(8, 256), values(8, 256)
    kernel.choose(Way(tall=1, wide=256, blocks=2), *own)
    variant = kernel.variant(cut=kernel.choose(Way(tall=1, wide=256, blocks=1))._first.cut)
    kernel.choose(None)
    for rows in range(16, 48):
        for k in (kernel, variant):
            k.prepare([values(rows, 256), values(rows, 256)])
    for k in (kernel, variant):
        assert all(len(kept) <= 9 for kept in (k._prepared, k._graphs, k._spaces, k._plans))
    assert kernel.prepare(own).cut.blocks == 2 and variant._first.cut.blocks == 1
    newest, again = [values(47, 256), values(47, 256)], kernel.prepare([values(40, 256), values(40, 256)])
    assert kernel.prepare(newest) is kernel.prepare(newest)
    for rows in range(50, 57):  # one that is asked for stays
        kernel.prepare([values(rows, 256), values(rows, 256)])
        assert kernel.prepare([values(40, 256), values(40, 256)]) is again


def test_narrow_rows_share_a_repeat():
    """Each row at 64 elements would leave seven lanes of eight idle."""
    kernel = fusion.kernel(softmax, (values(20000, 8),))
    assert kernel.plan.narrow == 8 and "constexpr uint32_t PITCH = 8;" in kernel.source
    wide = fusion.kernel(softmax, (values(20000, 64),))
    assert kernel.modelled().time_us < wide.modelled().time_us / 2
    assert kernel.modelled().time_us < 0.9 * kernel.chain().modelled_us() or kernel.chain().launches == 1
    assert fusion.kernel(softmax, (values(20000, 33),)).plan.narrow == 0


def test_what_has_one_element_needs_no_rows():
    """Rows of one element would take 16 or 32 lanes each."""
    x, m = torch.empty(200_000, 1, dtype=torch.bfloat16), torch.empty(200_000, 1, dtype=torch.bool)
    kernel = fusion.kernel(lambda x, m: x.masked_fill(m, 1.0) * 2 - x.amax(-1, True), (x, m))
    flat = fusion.kernel(lambda x, m: x.masked_fill(m, 1.0) * 2 - x, (x.view(-1), m.view(-1)))
    assert kernel.plan.program.shape == "pieces"
    assert kernel.modelled().time_us <= flat.modelled().time_us


def test_how_tensors_lie():
    gate, up = values(40, 200).half().npu().chunk(2, -1)
    kernel = fusion.kernel(swiglu, (gate, up))
    got = kernel(gate, up)
    assert kernel.space.copied == [] and torch.allclose(got.cpu(), swiglu(gate.cpu(), up.cpu()), atol=2e-3)
    x, y = values(30, 20), values(20, 30, seed=1)
    turned = fusion.kernel(lambda x, y: x.t() + y, (x, y))
    assert turned.space.copied == ["x"] and torch.equal(turned(x.npu(), y.npu()).cpu(), x.t() + y)


def test_when_it_rounds():
    """Eager PyTorch rounds after each operator: 2049 + 1 is 2048 + 2 in half."""
    x = torch.tensor([2049.0, 1.0, 0.1]).half()

    def chain(x):
        return (x + 1) * 3 - x * 3

    once, every = (fusion.kernel(chain, (x,), rounding=r)(x.npu()).cpu() for r in ("once", "every"))
    assert torch.equal(every, chain(x)) and not torch.equal(once, every)
    assert torch.equal(once, chain(x.double()).half())


def test_a_module_brings_its_parameters():
    module = torch.nn.Sequential(torch.nn.LayerNorm(50), torch.nn.GELU())
    with torch.no_grad():
        module[0].weight.uniform_(0.5, 1.5)
    assert fusion.kernel(module, (values(6, 50),), name="block").check(values(6, 50)).ok


def test_the_source_can_be_changed(tmp_path):
    def scaled(x):
        return x * 3.0 + 1.0

    x = values(4, 70)
    kernel = fusion.kernel(scaled, (x,))
    path = kernel.save(tmp_path / "scaled.asc")
    assert torch.equal(kernel(x.npu()).cpu(), scaled(x))
    text = path.read_text()
    assert "// mul = mul(x, 3" in text, "each step says what it stands for"
    path.write_text(text.replace("3.0f", "4.0f"))
    assert torch.equal(kernel.use(path)(x.npu()).cpu(), x * 4.0 + 1.0)
    with pytest.raises(labkit.CompileError):
        kernel.use(text=text.replace("Muls(", "Mulz("))


# ---- as an operator of PyTorch


def test_registered():
    kernel = fusion.kernel(swiglu, (values(4, 10), values(4, 10)))
    op = kernel.register("labtest::swiglu")
    for shape in ((3, 17), (2, 5, 64)):
        gate, up, grad = (values(*shape, seed=i) for i in range(3))
        mine = [t.npu().requires_grad_() for t in (gate, up)]
        theirs = [t.clone().requires_grad_() for t in (gate, up)]
        op(*mine).backward(grad.npu())
        swiglu(*theirs).backward(grad)
        assert torch.allclose(torch.ops.labtest.swiglu(*mine).cpu(), swiglu(gate, up), atol=1e-5)
        for a, b in zip(mine, theirs):
            assert torch.allclose(a.grad.cpu(), b.grad, atol=1e-5)
    assert op(torch.empty(2, 3, device="meta"), torch.empty(2, 3, device="meta")).shape == (2, 3)
    assert set(torch.library.opcheck(op, tuple(mine), test_utils=ALLOWED).values()) == {"SUCCESS"}
    other = fusion.kernel(lambda gate, up: gate - up, (gate, up), name="apart").register("labtest::swiglu")
    assert torch.equal(other(gate.npu(), up.npu()).cpu(), gate - up), "the later one replaces the earlier one"
    with pytest.raises(ValueError, match="namespace::name"):
        kernel.register("swiglu")


@pytest.mark.parametrize("rows, batch, width", [(119, 3, 33), (40, 2, 8), (5, 4, 70), (1, 3, 5)])
def test_a_column_with_batches_between_rows_and_columns(rows, batch, width):
    """Of [rows, batch, 1] what one strip of columns takes does not lie side by side: it is copied first."""
    x, y = values(rows, batch, width), values(rows, batch, 1)
    for function in (lambda x, y: x * y - (x * y).mean(0), lambda x, y: (x + y).amax(0, keepdim=True) * x):
        check = fusion.kernel(function, (x, y), name="between").check(x, y)
        assert check.ok, check


def named_out(out, b):
    return out - b


def named_out_alone(out):
    return out * 2


def named_outs(out0, b):
    return out0 - b, out0 + b


def named_by_case(a, A):
    return a - A


def named_twice(x1, *xs):
    return x1 - xs[0]


@pytest.mark.parametrize("function", [named_out, named_out_alone, named_outs, named_by_case, named_twice])
def test_a_tensor_may_have_any_name(function):
    given = [values(3, 70, seed=i) for i in range(1 if function is named_out_alone else 2)]
    made = fusion.kernel(function, given)(*(t.npu() for t in given))
    want = function(*given)
    for got, expected in zip(*(t if isinstance(t, (tuple, list)) else [t] for t in (made, want))):
        assert torch.equal(got.cpu(), expected)


def test_a_parameter_may_be_called_as_a_tensor_is():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(values(70))

        def forward(self, weight):
            return weight * self.weight

    module, x = Scaled(), values(3, 70, seed=1)
    assert torch.equal(fusion.kernel(module, (x,))(x.npu()).cpu(), module(x).detach())


# ---- what it refuses


REFUSED = {
    "no elementwise operator": (lambda x, y: x @ y.t(), (values(3, 4), values(3, 4))),
    "may only add or drop": (lambda x: x.reshape(6, 2) + 1, (values(3, 4),)),
    "rows at most": (lambda x: x - x.sum(0), (values(3000, 4),)),
    "is not computed": (lambda x: x + 1, (values(3, 4).long(),)),
    "writes to its input": (lambda x: x.add_(1), (values(3, 4),)),
    "the same for all rows": (lambda x, w: (x + w, w * 2), (values(3, 4), values(4))),
    "does not depend": (lambda x: (x + 1, torch.ones(3, 4) * 2), (values(3, 4),)),
    "raises to": (lambda x: x**2.5, (values(3, 4),)),
    "integers or conditions": (lambda x: x.amax(-1), (values(3, 4).int(),)),
    "no elements": (lambda x: x + 1, (values(0, 4),)),
    "x has no elements": (lambda x: x.sum(-1), (values(4, 0),)),
    "itself: pass it": (lambda x, held=values(4): x + held, (values(3, 4),)),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused(why):
    function, tensors = REFUSED[why]
    with pytest.raises(fusion.Refused, match=why):
        fusion.kernel(function, tensors, name="refused")


def test_refused_at_the_call():
    x = values(3, 4)
    kernel = fusion.kernel(softmax, (x,))
    with pytest.raises(fusion.Refused, match="on cpu"):
        kernel(x)
    with pytest.raises(fusion.Refused, match="takes 1 tensors, 2"):
        kernel(x.npu(), x.npu())
    with pytest.raises(fusion.Refused, match="example_inputs"):
        fusion.kernel(softmax, (3.0,))
    with pytest.raises(ValueError, match="rounding"):
        fusion.kernel(softmax, (x,), rounding="never")
