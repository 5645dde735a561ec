"""Which cores a kernel runs on: from its head, its task type, its tiling key, and what it uses."""

import pytest

from labkit.source.lowering import core_mix, lower, parse


def one(text):
    kernels = parse(text)
    assert len(kernels) == 1
    return kernels[0]


@pytest.mark.parametrize(
    "body, cores",
    [
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);", (0, 1)),
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);", (1, 0)),
        ("KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0); Mmad(c, a, b, p);", (0, 1)),
        ("KERNEL_TASK_TYPE(2, KERNEL_TYPE_MIX_AIC_1_2);", (1, 2)),
        ("KERNEL_TASK_TYPE_DEFAULT(AscendC::KERNEL_TYPE_MIX_AIC_1_1);", (1, 1)),
        ("Mmad(c, a, b, p);", (1, 0)),
        ("TQue<TPosition::VECIN, 1> q; Mmad(c, a, b, p);", (1, 2)),
        ("// Mmad(\n", (0, 1)),
        ("LoadDataToUb(x);", (0, 1)),
        ("LoadData3DParamsV2<half> p;", (1, 0)),
        ("Matmul<A, B, C> mm;", (1, 2)),
        ("REGIST_MATMUL_OBJ(&pipe, ws, mm);", (1, 2)),
        ("KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY); KERNEL_TASK_TYPE(2UL, KERNEL_TYPE_MIX_AIC_1_1);", (0, 1)),
    ],
)
def test_cores_from_the_body(body, cores):
    assert core_mix(one(f"__global__ __aicore__ void k(GM_ADDR x) {{ {body} }}")) == cores


def test_cores_by_tiling_key_and_from_what_is_included():
    kernel = one(
        "__global__ __aicore__ void k(GM_ADDR x) { KERNEL_TASK_TYPE(1, KERNEL_TYPE_AIV_ONLY); "
        "KERNEL_TASK_TYPE(2UL, KERNEL_TYPE_MIX_AIC_1_1); }"
    )
    assert core_mix(kernel, tiling_key=2) == (1, 1)
    plain = one("__global__ __aicore__ void k(GM_ADDR x) { go(x); }")
    assert core_mix(plain, "inline void go() { Mmad(c, a, b, p); }") == (1, 0)
    assert core_mix(plain, '#define ASCENDC_CUBE_ONLY\n#include "lib/matmul_intf.h"\nMatmul<A> m;') == (1, 0)
    assert core_mix(plain, "// Mmad(c)\n") == (0, 1)


def test_a_launch_tells_the_cores():
    lowered = lower(
        "__global__ __mix__(1, 2) void k(GM_ADDR x) {}\nvoid f(void* s) { k<<<4, nullptr, s>>>(nullptr); }\n", "a.asc"
    )
    assert '::twin::bind<1, 2>("k"' in lowered
    chosen = "__global__ __cube__ void k(GM_ADDR x) {}\nvoid f(void* s) { auto which = k; which<<<4, nullptr, s>>>(nullptr); }\n"
    assert "::twin::bind<1, 0>" in lower(chosen, "a.asc")
    around = "__global__ __cube__ void g(GM_ADDR x) { }"
    assert "::twin::bind<1, 0>" in lower(
        "__global__ __aicore__ void k(GM_ADDR x) {}\nvoid f(void* s) { g<<<4, nullptr, s>>>(nullptr); }\n",
        "a.asc",
        around=around,
    )
