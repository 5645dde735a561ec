"""What training on the simulated npu uses: autocast, GradScaler, recurrent cells, torch.compile,
opcheck, the profiler.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit.device as device  # noqa: E402

pytestmark = simulated


# ---- a program written for torch_npu, and nothing else

_TRANSFORMER = """
import torch
import torch_npu
from torch import nn
from torch_npu.npu.amp import GradScaler, autocast

torch_npu.npu.set_device("npu:0")
torch_npu.npu.set_compile_mode(jit_compile=False)
torch.npu.config.allow_internal_format = False
torch.npu.manual_seed_all(1)
torch.manual_seed(1)

class Model(nn.Module):
    def __init__(self, words=50, width=32):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True), 2,
                                          enable_nested_tensor=False)
        self.head = nn.Linear(width, words)
    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.body(self.embed(x), mask=mask, is_causal=True))

model = Model().npu()
optimizer, scaler = torch.optim.AdamW(model.parameters(), 3e-3), GradScaler(init_scale=1024.0)
copying, losses = torch.npu.Stream(), []
start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
data = (torch.arange(64)[:, None] + torch.arange(17)) % 50
loader = torch.utils.data.DataLoader(data, 16, pin_memory=True)
torch.npu.reset_peak_memory_stats()
start.record()
for epoch in range(6):
    for batch in loader:
        with torch.npu.stream(copying):
            batch = batch.npu(non_blocking=True)
        torch.npu.current_stream().wait_stream(copying)
        batch.record_stream(torch.npu.current_stream())
        with autocast():
            loss = nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
end.record()
torch.npu.synchronize()
assert losses[-1] < 0.6 * losses[0], losses
assert start.elapsed_time(end) > 1 and torch.npu.max_memory_allocated() > torch.npu.memory_allocated() > 0
assert torch.npu.mem_get_info()[0] < torch.npu.get_device_properties(0).total_memory
torch.save(model.state_dict(), "model.pt")
again = Model().npu()
again.load_state_dict(torch.load("model.pt", map_location="npu:0"))
model.eval(), again.eval()
with torch.no_grad(), torch.autocast("npu", dtype=torch.bfloat16):
    assert torch.equal(model(batch), again(batch))
torch.npu.empty_cache()
print("trained", len(losses))
"""


def test_a_program_for_torch_npu_runs_unchanged(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", "import labkit\n" + _TRANSFORMER], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.stdout == "trained 24\n", run.stderr[-2000:]


# ---- mixed precision


def test_autocast_chooses_types():
    model, x = nn.Linear(4, 4).npu(), torch.ones(2, 4, device="npu")
    with torch.autocast("npu", dtype=torch.float16):
        y = model(x)
        assert y.dtype == torch.float16 and torch.softmax(y, -1).dtype == torch.float32
        assert torch.cat([y, x]).dtype == torch.float32 and (y + y).dtype == torch.float16
        assert torch.exp(y).dtype == torch.float32 and F.layer_norm(y, (4,)).dtype == torch.float32
        assert torch.mm(x.double(), x.T.double()).dtype == torch.float64
        with torch.autocast("npu", enabled=False):
            assert model(x).dtype == torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            F.binary_cross_entropy(torch.sigmoid(y.float()), torch.ones_like(x))
    with torch.npu.amp.autocast(dtype=torch.bfloat16):
        assert torch.npu.is_autocast_enabled() and model(x).dtype == torch.bfloat16
    assert not torch.npu.is_autocast_enabled()
    with torch.autocast("npu"):
        assert model(x).dtype == torch.npu.get_autocast_dtype() == torch.float16


def test_grad_scaler_skips_a_step_that_overflowed():
    weight = nn.Parameter(torch.ones(4, device="npu"))
    step = torch.optim.SGD([weight], 0.5)
    scaler = torch.npu.amp.GradScaler(init_scale=1024.0)
    for gradient, scale, value in ((1.0, 1024.0, 0.5), (float("inf"), 512.0, 0.5)):
        step.zero_grad()
        scaler.scale((weight * gradient).sum()).backward()
        scaler.step(step)
        scaler.update()
        assert scaler.get_scale() == scale and weight.tolist() == [value] * 4
    fixed = torch.npu.amp.GradScaler(init_scale=1024.0, growth_interval=1, dynamic=False)
    weight.grad = None
    fixed.scale(weight.sum()).backward()
    fixed.step(step)
    fixed.update()
    assert fixed.get_scale() == 1024.0


# ---- recurrent cells, which this device makes of parts


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
@pytest.mark.parametrize("bias", [True, False])
def test_recurrent_layers_as_on_the_cpu(kind, bias):
    torch.manual_seed(0)
    model, x = kind(8, 16, 2, bias=bias), torch.randn(5, 3, 8)

    def run(where):
        moved = model.to(where)
        moved.zero_grad()
        given = x.to(where).requires_grad_()
        y, _ = moved(given)
        y.square().sum().backward()
        return [t.detach().cpu() for t in (y, given.grad, *(p.grad for p in moved.parameters()))]

    torch.testing.assert_close(run("npu"), run("cpu"), rtol=1e-4, atol=1e-5)


# ---- torch.compile and torch.export


def _small():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2)).npu(), torch.ones(3, 4, device="npu")


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "aot_eager_decomp_partition", "npu"])
def test_compiled_as_eager(backend):
    model, x = _small()
    compiled = torch.compile(model, backend=backend)
    torch.testing.assert_close(compiled(x), model(x))
    compiled(x).sum().backward()
    assert model[0].weight.grad.device.type == "npu"


def test_generators_are_set_within_a_compiled_function():
    def f(x):
        with torch.random.fork_rng():
            torch.manual_seed(42)
            return torch.bernoulli(x) * 2

    x = torch.full((8, 8), 0.5, device="npu")
    torch.testing.assert_close(torch.compile(f, backend="aot_eager")(x), f(x))


def test_without_triton_inductor_says_what_to_install(monkeypatch):
    monkeypatch.setattr("labkit.triton.inductor.absent", lambda: "Triton is not installed")
    with pytest.raises(Exception, match="Triton is not installed.*aot_eager"):
        torch.compile(lambda x: x * 2)(torch.ones(3, device="npu"))
    assert torch.compile(lambda x: x * 2, backend="aot_eager")(torch.ones(3)).tolist() == [2, 2, 2]


def test_export():
    model, x = _small()
    torch.testing.assert_close(torch.export.export(model, (x,)).module()(x), model(x))


# ---- operators of a program's own


def test_opcheck_and_gradcheck():
    @torch.library.custom_op("labtest::gate", mutates_args=())
    def gate(x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(x)

    @gate.register_fake
    def _(x):
        return torch.empty_like(x)

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * s * (1 + x * (1 - s))

    gate.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    x = torch.randn(5, device="npu", requires_grad=True)
    allowed = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    assert set(torch.library.opcheck(gate, (x,), test_utils=allowed).values()) == {"SUCCESS"}
    with pytest.raises(Exception, match="NYI"):  # PyTorch's own code refuses the fourth for every extra device
        torch.library.opcheck(gate, (x,), test_utils="test_autograd_registration")
    assert torch.autograd.gradcheck(gate, (x,), eps=1e-2, atol=1e-2, rtol=1e-2)
    assert torch.autograd.gradcheck(gate, (x.detach().double().requires_grad_(),))


@pytest.mark.skipif(torch.__version__ < "2.7", reason="torch 2.6 shows no device time of an extra device")
def test_profiler_shows_modelled_time():
    x = torch.ones(1 << 20, device="npu")
    device.reset_clock()
    with torch.autograd.profiler.profile(use_device="npu") as seen:
        x + 1
    span = device.timeline()[-1]
    row = next(r for r in seen.key_averages() if r.key == "aten::add")
    assert row.self_device_time_total == pytest.approx(span.end_us, abs=1) and "NPU" in seen.key_averages().table()


# ---- the rest of torch.npu


def test_old_tensor_types():
    x = torch.npu.FloatTensor(2, 3)
    assert x.shape == (2, 3) and x.device.type == "npu" and isinstance(x, torch.npu.FloatTensor)
    assert not isinstance(x.cpu(), torch.npu.FloatTensor) and not isinstance(x, torch.npu.HalfTensor)
    assert torch.npu.LongTensor([1, 2]).tolist() == [1, 2] and torch.npu.HalfTensor(x).dtype == torch.float16


def test_switches(monkeypatch):
    for switch in (torch.npu.conv, torch.npu.matmul):
        monkeypatch.setattr(switch, "allow_hf32", switch.allow_hf32)  # put back behind the test
    torch.npu.conv.allow_hf32 = False
    torch.npu.matmul.allow_hf32 = True
    with pytest.raises(AttributeError, match="no setting"):
        torch.npu.matmul.allow_tf32 = True
    with pytest.raises(RuntimeError, match="debug_mode"):
        torch.npu.set_sync_debug_mode(7)
    assert torch.npu.get_soc_version() == 220 and torch.npu.is_jit_compile_false()
    overflow = torch.npu.utils.npu_check_overflow
    assert overflow(torch.tensor([1.0, float("inf")], device="npu")) and overflow(float("nan"))
    assert not overflow(1e300) and not overflow(torch.tensor([1e38, -3e38], device="npu"))
    nested = torch.npu.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == torch.npu.memory_allocated()


def test_flops_are_counted_while_they_run_and_over_a_pause():
    from torch_npu.utils import FlopsCounter

    x, counter, one = torch.ones(8, 4).npu(), FlopsCounter(), 2 * 8 * 4 * 8
    counter.start()
    x @ x.T
    assert counter.get_flops() == [one, one]
    counter.pause()
    x @ x.T
    assert counter.get_flops() == [one, 2 * one]
    counter.resume()
    x @ x.T
    assert counter.get_flops() == [2 * one, 3 * one]
    counter.stop()
    x @ x.T
    assert counter.get_flops() == [0, 0]


def test_stream_by_handle():
    stream = torch.npu.Stream()
    again = torch.npu.ExternalStream(stream.npu_stream)
    assert again == stream and again.npu_stream == stream.npu_stream


@pytest.mark.parametrize("adam", [False, True])
def test_lamb_by_its_formula(adam):
    """Means of the gradient and of its square; with weight decay the size of the step counts, not its direction alone."""
    import torch_npu

    start, lr, decay, (b1, b2), eps = torch.linspace(-1, 1, 12).view(3, 4), 0.1, 0.3, (0.8, 0.6), 1e-6
    p = torch.nn.Parameter(start.npu())
    optimizer = torch_npu.optim.NpuFusedLamb([p], lr=lr, betas=(b1, b2), eps=eps, weight_decay=decay, adam=adam)
    want, mean, squares = start.double(), torch.zeros(3, 4).double(), torch.zeros(3, 4).double()
    for step in range(3):
        grad = (torch.arange(12).view(3, 4) % 5 - 2 + step).double() / 4
        p.grad = grad.float().npu()
        optimizer.step()
        mean, squares = b1 * mean + (1 - b1) * grad, b2 * squares + (1 - b2) * grad * grad
        move = mean / (squares.sqrt() + eps) + decay * want
        want = want - lr * (1 if adam else want.norm().clamp(0, 10) / move.norm()) * move
    torch.testing.assert_close(p.detach().cpu().double(), want, rtol=1e-5, atol=1e-6)
