"""torch.profiler, unchanged, on the simulated device."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import torch
from torch import nn
from torch.autograd import DeviceType
from torch.profiler import ProfilerActivity, profile, schedule

import labkit

labkit.device.install()


def recorded(tmp_path, activities=(ProfilerActivity.CPU, ProfilerActivity.PrivateUse1)):
    torch.manual_seed(0)
    model, x = nn.Linear(64, 64).npu(), torch.randn(8, 64)
    paths = []

    def ready(prof):
        paths.append(tmp_path / f"{prof.step_num}.json")
        prof.export_chrome_trace(str(paths[-1]))

    with profile(activities=list(activities), schedule=schedule(wait=1, warmup=1, active=2, repeat=1), record_shapes=True,
                 on_trace_ready=ready) as prof:  # fmt: skip
        for _ in range(5):
            model(x.npu()).relu().sum().backward()
            torch.npu.synchronize()
            prof.step()
    (path,) = paths
    return prof, json.loads(path.read_text())


def test_the_trace_is_on_the_virtual_clock(tmp_path):
    _, content = recorded(tmp_path)
    events = content["traceEvents"]
    assert content["simulated"] == "true" and content["deviceProperties"][0]["name"] == "Ascend910B1"
    kernels = [e for e in events if e.get("cat") == "kernel"]
    copies = [e for e in events if e.get("cat") == "gpu_memcpy"]
    assert kernels and len(copies) == 2 and copies[0]["name"].startswith("Memcpy HtoD")
    assert all(e["args"]["stream"] == e["tid"] and e["args"]["device"] == e["pid"] == 0 for e in kernels)
    launches = {e["args"]["correlation"]: e for e in events if e.get("cat") == "privateuse1_runtime"}
    for k in kernels:
        assert launches[k["args"]["correlation"]]["ts"] <= k["ts"]
    starts = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "X"}
    flows = [e for e in events if e.get("cat") == "ac2g"]
    assert len(flows) == 2 * (len(kernels) + len(copies))
    assert all((e["pid"], e["tid"], e["ts"]) in starts for e in flows)
    steps = [e["name"] for e in events if e["name"].startswith("ProfilerStep#") and e["cat"] == "user_annotation"]
    assert steps == ["ProfilerStep#2", "ProfilerStep#3"]
    addmm = next(e for e in events if e["name"] == "aten::addmm")
    assert addmm["args"]["Input Dims"][:3] == [[64], [8, 64], [64, 64]]


def test_floating_point_operations_are_counted():
    a, b = torch.ones(64, 128).npu(), torch.ones(128, 32).npu()
    activities = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
    with profile(activities=activities, record_shapes=True, with_flops=True) as prof:
        a @ b
    assert {e.key: e.flops for e in prof.key_averages() if e.flops} == {"aten::mm": 2 * 64 * 128 * 32}


def test_functions_of_python_are_rows_around_their_operators(tmp_path):
    """with_stack: each operator lies in the row of the function that called it, and rows nest."""
    linear, x = nn.Linear(8, 8).npu(), torch.ones(4, 8).npu()

    def inner():
        y = linear(x)
        return y.relu()

    def outer():
        first = inner()
        return first + inner().sum()

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1], with_stack=True) as prof:
        outer()
        with torch.profiler.record_function("mine"):
            outer()
    prof.export_chrome_trace(str(tmp_path / "t.json"))
    events = [e for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"] if e["ph"] == "X"]
    rows = [e for e in events if e["cat"] == "python_function"]
    by_number = {e["args"]["Python id"]: e for e in rows}

    def covers(outside, inside):
        return (
            outside["ts"] <= inside["ts"] + 1e-6
            and inside["ts"] + inside["dur"] <= outside["ts"] + outside["dur"] + 2e-3
        )

    for row in rows:
        if "Python parent id" in row["args"]:
            assert covers(by_number[row["args"]["Python parent id"]], row)
    names = [[e for e in rows if e["name"].endswith(f": {name}")] for name in ("inner", "outer")]
    assert len(names[0]) == 4 and len(names[1]) == 2, "two calls in each of two"
    relus = [e for e in events if e["name"] == "aten::relu"]
    assert len(relus) == 4 and all(sum(covers(row, e) for row in names[0]) == 1 for e in relus)
    assert all(by_number[e["args"]["Python parent id"]]["name"].endswith(": outer") for e in names[0])


def test_two_recordings_have_the_same_steps(tmp_path):
    def durations(content):
        return [e["dur"] for e in content["traceEvents"] if e["ph"] == "X"]

    (tmp_path / "a").mkdir(), (tmp_path / "b").mkdir()
    labkit.device.reset_clock()
    _, first = recorded(tmp_path / "a")
    labkit.device.reset_clock()
    _, second = recorded(tmp_path / "b")
    assert durations(first) == durations(second)


def test_key_averages_have_modelled_device_times(tmp_path):
    prof, content = recorded(tmp_path)
    table = {e.key: e for e in prof.key_averages()}
    kernels = [e for e in content["traceEvents"] if e.get("cat") in ("kernel", "gpu_memcpy")]
    assert table["aten::addmm"].device_time_total > 0
    own = sum(e.self_device_time_total for e in table.values() if e.device_type == DeviceType.PrivateUse1)
    assert own == pytest.approx(sum(e["dur"] for e in kernels), rel=1e-3)
    assert "Self NPU" in prof.key_averages().table()


def test_without_the_device_it_is_pytorchs_own(tmp_path):
    prof, content = recorded(tmp_path, activities=[ProfilerActivity.CPU])
    assert "simulated" not in content
    assert not any(e.get("cat") == "kernel" for e in content["traceEvents"])


def test_a_program_of_cuda_gets_torch_npus_profiler():
    script = (
        "import labkit, torch, torch_npu\nfrom torch_npu.contrib import transfer_to_npu\n"
        "assert torch.profiler.ProfilerActivity.CUDA is torch_npu.profiler.ProfilerActivity.NPU\n"
        "p = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])\n"
        "assert isinstance(p, torch_npu.profiler.profile)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
