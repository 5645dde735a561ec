"""Which line of the program the kernels' time comes from."""

from __future__ import annotations

import polars as pl
import pytest
import torch
from torch import nn

import labkit
from labkit import trace
from labkit.trace import callers, model


@pytest.mark.parametrize(
    "stack, line",
    [
        ("/usr/lib/python3/site-packages/torch/nn/functional.py(10): relu;\r\n/home/me/net.py(7): forward;", "/home/me/net.py(7): forward"),
        ("/home/me/torch/net.py(7): forward;\n/home/me/train.py(3): main", "/home/me/torch/net.py(7): forward"),
        ("/opt/site-packages/torch_npu/x.py(1): f; <built-in>", None),
        ("", None),
    ],
)  # fmt: skip
def test_the_programs_own_frame(stack, line):
    assert callers.program_line(stack) == line


def tables(kernels: list[tuple], host: list[tuple]):
    k = pl.DataFrame(kernels, schema=["name", "type", "core", "start", "dur", "op_time", "op_thread"], orient="row")
    h = pl.DataFrame(host, schema=["name", "kind", "thread", "start", "dur", "stack"], orient="row")

    class Some:
        host = model.fitted(h, model.HOST)

        @staticmethod
        def compute():
            return model.fitted(k, model.KERNELS)

    return Some()


def test_time_by_line():
    host = [
        ("a", "op", 1, 0.0, 10.0, "/p.py(1): f"),
        ("b", "op", 1, 2.0, 3.0, "/p.py(2): g"),
        ("c", "op", 2, 0.0, 10.0, "/p.py(3): h"),
    ]
    kernels = [
        ("k", "Add", "AIV", 100.0, 5.0, 1.0, 1),
        ("k", "Mul", "AIV", 105.0, 2.0, 3.0, 1),
        ("k", "Mul", "AIV", 107.0, 1.0, 4.0, 1),
        ("k", "Add", "AIV", 108.0, 1.0, 20.0, 1),  # behind all of them
        ("k", "Add", "AIV", 109.0, 1.0, 5.0, 2),
    ]
    found = callers.top(tables(kernels, host))
    assert [(r["line"], r["kernels"], r["total_us"], r["type"]) for r in found] == [
        ("/p.py(1): f", 1, 5.0, "Add"), ("/p.py(2): g", 2, 3.0, "Mul"), ("/p.py(3): h", 1, 1.0, "Add"),
    ]  # fmt: skip
    assert sum(r["share"] for r in found) == pytest.approx(0.9)
    assert callers.top(tables(kernels, [(*h[:5], "") for h in host])) == []


def test_of_a_recording(tmp_path):
    import torch_npu

    labkit.device.install()
    profiler, x = torch_npu.profiler, torch.rand(256, 256).npu()
    linear = nn.Linear(256, 256).npu()

    def heavy():
        return linear(x) @ x

    with profiler.profile(on_trace_ready=profiler.tensorboard_trace_handler(str(tmp_path)), with_stack=True) as prof:
        for _ in range(3):
            heavy()
            x.exp()
            prof.step()
    report = trace.read(tmp_path, progress=False).report()
    own = [r for r in report.lines if "test_trace_callers.py" in r["line"]]
    assert own[0]["line"].endswith("): heavy") and own[0]["kernels"] == 6 and own[0]["type"] == "MatMulV2"
    assert sum(r["kernels"] for r in own) == 9 and "): heavy" in report.text() and "): heavy" in report.html()
    assert report.json()["lines"] == report.lines
