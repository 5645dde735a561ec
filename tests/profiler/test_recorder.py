"""What the recorder collects of a program on the simulated device."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import nn

import labkit
from labkit import chips
from labkit.profiler.events import Session, TensorFacts
from labkit.profiler.recorder import Recorder, _numbers

pytestmark = pytest.mark.usefixtures("npu")


@pytest.fixture(scope="module")
def npu():
    labkit.device.install()


def recorded(program, **wishes) -> Session:
    recorder = Recorder(**wishes)
    recorder.start()
    try:
        program()
    finally:
        session = recorder.stop()
    return session


def training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 6 * 6, 10)).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(4, 3, 8, 8), torch.arange(4)

    def step(number: int) -> None:
        with torch.autograd.profiler.record_function(f"ProfilerStep#{number}"):
            loss = nn.functional.cross_entropy(model(x.npu()), y.npu())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()

    step(0)
    return step


def test_ranges_nest_and_tasks_lie_in_them():
    step = training()
    s = recorded(lambda: [step(1), step(2)], shapes=True)
    assert [x.number for x in s.steps] == [1, 2] and s.lost == 0 and s.threads == 2
    assert s.begin <= s.ranges[0].start and max(r.end for r in s.ranges) <= s.end + 500
    for r in s.ranges:
        assert r.start < r.end or r.kind == "mark", r
        if r.parent >= 0:
            outer = s.ranges[r.parent]
            assert outer.thread == r.thread and outer.start < r.start and r.end < outer.end, (outer, r)
    for t in s.tasks:
        assert t.range >= 0
        inside = s.ranges[t.range]
        assert inside.thread == t.thread and inside.start <= t.issued <= inside.end and t.issued <= t.start <= t.end
    names = [s.ranges[t.range].name for t in s.tasks if t.kind == "kernel"]
    assert {"aten::convolution_overrideable", "aten::addmm", "aten::relu", "aten::mm"} <= set(names)


def test_a_range_that_ends_on_another_thread_holds_nothing_more():
    def program():
        moved = torch.ops.profiler._record_function_enter_new("moved")
        ends = threading.Thread(target=torch.ops.profiler._record_function_exit._RecordFunction, args=(moved,))
        ends.start()
        ends.join()
        torch.ones(4, device="npu").add(1)

    s = recorded(program)
    assert [r.parent for r in s.ranges if r.name == "aten::add"] == [-1] and "moved" in {r.name for r in s.ranges}


def test_two_recordings_differ_in_no_number():
    step = training()
    first, second = (recorded(lambda: step(1), shapes=True, memory=True) for _ in range(2))
    lengths = [[round(t.end - t.start, 3) for t in s.tasks] for s in (first, second)]
    assert lengths[0] == lengths[1]
    assert [(r.name, round(r.start - s.begin)) for s in [first] for r in s.ranges] == [
        (r.name, round(r.start - s.begin)) for s in [second] for r in s.ranges
    ]


def test_the_recording_costs_no_virtual_time():
    step = training()

    def span(run) -> float:
        torch.npu.synchronize()
        before = labkit.device.clock().host_us
        run()
        return labkit.device.clock().host_us - before

    step(1)
    plain = span(lambda: step(1))
    kept: list[Session] = []
    wishes = {"shapes": True, "memory": True, "stack": True, "modules": True}
    assert span(lambda: kept.append(recorded(lambda: step(1), **wishes))) == pytest.approx(plain, abs=1e-6)


def test_what_the_cpu_does_in_place_of_the_device_is_no_range():
    step = training()
    names = {r.name for r in recorded(lambda: step(1)).ranges}
    assert "aten::convolution_overrideable" in names and not {n for n in names if "mkldnn" in n or "thnn" in n}


def test_shapes_types_and_what_is_no_tensor():
    a, b = torch.ones(2, 3).npu(), torch.ones(3, 4).npu()
    s = recorded(lambda: (torch.mm(a, b), torch.cat([a, a.half()]), a.add(1)), shapes=True)
    ranges = {r.name: r for r in s.ranges}
    assert ranges["aten::mm"].inputs == [TensorFacts((2, 3), "float32"), TensorFacts((3, 4), "float32")]
    assert ranges["aten::cat"].inputs == [[TensorFacts((2, 3), "float32"), TensorFacts((2, 3), "float16")], "Scalar"]
    assert ranges["aten::add"].inputs[1:] == [TensorFacts((), "int64"), "Scalar"]
    mm = next(t for t in s.tasks if t.name == "aten::mm")
    assert mm.inputs == [TensorFacts((2, 3), "float32"), TensorFacts((3, 4), "float32")]
    assert mm.outputs == [TensorFacts((2, 4), "float32")] and mm.engine == "cube" and mm.blocks == 1 and mm.flops == 48
    without = recorded(lambda: torch.mm(a, b))
    assert without.ranges[0].inputs is None and without.tasks[0].inputs == mm.inputs


def test_convolutions_convert_their_formats():
    x, conv = torch.ones(2, 3, 8, 6).npu(), nn.Conv2d(3, 20, 3).npu()
    s = recorded(lambda: conv(x))
    data = [t for t in s.tasks if t.name == "TransData"]
    assert len(data) == 3
    assert data[0].inputs == [TensorFacts((2, 3, 8, 6), "float32", "NCHW")]
    assert data[0].outputs == [TensorFacts((2, 1, 8, 6, 16), "float32", "NC1HWC0")]
    assert data[2].inputs == [TensorFacts((2, 2, 6, 4, 16), "float32", "NC1HWC0")]
    assert data[2].outputs == [TensorFacts((2, 20, 6, 4), "float32", "NCHW")]


def test_copies_waits_and_calls():
    x = torch.ones(1 << 18)
    pinned = x.pin_memory()

    def program():
        y = x.npu()  # pageable: the host waits
        z = pinned.npu(non_blocking=True)
        (y + z).sum().item()
        torch.npu.synchronize()

    s = recorded(program)
    assert [t.kind for t in s.tasks] == ["copy_in", "copy_in", "kernel", "kernel", "copy_out"]
    assert s.tasks[0].bytes == 4 << 18 and s.tasks[0].inputs == [TensorFacts((1 << 18,), "float32")]
    calls = [c.name for c in s.calls]
    assert calls == [
        "aclrtMemcpyAsync",
        "aclrtSynchronizeStream",
        "aclrtMemcpyAsync",
        "aclrtLaunchKernel",
        "aclrtLaunchKernel",
        "aclrtMemcpyAsync",
        "aclrtSynchronizeStream",
        "aclrtSynchronizeDevice",
    ]
    first = s.calls[1]
    assert first.waited == pytest.approx(s.tasks[0].end - s.tasks[0].issued) and first.end == s.tasks[0].end
    assert s.calls[-1].waited == 0 and s.calls[-1].end > s.calls[-1].start, "there is nothing left to wait for"
    assert [c.task for c in s.calls] == [0, -1, 1, 2, 3, 4, -1, -1]
    dispatch = chips.flat("910B1")["host.dispatch"] * 1e9
    assert all(c.end - c.start == pytest.approx(dispatch) for c in s.calls if c.task >= 0)


def test_events_and_streams():
    x, side = torch.ones(1 << 20).npu(), torch.npu.Stream()

    def program():
        event = torch.npu.Event()
        x.mul(2)
        event.record()
        with torch.npu.stream(side):
            event.wait()
            x.mul(3)

    tasks = recorded(program).tasks
    assert [t.kind for t in tasks] == ["kernel", "event_record", "event_wait", "kernel"]
    assert [t.stream for t in tasks] == [0, 0, side.stream_id, side.stream_id]
    assert tasks[1].end == tasks[0].end == tasks[2].end <= tasks[3].start


def test_memory_comes_and_goes():
    kept = []

    def program():
        kept.append(torch.empty(1 << 20, device="npu"))
        torch.empty(1 << 19, device="npu")

    before = torch.npu.memory_allocated()
    a, b = recorded(program, memory=True).allocations
    assert a.freed is None and a.bytes == (4 << 20) + 512 and a.allocated == before + a.bytes
    assert b.freed is not None and b.time < b.freed and b.allocated - a.allocated == b.bytes
    assert b.allocated_then == a.allocated and b.reserved >= b.allocated
    assert recorded(program).allocations == []


def my_own_function(x):
    return x.exp()


def test_stacks_have_the_callers_line():
    x = torch.ones(4).npu()
    (exp,) = [r for r in recorded(lambda: my_own_function(x), stack=True).ranges if r.name == "aten::exp"]
    assert exp.stack[0].endswith("): my_own_function") and __file__ in exp.stack[0]
    line = int(exp.stack[0].rsplit("(", 1)[1].split(")")[0])
    assert "return x.exp()" in open(__file__, encoding="utf-8").read().splitlines()[line - 1]
    assert recorded(lambda: my_own_function(x)).ranges[0].stack == ()


def test_a_range_for_each_module():
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 4))).npu()
    x = torch.ones(2, 4).npu()
    s = recorded(lambda: model(x), modules=True)
    modules = [(r.name, s.ranges[r.parent].name if r.parent >= 0 else "") for r in s.ranges if r.kind == "module"]
    assert modules == [
        ("nn.Module: Sequential_0", ""),
        ("nn.Module: Linear_0", "nn.Module: Sequential_0"),
        ("nn.Module: Sequential_1", "nn.Module: Sequential_0"),
        ("nn.Module: ReLU_0", "nn.Module: Sequential_1"),
        ("nn.Module: Linear_1", "nn.Module: Sequential_1"),
    ]

    class Broken(nn.Module):
        def forward(self, x):
            raise ValueError

    def program():
        with pytest.raises(ValueError):
            Broken()(x)
        x.exp()

    ranges = recorded(program, modules=True).ranges
    assert [r.parent for r in ranges if r.name == "aten::exp"] == [-1], "the range of a module that failed is closed"
    before = len(torch.nn.modules.module._global_forward_hooks)
    recorded(lambda: None, modules=True)
    assert len(torch.nn.modules.module._global_forward_hooks) == before


def test_forward_and_backward_share_a_number():
    x = torch.ones(4, requires_grad=True, device="npu")
    s = recorded(lambda: x.exp().sum().backward())
    exp = next(r for r in s.ranges if r.name == "aten::exp")
    back = next(r for r in s.ranges if r.kind == "backward" and "ExpBackward0" in r.name)
    assert exp.sequence == back.sequence >= 0 and exp.thread == 0 and back.thread == 1 and back.forward_thread == 0


def test_a_kernel_of_ours_brings_its_counters():
    from places import REPO

    add = labkit.kernel(REPO / "kernels/add/add.asc")
    x, y = torch.ones(32768).half().npu(), torch.ones(32768).half().npu()
    z = torch.zeros_like(x)
    launches = []

    def program():
        x.float()
        launches.append(add[8](x, y, z, {"blockLength": 4096, "tileLength": 2048}))
        x.float()

    s = recorded(program)
    plain, ours, last = s.tasks
    assert (plain.ours, ours.ours, last.ours) == (False, True, False) and plain.pmu is None and last.pmu is None
    assert ours.blocks == 8 and ours.engine == "vector" and ours.name == "add_custom" and ours.end > ours.start
    hz = chips.load("910B1")["clock"]["hz"]
    pmu = ours.pmu
    assert pmu["aiv_total_cycles"] == pytest.approx(pmu["aiv_time(us)"] * hz / 1e6 * 8, abs=8)
    assert 0 < pmu["aiv_mte2_ratio"] < 1 and pmu["aicore_time(us)"] == 0
    cores = launches[0].cores
    read = sum(c["read_hit"] + c["read_miss"] for c in cores)
    assert read and pmu["l2_hit_rate"] == pytest.approx(sum(c["read_hit"] for c in cores) / read)
    assert pmu["aiv_GM_to_UB_datas(KB)"] == 2 * 64 and pmu["aiv_UB_to_GM_datas(KB)"] == 64
    assert pmu["aiv_vec_time(us)"] == pytest.approx(pmu["aiv_vec_ratio"] * pmu["aiv_time(us)"])


def test_two_threads():
    x = torch.ones(1 << 10).npu()

    def program():
        worker = threading.Thread(target=lambda: x.exp())
        worker.start()
        worker.join()
        x.log()

    s = recorded(program)
    assert {r.name: r.thread for r in s.ranges} == {"aten::exp": 1, "aten::log": 0} and s.threads == 2


def test_one_recording_at_a_time():
    recorder, other = Recorder(), Recorder()
    with pytest.raises(RuntimeError, match="start"):
        recorder.stop()
    recorder.start()
    with pytest.raises(RuntimeError, match="going on"):
        other.start()
    assert recorder.stop().ranges == []


def test_a_range_that_is_open_at_either_end():
    x = torch.ones(4).npu()
    with torch.autograd.profiler.record_function("outer"):
        s = recorded(lambda: x.exp())
    assert [r.name for r in s.ranges] == ["aten::exp"]
    inner = torch.autograd.profiler.record_function("inner")
    s = recorded(lambda: (inner.__enter__(), x.exp()))
    inner.__exit__(None, None, None)
    assert s.ranges[0].name == "inner" and s.ranges[0].end >= s.ranges[1].end


def test_what_was_read_is_given_up():
    x = torch.ones(8).npu()
    for _ in range(2):
        recorder = Recorder(shapes=True, memory=True)
        recorder.start()
        (x + x).sum()
        assert len(recorder.stop().tasks) == 2 and not any(_numbers()[0][:6])
