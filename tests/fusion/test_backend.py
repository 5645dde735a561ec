"""labkit.fusion.backend with torch.compile, and the one call for all devices."""

from __future__ import annotations

import copy

import pytest

torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit.device as device  # noqa: E402
from labkit import fusion  # noqa: E402

pytestmark = simulated
NEAR = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()


class Block(nn.Module):
    """LLaMA's block in small: what the rules look for, and the residuals between."""

    def __init__(self, width=32):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate, self.up, self.down = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (4, -1)).transpose(1, 2) for t in self.qkv(self.n1(x)).chunk(3, -1))
        shares = torch.softmax(q @ k.transpose(-1, -2) / 8**0.5, -1)
        x = x + self.out((shares @ v).transpose(1, 2).flatten(2))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


FOUND = {"attention": 1, "swiglu": 1, "add_rms_norm": 1, "rms_norm": 1}


def test_training_takes_the_same_steps():
    torch.manual_seed(0)
    model = Block().npu()
    plain, backend = copy.deepcopy(model), fusion.backend()
    compiled = torch.compile(model, backend=backend)
    losses = []
    for f, m in ((compiled, model), (plain, plain)):
        optimizer = torch.optim.AdamW(m.parameters(), lr=1e-2)
        g = torch.Generator().manual_seed(1)
        losses.append([])
        for _ in range(4):
            x = torch.randn(2, 5, 32, generator=g).npu()
            loss = (f(x) - x.flip(-1)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses[-1].append(loss.item())
    left = [why for why in backend.outcome.left if "at this size" not in why]  # linear layers too small to pay
    assert dict(backend.outcome.replaced) == FOUND and not left, backend.outcome
    assert losses[0] == pytest.approx(losses[1], rel=1e-4) and losses[0][0] != losses[0][-1]
    assert backend.plan.where == "npu, simulated" and "4 attention" not in repr(backend)


def test_any_batch_with_one_graph():
    model, backend = Block().npu(), fusion.backend()
    compiled = torch.compile(model, backend=backend)
    with torch.no_grad():
        for batch, length in ((2, 5), (3, 5), (4, 9), (2, 17)):
            x = torch.randn(batch, length, 32).npu()
            torch._dynamo.mark_dynamic(x, (0, 1))
            torch.testing.assert_close(compiled(x), model(x), **NEAR)
    assert backend.graphs == 1 and dict(backend.outcome.replaced) == FOUND


def _view(g, u):
    s = F.silu(g)
    g.view(-1).mul_(0.5)
    return s * g


def _item(g, u):
    s = F.silu(g)
    u[0] = 7.0
    return s * u


def _augmented(g, u):
    s = F.silu(g)
    u += 1
    return s * u


def _inplace(g, u):
    s = F.silu(g)
    F.relu(u, inplace=True)
    return s * u


def _out(g, u):
    s = F.silu(g)
    torch.add(g, 1.0, out=u)
    return s * u


def _behind(g, u):
    y = F.silu(g) * u
    g.mul_(0.5)
    return y


@pytest.mark.parametrize(
    "f, replaced", [(_view, 0), (_item, 0), (_augmented, 0), (_inplace, 0), (_out, 0), (_behind, 1)]
)
def test_what_changes_in_between_in_each_spelling(f, replaced):
    ours, theirs = ([torch.linspace(-2, 3, 12).reshape(3, 4).npu() for _ in range(2)] for _ in range(2))
    backend = fusion.backend()
    got = torch.compile(f, backend=backend)(*ours)
    torch.testing.assert_close(got, f(*theirs), **NEAR)
    for a, b in zip(ours, theirs):  # and the arguments are changed as they were
        torch.testing.assert_close(a, b, **NEAR)
    assert backend.outcome.replaced["swiglu"] == replaced


def test_fewer_launches_on_the_device():
    model = Block().npu()
    x, launches = torch.randn(2, 5, 32).npu(), []
    with torch.no_grad():
        for f in (model, torch.compile(model, backend=fusion.backend())):
            f(x)
            before = device.clock().launches
            f(x)
            launches.append(device.clock().launches - before)
    assert launches[1] <= launches[0] - 9, launches


# ---- batch norm


class Convolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.b, self.l = nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 4)

    def forward(self, x):
        return self.l(F.relu(self.b(self.c(x)), inplace=True).mean((2, 3)))


def trained() -> Convolution:
    torch.manual_seed(3)
    model = Convolution()
    for _ in range(3):
        model(torch.randn(8, 3, 9, 9) * 2 + 1)
    return model


@pytest.mark.parametrize("where", ["cpu", "npu"])
def test_folded_for_inference_and_anew_after_a_change(where):
    model, backend = trained().eval().to(where), fusion.backend(inner="aot_eager")
    compiled, x = torch.compile(model, backend=backend), torch.randn(2, 3, 9, 9).to(where)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), model(x), **NEAR)
        assert backend.outcome.replaced == {"conv_bn": 1}
        model.c.weight.mul_(-2)
        model.b.running_mean.add_(1)
        torch.testing.assert_close(compiled(x), model(x), **NEAR)
        model.load_state_dict(trained().state_dict())
        torch.testing.assert_close(compiled(x), model(x), **NEAR)


def test_with_gradients_it_is_left_or_part_of_the_graph():
    for live, replaced in ((False, {}), (True, {"conv_bn": 1})):
        torch._dynamo.reset()
        model = trained().eval()
        plain, backend = copy.deepcopy(model), fusion.backend(inner="aot_eager", live=live)
        compiled, x = torch.compile(model, backend=backend), torch.randn(2, 3, 9, 9)
        for _ in range(2):  # the second time with other parameters
            for f, m in ((compiled, model), (plain, plain)):
                m.zero_grad()
                f(x).square().sum().backward()
                with torch.no_grad():
                    for p in m.parameters():
                        p.sub_(0.1 * p.grad)
        assert dict(backend.outcome.replaced) == replaced
        assert live or any("gradients" in why for why in backend.outcome.left)
        for p, q in zip(model.parameters(), plain.parameters()):
            torch.testing.assert_close(p, q, **NEAR)
            torch.testing.assert_close(p.grad, q.grad, rtol=1e-3, atol=1e-4)


def test_in_training_mode_the_statistics_go_on():
    model = trained().train()
    plain, backend = copy.deepcopy(model), fusion.backend(inner="aot_eager", live=True)
    compiled, x = torch.compile(model, backend=backend), torch.randn(4, 3, 9, 9)
    with torch.no_grad():
        torch.testing.assert_close(compiled(x), plain(x), **NEAR)
    torch.testing.assert_close(model.b.running_var, plain.b.running_var)
    assert not backend.outcome.replaced and any("training mode" in why for why in backend.outcome.left)


# ---- one call over devices


def test_the_same_call_on_both_devices():
    torch.manual_seed(1)
    model, x = Block(), torch.randn(2, 5, 32)
    there = fusion.fuse(copy.deepcopy(model).npu(), x.npu())
    here = fusion.fuse(model, x)
    assert dict(there.outcome.replaced) == FOUND and dict(here.outcome.replaced) == {"attention": 1}
    torch.testing.assert_close(here(x), model(x), **NEAR)
    torch.testing.assert_close(there(x.npu()).cpu(), model(x), **NEAR)
    assert here.plan.where == "cpu" and "swiglu" in here.plan.cannot[0] and "npu only" in repr(here.plan)
    assert there.plan.where == "npu, simulated" and any("modelled" in why for why in there.plan.cannot)


def test_plans(monkeypatch):
    from labkit.fusion import targets

    assert fusion.plan("cpu").inner == "inductor" and fusion.plan("npu").inner == "npu"
    monkeypatch.setattr(targets.shutil, "which", lambda name: None)
    assert fusion.plan("cpu").inner == "aot_eager" and any("Inductor" in why for why in fusion.plan("cpu").cannot)
    monkeypatch.setattr(targets.npu, "install", lambda: "npu")
    real = fusion.plan("npu")
    assert real.where == "npu" and any("has run on an NPU" in why for why in real.cannot)
    with pytest.raises(ValueError, match="cuda"):
        fusion.plan("cuda")
    with pytest.raises(ValueError, match="swigloo.*swiglu"):
        fusion.backend(["swigloo"])


def test_rules_by_choice():
    model, x = Block().half().npu(), torch.randn(2, 5, 32).half().npu()
    made = fusion.fuse(model, x, rules=["swiglu_linear"])
    assert dict(made.outcome.replaced) == {"swiglu_linear": 1}
    torch.testing.assert_close(made(x), model(x), rtol=2e-3, atol=2e-3)


def test_fused_and_exported_again(tmp_path):
    model, x = Block().npu(), torch.randn(2, 5, 32).npu()
    made = fusion.fuse(model, x, dynamic_shapes={"x": {0: torch.export.Dim("batch", min=2)}})
    again = torch.export.export(made, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=2)},)).module()
    y = torch.randn(5, 5, 32).npu()
    torch.testing.assert_close(again(y), model(y), **NEAR)
    assert "lab.swiglu.default" in {str(n.target) for n in again.graph.nodes}


def test_targets(monkeypatch):
    from labkit.fusion import targets

    model, x = Block(), torch.ones(2, 5, 32)
    assert fusion.fuse(model, x, target="cpu").plan.where == "cpu"
    real = fusion.plan(target="real")
    assert not real.available and real.inner == "npu" and "no NPU here" in real.cannot[-1]
    for call in (lambda: fusion.fuse(model, x, target="real"), lambda: fusion.backend(target="real")):
        with pytest.raises(RuntimeError, match="no NPU here"):
            call()
    with pytest.raises(RuntimeError, match="move the model"):
        fusion.fuse(model, x, target="simulated")
    with pytest.raises(ValueError, match="simulated.*tpu"):
        fusion.plan(target="tpu")
    monkeypatch.setattr(targets.npu, "install", lambda: "npu")
    monkeypatch.setattr(targets.torch._dynamo, "list_backends", lambda: ["inductor"])
    assert fusion.plan(target="real").inner == "aot_eager" and "torchair" in fusion.plan(target="real").cannot[-1]
    monkeypatch.setattr(targets.torch._dynamo, "list_backends", lambda: ["npu"])
    assert fusion.plan("npu").inner == "npu" and "it does not say" in fusion.plan("npu").cannot[-1]
