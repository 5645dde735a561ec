"""torch.compile with its default backend on npu: numbers against eager, modelled times, what falls back, what is caught."""

from __future__ import annotations

import copy
import os
import subprocess
import sys
import textwrap
import warnings
from collections import deque

import pytest

triton = pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

from torch.nn import functional as F

import labkit  # noqa: F401
from labkit.triton import access, driver, elementwise, inductor, memory
from labkit.triton.inductor import blocks as block_sizes


@pytest.fixture(autouse=True)
def fresh():
    from torch._inductor.utils import fresh_cache

    torch._dynamo.reset()
    with fresh_cache(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        inductor.fallen.clear()
        assert triton.knobs.cache.dir == os.environ["TRITON_CACHE_DIR"], "a test has set Triton's cache for good"
        yield
    torch._dynamo.reset()


def exact(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randint(-24, 25, shape, generator=generator) / 8).to(dtype)


def modelled(f, args) -> float:
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    begin.record()
    f(*args)
    end.record()
    torch.npu.synchronize()
    return 1000 * begin.elapsed_time(end)


def difference(f, *args) -> tuple[float, int]:
    """(largest difference from fp32 on the CPU, Triton launches of the first call). No finding is let pass."""
    with driver.recording() as launched:
        got = torch.compile(f)(*(a.npu() for a in args))
    found = [code for r in launched for code in r.codes()]
    assert not found, found
    want = f(*(a.float() if a.is_floating_point() else a for a in args))
    return float((got.cpu().float() - want.float()).abs().max()), len(launched)


LIBRARY = {  # functions of libdevice in Inductor's kernels; each result is one that a rule for large numbers alone loses
    "log1p": lambda x: torch.log1p(x.abs() * 2.0**-24) * 2.0**24,
    "expm1": lambda x: torch.expm1(x * 2.0**-24) * 2.0**24,
    "hypot": lambda x: torch.hypot(x, x + 1.0),
    "atan2": lambda x: torch.atan2(x, -x - 0.0625),
    "erfinv": lambda x: torch.erfinv(x / 4),
    "copysign": lambda x: torch.copysign(x + 1.0, 0.0625 - x),
    "signbit": lambda x: torch.signbit(x).float() + x,
    "nextafter": lambda x: (torch.nextafter(x, x + 1.0) - x) * 2.0**23,
    "isnan": lambda x: torch.isnan(x / x).float() + x,
    "isinf": lambda x: torch.isinf(1.0 / x).float() + x,
}


@pytest.mark.parametrize("name", LIBRARY)
def test_functions_of_the_library_are_in_the_kernel(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        off, launches = difference(LIBRARY[name], exact(5, 24))
    assert launches == 1 and off < 1e-5


def softmax(x):
    return torch.softmax(x * 0.5, -1)


def norm(x, w, b):
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rotate(x, c, s):
    a, b = x.chunk(2, -1)
    return torch.cat((a * c - b * s, a * s + b * c), -1)


def gated(x, y):
    return F.silu(x) * y + 1.0


def gelu_bias(x, b):
    return F.gelu(x + b)


def column_sums(x):
    return (x * 2).sum(0)


CASES = {
    "gated": (gated, (exact(33, 300), exact(33, 300))),
    "softmax": (softmax, (exact(50, 500),)),
    "layer norm": (norm, (exact(40, 770), exact(770), exact(770))),
    "gelu with a bias": (gelu_bias, (exact(64, 200), exact(200))),
    "rotary halves, cat": (rotate, (exact(16, 64), exact(16, 32), exact(16, 32))),
    "embedding": (lambda i, w: F.embedding(i, w) * 2, (torch.arange(37) * 7 % 50, exact(50, 40))),
    "columns": (column_sums, (exact(120, 300),)),
}


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_right_and_not_slower_than_eager(name):
    f, args = CASES[name]
    error, launches = difference(f, *args)
    assert error < 1e-4 and launches == 1 and not inductor.fallen
    here = [a.npu() for a in args]
    compiled = torch.compile(f)
    compiled(*here), f(*here)
    assert modelled(compiled, here) <= modelled(f, here)


def test_half_precision_is_computed_in_float():
    error, launches = difference(norm, *(exact(*s, dtype=torch.float16) for s in ((20, 300), (300,), (300,))))
    assert error < 2e-2 and launches == 1


def test_a_sum_of_columns_turns_its_tiles():
    difference(column_sums, exact(120, 300))
    text = next(reversed(driver._kernels))
    assert "tiles are turned" in text and "element by element" not in text


def test_training_with_dropout_draws_as_eager_does():
    def trained(compiled: bool):
        torch.manual_seed(5)
        made = torch.nn.Sequential(
            torch.nn.Linear(24, 48), torch.nn.GELU(), torch.nn.Dropout(0.25), torch.nn.Linear(48, 6)
        )
        for i, p in enumerate(made.parameters()):
            p.data = exact(*p.shape) / 8 + i / 64
        made, optimizer = made.npu(), None
        optimizer = torch.optim.AdamW(made.parameters(), lr=0.01)
        call = torch.compile(made) if compiled else made
        torch.npu.manual_seed(9)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = F.cross_entropy(call(exact(16, 24).npu()), torch.arange(16).npu() % 6)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses, [p.detach().cpu() for p in made.parameters()]

    (ours, made), (theirs, want) = trained(True), trained(False)
    assert max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-5
    assert max(float((a - b).abs().max()) for a, b in zip(made, want)) < 1e-4


def test_one_kernel_for_every_width():
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("inductor")
    compiled = torch.compile(softmax, backend=counter)
    for wide in (100, 333, 640):
        x = exact(20, wide).npu()
        torch._dynamo.mark_dynamic(x, 1)
        assert float((compiled(x).cpu() - softmax(x.cpu())).abs().max()) < 1e-6
    assert counter.frame_count == 1


class Picked(torch.nn.Module):
    """One row of each matrix behind a layer norm, as CLIP takes its end of text."""

    def __init__(self, twice: bool):
        super().__init__()
        self.table, self.norm, self.twice = torch.nn.Embedding(99, 64), torch.nn.LayerNorm(64), twice

    def forward(self, words):
        rows = self.norm(self.table(words))
        first = torch.arange(len(words), device=words.device)
        picked = rows[first, words.argmax(-1)]
        return picked + rows[first, 0] if self.twice else picked


@pytest.mark.parametrize("twice", [False, True])
def test_gradients_of_picked_rows_are_kept_while_they_are_read(twice):
    torch.manual_seed(3)
    model, words = Picked(twice), torch.randint(3, 99, (3, 10)).npu()
    words[1] = 7  # argmax is 0: where both are picked, they add up
    found = []
    for one, call in ((copy.deepcopy(model).npu(), lambda m: m), (copy.deepcopy(model).npu(), torch.compile)):
        out = call(one)(words)
        (out * torch.linspace(0.1, 1, out.numel()).reshape(out.shape).npu()).sum().backward()
        found.append([p.grad.cpu() for p in one.parameters()])
    for eager, compiled in zip(*found):
        torch.testing.assert_close(compiled, eager, rtol=1e-5, atol=1e-6)


def test_a_graph_that_breaks():
    said = []

    def f(x):
        y = torch.tanh(x) + 1
        said.append(float(y.sum()) > 0)
        return y * y

    x = exact(10, 50)
    got = torch.compile(f)(x.npu())
    assert float((got.cpu() - f(x)).abs().max()) < 1e-6 and said == [said[0]] * len(said)


# ---- what falls back


def test_a_refused_kernel_leaves_its_operators_to_aten(monkeypatch):
    monkeypatch.delitem(elementwise.RULES, "libdevice.erf")
    with pytest.warns(UserWarning, match="aten.erf run as ATen operators.*erf is not there"):
        error, _ = difference(lambda x: torch.erf(x) + 1, exact(40, 40))
    assert error < 1e-6 and any("aten.erf" in names for names in inductor.fallen)


def test_where_no_node_can_be_named_the_graph_runs_operator_by_operator(monkeypatch):
    monkeypatch.delitem(elementwise.RULES, "libdevice.erf")
    monkeypatch.setattr(inductor, "_origins", type("Forgets", (dict,), {"__setitem__": lambda self, k, v: None})())
    with pytest.warns(UserWarning, match="one graph runs operator by operator"):
        error, launches = difference(lambda x: torch.erf(x) * 3, exact(40, 40))
    assert error < 1e-6 and launches == 0 and inductor.fallen[-1][0] == "graph"


def test_a_product_says_nothing_of_sms(caplog):
    from torch._inductor.utils import is_big_gpu

    is_big_gpu.cache_clear()
    off, _ = difference(lambda x: x @ x, exact(32, 32))
    assert off < 1e-6 and not is_big_gpu(torch.device("npu:0")) and "SMs" not in caplog.text


def test_an_error_of_the_program_is_no_fall_back():
    with pytest.raises(Exception, match="expand|shape|size|broadcast"):
        torch.compile(lambda x, y: x + y)(exact(3, 5).npu(), exact(3, 4).npu())


def test_a_slow_kernel_is_not_taken():
    hints, blocks = {"x": 1, "r0_": 1 << 18}, {"XBLOCK": 1, "R0_BLOCK": 4096}
    assert block_sizes.estimate("", hints, blocks, 48) > block_sizes.eager(hints, 2)
    assert block_sizes.estimate("", {"x": 1 << 18}, {"XBLOCK": 4096}, 48) < block_sizes.eager({"x": 1 << 18}, 1)


def test_blocks_use_all_cores_and_stay_within_inductors_most():
    from torch._inductor.runtime.hints import TRITON_MAX_BLOCK

    for lanes in (1, 100, 5000, 1 << 20, 1 << 24):
        x = block_sizes.sizes({"x": block_sizes.power(lanes)}, {"XBLOCK"}, 48)["XBLOCK"]
        assert x <= TRITON_MAX_BLOCK["X"] and (x == block_sizes.TILE or lanes / x <= 96)
    row = block_sizes.sizes({"x": 64, "r0_": 8192}, {"XBLOCK", "R0_BLOCK"}, 48)
    assert row == {"XBLOCK": 1, "R0_BLOCK": 4096}
    assert block_sizes.smaller({"XBLOCK": 1, "num": 9}) is None
    assert block_sizes.smaller({"XBLOCK": 8, "YBLOCK": 64}) == {"XBLOCK": 8, "YBLOCK": 32}


def test_autotune_tries_no_rows_that_a_vector_unit_would_start_anew_for():
    hints = {"x": 4096, "y": 512}
    assert not block_sizes.worth({"XBLOCK": 2, "YBLOCK": 128}, hints)
    assert block_sizes.worth({"XBLOCK": 64, "YBLOCK": 64}, hints) and block_sizes.worth({"XBLOCK": 2}, {"x": 2})
    assert block_sizes.worth({"XBLOCK": 1, "R0_BLOCK": 4096}, {"x": 64, "r0_": 4096})
    f = torch.compile(lambda x, b: torch.exp(x + b) + x, options={"max_autotune_pointwise": True})
    x = exact(64, 300).npu()
    with driver.recording() as launched:
        f(x, exact(300).npu())
    assert len(launched) > 2  # more than one tile was tried
    last, text = labkit.triton.last(), labkit.triton.body()
    assert "program < grid0" in text and last.time_us < 1.01 * min(r.time_us for r in launched)


def test_launches_are_counted_however_many_there_were_before(monkeypatch):
    monkeypatch.setattr(driver, "records", deque(maxlen=1))
    f, x = torch.compile(lambda x: torch.exp(x) + x), exact(4, 300).npu()
    f(x)
    with driver.recording() as outer:
        with driver.recording() as launched:
            f(x)
        f(x)
    assert len(launched) == 1 and len(outer) == 2 and outer[0] is launched[0]


# ---- where it may work at all


def test_the_names_of_pytorch_that_are_set_from_outside_are_there():
    import torch._inductor.codegen.triton as codegen
    import torch._inductor.graph as graph
    from torch._inductor import compile_fx, config, lowering, utils
    from torch._inductor.runtime import benchmarking, triton_heuristics
    from torch.utils import _triton

    assert torch.__version__.startswith(inductor.TESTED + "."), "another PyTorch: run scripts/inductor_models.py first"
    for owner, names in (
        (compile_fx, "compile_fx compile_fx_inner"), (utils, "GPU_TYPES get_gpu_type"), (_triton, "has_triton"),
        (graph, "fallback_node_due_to_unsupported_type"), (triton_heuristics, "cached_autotune OutOfResources"),
        (triton_heuristics.CachingAutotuner, "_precompile_config"), (lowering, "use_two_step_variance"),
        (benchmarking, "register_benchmarker GPU_BENCHMARK_DEVICE_TYPES"),
        (codegen.TritonKernel, "should_use_persistent_reduction"), (codegen.TritonScheduling, "define_kernel"),
    ):  # fmt: skip
        assert all(hasattr(owner, name) for name in names.split()), owner
    for name in inductor.SETTINGS:
        assert hasattr(config.triton if name.startswith("triton.") else config, name.removeprefix("triton.")), name


def test_without_triton_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(inductor, "absent", lambda: "Triton is not installed: pip install 'labkit[triton]'")
    with pytest.raises(Exception, match=r"pip install 'labkit\[triton\]'.*backend=\"npu\""):
        torch.compile(lambda x: x + 1)(exact(3).npu())


def test_a_graph_on_the_cpu_is_left_alone():
    graph = torch.fx.symbolic_trace(lambda x: x + 1)
    assert not inductor._on_npu(graph, [torch.ones(2)])
    assert inductor._on_npu(graph, [torch.ones(2, device="npu")])


def test_the_graph_cache_serves_another_process(tmp_path):
    """Which says in the reader's language what stays ATen, as the first one did."""
    program = textwrap.dedent("""
        import torch, labkit, warnings
        from torch._dynamo.utils import counters
        x = (torch.arange(600).reshape(20, 30) % 7 / 8).npu()
        y = torch.compile(lambda x: torch.softmax(x, -1) * 2)(x)
        print(bool((y.cpu() - torch.softmax(x.cpu(), -1) * 2).abs().max() < 1e-6), counters["inductor"]["fxgraph_cache_hit"])
        bias = torch.ones(3072).npu()
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always", UserWarning)
            torch.compile(lambda x: torch.tanh(x + bias), options={"triton.prefer_nd_tiling": False})(x.new_ones(512, 3072))
        print(*(str(w.message).split()[-3] for w in seen if "ATen" in str(w.message)))
    """)
    places = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "i"), "TRITON_CACHE_DIR": str(tmp_path / "t")}
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | places | {"LABKIT_LANG": lang}, capture_output=True, text=True, timeout=120,
        )
        for lang in ("en", "en", "zh")
    ]  # fmt: skip
    (right, hit, *said), (_, again, *too), (_, other, *zh) = (r.stdout.split() for r in runs)
    assert (right, hit, again, other) == ("True", "0", "1", "0"), runs[0].stderr[-800:]
    assert len(said) == 1 and too == said and len(zh) == 1 and zh != said


# ---- known-wrong versions


def _no_limits(monkeypatch):
    split = access.Mask.split
    monkeypatch.setattr(access.Mask, "split", lambda self, shape: ({}, *split(self, shape)[1:]))


def _a_wrong_stride(monkeypatch):
    from dataclasses import replace

    def decide(*args):
        made = access.decide(*args)
        return replace(made, steps=tuple(s + 1 if s != 1 else s for s in made.steps))

    monkeypatch.setattr(memory, "decide", decide)


def _rows_that_overlap_as_one_copy(monkeypatch):
    monkeypatch.setattr(access, "longest", lambda *_: -1 << 40)


def _a_stale_grid(monkeypatch):
    call, seen = driver.Launcher.__call__, {}

    def launch(self, *grid_and_rest):
        grid = seen.setdefault("grid", grid_and_rest[:3])
        return call(self, *grid, *grid_and_rest[3:])

    monkeypatch.setattr(driver.Launcher, "__call__", launch)


WRONG = {
    "a dropped mask": (_no_limits, lambda x: torch.exp(x) + 1, [(7, 45)]),
    "a wrong stride": (_a_wrong_stride, lambda x: x.sum(-1) + 1, [(40, 70)]),
    "overlapping rows": (_rows_that_overlap_as_one_copy, lambda x: x.flip(0) + 1, [(12, 40)]),
    "a stale grid": (_a_stale_grid, lambda x: x * 2 + 1, [(20, 200), (90, 200)]),
}


def right(f, shapes, more: float = 0.0) -> bool:
    """more: added to the inputs, so that memory of an earlier run never holds the numbers that are missing."""
    compiled = torch.compile(f, dynamic=len(shapes) > 1)
    for shape in shapes:
        x = exact(*shape) + more
        with driver.recording() as launched:
            got = compiled(x.npu()).cpu()
        if any(r.findings for r in launched):
            return False
        if not torch.allclose(got, f(x), atol=1e-4):
            return False
    return True


@pytest.mark.parametrize("name", WRONG)
def test_a_known_wrong_version_is_caught(name, monkeypatch):
    break_it, f, shapes = WRONG[name]
    assert right(f, shapes)
    break_it(monkeypatch)
    torch._dynamo.reset()
    from torch._inductor.utils import fresh_cache

    with fresh_cache():
        assert not right(f, shapes, 0.5), f"{name} gives the right numbers and no finding"


@pytest.mark.parametrize("broken", [False, True])
def test_a_batch_norm_writes_its_running_statistics_itself(broken, monkeypatch):
    if broken:  # known-wrong: left to the functional one, which copies
        monkeypatch.setattr(inductor, "statistics_in_place", lambda graph: None)
    torch.manual_seed(3)
    eager = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU()).npu()
    ours = copy.deepcopy(eager)
    compiled, states, names = torch.compile(ours), [], []
    for model, call in ((eager, eager), (ours, compiled)):
        first, second = (call(exact(2, 3, n, 8).npu()) for n in (8, 8))  # two passes forward before one back
        labkit.device.reset_clock()  # the timeline keeps the newest 131072: in a full one there is nothing behind `before`
        call(exact(2, 3, 8, 8).npu())
        names = [s.name for s in labkit.device.timeline()]
        (first.sum() + (second**2).sum()).backward()
        states.append([*(b.cpu() for b in model.buffers()), *(p.grad.cpu() for p in model.parameters())])
    for a, b in zip(*states):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    assert ("aten::copy_" in names) == broken and not any("convolution" in n for n in names if n.startswith("triton"))
