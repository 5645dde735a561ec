"""Kernels of libraries use names that no document has; these are the ones in common use."""

from __future__ import annotations

from places import KERNELS

import labkit

HERE = KERNELS


def test_names_of_the_device_compiler():
    import torch

    k = labkit.kernel(HERE / "cube_names.asc")
    a, b = torch.randn(2, 32, 32).bfloat16(), torch.randn(32, 32).bfloat16()
    c, z = torch.zeros(2, 32, 32).npu(), torch.zeros(2, 32, 32).npu()
    record = k[2](a.npu(), b.npu(), c, z)
    assert record.finished and not record.findings, record.report()
    assert torch.allclose(z.cpu(), a.float() @ b.float() + 4, atol=1e-4)


def test_a_launch_takes_untyped_pointers(tmp_path):
    from labkit.source import lowering

    text = (
        'extern "C" __global__ __aicore__ void f(GM_ADDR x) {}\nvoid go(void* x) { f<<<1, nullptr, nullptr>>>(x); }\n'
    )
    kernel = tmp_path / "f.asc"
    kernel.write_text('#include "kernel_operator.h"\n' + text)
    labkit.kernel(kernel).build()
    assert "[aicore]" not in lowering.lower(
        "#define __aicore__ [aicore]\n#define BOTH [host, aicore]\n" + text, "f.asc"
    )
    assert '"[aicore]"' in lowering.lower('const char* s = "[aicore]";\n' + text, "f.asc")
