"""Kernels that a macro declares, and calls that find AscendC by their arguments."""

import subprocess

import pytest

from labkit.build import compiler
from labkit.source import kernels, lowering, macros


def test_a_macro_that_declares_kernels():
    text = (
        '#define DECLARE(TYPE, name) \\\n    extern "C" __global__ __aicore__ void scale_##TYPE(GM_ADDR x, '
        "uint32_t n) \\\n    { run<TYPE>(#name, x); }\n"
        "#define OTHER(a) a\nDECLARE(half,\n    first)\n  DECLARE(float, second)\nOTHER(int) last;\n"
    )
    out = macros.expanded(text)
    assert (
        out.split("\n")[4]
        == 'extern "C" __global__ __aicore__ void scale_half(GM_ADDR x, uint32_t n) { run<half>("first", x); }'
    )
    assert out.count("\n") == text.count("\n") and out.split("\n")[7] == "OTHER(int) last;"
    assert [k.name for k in lowering.parse(out, "k.cpp")] == ["scale_half", "scale_float"]
    assert macros.expanded("void f();\n") == "void f();\n"


def test_a_function_of_the_namespace_found_by_its_arguments():
    assert compiler.later_standard("void f() { ReduceSum<float>(a, b, c, 8); }") == ["-std=c++20"]
    for text in (
        "using namespace AscendC; ReduceSum<float>(a, b, c, 8);",
        "AscendC::ReduceSum<float>(a, b, c, 8);",
        "template <class T> void Mine(T a, int); Mine<float>(a, 1);",
    ):
        assert compiler.later_standard(text) == []


def test_a_macro_of_any_number_of_arguments():
    text = """#define KERNEL(name, T, ...) \\
    __global__ __aicore__ void name(__gm__ T* x) { call(__VA_ARGS__); }
#define OTHER(name, rest...) __global__ __aicore__ void name(__gm__ float* x) { call(rest); }
KERNEL(a, half, 1, f(2, 3))
OTHER(b, 4)
KERNEL(c, float)
"""
    lines = macros.expanded(text).splitlines()
    assert lines[3].strip() == "__global__ __aicore__ void a(__gm__ half* x) { call(1, f(2, 3)); }"
    assert lines[4].strip() == "__global__ __aicore__ void b(__gm__ float* x) { call(4); }"
    assert lines[5].strip() == "__global__ __aicore__ void c(__gm__ float* x) { call(); }"


CONDITIONS = [
    "!A == 1", "3 > 2 > 1", "2 == 2 == 1", "A | B == 2", "-7 % 3 == -1", "A + 1 == 2 && !(B < 2)", "010 == 8",
    "1 << 2 == 4", "A & 3 == 3", "!!A", "B - 1 - 1 == 0", "defined(A) && B > A",
]  # fmt: skip


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_holds_as_for_the_preprocessor(condition):
    text = f"#define A 1\n#define B 2\n#if {condition}\nYES\n#else\nNO\n#endif\n"
    said = subprocess.run(
        [compiler.find_cxx(), "-E", "-P", "-x", "c++", "-"], input=text, capture_output=True, text=True, check=True
    ).stdout
    shown = kernels.active(text).split()
    assert [word for word in ("YES", "NO") if word in shown] == [said.strip()]


def test_two_instantiations_have_two_names():
    for one, other in (("f<half>", "f<half*>"), ("f<A<1>, 2>", "f<A<1,2>>"), ("f<int>", "f<int&>")):
        assert kernels.symbol(one) != kernels.symbol(other)
    assert kernels.symbol("ns::add<half, 3>") == kernels.symbol("ns::add< half,3 >") == "ns__add__half_3"
