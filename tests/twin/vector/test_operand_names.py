"""A finding names the operand that the learner passed: of each instruction with two sources, the one that lies wrong."""

from __future__ import annotations

import pytest
import torch

import labkit

CALLS = {
    "Add": "Add(c, a, b, N)",
    "Sub": "Sub(c, a, b, N)",
    "Mul": "Mul(c, a, b, N)",
    "Div": "Div(c, a, b, N)",
    "Max": "Max(c, a, b, N)",
    "Min": "Min(c, a, b, N)",
    "MulAddDst": "MulAddDst(c, a, b, N)",
    "AddRelu": "AddRelu(c, a, b, N)",
    "SubRelu": "SubRelu(c, a, b, N)",
    "MulAddRelu": "FusedMulAddRelu(c, a, b, N)",
    "FusedMulAdd": "FusedMulAdd(c, a, b, N)",
    "And": "And(c.ReinterpretCast<int16_t>(), a.ReinterpretCast<int16_t>(), b.ReinterpretCast<int16_t>(), N)",
    "Or": "Or(c.ReinterpretCast<int16_t>(), a.ReinterpretCast<int16_t>(), b.ReinterpretCast<int16_t>(), N)",
    "Compare": "Compare(c.ReinterpretCast<uint8_t>(), a, b, CMPMODE::LT, N)",
}
KERNEL = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void two_sources(GM_ADDR z, uint32_t which, uint32_t wrong)
{
    constexpr uint32_t N = 64;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 3 * 2 * N * sizeof(float));
    LocalTensor<float> all = buf.Get<float>();
    Duplicate(all, 1.0f, 6 * N);
    LocalTensor<float> a = all[wrong == 0 ? 1 : 0], b = all[2 * N + (wrong == 1 ? 1 : 0)], c = all[4 * N];
    switch (which) {
%s
    }
}
"""


@pytest.fixture(scope="module")
def kernel():
    cases = "\n".join(f"    case {k}: {call}; break;" for k, call in enumerate(CALLS.values()))
    return labkit.kernel(text=KERNEL % cases, filename="two_sources.asc")


@pytest.mark.parametrize("wrong", [0, 1])
@pytest.mark.parametrize("name", CALLS)
def test_the_source_that_lies_wrong(kernel, name, wrong):
    record = kernel[1](torch.zeros(8).npu(), list(CALLS).index(name), wrong)
    assert [(f.code, f.numbers["what"]) for f in record.findings] == [("local-align", f"src{wrong}")]
