"""kernels/swiglu as modules: right answers for any shape, layout, type and device,
or the right error; and which path ran.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import warnings

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from drawn import examples  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402

pytestmark = simulated
swiglu = labkit.operator("swiglu")
LEAST = 2.0**-24  # the distance of subnormal half numbers
ULPS = 2


def draw(shape, seed, spread=3.0):
    return spread * torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def golden(gate, up):
    """In fp32, from the numbers that the module is given."""
    return F.silu(gate.detach().cpu().float()) * up.detach().cpu().float()


def ulp(x):
    """Distance of neighbouring half numbers at |x|."""
    return torch.exp2(torch.floor(torch.log2(x.abs().clamp_min(2.0**-14))) - 10).clamp_min(LEAST)


def assert_within_ulps(got, want):
    assert got.shape == want.shape
    over = (got.detach().cpu().float() - want).abs() / ulp(want)
    assert not over.numel() or over.max() <= ULPS, f"{over.max():.2f} ULP"


# ---- labkit.operator


def test_operator_names():
    from labkit import operators

    assert (
        labkit.operator("swiglu") is swiglu
        and swiglu.__name__ == "labkit.operators.swiglu.module"
        and "swiglu" in operators.names()
    )
    for name in ("swigloo", "../labkit", ""):
        with pytest.raises(ValueError, match="There are: .*swiglu"):
            labkit.operator(name)
    assert str(paths.kernels_dir()) not in sys.path
    assert isinstance(pickle.loads(pickle.dumps(swiglu.SwiGLUMLP(4, 8))), swiglu.SwiGLUMLP)


# ---- any tensor


def laid_out(t, layout):
    """The same numbers on npu, stored in another way."""
    there = t.npu()
    if layout == "misaligned":  # begins at an odd element
        room = torch.empty(t.numel() + 1, dtype=t.dtype, device="npu")
        room[1:] = there.flatten()
        return room[1:].view(t.shape)
    if layout == "rows apart" and t.dim():
        return torch.cat([there, there * 0], -1)[..., : t.shape[-1]]
    if layout == "turned" and t.dim() > 1:
        return there.transpose(0, -1).contiguous().transpose(0, -1)
    if layout == "one row" and t.dim() > 1 and t.shape[0]:
        return there[:1].expand(t.shape)
    return there


LAYOUTS = ("dense", "misaligned", "rows apart", "turned", "one row")


@settings(max_examples=examples(220))
@given(
    shape=st.lists(st.one_of(st.integers(0, 9), st.sampled_from([16, 31, 32, 33, 130])), max_size=3),
    seed=st.integers(0, 99),
    layouts=st.tuples(st.sampled_from(LAYOUTS), st.sampled_from(LAYOUTS)),
    packed=st.booleans(),
)
def test_any_half_tensor(shape, seed, layouts, packed):
    module = swiglu.SwiGLU()
    if packed and shape:
        both = laid_out(draw([*shape[:-1], 2 * shape[-1]], seed).half(), layouts[0])
        gate, up = both[..., : shape[-1]], both[..., shape[-1] :]
        got = module(both)
    else:
        gate, up = (laid_out(draw(shape, seed + i).half(), how) for i, how in enumerate(layouts))
        got = module(gate, up)
    assert got.dtype == torch.float16 and module.path == "lab::swiglu" and module.why_native is None
    assert_within_ulps(got, golden(gate, up))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2**-22), (torch.bfloat16, 2**-8)])
def test_other_types_of_the_kernel(dtype, tolerance):
    gate, up = (draw((37, 130), i).to(dtype).npu() for i in range(2))
    module = swiglu.SwiGLU()
    got = module(gate, up)
    assert module.path == "lab::swiglu" and got.dtype == dtype
    torch.testing.assert_close(got.cpu().float(), golden(gate, up), rtol=tolerance, atol=1e-6)


@pytest.mark.parametrize("value", [-65504.0, -88.0, -11.5, 65504.0, float("inf"), float("-inf"), float("nan")])
def test_the_ends_of_the_range(value):
    """As PyTorch: -inf * 0 is nan there too, a large negative gate gives zero."""
    gate = torch.full((3, 8), value).half()
    got, want = (
        swiglu.SwiGLU()(gate.npu(), torch.ones_like(gate).npu()).cpu().float(),
        golden(gate, torch.ones_like(gate)),
    )
    torch.testing.assert_close(got, want, equal_nan=True, rtol=1e-3, atol=2 * LEAST)


# ---- what the operator cannot do PyTorch does, and the module says so


@pytest.mark.parametrize(
    "make, why",
    [
        (lambda: (draw((3, 4), 0), draw((3, 4), 1)), "on cpu"),
        (lambda: (draw((3, 4), 0).double().npu(), draw((3, 4), 1).double().npu()), "type is float64"),
        (lambda: (draw((3, 4), 0).half().npu(), draw((3, 4), 1).npu()), "types differ (float16, float32)"),
    ],
)
def test_native_where_it_must_be(make, why):
    gate, up = make()
    module = swiglu.SwiGLU()
    got = module(gate, up)
    torch.testing.assert_close(got, F.silu(gate) * up)
    assert module.path == "native" and why in module.why_native and "path='native'" in repr(module)


def test_native_when_asked():
    module = swiglu.SwiGLU(native=True)
    module(torch.ones(4).npu(), torch.ones(4).npu())
    assert module.path == "native" and "asked" in module.why_native


@pytest.mark.parametrize(
    "make, error, said",
    [
        (lambda: (torch.ones(3, 4).npu(), torch.ones(4).npu()), ValueError, r"\(3, 4\) and up \(4,\)"),
        (lambda: (torch.ones(3, 4).npu(), torch.ones(3, 4)), ValueError, "npu:0 and up on cpu"),
        (lambda: (torch.ones(4, dtype=torch.int32).npu(),) * 2, TypeError, "torch.int32.*gate.float"),
        (lambda: (torch.ones(3, 5).npu(),), ValueError, r"even.*\(3, 5\)"),
        (lambda: (torch.ones(()).npu(),), ValueError, "even"),
    ],
)
def test_the_right_error(make, error, said):
    with pytest.raises(error, match=said):
        swiglu.SwiGLU()(*make())


_WITHOUT = """
import warnings
import labkit, labkit.device, torch
swiglu = labkit.operator("swiglu")
swiglu.SOURCES.update(swiglu="kernels/swiglu/gone.asc")
module = swiglu.SwiGLU()
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    for _ in range(2):
        y = module(torch.ones(4).npu(), torch.ones(4).npu())
assert abs(y.sum().item() - 4 / (1 + 2.718281828 ** -1)) < 1e-5
print(module.path, len(seen), "gone.asc" in str(seen[0].message), "could not be built" in module.why_native)
"""


def test_where_the_operator_cannot_be_built():
    run = subprocess.run([sys.executable, "-c", _WITHOUT], capture_output=True, text=True)
    assert run.stdout == "native 1 True True\n", run.stderr[-2000:]


# ---- gradients


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients(layout):
    gate, up, grad = (draw((5, 33), i) for i in range(3))
    there = [laid_out(t, layout).detach().requires_grad_() for t in (gate, up)]
    if layout == "one row":
        gate, up = (t[:1].expand(5, 33).contiguous() for t in (gate, up))
    here = [gate.clone().requires_grad_(), up.clone().requires_grad_()]
    swiglu.SwiGLU()(*there).backward(grad.npu())
    (F.silu(here[0]) * here[1]).backward(grad)
    for a, b in zip(there, here):
        torch.testing.assert_close(a.grad.cpu(), b.grad, rtol=1e-5, atol=1e-6)
    assert torch.autograd.gradcheck(
        swiglu.SwiGLU(), tuple(draw((2, 3), i).npu().requires_grad_() for i in range(2)), eps=1e-2, atol=1e-2, rtol=1e-2
    )


# ---- the MLP


def mlp_golden(mlp, x):
    w = [p.detach().cpu().float() for p in (mlp.gate_proj.weight, mlp.up_proj.weight, mlp.down_proj.weight)]
    wide = F.silu(x.float() @ w[0].T) * (x.float() @ w[1].T)
    return wide @ w[2].T


@settings(max_examples=25)
@given(
    rows=st.integers(0, 40),
    hidden=st.sampled_from([1, 8, 16, 33, 64]),
    intermediate=st.sampled_from([2, 16, 40, 88]),
    seed=st.integers(0, 9),
    projections=st.booleans(),
)
def test_the_mlp_for_any_sizes(rows, hidden, intermediate, seed, projections):
    torch.manual_seed(seed)
    mlp = swiglu.SwiGLUMLP(hidden, intermediate, projections=projections, dtype=torch.float16).npu()
    x = draw((rows, hidden), seed, 1.0).half()
    got, want = mlp(x.npu()), mlp_golden(mlp, x)
    assert mlp.path.startswith("lab::swiglu")
    # gate, up and their product are rounded to half between the sums: the error scales with the largest sum
    scale = ulp(torch.tensor([want.abs().max() if want.numel() else 0.0, 0.25]).max())
    assert got.shape == want.shape and (not want.numel() or ((got.cpu().float() - want).abs().max() <= ULPS * scale))


def test_the_mlp_of_a_model_keeps_its_parameters():
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj, self.up_proj, self.down_proj, self.act_fn = (
                nn.Linear(4, 8),
                nn.Linear(4, 8),
                nn.Linear(8, 4),
                nn.SiLU(),
            )

        def forward(self, x):
            return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))

    model = nn.Sequential(Gated(), nn.Linear(4, 4), nn.Sequential(Gated())).npu()
    model[2][0].act_fn = nn.GELU()
    parameters, keys, x = list(model.parameters()), list(model.state_dict()), draw((3, 4), 0).npu()
    before = model(x)
    assert swiglu.replace(model) == ["0"] and swiglu.replace(model) == []
    assert all(a is b for a, b in zip(model.parameters(), parameters)) and list(model.state_dict()) == keys
    torch.testing.assert_close(model(x), before)
    assert model[0].path == "lab::swiglu" and "bias" in model[0].why_native


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("projections", [False, True])
def test_the_mlp_in_one_graph(projections, dynamic):
    """No break of the graph: whether the operator can be built is asked while it is traced.
    Its gradients come out the same.
    """
    torch._dynamo.reset()
    torch.manual_seed(0)
    mlp = swiglu.SwiGLUMLP(16, 24, projections=projections).npu()
    compiled = torch.compile(mlp, backend="npu", fullgraph=True, dynamic=dynamic)
    for rows in (3, 5):
        x = draw((2, rows, 16), rows).npu()
        got, want = compiled(x), mlp(x)
        torch.testing.assert_close(got, want)
        grads = [torch.autograd.grad(y.square().sum(), mlp.parameters()) for y in (got, want)]
        torch.testing.assert_close(*grads)
    assert mlp.path == ("lab::swiglu_linear" if projections else "lab::swiglu")


def test_two_launches_become_one():
    gate, up = (draw((64, 256), i).half().npu() for i in range(2))
    for native, names in ((True, ["aten::silu", "aten::mul"]), (False, ["swiglu"])):
        module = swiglu.SwiGLU(native)
        module(gate, up)
        device.reset_clock()
        module(gate, up)
        assert [span.name.partition("<")[0] for span in device.timeline()] == names


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        swiglu.SwiGLU()(torch.ones(4).npu(), torch.ones(4).npu())


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: torch.ones(3, 16).half(), "device"),
        (lambda: torch.ones(3, 16).npu(), "(?i)dtype|type"),
        (lambda: torch.ones(3, 15).half().npu(), "15 elements.*16"),
        (lambda: torch.ones(3, 16, dtype=torch.int32).npu(), "(?i)dtype|type"),
    ],
)
def test_the_mlp_gives_the_right_error(make, said):
    with pytest.raises(RuntimeError, match=said):
        swiglu.SwiGLUMLP(16, 24, dtype=torch.float16).npu()(make())


def test_importing_the_modules_imports_no_compiler():
    """torch._dynamo takes seconds; `missing` is marked as torch marks a function whose answer a graph may keep."""
    said = "import labkit, sys; labkit.operator('swiglu'); print('torch._dynamo' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", said], text=True).strip() == "False"
    marked = torch.compiler.assume_constant_result(lambda: "")
    assert vars(marked).items() <= vars(swiglu.missing).items()
