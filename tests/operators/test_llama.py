"""SwiGLU in LLaMA: transformers' model with random weights, its activation replaced by hand and
by the pass over its graph.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
os.environ["HF_HUB_OFFLINE"] = "1"  # nothing here may use the network: an attempt fails
torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from device_lab import simulated  # noqa: E402
from same import equal  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402

pytestmark = simulated
swiglu = labkit.operator("swiglu")
LAYERS, WORDS = 2, 61
# fp32: the kernel rounds after each of its instructions and PyTorch after each of its own, so an activation differs by
# a few units in the last place (2**-23), and layers and logits add such differences up.
SAME = {"rtol": 1e-5, "atol": 1e-5}
# fp16: PyTorch rounds silu(gate) to half before the product, the kernel only the product: one unit of 2**-11 of an
# activation. After two layers it is up to three or four units of the logits, which reach 4.5. The loss is a mean over
# many; there it is less.
HALF = {"rtol": 0, "atol": 4.5 * 2.0**-9}
LOSS = {"rtol": 1e-3, "atol": 0}


def llama(**more):
    """Drawn ten times as wide as usual: so the MLPs weigh in the logits, and a wrong one would show."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=WORDS,
            hidden_size=32,
            intermediate_size=88,
            num_hidden_layers=LAYERS,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            use_cache=False,
            initializer_range=0.2,
            **more,
        )
    ).npu()


def by_hand(model, projections=False):
    assert swiglu.replace(model, projections=projections) == [f"model.layers.{i}.mlp" for i in range(LAYERS)]
    return model


def with_projections(model):
    return by_hand(model, True)


def by_pass(model):
    model.fusing = swiglu.Fusing()
    return torch.compile(model, backend=model.fusing)


@pytest.fixture
def ids():
    return ((torch.arange(4)[:, None] * 7 + torch.arange(16) * 3) % WORDS).npu()


def launches(call):
    """Names of what the device runs in `call`, without the template's arguments."""
    call()
    device.reset_clock()
    call()
    return [span.name.partition("<")[0] for span in device.timeline()]


# ---- the same model


@pytest.mark.parametrize("dtype, near", [(torch.float32, SAME), (torch.float16, HALF)])
@pytest.mark.parametrize("change", [by_hand, with_projections, by_pass])
def test_the_same_logits(change, dtype, near, ids):
    with torch.no_grad():
        native, changed = llama().to(dtype), change(llama().to(dtype))
        torch.testing.assert_close(changed(ids).logits, native(ids).logits, **near)


def test_who_computes(ids):
    native, hand, projected, compiled = llama(), by_hand(llama()), with_projections(llama()), by_pass(llama())
    with torch.no_grad():
        before, after, joined, traced = (launches(lambda m=m: m(ids)) for m in (native, hand, projected, compiled))
    assert before.count("aten::silu") == LAYERS and "swiglu" not in before
    for names, kernel in ((after, "swiglu"), (joined, "swiglu_linear"), (traced, "swiglu")):
        assert "aten::silu" not in names and names.count(kernel) == LAYERS
    assert len(before) - len(after) == LAYERS and len(before) - len(joined) == 3 * LAYERS
    assert (compiled.fusing.replaced, compiled.fusing.left, compiled.fusing.graphs) == (LAYERS, [], 1)
    assert (hand.model.layers[0].mlp.path, projected.model.layers[0].mlp.path) == ("lab::swiglu", "lab::swiglu_linear")


def test_flash_attention_of_transformers(ids):
    """transformers calls torch_npu.npu_fusion_attention where it finds a torch_npu."""
    from transformers.utils import is_torch_npu_available

    assert is_torch_npu_available()
    with torch.no_grad():
        native, flash = llama().half(), llama(attn_implementation="flash_attention_2").half()
        torch.testing.assert_close(flash(ids).logits, native(ids).logits, **HALF)


# ---- training


def train(model, ids, amp, steps=6):
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    scaler = torch.amp.GradScaler("npu", enabled=amp, init_scale=2.0**10)
    losses = []
    for _ in range(steps):
        with torch.autocast("npu", enabled=amp):
            loss = model(ids, labels=ids).loss
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    return losses, scaler.get_scale()


@pytest.mark.parametrize("amp, near", [(False, SAME), (True, LOSS)])
@pytest.mark.parametrize("change", [by_hand, with_projections, by_pass])
def test_the_same_loss_curve(change, amp, near, ids):
    native, scale = train(llama(), ids, amp)
    changed, changed_scale = train(change(llama()), ids, amp)
    assert native[-1] < 0.9 * native[0] and scale == changed_scale and (not amp or scale == 2.0**10)
    torch.testing.assert_close(torch.tensor(changed), torch.tensor(native), **near)


def test_a_step_that_overflows_is_skipped(ids):
    """With a scale that half cannot hold, gradients through our backward are infinite; GradScaler sees that."""
    model = by_hand(llama())
    before = [p.clone() for p in model.parameters()]
    optimizer, scaler = torch.optim.SGD(model.parameters(), 1.0), torch.amp.GradScaler("npu", init_scale=2.0**40)
    with torch.autocast("npu"):
        loss = model(ids, labels=ids).loss
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 2.0**39 and all(torch.equal(a, b) for a, b in zip(before, model.parameters()))


@pytest.mark.parametrize(
    "projections, kernels", [(False, ("swiglu_backward",)), (True, ("swiglu_slopes", "swiglu_dx", "swiglu_dw"))]
)
def test_backward_by_our_kernels(projections, kernels, ids):
    model = by_hand(llama(), projections)
    names = launches(lambda: model(ids, labels=ids).loss.backward())
    assert [names.count(kernel) for kernel in kernels] == [LAYERS] * len(kernels) and "aten::silu_backward" not in names


# ---- the pass


@pytest.mark.parametrize(
    "f, replaced, left",
    [
        (lambda g, u: F.silu(g) * u, 1, None),
        (lambda g, u: u.mul(nn.SiLU()(g)), 1, None),
        (lambda g, u: torch.mul(u, F.silu(g)), 1, None),
        (lambda g, u: u * F.silu(g) * F.silu(u), 2, None),
        (lambda g, u: F.silu(g) * 2, 0, "not a tensor"),
        (lambda g, u: F.silu(g) * u[0], 0, "shapes"),
        (lambda g, u: F.silu(g) * u.double(), 0, "types"),
        (lambda g, u: F.silu(g) * g, 1, None),
        (lambda g, u: F.silu(g.T) * u.T, 0, "strides"),
        (lambda g, u: F.silu(g.cpu()) * u.cpu(), 0, "cpu"),
        (lambda g, u: (lambda s: s * u + s)(F.silu(g)), 0, "elsewhere"),
        (lambda g, u: F.gelu(g) * u, 0, None),
    ],
)
def test_what_the_pass_takes(f, replaced, left):
    torch._dynamo.reset()
    gate, up = (torch.randn(3, 8, generator=torch.Generator().manual_seed(i)).npu() for i in range(2))
    fusing = swiglu.Fusing()
    torch.testing.assert_close(torch.compile(f, backend=fusing, fullgraph=True)(gate, up), f(gate, up))
    assert fusing.replaced == replaced and (left in fusing.left[0] if left else not fusing.left), fusing.left


# ---- saved and loaded


class Logits(nn.Module):
    """A model that gives a tensor, so that what is saved needs no class of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids):
        return self.model(ids).logits


_RELOAD = """
import sys
import labkit, labkit.device, torch
if len(sys.argv) > 1:
    assert labkit.operator("swiglu").missing("swiglu") == ""
program = torch.export.load("model.pt2")
ids, want = torch.load("tensors.pt", map_location="npu")
assert not [name for name in sys.modules if name.startswith("transformers")]
print((program.module()(ids) - want).abs().max().item() == 0)
"""


def test_exported_and_reloaded(ids, tmp_path):
    model = Logits(by_hand(llama()).eval())
    program = torch.export.export(model, (ids,))
    names = [str(node.target) for node in program.graph.nodes]
    assert names.count("lab.swiglu.default") == LAYERS and "aten.silu.default" not in names
    torch.export.save(program, tmp_path / "model.pt2")
    torch.save((ids.cpu(), model(ids).detach().cpu()), tmp_path / "tensors.pt")
    run = {
        word: subprocess.run([sys.executable, "-c", _RELOAD, *word], capture_output=True, text=True, cwd=tmp_path)
        for word in ("", "r")
    }
    assert run["r"].stdout == "True\n", run["r"].stderr[-2000:]
    assert run[""].returncode and "failed to resolve torch.ops.lab.swiglu" in run[""].stderr, (
        "nobody has registered it there"
    )


def test_exported_with_the_projections(ids):
    model = Logits(with_projections(llama()).eval())
    program = torch.export.export(model, (ids,))
    assert [str(node.target) for node in program.graph.nodes].count("lab.swiglu_linear.default") == LAYERS
    assert equal(program.module()(ids), model(ids))


def test_the_pass_on_an_exported_graph(ids):
    from labkit.operators.swiglu.fuse import fuse

    model = Logits(llama().eval())
    module = torch.export.export(model, (ids,)).module()
    assert fuse(module) == (LAYERS, [])
    torch.testing.assert_close(module(ids), model(ids), **SAME)


def test_state_dicts_fit_both_ways(ids, tmp_path):
    native, changed = llama(), by_hand(llama())
    with torch.no_grad():
        for p in changed.parameters():
            p.mul_(1.25)
    torch.save(changed.state_dict(), tmp_path / "model.pt")
    assert native.load_state_dict(torch.load(tmp_path / "model.pt", map_location="npu")).missing_keys == []
    torch.testing.assert_close(native(ids).logits, changed(ids).logits, **SAME)
    again = by_hand(llama())
    again.load_state_dict(native.state_dict())
    assert equal(again(ids).logits, changed(ids).logits)
