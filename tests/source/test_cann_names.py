"""A name that CANN's headers have in namespace AscendC is as taken on the twin as on a node."""

from __future__ import annotations

import pytest

import labkit
from labkit.source import api, lowering
from labkit.source.errors import CompileError, SourceError

KERNEL = """#include "kernel_operator.h"
using namespace AscendC;
{declared}
extern "C" __global__ __aicore__ void k(GM_ADDR x)
{{
    {used}
}}
"""
# Product is a struct of the API's insides and AlignedPad a function template, neither of which the twin has
TAKEN = {
    "struct": ("struct Product { int a; };", "Product p; p.a = 1;"),
    "constant": ("constexpr int Product = 3;", "int q = Product;"),
    "alias": ("using Product = int;", "Product q = 3;"),
    "enum": ("enum Product { ONE };", "Product q = ONE;"),
    "function": ("__aicore__ inline int Product(int a) { return a; }", "int q = Product(3);"),
    "function template": (
        "template <const auto& C> __aicore__ inline void Product(GM_ADDR a) {}\nconstexpr int CONFIG = 1;",
        "Product<CONFIG>(x);",
    ),
    "type for a function": ("struct AlignedPad { int a; };", "AlignedPad p; p.a = 1;"),
}
FREE = {
    "not used": ("struct Product { int a; };", ""),
    "qualified": ("struct Product { int a; };", "::Product p; p.a = 1;"),
    "own namespace": ("namespace my { struct Product { int a; }; }", "my::Product p; p.a = 1;"),
    "member": ("struct My { int Product; };", "My p; p.Product = 1;"),
    "local": ("", "int Product = 3; Product += 1;"),
    "another function": ("__aicore__ inline int AlignedPad(int a) { return a; }", "int q = AlignedPad(3);"),
}


def build(declared: str, used: str) -> None:
    labkit.kernel(text=KERNEL.format(declared=declared, used=used), filename="k.asc").build()


@pytest.mark.parametrize("declared, used", TAKEN.values(), ids=TAKEN)
def test_a_taken_name_is_one_line(declared, used):
    with pytest.raises(CompileError) as error:
        build(declared, used)
    (problem,) = error.value.problems
    name = "AlignedPad" if "AlignedPad" in declared else "Product"
    assert name in problem["message"] and "AscendC" in problem["message"] and f"::{name}" in problem["hint"]


@pytest.mark.parametrize("declared, used", FREE.values(), ids=FREE)
def test_what_does_not_clash_there_does_not_here(declared, used):
    build(declared, used)


def test_a_definition_inside_the_namespace():
    text = KERNEL.format(declared="namespace AscendC { struct Product {}; }", used="")
    with pytest.raises(SourceError, match="Product in namespace AscendC"):
        lowering.lower(text, "k.asc")


def test_a_name_of_the_matmul_headers_only_with_them():
    name = next(n for n, (header, functions) in api.cann_names().items() if header == "matmul" and not functions)
    text = KERNEL.format(declared=f"struct {name} {{}};", used="")
    assert not api.clashes(text) and api.clashes('#include "lib/matmul_intf.h"\n' + text) == [(name, False)]


@pytest.mark.parametrize(
    "declared",
    [
        "template <typename A, typename B> __aicore__ inline void {}(LocalTensor<A> a, const LocalTensor<A>& b, B c);",
        "template <typename T, typename U>\n__aicore__ inline void {}(const LocalTensor<T> &dst, LocalTensor<T>& s, U n)\n{{\n}}",
    ],
)
def test_functions_are_the_same_by_their_parameters(declared, monkeypatch):
    same = api.signature(["T", "U"], ["const AscendC::LocalTensor<T> &", "const LocalTensor<T> &", "const U"])
    monkeypatch.setattr(api, "cann_names", lambda: {"Mine": ("", frozenset([same]))})
    text = KERNEL.format(declared=declared.format("Mine"), used="")
    assert api.clashes(text) == [("Mine", False)]
    assert not api.clashes(text.replace("LocalTensor<", "GlobalTensor<"))


def test_the_table_is_whole():
    names = api.cann_names()
    assert (
        len(names) > 2900 and names["Product"] == ("", frozenset()) and "(int32_t,int32_t)" in names["CeilDivision"][1]
    )


def test_a_name_inside_a_specialised_class_is_its_own():
    text = '#include "kernel_operator.h"\ntemplate <> struct Op<half> { int a; using Exp = int; };\nint n;\n'
    assert api.clashes(text) == [] and api.clashes(text.replace("int n;", "using Exp = int;")) == [("Exp", False)]
