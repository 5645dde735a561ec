"""Kernels of the device's own, and what a model keeps when it moves: norms, attention, dropout and lists of tensors are
one piece of device work each, half precision is computed in fp32 and rounded once; tied weights stay tied.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import inside, simulated  # noqa: E402
from same import equal  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import labkit.device as device  # noqa: E402

pytestmark = simulated
HALVES = (torch.float16, torch.bfloat16)


def names(work) -> list[str]:
    """What the device did."""
    torch.npu.synchronize()
    device.reset_clock()
    work()
    return [span.name for span in device.timeline()]


# ---- moving a model


def test_tied_weights_stay_tied_and_an_optimizer_keeps_its_parameters():
    model = nn.ModuleList([nn.Embedding(8, 4), nn.Linear(4, 8, bias=False)])
    model[1].weight = model[0].weight
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model[0].weight.detach().clone()
    model.to("npu")
    assert model[1].weight is model[0].weight and len(list(model.parameters())) == 1 and inside(model[0].weight)
    model[1](model[0](torch.arange(8, device="npu"))).sum().backward()
    optimizer.step()
    assert not torch.equal(model[0].weight.detach().cpu(), before)
    model.cpu()
    assert model[1].weight is model[0].weight and model[0].weight.device.type == "cpu"


def test_data_may_change_its_device():
    p = nn.Parameter(torch.ones(3))
    p.data = p.data.npu()
    assert p.is_npu and (p + 1).sum().item() == 6
    p.sum().backward()
    assert p.grad.is_npu
    p.grad = None
    p.data = p.data.cpu()
    assert p.device.type == "cpu" and (p + 1).sum() == 6


def test_lazy_modules_work_where_they_are_moved():
    lazy = nn.Sequential(nn.LazyConv2d(4, 3), nn.Flatten(), nn.LazyLinear(2)).to("npu")
    assert lazy(torch.ones(1, 3, 5, 5, device="npu")).shape == (1, 2) and lazy[2].weight.is_npu
    bare = nn.UninitializedParameter()
    assert bare.npu().is_npu
    bare.data = bare.data.npu()
    bare.materialize((2, 2))
    assert bare.is_npu and bare.shape == (2, 2)


# ---- one piece of work, in fp32

X = torch.randn(3, 8, 4, 4, generator=torch.Generator().manual_seed(0))
WORK = {
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w[:4], b[:4]), "native_layer_norm"),
    "group_norm": (lambda x, w, b: F.group_norm(x, 2, w, b), "native_group_norm"),
    "rms_norm": (lambda x, w, b: F.rms_norm(x, (4,), w[:4]), "_fused_rms_norm"),
    "attention": (
        lambda x, w, b: F.scaled_dot_product_attention(x, x, x),
        "_scaled_dot_product_fused_attention_overrideable",
    ),
    "causal": (
        lambda x, w, b: F.scaled_dot_product_attention(x, x, x, is_causal=True),
        "_scaled_dot_product_fused_attention_overrideable",
    ),
    "softmax": (lambda x, w, b: F.softmax(x, 1), "_softmax"),
    "log_softmax": (lambda x, w, b: F.log_softmax(x, -1), "_log_softmax"),
}


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES])
@pytest.mark.parametrize("name", WORK)
def test_one_launch_there_and_one_back_rounded_once(name, dtype):
    function, operator = WORK[name]
    big = 400.0 if "norm" in name else 1.0  # an fp16 sum of squares of these is infinite
    given = [(X * big).to(dtype), torch.rand(8).to(dtype), torch.rand(8).to(dtype)]
    wide = [t.double().requires_grad_() for t in given]
    want = function(*wide)
    way = torch.randn(want.shape, generator=torch.Generator().manual_seed(1)).to(dtype)
    want.backward(way.double())
    there = [t.npu().requires_grad_() for t in given]
    way = way.npu()
    kept = []
    assert names(lambda: kept.append(function(*there))) == [f"aten::{operator}"]
    back = names(lambda: kept[0].backward(way))
    assert len([n for n in back if "norm" in n or "attention" in n or "softmax" in n]) == 1, back
    got = kept[0].detach().cpu()
    assert got.dtype == dtype
    step = torch.finfo(dtype).eps
    assert (
        (got.double() - want).abs() <= step / 2 * want.abs() * 1.01 + (4e-6 if dtype == torch.float32 else 1e-6)
    ).all()
    for a, b in zip(there, wide):
        if b.grad is not None:
            size = b.grad.abs().max()
            assert ((a.grad.cpu().double() - b.grad).abs() <= 4 * step * size + 1e-5).all(), name


@pytest.mark.parametrize("dtype", HALVES)
def test_norms_keep_their_statistics_in_fp32(dtype):
    x = X.to(dtype).npu()
    for made in (
        torch.native_layer_norm(x, (4,), None, None, 1e-5),
        torch.native_group_norm(x, None, None, 3, 8, 16, 2, 1e-5),
    ):
        assert [t.dtype for t in made] == [dtype, torch.float32, torch.float32] and all(map(inside, made))
    weight = torch.ones(4, device="npu", requires_grad=True)  # fp32 beside half precision
    y = torch.native_layer_norm(x.requires_grad_(), (4,), weight, None, 1e-5)[0]
    y.float().sum().backward()
    assert y.dtype == x.grad.dtype == dtype and weight.grad.dtype == torch.float32


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_channels_last_is_kept(dtype):
    x = X.to(dtype).to(memory_format=torch.channels_last)
    kernel = torch.randn(8, 8, 3, 3).to(dtype)
    for function in (lambda t: F.group_norm(t, 2), lambda t: F.conv2d(t, kernel.to(t.device), padding=1)):
        y = function(x.npu())
        assert y.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(
            y.cpu(), function(x.float() if dtype == torch.float16 and function(x) is None else x), rtol=2e-2, atol=2e-2
        )


def test_attention_with_masks_groups_dropout_and_layouts():
    g = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, n, 6, 8, generator=g) for n in (4, 2, 2))
    mask = torch.rand(2, 1, 6, 6, generator=g) > 0.3
    mask[0, :, 2] = False  # a row that sees nothing gives zeros
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    there = [t.npu() for t in (q, k, v)]
    kept = []
    assert names(lambda: kept.append(F.scaled_dot_product_attention(*there, attn_mask=mask.npu(), enable_gqa=True)))[
        1:
    ] == ["aten::_scaled_dot_product_fused_attention_overrideable"]
    torch.testing.assert_close(kept[0].cpu(), want, rtol=1e-4, atol=1e-5)
    turned = torch.randn(2, 6, 4, 8, generator=g).transpose(1, 2)
    assert F.scaled_dot_product_attention(*[turned.npu()] * 3).stride() == turned.npu().stride()
    x = torch.randn(2, 4, 6, 8, generator=g).npu().requires_grad_()
    torch.manual_seed(3)
    y = F.scaled_dot_product_attention(x, x, torch.ones_like(x), dropout_p=0.5)
    torch.manual_seed(3)
    assert equal(y, F.scaled_dot_product_attention(x, x, torch.ones_like(x), dropout_p=0.5))
    assert 0.5 < y.mean().item() < 1.5 and y.std().item() > 0.05
    value = torch.randn(2, 4, 6, 8, generator=g).npu().requires_grad_()
    torch.manual_seed(3)
    F.scaled_dot_product_attention(x, x, value, dropout_p=0.5).sum().backward()
    torch.manual_seed(3)  # linear in the value: its gradient is the dropped shares' column sums, the same mask
    shares = F.scaled_dot_product_attention(x, x, torch.eye(6, 8, device="npu").expand(2, 4, 6, 8), dropout_p=0.5)
    torch.testing.assert_close(value.grad[..., 0], shares[..., :6].sum(-2), rtol=1e-4, atol=1e-5)
    # and it is the mask of dropout: one kernel and its parts give the same numbers for the same seed
    both = []
    for parts in (False, True):
        one = x.detach().requires_grad_()
        torch.manual_seed(3)
        y = F.dropout((one @ one.mT / 8**0.5).softmax(-1), 0.5) @ one if parts else None
        y = y if parts else F.scaled_dot_product_attention(one, one, one, dropout_p=0.5)
        both.append((y, *torch.autograd.grad(y.square().sum(), one)))
    torch.testing.assert_close(*both, rtol=1e-4, atol=1e-5)
    # as on the card, other shapes and masks that add are taken apart
    assert (
        len(
            names(
                lambda: F.scaled_dot_product_attention(
                    *there, attn_mask=torch.zeros(6, 6, device="npu"), enable_gqa=True
                )
            )
        )
        > 4
    )
    assert F.scaled_dot_product_attention(*(t[0] for t in there), enable_gqa=True).shape == (4, 6, 8)
    with pytest.raises(RuntimeError, match="same dtype"):
        F.scaled_dot_product_attention(there[0].half(), *there[1:])


def test_dropout_is_one_kernel():
    x = torch.ones(1000, device="npu", requires_grad=True)
    kept = []
    assert names(lambda: kept.append(F.dropout(x, 0.25))) == ["aten::native_dropout"]
    kept[0].sum().backward()
    assert equal(x.grad, kept[0]) and set(kept[0].tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert F.dropout(x, 0.5, False) is x and F.dropout(x, 1.0).sum() == 0


def test_optimizers_launch_once_for_a_list():
    parameters = [nn.Parameter(torch.randn(4, 4).npu()) for _ in range(3)]
    for p in parameters:
        p.grad = torch.ones_like(p)
    fused = torch.optim.AdamW(parameters, fused=True)
    fused.step()
    assert names(fused.step) == ["aten::_foreach_add_", "aten::_fused_adamw_"]
    plain = torch.optim.AdamW(parameters)
    plain.step()
    listed = names(plain.step)
    assert len(listed) < 12 and all(n.startswith("aten::_foreach_") for n in listed), listed
    host = torch.ones(4, 4)
    torch._foreach_copy_([p.detach() for p in parameters], [host] * 3)  # from another device: tensor by tensor
    assert equal(parameters[2].detach().cpu(), host)


# ---- random numbers: a seed and an offset


def test_an_attention_without_dropout_draws_nothing():
    """A program that calls it goes on with the numbers that it would have had without."""
    torch.manual_seed(0)
    generator, q = torch.npu.default_generators[0], torch.ones(1, 2, 16, 16, device="npu")
    torch.nn.functional.scaled_dot_product_attention(q, q, q)
    assert generator.get_offset() == 0
    torch.nn.functional.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
    assert generator.get_offset() == 4


def test_the_generator_is_a_seed_and_an_offset():
    g = torch.Generator("npu")
    g.manual_seed(5)
    assert g.get_state().numel() == 16 and g.get_offset() == 0
    a, b = torch.rand(4, device="npu", generator=g), torch.rand(4, device="npu", generator=g)
    assert g.get_offset() == 8 and not torch.equal(a, b)
    g.set_offset(4)
    assert equal(torch.rand(4, device="npu", generator=g), b)
    state = g.get_state()
    c = torch.randn(5, device="npu", generator=g)
    g.set_state(state)
    assert equal(torch.randn(5, device="npu", generator=g), c) and g.initial_seed() == 5
    with pytest.raises(RuntimeError, match="wrong size"):
        g.set_state(torch.zeros(5056, dtype=torch.uint8))


# ---- sparse tensors, several devices, small things


def test_sparse_tensors():
    table = nn.Embedding(10, 4, sparse=True).npu()
    before = table.weight.detach().clone()
    table(torch.tensor([1, 2, 1], device="npu")).sum().backward()
    assert table.weight.grad.layout == torch.sparse_coo and inside(table.weight.grad.coalesce().values())
    torch.optim.SGD(table.parameters(), lr=0.5).step()
    assert (before - table.weight.detach()).sum(1).tolist()[:4] == [0.0, 4.0, 2.0, 0.0]
    a = torch.sparse_coo_tensor(torch.tensor([[0, 1], [1, 0]]), torch.tensor([1.0, 2.0]), (2, 2))
    b = a.npu()
    dense = torch.arange(6.0).view(2, 3)
    assert b.is_npu and torch.equal(b.to_dense().cpu(), a.to_dense()) and torch.equal(b.cpu().to_dense(), a.to_dense())
    assert equal((b @ dense.npu()).cpu(), a @ dense) and (b + b).coalesce().values().tolist() == [2.0, 4.0]
    assert equal(torch.eye(3, device="npu").to_sparse().coalesce().indices().cpu(), torch.arange(3).expand(2, 3))
    rows = a.to_dense().npu().to_sparse_csr()
    assert (
        rows.is_npu
        and torch.equal((rows @ dense.npu()).cpu(), a @ dense)
        and torch.equal(rows.to_dense().cpu(), a.to_dense())
    )


def test_small_things():
    torch.accelerator.memory.empty_host_cache()
    assert torch.ones(4).pin_memory()[1:].is_pinned()
    torch.use_deterministic_algorithms(True)
    try:
        assert (
            torch.empty(3, device="npu").isnan().all() and (torch.empty(2, dtype=torch.int8, device="npu") == 127).all()
        )
    finally:
        torch.use_deterministic_algorithms(False)
    with pytest.raises(RuntimeError, match="same device"):
        torch.sum(torch.ones(3, device="npu"), 0, out=torch.zeros(()))
    with torch.autocast("npu", dtype=torch.float32):
        half = torch.ones(2, 2, dtype=torch.half, device="npu")
        assert (half @ half).dtype == torch.float32
    assert torch.ones(2).type(torch.npu.HalfTensor).type() == "torch.npu.HalfTensor"
    about = torch.npu.get_device_properties(0)
    assert about.multi_processor_count == about.vector_core_num and len(about.uuid.bytes) == 16
    segments = torch.npu.memory_snapshot()
    assert sum(s["total_size"] for s in segments) == torch.npu.memory_reserved()
    assert sum(s["allocated_size"] for s in segments) == torch.npu.memory_allocated()
    with torch.npu.use_mem_pool(torch.npu.MemPool()):
        torch.ones(1, device="npu")
    assert torch.npu.mstx.range_push("a") == 0 and torch.npu.mstx.range_pop() == 0


def test_graphs_by_their_other_names():
    x = torch.ones(3, device="npu")
    graph = torch.accelerator.Graph()
    with torch.Stream(device="npu"), graph:
        y = x * 2
    x.fill_(4)
    graph.replay()
    assert y.tolist() == [8.0] * 3
    net = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).npu()
    twin = nn.Sequential(nn.Linear(3, 3), nn.Tanh()).npu()
    twin.load_state_dict(net.state_dict())
    fast = torch.npu.make_graphed_callables(net, (torch.zeros(2, 3, device="npu"),))
    given = torch.randn(2, 3).npu()
    fast(given).sum().backward()
    twin(given).sum().backward()
    torch.testing.assert_close(net[0].weight.grad, twin[0].weight.grad)


def run(program: str, **environment) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=180,
                          env={**os.environ, **environment})  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_data_parallel_over_two_devices():
    assert run(
        """
        import labkit, torch
        m = torch.nn.DataParallel(torch.nn.Linear(4, 2).npu())
        m(torch.ones(4, 4).npu()).sum().backward()
        print(m.module.weight.grad.tolist())
        """,
        LABKIT_NPUS="2",
    ).strip() == str([[4.0] * 4] * 2)


def test_npu_tensors_between_processes(tmp_path):
    program = tmp_path / "sends.py"
    program.write_text(
        textwrap.dedent("""
        import labkit, torch, torch.multiprocessing as mp
        def work(to, back):
            t = to.get()
            back.put((t * 2, t.device.type))
        if __name__ == "__main__":
            mp.set_start_method("spawn")
            to, back = mp.Queue(), mp.Queue()
            p = mp.Process(target=work, args=(to, back))
            p.start()
            to.put(torch.arange(3.0, device="npu"))
            t, kind = back.get()
            print(t.tolist(), t.device.type, kind)
            p.join()
    """)
    )
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, timeout=180)
    assert done.stdout.strip() == "[0.0, 2.0, 4.0] npu npu", done.stderr[-2000:]


def test_import_torch_npu_as_the_first_line(tmp_path):
    from labkit.device.import_hook import PTH, keep_pth

    keep_pth(str(tmp_path))
    assert (tmp_path / "labkit_torch_npu.pth").read_text() == PTH and PTH.count("\n") == 1
    head = f"""
        import site, sys; site.addsitedir({str(tmp_path)!r})
        """
    said = run(
        head
        + """
        import importlib.util
        looked = importlib.util.find_spec("torch_npu")
        import torch_npu
        import torch
        from torch_npu.npu import amp
        import torch_npu.optim
        print(looked, torch.ones(2).npu().sum().item(), torch_npu.optim.NpuFusedAdamW.__name__)
        """
    )
    assert said.split() == ["None", "2.0", "NpuFusedAdamW"]
    # torch first, as most programs begin: labkit then comes in while Python looks for torch_npu
    said = run(head + "\n        import torch\n        import torch_npu\n        print(torch_npu.npu is torch.npu)\n")
    assert said.split() == ["True"]
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "__init__.py").write_text("real = True\n")
    assert run(head + "\n        import torch_npu, sys; print(torch_npu.real, 'torch' in sys.modules)").split() == [
        "True",
        "False",
    ]


def test_import_torch_as_the_first_line_where_the_folder_is_deleted(tmp_path):
    from labkit.device.import_hook import keep_pth

    keep_pth(str(tmp_path))
    head = f"""
        import os, site
        os.mkdir({str(tmp_path / "gone")!r}); os.chdir({str(tmp_path / "gone")!r}); os.rmdir("../gone")
        site.addsitedir({str(tmp_path)!r})
        import importlib.util, json
        assert importlib.util.find_spec("torch")
        try: import torch
        except FileNotFoundError as error: print(error)
        """
    assert "the current folder has been deleted" in run(head)


def test_losses_and_indices_as_the_card_takes_them():
    x, t = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).half(), torch.rand(3, 4).half()
    device.reset_clock()
    got = F.binary_cross_entropy_with_logits(x.npu(), t.npu(), reduction="none")
    assert len(device.timeline()) == 3  # two copies in and one kernel, which rounds once
    want = F.binary_cross_entropy_with_logits(x.float(), t.float(), reduction="none").half()
    assert equal(got.cpu(), want)
    labels = torch.tensor([[3, 0, -1, 1]], dtype=torch.int32)
    there = torch.tensor([[0.1, 0.2, 0.4, 0.8]]).npu().requires_grad_()
    F.multilabel_margin_loss(there, labels.npu()).backward()
    here = there.detach().cpu().requires_grad_()
    F.multilabel_margin_loss(here, labels.long()).backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad)
    hot = F.one_hot(torch.tensor([2, 0], dtype=torch.int32).npu())
    assert hot.device.type == "npu" and hot.dtype == torch.int32 and hot.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize("sparse", [False, True])
def test_embedding_bag_gradient(sparse):
    bags = [torch.nn.EmbeddingBag(5, 3, sparse=sparse, mode="sum") for _ in range(2)]
    bags[1].load_state_dict(bags[0].state_dict())
    bags[1].npu()
    where = torch.tensor([[1, 2], [1, 4]])
    bags[0](where).sum().backward()
    bags[1](where.npu()).sum().backward()
    assert bags[1].weight.grad.is_sparse == sparse and bags[1].weight.grad.device.type == "npu"
    dense = [b.weight.grad.to_dense() if sparse else b.weight.grad for b in bags]
    assert equal(dense[1].cpu(), dense[0])


@pytest.mark.parametrize("how", ["sum", "mean", "amax", "amin"])
def test_sparse_product_reduced(how):
    matrix = torch.tensor([[0.0, 2.0, 3.0], [1.0, 0.0, 0.0], [0.0, -1.0, 5.0]]).to_sparse_csr()
    dense = torch.arange(6.0).view(3, 2)
    found = []
    for where in ("cpu", "npu"):
        a, b = matrix.clone().to(where).requires_grad_(), dense.to(where, copy=True).requires_grad_()
        y = torch.sparse.mm(a, b, how)
        y.square().sum().backward()
        found.append([y.detach().cpu(), a.grad.to_dense().cpu(), b.grad.cpu()])
    for theirs, ours in zip(*found):
        assert equal(ours, theirs)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_layer_is_the_kernels_that_it_is_made_of(norm_first):
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, norm_first=norm_first, activation="gelu")
    encoder = nn.TransformerEncoder(layer, 2).eval()
    nn.init.constant_(encoder.layers[0].self_attn.in_proj_bias, 0.25)
    x = torch.randn(3, 10, 64, generator=torch.Generator().manual_seed(1))
    padded = torch.arange(10) >= torch.tensor([[10], [7], [10]])
    with torch.inference_mode():
        wanted = encoder(x), encoder(x, src_key_padding_mask=padded)
        encoder.npu()
        got = encoder(x.npu()), encoder(x.npu(), src_key_padding_mask=padded.npu())
        ran = names(lambda: encoder.layers[0](x.npu()))
        with torch.autocast("npu", dtype=torch.bfloat16):
            cast = encoder(x.npu()).cpu()
    torch.testing.assert_close(got[0].cpu(), wanted[0])
    torch.testing.assert_close(got[1].cpu()[~padded], wanted[1][~padded])
    torch.testing.assert_close(cast, wanted[0])
    assert ran.count("aten::bmm") == 2 and ran.count("aten::native_layer_norm") == 2
    assert ran.count("aten::addmm") + ran.count("aten::_addmm_activation") == 3 and "aten::_softmax" in ran


def test_device_stays_busy_for_cycles():
    device.reset_clock()
    torch.npu._sleep(1_850_000)  # a millisecond at the 910B1's 1.85 GHz
    (span,) = device.timeline()
    assert abs(span.end_us - span.start_us - 1000) < 1
    for wrong, error in ((0, RuntimeError), (1.5, TypeError)):
        with pytest.raises(error, match="_sleep"):
            torch.npu._sleep(wrong)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_fused_optimizers_step_as_pytorchs(name, dtype):
    import torch_npu.optim

    both = [[torch.arange(6.0).to(dtype).npu().requires_grad_()] for _ in range(2)]
    how = {"lr": 0.01, "weight_decay": 0.001} | ({"momentum": 0.9} if name == "SGD" else {"eps": 1e-4})
    steps = [getattr(torch.optim, name)(both[0], **how), getattr(torch_npu.optim, f"NpuFused{name}")(both[1], **how)]
    for _ in range(5):
        for (p,), optimizer in zip(both, steps):
            p.grad = p.detach() / 100
            optimizer.step()
    assert equal(both[0][0], both[1][0])
    limit = steps[1].clip_grad_norm_fused_(0.01)
    assert limit > 0.01 and both[1][0].grad.float().norm().item() == pytest.approx(0.01, rel=1e-2)
