"""Which cores a kernel runs on: from its head, its task type, its tiling key, and what it uses."""

import pytest

from labkit.source.kernels import active
from labkit.source.lowering import core_mix, core_mixes, lower, parse


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


SCENARIOS = """
#if SCENARIO_NUM == 0
__global__ __mix__(1, 1)
#else
__global__ __mix__(1, 2)
#endif
void k(GM_ADDR x) {}
"""


@pytest.mark.parametrize(
    "before, defines, cores",
    [
        ("", {"SCENARIO_NUM": "0"}, (1, 1)),
        ("", {"SCENARIO_NUM": "2"}, (1, 2)),
        ("#define SCENARIO_NUM 2\n", {}, (1, 2)),
        ("#ifndef SCENARIO_NUM\n#define SCENARIO_NUM (1u + 0x1)\n#endif\n", {"SCENARIO_NUM": "0"}, (1, 1)),
        ("", {}, (1, 1)),  # nobody says which: the first, as the compiler would take it for an undefined macro
    ],
)
def test_the_ratio_is_that_of_the_branch_that_is_compiled(before, defines, cores):
    assert core_mixes(SCENARIOS, "a.asc", before, defines=defines) == {"k": cores}
    assert core_mixes(before + SCENARIOS, "a.asc", "", defines=defines) == {"k": cores}


@pytest.mark.parametrize(
    "condition, defines, left",
    [
        ("#if 0", {}, "b"),
        ("#ifdef A", {"A": ""}, "a"),
        ("#ifdef A", {}, "ab"),  # a header that nobody read may define it
        ("#if defined(A) && A >= 3", {"A": "4"}, "a"),
        ("#if defined A && (A >> 1) == 1 || 0", {"A": "4"}, "b"),
        ("#if __NPU_ARCH__ == 2201", {}, "a"),
        ("#if UNKNOWN && 0", {}, "b"),
        ("#if UNKNOWN", {}, "ab"),
        ("#if !A", {"A": "B", "B": "0UL"}, "a"),
    ],
)
def test_what_an_if_leaves_out(condition, defines, left):
    text = f"{condition}\na\n#else\nb\n#endif\n"
    found = active(text, defines)
    assert "".join(line for line in found.split("\n") if "#" not in line).replace(" ", "") == left
    assert len(found) == len(text) and found.count("\n") == text.count("\n")


def test_a_chain_of_conditions_takes_one_branch():
    text = "#if N == 1\none\n#elif N == 2\ntwo\n#if 1\ninner\n#else\nnot\n#endif\n#elif N\nthree\n#else\nfour\n#endif\n"
    for n, words in (("1", ["one"]), ("2", ["two", "inner"]), ("7", ["three"]), ("0", ["four"])):
        assert [w for w in active(text, {"N": n}).split() if w in "one two inner not three four".split()] == words
    maybe = "#ifdef X\n#define N 2\n#endif\n#if N == 2\na\n#else\nb\n#endif\n#undef N\n#if 1\nc\n#endif"
    assert [w for w in active(maybe).split() if len(w) == 1 and w.islower()] == ["a", "b", "c"]
