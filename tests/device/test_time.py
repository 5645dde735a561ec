"""Virtual time of the simulated npu: what is charged, what overlaps, and that two runs give the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import chips  # noqa: E402
from labkit.calibration import operators  # noqa: E402
from labkit.device import detect, planning, rates  # noqa: E402

pytestmark = simulated
US = 1e-3  # nanoseconds to microseconds


@pytest.fixture(autouse=True)
def zero():
    torch.npu.set_stream(torch.npu.default_stream())
    device.clear_l2()
    device.reset_clock()


def said(*row, **how) -> float:
    """Microseconds of an operator by the cost function alone, from shapes: operators.row() has the arguments."""
    return operators.row(*row, **how).modelled()


def took(span) -> float:
    return span.end_us - span.start_us


@pytest.fixture
def rate() -> dict[str, float]:
    return rates.rates("910B1")


def spent(work) -> float:
    """Microseconds of host time that `work` takes."""
    before = device.clock().host_us
    work()
    return device.clock().host_us - before


# ---- operators


def test_an_elementwise_operator_costs_its_bytes(rate):
    x = torch.ones(4 << 20, device="npu")
    device.reset_clock()
    y = x + x.add(1)
    first, second = device.timeline()
    assert first.name == second.name == "aten::add" and first.engine == "vector"
    assert (first.bytes, second.bytes) == (2 * x.nbytes, 3 * x.nbytes)  # a number is read for nothing
    assert y.is_npu and took(first) == pytest.approx(said("aten::add", "float[4194304]", "float[4194304]"))
    assert first.host_us == pytest.approx(rate["host_dispatch"] * US)
    assert second.start_us == first.end_us, "one stream works in order"


def test_in_place_and_out_are_charged_alike():
    x, y = torch.ones(1000, device="npu"), torch.ones(1000, device="npu")
    device.reset_clock()
    x.add_(y)
    torch.add(x, y, out=y)
    torch._foreach_add_([x], [y])
    x.zero_()
    torch.nn.functional.embedding(torch.tensor([1, 2], device="npu"), torch.ones(4000, 10, device="npu"))
    add, out, each, zero, *_, embedding = [span.bytes for span in device.timeline()]
    assert add == out == each == 3 * 4000 and zero == 4000
    assert embedding == 2 * (2 * 10 * 4) + 2 * 8, "a table is charged for the rows that are read"


@pytest.mark.parametrize("dtype, name", [(torch.float16, "half"), (torch.float32, "float")])
def test_products_run_on_the_cube(dtype, name):
    a = torch.ones(512, 256, dtype=dtype, device="npu")
    image, kernel = torch.ones(2, 4, 8, 8, dtype=dtype, device="npu"), torch.ones(6, 4, 3, 3, dtype=dtype, device="npu")
    device.reset_clock()
    a @ a.T
    torch.nn.functional.linear(a, a, torch.ones(512, dtype=dtype, device="npu"))
    torch.bmm(a[None], a.T[None])
    torch.nn.functional.conv2d(image, kernel, padding=1, stride=2)
    spans = [s for s in device.timeline() if s.engine == "cube"]
    assert [s.name for s in spans] == ["aten::mm", "aten::addmm", "aten::bmm", "aten::convolution_overrideable"]
    product = 2 * 512 * 512 * 256
    assert [s.flops for s in spans] == [product, product, product, 2 * (2 * 6 * 4 * 4) * (4 * 3 * 3)]
    s = spans[0]
    assert took(s) == pytest.approx(said("aten::mm", f"{name}[512x256];{name}[256x512]", f"{name}[512x512]"))
    formats = [s.name for s in device.timeline()][-4:]
    assert formats == ["TransData", "TransData", "aten::convolution_overrideable", "TransData"], (
        "as the card needs them"
    )


SAME = {  # an operator on the device, and what the cost function says of the same shapes
    "softmax": (lambda: torch.softmax(half(512, 1024), -1), "aten::_softmax", "half[512x1024]", "half[512x1024]", "dim=-1"),
    "gelu": (lambda: torch.nn.functional.gelu(half(512, 1024)), "aten::gelu", "half[512x1024]", "half[512x1024]"),
    "row sums": (lambda: half(512, 1024).sum(-1), "aten::sum", "half[512x1024]", "half[512]", "dim=-1"),
    "column sums": (lambda: half(512, 1024).sum(0), "aten::sum", "half[512x1024]", "half[1024]", "dim=0"),
    "transpose": (lambda: half(512, 1024).T.contiguous(), "aten::copy_", "half[512x1024]", "half[1024x512]", "perm=1,0"),
    "slice": (lambda: half(512, 1024)[:, :256].clone(), "aten::copy_", "half[512x256]", "half[512x256]", "stride=1024,1"),
    "cast": (lambda: half(512, 1024).float(), "aten::_to_copy", "half[512x1024]", "float[512x1024]"),
    "a column to each row": (lambda: half(512, 1024) * half(512, 1), "aten::mul", "half[512x1024];half[512x1]", "half[512x1024]"),
    "bmm": (lambda: half(3, 256, 128) @ half(3, 128, 256), "aten::bmm", "half[3x256x128];half[3x128x256]", "half[3x256x256]"),
    "in place": (lambda: half(512, 1024).exp_(), "aten::exp", "half[512x1024]", "half[512x1024]", "in place"),
    "optimizer": (lambda: step(1 << 16), "aten::_fused_adamw_", ";".join(4 * ["float[65536]"]) + ";float[]", ";".join(3 * ["float[65536]"]), "in place"),
}  # fmt: skip


def half(*size) -> torch.Tensor:
    return torch.ones(size, dtype=torch.half, device="npu")


def step(count: int) -> torch.Tensor:
    p, grad, mean, square = (torch.ones(count, device="npu") for _ in "pgms")
    how = dict(lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False)
    torch._fused_adamw_([p], [grad], [mean], [square], [], [torch.ones((), device="npu")], **how)
    return p


@pytest.mark.parametrize("name", SAME)
def test_what_is_charged_is_what_the_published_times_are_held_against(name):
    """One cost function: data/operator_costs.csv judges what a program is charged."""
    run, *row = SAME[name]
    device.cold_l2()
    try:
        result = run()
        assert took(device.timeline()[-1]) == pytest.approx(said(*row, state="cold"), rel=0.005) and result is not None
    finally:
        device.cold_l2(False)


def test_classes_cost_what_they_cost():
    """The order that the card has: what a roofline of bytes and peaks would call equal."""
    x, y = ("half[4096x4096]",) * 2
    add, softmax, turned = (
        said("aten::neg", x, y),
        said("aten::_softmax", x, y, "dim=-1"),
        said("aten::copy_", x, y, "perm=1,0"),
    )
    assert add < softmax and add < turned
    assert softmax < said("aten::_softmax", x, y, "dim=0")
    assert said("aten::gelu", x, y) > 1.5 * said("aten::sigmoid", x, y) and said("aten::mish", x, y) > 2 * said(
        "aten::gelu", x, y
    )
    product = ("half[{m}x4096];half[4096x4096]", "half[{m}x4096]")
    one, many = (said("aten::mm", *(t.format(m=m) for t in product)) for m in (1, 16))
    assert one == pytest.approx(many, rel=0.02), "a fractal has 16 rows, and the weights are read in both"
    q = "half[1x32x4096x128]"
    full, causal = (said("aten::scaled_dot_product_attention", ";".join(3 * [q]), q, how) for how in ("", "causal"))
    assert 0.5 * full < causal < 0.65 * full


# ---- the L2


def test_the_l2_outlives_an_operator():
    x = torch.ones(8 << 20, device="npu")  # 32 MB
    y = torch.empty_like(x)

    def once() -> float:
        device.reset_clock()
        torch.add(x, 1, out=y)
        return took(device.timeline()[0])

    device.clear_l2()
    cold, warm, again = once(), once(), once()
    assert cold > 1.3 * warm and warm == again and device.held_l2(x) == x.nbytes
    torch.ones(48 << 20, device="npu")  # 192 MB: all the room there is
    assert device.held_l2(x) == 0 and once() > warm, "and what it had to write back on top of that"
    device.cold_l2()
    try:
        assert once() == once() == cold, "a benchmark's choice"
    finally:
        device.cold_l2(False)
    device.clear_l2()
    assert device.held_l2(y) == 0


def test_an_operator_finds_what_the_one_before_has_written():
    a, b = half(2048, 2048), half(2048, 2048)
    device.clear_l2()
    c = a @ b
    device.reset_clock()
    c.relu_()
    after_product = took(device.timeline()[0])
    device.clear_l2()
    c.relu_()
    assert took(device.timeline()[1]) > 1.2 * after_product


def test_a_kernel_that_pytorch_did_not_launch_leaves_its_memory_there():
    x = half(1 << 20)
    device.clear_l2()
    device.touch_l2(x.data_ptr(), x.nbytes)
    assert device.held_l2(x) == x.nbytes
    device.touch_l2(id(x), 64)  # not device memory: nothing


def test_the_published_add_out_of_the_l2():
    """63 MB on a 910B4, again and again: 21.5 us, 2.9 TB/s."""
    device.install(chip="910B4")
    try:
        x, y = half(10 << 20), half(10 << 20)
        z = torch.empty_like(x)
        for _ in range(3):
            torch.add(x, y, out=z)
        assert took(device.timeline()[-1]) == pytest.approx(21.5, rel=0.2)
    finally:
        device.install(chip="910B1")


def test_views_and_empty_are_no_device_work():
    x = torch.ones(8, 8, device="npu")
    device.reset_clock()
    x.T[1:].unsqueeze(0).expand(3, 7, 8)
    torch.empty(1000, device="npu")
    assert device.timeline() == [] and 0 < device.clock().host_us < 3


def test_a_value_or_a_shape_makes_the_host_wait(rate):
    x = torch.ones(4 << 20, device="npu")
    device.reset_clock()
    y = x.sum()
    assert device.clock().host_us < device.clock().device_us
    y.item()
    assert device.clock().host_us == device.clock().device_us
    assert device.timeline()[-1].name == "MEMCPY_D2H"
    x.nonzero()
    assert device.clock().host_us == pytest.approx(device.clock().device_us + rate["copy_latency"] * US)
    torch.equal(x, x)
    assert device.clock().host_us >= device.clock().device_us


def test_launch_bound_and_device_bound(rate):
    x = torch.ones(64, device="npu")
    device.reset_clock()
    for _ in range(50):
        x.add_(1)
    torch.npu.synchronize()
    assert device.clock().host_us == pytest.approx(50 * rate["host_dispatch"] * US, rel=0.05), (
        "the launches are the time"
    )
    big = torch.ones(16 << 20, device="npu")
    device.reset_clock()
    for _ in range(10):
        big.add_(1)
    assert device.clock().host_us < 0.2 * device.clock().device_us, "the host runs ahead"


# ---- copies


def test_copies_wait_unless_pinned_and_non_blocking(rate):
    host = torch.ones(1 << 20)
    pinned = host.pin_memory()
    wire = (rate["copy_latency"] + host.nbytes / rate["link"]) * US
    assert spent(lambda: host.npu()) > wire
    assert spent(lambda: host.npu(non_blocking=True)) > wire, "pageable memory waits all the same"
    assert spent(lambda: pinned.npu()) > wire
    assert spent(lambda: pinned.npu(non_blocking=True)) < 0.1 * wire
    x = torch.empty_like(host, device="npu")
    assert spent(lambda: pinned.copy_(x, non_blocking=True)) < 0.1 * wire
    assert spent(lambda: x.cpu()) > wire
    names = [(s.name, s.engine) for s in device.timeline()]
    assert names[0] == ("MEMCPY_H2D", "copy in") and names[-1] == ("MEMCPY_D2H", "copy out")
    assert spent(lambda: x.clone()) < 0.1 * wire, "within the device nothing waits"


def test_a_copy_of_nothing_is_no_copy(rate):
    host, x = torch.empty(0, 3), torch.empty(3, 0, device="npu")
    for copied in (lambda: host.npu(), lambda: x.cpu(), lambda: x.clone(), lambda: x.copy_(host.T)):
        assert spent(copied) < 0.5 * rate["copy_latency"] * US
    assert not [s.name for s in device.timeline() if "MEMCPY" in s.name or "copy" in s.name]


def test_copies_overlap_with_work_on_another_stream():
    x = torch.ones(32 << 20, device="npu")
    batch = torch.ones(1 << 18).pin_memory()

    def total(copying) -> float:
        torch.npu.synchronize()
        device.reset_clock()
        for _ in range(4):
            x.add_(1)
            with torch.npu.stream(copying):
                batch.npu(non_blocking=True)
        torch.npu.synchronize()
        return device.clock().host_us

    other = torch.npu.Stream()
    assert total(other) < 0.7 * total(torch.npu.default_stream())


def test_two_streams_do_not_double_the_chip():
    x = torch.ones(8 << 20, device="npu")
    other = torch.npu.Stream()
    device.reset_clock()
    x + 1
    with torch.npu.stream(other):
        x + 1
    first, second = device.timeline()
    assert first.stream != second.stream and second.start_us == first.end_us


# ---- streams and events


def test_events():
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    x = torch.ones(32 << 20, device="npu")
    with pytest.raises(RuntimeError, match="must be recorded"):
        a.elapsed_time(b)
    torch.npu.synchronize()
    a.record()
    x + 1
    b.record()
    assert a.query() and not b.query()
    b.synchronize()
    assert b.query()
    span = device.timeline()[-1]
    assert a.elapsed_time(b) == pytest.approx((span.end_us - span.start_us) * US, rel=0.2)
    with pytest.raises(ValueError, match="enable_timing"):
        torch.npu.Event().elapsed_time(b)


def test_an_event_on_an_idle_stream_happens_when_the_host_records_it(rate):
    """Between two events on a stream without work lies the host's time."""
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    a.record()
    device.host_work(250)
    b.record()
    assert a.elapsed_time(b) == pytest.approx((250 + rate["host_api"] * US) * US)
    x = torch.ones(8 << 20, device="npu")
    a.record()  # behind work: when that is done, whenever the host recorded it
    device.host_work(1)
    b.record()
    assert a.elapsed_time(b) == 0
    assert x.is_npu


def test_work_behind_an_event_waits_for_it_alone():
    """A product and an addition have engines of their own: only the event makes the one wait for the other."""
    x, y, s = (
        torch.ones(8 << 20, device="npu"),
        torch.ones(512, 512, dtype=torch.half, device="npu"),
        torch.npu.Stream(),
    )

    def product_after(wait) -> tuple:
        torch.npu.synchronize()
        device.reset_clock()
        x + 1
        event = torch.npu.current_stream().record_event()
        with torch.npu.stream(s):
            if wait:
                s.wait_event(event)
            y @ y
        return device.timeline()

    added, multiplied = product_after(False)
    assert (added.engine, multiplied.engine) == ("vector", "cube")
    assert added.start_us < multiplied.start_us < added.end_us, "side by side"
    added, multiplied = product_after(True)
    assert multiplied.start_us == added.end_us
    s.wait_event(torch.npu.Event())  # one that was never recorded delays nothing
    with torch.npu.stream(s):
        y @ y
    assert device.timeline()[-1].start_us == multiplied.end_us


def test_streams_wait_for_each_other():
    x, s = torch.ones(8 << 20, device="npu"), torch.npu.Stream()
    assert torch.npu.current_stream() == torch.npu.default_stream() and s != torch.npu.current_stream()
    x + 1
    with torch.npu.stream(s):
        assert torch.npu.current_stream() == s and isinstance(torch.npu.current_stream(), torch.npu.Stream)
        s.wait_stream(torch.npu.default_stream())
        y = torch.ones(4, device="npu")
        event = s.record_event()
    assert torch.npu.current_stream() == torch.npu.default_stream()
    first, second = device.timeline()[-2:]
    assert second.stream == s.stream_id and second.start_us >= first.end_us
    torch.npu.current_stream().wait_event(event)
    y + 1
    assert device.timeline()[-1].start_us >= second.end_us
    assert not s.query()
    s.synchronize()
    assert s.query() and s.npu_stream and "npu_stream" in repr(s)
    y.record_stream(s)


def test_a_launch_outside_pytorch(rate):
    device.launch("my_kernel", 25.0, bytes=1e6, flops=2e6)
    device.host_work(100)
    (span,) = device.timeline()
    assert (span.name, span.engine, span.end_us - span.start_us, span.bytes) == ("my_kernel", "cores", 25.0, 1e6)
    assert device.clock().host_us == pytest.approx(rate["host_dispatch"] * US + 100)
    assert device.clock().launches == 1


_TWICE = """
import torch, labkit.device as device
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(64, 8)).npu()
step, side = torch.optim.AdamW(model.parameters(), 1e-2), torch.npu.Stream()
start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
x = torch.randn(64, 32).pin_memory()
start.record()
for _ in range(3):
    with torch.npu.stream(side):
        y = x.npu(non_blocking=True)
    torch.npu.current_stream().wait_stream(side)
    loss = model(y).square().mean()
    step.zero_grad()
    loss.backward()
    step.step()
end.record()
torch.npu.synchronize()
print(loss.item(), start.elapsed_time(end), device.clock(), device.timeline(), y.data_ptr(), torch.npu.memory_stats())
"""


def test_two_runs_give_the_same_numbers():
    runs = [subprocess.Popen([sys.executable, "-c", _TWICE], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    first, second = (r.communicate()[0] for r in runs)
    assert first == second and len(first) > 1000


# ---- which device it is


def test_usable_npu(monkeypatch, tmp_path):
    def decide(**env):
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        return detect._decide()

    assert decide(LABKIT_DEVICE="npu") and not decide(LABKIT_DEVICE="sim")
    assert not decide(LABKIT_DEVICE="auto"), "labkit's own torch_npu is not a real one"
    monkeypatch.delitem(sys.modules, "torch_npu")
    assert not decide(), "no wheel, no card"
    # A card and a wheel: only then is a child asked, and only a yes is remembered on disk.
    monkeypatch.setenv("LABKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(detect.glob, "glob", lambda pattern: ["/dev/davinci0"])
    monkeypatch.setattr(detect.importlib.util, "find_spec", lambda name: type("Spec", (), {"origin": "/x/torch_npu"}))
    asked = []
    code = 3

    def child(*command, **how):
        asked.append(command)
        return subprocess.CompletedProcess(command, code)

    monkeypatch.setattr(detect.subprocess, "run", child)
    assert not decide() and not decide() and len(asked) == 2
    code = 0
    assert decide() and decide() and len(asked) == 3


def test_nothing_is_installed_when_told_so():
    code = "import labkit.device as d, sys; print(d.mode(), 'torch' in sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "LABKIT_DEVICE": "none"}, capture_output=True, text=True
    )
    assert run.stdout.split() == ["None", "False"]


def test_a_reduction_over_more_dimensions_than_the_clock_keeps_costs_what_the_flat_one_does():
    x = torch.zeros(8, 8, 8, 8, 8, 8, 4, 4).npu()
    times = []
    for y, dims in ((x, tuple(range(8))), (x.view(-1), (0,))):
        device.reset_clock()
        y.sum(dim=dims)
        times.append(sum(s.end_us - s.start_us for s in device.timeline()))
    assert times[0] < 2 * times[1]


def test_what_was_done_since_is_told_of_a_full_timeline_too():
    """Its length stays 131072 then: who counts behind it, as the judges of launches did, finds nothing."""
    for _ in range(1 << 17):
        device.launch("before", 1.0)
    since = device.clock().launches
    assert device.timeline_since(since) == []
    for name in ("one", "two"):
        device.launch(name, 1.0)
    assert [s.name for s in device.timeline_since(since)] == ["one", "two"]
    assert [p.name for p in planning.pieces(since)] == ["one", "two"]
    assert [s.name for s in device.timeline()[-3:]] == ["before", "one", "two"] and len(device.timeline()) == 1 << 17
    device.reset_clock()
    assert device.timeline_since(device.clock().launches) == []


def test_a_chip_that_gets_another_table_under_its_name_is_another_at_once():
    """A cell with chips.variant("mine", ...) that is changed and run again: kernels and operators follow."""
    x, z = torch.ones(1 << 22).half().npu(), torch.empty(1 << 22).half().npu()
    times = []
    try:
        for slower in (1, 2, 1):
            table = chips.load(chips.DEFAULT)
            of = {"gm": {"hbm": table["gm"]["hbm"] / slower}, "operators": {"hbm": table["operators"]["hbm"] / slower}}
            device.install(chips.variant("mine", {"base": chips.DEFAULT} | of))
            labkit.clear_l2()
            device.reset_clock()
            torch.add(x, x, out=z)
            operator = took(device.timeline()[-1])
            labkit.clear_l2()
            kernel = labkit.kernel("kernels/axpy/axpy.asc", entry="axpy<half, 4096>", chip="mine")
            times.append((operator, kernel[40](x, z, 2.0, x.numel()).time_us))
    finally:
        device.install(chips.DEFAULT)
    assert times[0] == times[2] and all(slow > 1.3 * fast for fast, slow in zip(times[0], times[1])), times


def test_a_convolution_pays_for_the_gradients_that_are_asked_for():
    x, weight = torch.randn(8, 64, 64, 64).npu(), torch.randn(128, 64, 3, 3).npu()
    took_us = []
    for for_input, for_weight in ((True, True), (True, False), (False, True)):
        y = torch.nn.functional.conv2d(x.requires_grad_(for_input), weight.requires_grad_(for_weight), padding=1)
        torch.npu.synchronize()
        device.reset_clock()
        torch.autograd.grad(y, [t for t, asked in ((x, for_input), (weight, for_weight)) if asked], torch.ones_like(y))
        (span,) = [s for s in device.timeline() if "convolution_backward" in s.name]
        took_us.append((span.flops, took(span)))
    (both, most), *parts = took_us
    assert all(flops == both / 2 and us < 0.75 * most for flops, us in parts), took_us
