"""Reading Ascend C: kernels, parameters, structs; and the lowering that lets a host compiler take it."""

from __future__ import annotations

import ctypes
import re
import subprocess

import pytest

from labkit.build import compiler
from labkit.source import lowering
from labkit.source.errors import CompileError
from labkit.source.line_map import unlower
from labkit.source.lowering import SourceError, core_mix, lower, lower_adapter, parse, structs, symbol
from labkit.source.scan import Outline, mask

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

ADD = 'extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR y, uint32_t n) {}\n'

# Stands in for kernel_operator.h: what lowering and trampolines need, and a bind that notes what it was given.
PRELUDE = """\
#include <stdint.h>
#include <stdio.h>
#define __global__
#define __aicore__
#define __vector__
#define __mix__(a, b)
#define __gm__
#define GM_ADDR __gm__ uint8_t*
struct half { uint16_t bits; };
extern "C" { char twin_log[512]; }
namespace twin {
template <class F> struct Bound { F f; template <class... A> void operator()(A... a) const { f(a...); } };
template <int, int, class F, class D> Bound<F> bind(const char* name, F f, unsigned blocks, D, void* stream) {
    snprintf(twin_log, sizeof twin_log, "%s %u %p", name, blocks, stream);
    return {f};
}
}
"""


def one(text):
    kernels = parse(text)
    assert len(kernels) == 1
    return kernels[0]


def load(text, entries=(), filename="t.asc"):
    """The lowered text, compiled behind the prelude, loaded."""
    lowered = lower(PRELUDE + text, filename, entries)
    return ctypes.CDLL(str(compiler.compile_kernel(lowered, filename=filename, flags=["-fvisibility=default"])))


def call(library, entry, *values):
    pointers = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(v) for v in values))
    getattr(library, f"twin_entry_{symbol(entry)}")(pointers)


def sizes(library, entry):
    count = ctypes.c_uint.in_dll(library, f"twin_count_{symbol(entry)}").value
    return list((ctypes.c_uint * count).in_dll(library, f"twin_sizes_{symbol(entry)}")) if count else []


# ---- the scanner


@pytest.mark.parametrize(
    "text, hidden",
    [
        ("a // x {\nb", "x {"),
        ("a /* { \n } */ b", "{"),
        ('s = "a\\"{";', "{"),
        ("c = '{';", "{"),
        ("c = '\\'';d", "\\'"),
        ('r = R"x( )" } )x"; b', "}"),
        ("n = 1'000'000; {", None),
        ('L"{"', "{"),
        ("// a \\\n { \nb", "{"),
        ("n = 1'000; c = '{';", "{"),
        ("'\"' { '\"'", None),
    ],
)
def test_mask_hides_text_and_keeps_places(text, hidden):
    masked = mask(text)
    assert len(masked) == len(text) and masked.count("\n") == text.count("\n")
    if hidden is None:
        assert "{" in masked or "{" not in text
    else:
        assert hidden.strip() not in masked


def test_mask_and_directives():
    text = "#define A(x) { \\\n  } // }\nint a;\n  # if 0\n"
    assert mask(text).split() == ["int", "a;"]
    assert "{" in mask(text, directives=False)


PIECES = st.sampled_from(
    [
        '"',
        "'",
        "//",
        "/*",
        "*/",
        "\\",
        "\n",
        "{",
        "}",
        "(",
        ")",
        "<<<",
        ">>>",
        'R"(',
        ')"',
        "a",
        "1'0",
        "#if",
        ";",
        ",",
        "<",
        ">",
        "__global__ ",
        "__aicore__ ",
        "void ",
        "k",
        " ",
    ]
)


@hypothesis.given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_keeps_its_length_and_lines(text):
    masked = mask(text)
    assert len(masked) == len(text)
    assert [i for i, c in enumerate(masked) if c == "\n"] == [i for i, c in enumerate(text) if c == "\n"]
    Outline(text)


@hypothesis.given(st.lists(PIECES, max_size=40).map("".join))
def test_any_text_is_lowered_or_refused(text):
    try:
        lowered = lower(ADD + text, "t.asc")
    except SourceError as error:
        assert 1 <= error.line <= (ADD + text).count("\n") + 1
        return
    own = lowered.split('#line 1 "<labkit entry>"')[0]
    assert own.count("\n") in (1 + (ADD + text).count("\n"), 2 + (ADD + text).count("\n"))


def test_outline_tells_functions_from_the_rest():
    blocks = Outline(
        "namespace a::b { struct S : B<int> { int x{3}; S() : y(1), z{2} { f({1}); } void g() const { if (x) { } "
        "auto l = [&](int) { }; } };\n"
        'enum class E { A }; int t[] = {1, 2}; }\nextern "C" { void h() noexcept { while (1) { } } }\n'
    ).blocks
    assert [(b.kind, b.name) for b in blocks if b.kind != "other"] == [
        ("namespace", "a::b"),
        ("type", "S"),
        ("function", "S"),
        ("function", "g"),
        ("type", "E"),
        ("linkage", ""),
        ("function", "h"),
    ]
    blocks = Outline("template <> struct S<half> { S() {} }; struct S<int> f() {} struct S<int> x{1};").blocks
    assert [(b.kind, b.name) for b in blocks] == [("type", "S"), ("function", "S"), ("function", "f")]


# ---- kernels


@pytest.mark.parametrize(
    "head, cores, mix",
    [
        ('extern "C" __global__ __aicore__', (0, 1), None),
        ("__aicore__ __global__", (0, 1), None),
        ("__global__ __vector__", (0, 1), None),
        ("__global__ __cube__", (1, 0), None),
        ("__mix__(1, 2) __global__", (1, 2), (1, 2)),
        ("__global__ __mix__ ( 1,1 )", (1, 1), (1, 1)),
        ("__global__ __aicore__ __schedmode__(1)", (0, 1), None),
        ("[[maybe_unused]] __attribute__((noinline)) static inline __global__ __aicore__", (0, 1), None),
    ],
)
def test_qualifiers_in_any_order(head, cores, mix):
    kernel = one(f"{head} void k(GM_ADDR x) {{}}")
    assert (kernel.name, core_mix(kernel), kernel.mix, kernel.params[0].kind) == ("k", cores, mix, "gm")
    assert kernel.extern_c == head.startswith("extern")


def test_void_between_the_qualifiers():
    assert one("__global__ void __aicore__ k(GM_ADDR x) {}").name == "k"


@pytest.mark.parametrize(
    "declared, expected",
    [
        ("GM_ADDR x", ("GM_ADDR", "x", "gm", "uint8_t")),
        ("__gm__ uint8_t* __restrict__ x", ("__gm__ uint8_t* __restrict__", "x", "gm", "uint8_t")),
        ("__gm__ const float *x", ("__gm__ const float *", "x", "gm", "float")),
        ("half *x", ("half *", "x", "gm", "half")),
        ("const uint32_t n", ("const uint32_t", "n", "scalar", "uint32_t")),
        ("unsigned long int n", ("unsigned long int", "n", "scalar", "unsigned long")),
        ("std::int64_t n", ("std::int64_t", "n", "scalar", "int64_t")),
        ("bool b", ("bool", "b", "scalar", "bool")),
        ("half s", ("half", "s", "scalar", "half")),
        ("bfloat16_t s", ("bfloat16_t", "s", "scalar", "bfloat16_t")),
        ("AddTiling t", ("AddTiling", "t", "struct", "AddTiling")),
        ("Pair<int, float> p", ("Pair<int, float>", "p", "struct", "Pair<int, float>")),
        ("uint32_t", ("uint32_t", "arg0", "scalar", "uint32_t")),
        ("GM_ADDR", ("GM_ADDR", "arg0", "gm", "uint8_t")),
        ("ns::Tiling", ("ns::Tiling", "arg0", "struct", "ns::Tiling")),
        ("const Tiling&", ("const Tiling&", "arg0", "struct", "Tiling&")),
        ("unsigned long", ("unsigned long", "arg0", "scalar", "unsigned long")),
        ("unsigned", ("unsigned", "arg0", "scalar", "unsigned")),
        ("Num n", ("Num", "n", "scalar", "float")),
    ],
)
def test_parameters(declared, expected):
    p = one(f"using Num = float;\n__global__ __aicore__ void k({declared}) {{}}").params[0]
    assert (p.type, p.name, p.kind, p.ctype) == expected


def test_arrays_defaults_and_comments():
    a, b, c = one(
        "__global__ __aicore__ void k(float a[2][3], /* n, */ uint32_t b = F(1, 2), // last\n  float c = 1.5f) {}"
    ).params
    assert (a.name, a.array, a.kind) == ("a", "[2][3]", "gm")
    assert (b.name, b.default, c.default) == ("b", "F(1, 2)", "1.5f")
    a, b, c = one("__global__ __aicore__ void k(P<int, half> a, int b = 1 << 3, bool c = 1 < 2) {}").params
    assert (a.name, b.default, c.default) == ("a", "1 << 3", "1 < 2")


@pytest.mark.parametrize("inside", ["", "void", " /* none */ "])
def test_no_parameters(inside):
    assert one(f"__global__ __aicore__ void k({inside}) {{}}").params == ()


def test_templates_namespaces_and_lines():
    text = (
        "// __global__ in a comment\nnamespace a { namespace b {\ntemplate <typename T, int N = (3 > 2)>\n"
        '__global__ __vector__ void k(__gm__ T* x) {}\n} }\nconst char* s = "__global__ void no()";\n' + ADD
    )
    k, add = parse(text)
    assert (k.qualified, k.template, k.line, k.extern_c) == ("a::b::k", "typename T, int N = (3 > 2)", 4, False)
    assert (add.qualified, add.template, add.line, add.extern_c) == ("add", None, 7, True)


def test_declaration_and_definition_are_one():
    kernels = parse("__global__ __aicore__ void k(GM_ADDR x);\n\n__global__ __aicore__ void k(GM_ADDR y) {}\n")
    assert [(k.line, k.defined) for k in kernels] == [(3, True)]
    assert parse("__global__ __aicore__ void k(GM_ADDR x);")[0].defined is False


def test_conditions_are_known():
    text = (
        "#ifndef K_H\n#define K_H\n#if 0\n__global__ __aicore__ void dead(GM_ADDR x) {}\n#endif\n#ifdef FAST\n"
        "__global__ __aicore__ void k(GM_ADDR x) {}\n#else\n__global__ __aicore__ void k(GM_ADDR x, int n) "
        "{}\n#endif\n#endif\n"
    )
    kernels = parse(text)
    assert [(k.name, k.guard) for k in kernels] == [("k", ("#ifdef FAST",))]


@pytest.mark.parametrize(
    "text, key, line",
    [
        ("int main() {}\n", "source.no_kernel", 1),
        ("\n__global__ void k(GM_ADDR x) {}", "source.no_core", 2),
        ("__global__ __aicore__ int k(GM_ADDR x) {}", "source.not_void", 1),
        ("__global__ __aicore__ k(GM_ADDR x) {}", "source.not_void", 1),
        ("__global__ __aicore__ void k(GM_ADDR x) {}\n__global__ __aicore__ void k(int n) {}", "source.overload", 2),
        ("__global__ __aicore__ int x;", "source.not_a_function", 1),
        ("__global__ __aicore__ void k(GM_ADDR x", "source.not_a_function", 1),
    ],
)
def test_mistakes_are_told(text, key, line, monkeypatch):
    with pytest.raises(SourceError) as raised:
        parse(text, "lesson.asc")
    error = raised.value
    assert (error.key, error.line, error.filename) == (key, line, "lesson.asc")
    assert isinstance(error, CompileError) and error.problems[0]["hint"]
    shown = "\n".join(error._render_traceback_())
    assert "lesson.asc" in shown and str(line) in shown
    monkeypatch.setenv("LABKIT_LANG", "zh")
    with pytest.raises(SourceError) as raised:
        parse(text, "lesson.asc")
    assert max(raised.value.problems[0]["message"]) > "\u2e7f", f"no Chinese in {raised.value.problems[0]['message']!r}"


def test_the_source_line_of_a_mistake_is_shown():
    with pytest.raises(SourceError) as raised:
        parse("int a;\n__global__ void kernel_without_core(GM_ADDR x) {}\n", "t.asc")
    assert "kernel_without_core(GM_ADDR x) {}" in str(raised.value)


# ---- structs

STRUCTS = """
#define N 4
constexpr uint32_t M = N * 2 + 0x10u;
using Num = float;
typedef int64_t Wide;
struct A { uint8_t a; uint32_t b = 3, c[N]; Num d[2][M]; bool q; long long int z; static constexpr int K = 3; };
struct B { A a[2]; unsigned char c; std::uint64_t e{1}; Wide w; };
#pragma pack(push, 1)
struct C { uint8_t a; uint32_t b; };
#pragma pack(pop)
typedef struct { uint8_t a; uint16_t b; } D;
struct alignas(32) E { uint8_t a; };
struct __attribute__((packed)) F { uint8_t a; uint64_t b; };
struct G { uint8_t a; uint64_t b; } __attribute__((packed));
#pragma pack(2)
struct H { uint8_t a; uint64_t b; };
#pragma pack()
struct I { uint8_t a; uint64_t b; };
struct J { uint8_t a; const uint8_t *p, *q[2]; I i; };
"""
UNKNOWN = """
struct P { void (*p)(); }; class Q { int x; }; struct R : A { int x; }; struct S { int f() { return 1; } }; union U { int x; };
struct T { Elsewhere e; }; struct V { int x[COUNT]; }; template <class X> struct W { int x; }; struct Y { alignas(16) int x; }; struct Z { E e; };
"""


def test_structs_have_the_layout_of_the_compiler(tmp_path):
    table = structs(STRUCTS + UNKNOWN)
    assert list(table) == list("ABCDEFGHIJ")
    lines = []
    for name, spec in table.items():
        lines.append(f'printf("%zu ", sizeof({name}));')
        lines += [f'printf("%zu ", __builtin_offsetof({name}, {field}));' for _, field, _ in spec]
    code = "#include <cstdint>\n#include <cstdio>\n" + STRUCTS + "int main() {" + "".join(lines) + "}"
    (tmp_path / "m.cpp").write_text(code)
    program = compiler.build([tmp_path / "m.cpp"], kind="exe", flags=["-std=c++17"], name="layout")
    told = list(map(int, subprocess.run([program], capture_output=True, text=True, check=True).stdout.split()))
    ours = []
    for name, spec in table.items():
        made = lowering.as_ctypes(name, table)
        ours += [ctypes.sizeof(made), *(getattr(made, field).offset for _, field, _ in spec)]
    assert ours == told


def test_shifts_and_comparisons_are_no_brackets():
    table = structs("struct T { uint32_t total = 1 << 12, tile = 8 < 9, more = 8 <= 9; uint32_t blocks; };")
    assert [field for _, field, _ in table["T"]] == ["total", "tile", "more", "blocks"]
    kernel = one(
        "__global__ __aicore__ void f(GM_ADDR x, uint32_t n = 1 << 3, Pair<A<3>, 2> p = {}, bool b = 1 < 2) {}"
    )
    assert [p.name for p in kernel.params] == ["x", "n", "p", "b"]


def test_struct_fields():
    table = structs(STRUCTS)
    assert list(table["A"]) == [
        ("uint8_t", "a", None),
        ("uint32_t", "b", None),
        ("uint32_t", "c", 4),
        ("float", "d", 48),
        ("bool", "q", None),
        ("long long", "z", None),
    ]
    assert (table["C"].pack, table["E"].align, table["H"].pack, table["I"].pack) == (1, 32, 2, None)
    shifts = structs("struct S { uint32_t a = 1 << 12, b = 8 >> 2, c = 8 < 9, d = 2; };")
    assert [name for _, name, _ in shifts["S"]] == ["a", "b", "c", "d"]


def test_values_become_c():
    table = structs(STRUCTS)
    value = lowering.encode("B", {"a": [{"b": 7, "c": [1, 2]}], "c": 255, "w": -1}, table)
    assert (value.a[0].b, list(value.a[0].c), value.c, value.w) == (7, [1, 2, 0, 0], 255, -1)
    assert bytes(lowering.encode("half", 1.5)) == b"\x00\x3e" and bytes(lowering.encode("half", 1e9)) == b"\x00\x7c"
    assert (
        bytes(lowering.encode("bfloat16_t", 1.0)) == b"\x80\x3f"
        and bytes(lowering.encode("bfloat16_t", 1.00390625)) == b"\x80\x3f"
    )
    assert lowering.encode("float", 3).value == 3.0 and lowering.encode("bool", 2).value is True
    assert bytes(lowering.encode("C", b"12345", table)) == b"12345"


@pytest.mark.parametrize(
    "ctype, value, error",
    [
        ("uint32_t", -1, OverflowError),
        ("int8_t", 200, OverflowError),
        ("uint32_t", 1.5, TypeError),
        ("A", {"nope": 1}, KeyError),
        ("A", {"c": [1] * 5}, OverflowError),
        ("Missing", {}, KeyError),
    ],
)
def test_values_that_do_not_fit(ctype, value, error):
    with pytest.raises(error):
        lowering.encode(ctype, value, structs(STRUCTS))


# ---- lowering

LAUNCHES = """\
extern "C" __global__ __aicore__ void fill(__gm__ uint8_t* x, uint32_t n, half h) { x[0] = (uint8_t)n; x[1] = (uint8_t)h.bits; }
namespace ns { template <typename T, int N> __global__ __vector__ void put(__gm__ T* x, T v) { x[N] = v; } }
extern "C" void launch_fill(uint8_t* x, void* s) { fill<<<8, nullptr, s>>>(x, 7u, half{9}); }
extern "C" void launch_put(uint8_t* x, void* s) {
    // not<<<1, 2, 3>>>(a launch)
    const char* text = "nor<<<this>>>()"; (void)text;
    ns::put<uint8_t, 2> <<< (1 < 2 ? 4 : 5),   // blocks
        nullptr, s>>> (x, (uint8_t)(1 << 3)); int line = __LINE__; x[3] = (uint8_t)line;
}
"""


def test_launches_run():
    library = load(LAUNCHES, entries=["ns::put<uint8_t, 2>", "put<float,1>"])
    log = (ctypes.c_char * 512).in_dll(library, "twin_log")
    x = (ctypes.c_uint8 * 8)()
    library.launch_fill(x, ctypes.c_void_p(0x40))
    assert list(x[:2]) == [7, 9] and log.value == b"fill 8 0x40"
    library.launch_put(x, None)
    assert log.value.startswith(b"ns::put<uint8_t, 2> 4 ")
    expected = next(i for i, line in enumerate((PRELUDE + LAUNCHES).split("\n"), 1) if "__LINE__" in line)
    assert list(x[2:4]) == [8, expected]


def test_trampolines_unpack_and_size():
    text = (
        "struct T { uint32_t n; float s; };\nnamespace deep { namespace er {\nusing Local = T;\n"
        "__global__ __aicore__ void k(GM_ADDR x, const Local t, uint64_t big = 3, bool b = false, uint8_t c = 1) "
        "{ x[0] = (uint8_t)(t.n + big + b + c); }\n} }\n__global__ __aicore__ void none() { twin_log[0] = 'N'; }\n"
    )
    library = load(text)
    assert sizes(library, "deep::er::k") == [8, 8, 8, 1, 1] and sizes(library, "none") == []
    x = (ctypes.c_uint8 * 4)()
    t = lowering.encode("T", {"n": 10, "s": 1.0}, structs(text))
    call(
        library,
        "deep::er::k",
        ctypes.c_void_p(ctypes.addressof(x)),
        t,
        ctypes.c_uint64(20),
        ctypes.c_bool(True),
        ctypes.c_uint8(2),
    )
    assert x[0] == 33
    call(library, "none")
    assert (ctypes.c_char * 512).in_dll(library, "twin_log").value == b"N"


def test_template_entries():
    library = load(LAUNCHES, entries=["put<float, 1>", "ns::put<float,1>", "ns::put<uint8_t, 2>"])
    assert sizes(library, "ns::put<uint8_t, 2>") == [8, 1] and sizes(library, "ns::put<float, 1>") == [8, 4]
    x = (ctypes.c_float * 2)()
    call(library, "ns::put<float, 1>", ctypes.c_void_p(ctypes.addressof(x)), ctypes.c_float(2.5))
    assert x[1] == 2.5


def test_conditions_guard_trampolines():
    text = (
        "#ifndef GUARD\n#define GUARD\n#if 0\n__global__ __aicore__ void dead(Unknown x) {}\n#endif\n#ifdef NEVER\n"
        "__global__ __aicore__ void k(Unknown x) {}\n#else\n__global__ __aicore__ void k(GM_ADDR x, int n) { x[0] "
        "= n; }\n#endif\n#endif\n"
    )
    assert sizes(load(text), "k") == [8, 4]


def test_lines_stay_and_come_back():
    lowered = lower(LAUNCHES, 'a "b".asc')
    first, *rest = lowered.split("\n")
    assert first == '#line 1 "a \\"b\\".asc"'
    for ours, theirs in zip(LAUNCHES.split("\n")[:-1], rest):
        assert unlower(theirs)[0] == ours
    assert rest[len(LAUNCHES.split("\n")) - 1] == '#line 1 "<labkit entry>"'


def test_arrays_of_a_function_are_looked_at_and_no_others():
    text = (
        '#include "kernel_operator.h"\nfloat whole[4096];\nstruct S { float member[4096]; };\n'
        "__aicore__ inline void f(S* s) {\n    float a[2][64] = {}, b;\n    const half c[4096];  // d[9];\n"
        "    static float d[4096]; s->member[1] = 2; for (int e[3]; ;) return;\n}\n"
    )
    lowered = lower(text + ADD, "t.asc").split("\n")[1:]
    checks = [line for line in lowered if "TWIN_ON_STACK" in line]
    assert [re.findall(r"TWIN_ON_STACK\((\w)\)", line) for line in checks] == [["a"], ["c"]]
    assert [unlower(line)[0] for line in lowered[:8]] == text.split("\n")[:8]


def test_columns_come_back():
    text = "void f() { k<<<8, nullptr, s>>>(alpha, beta); }\n" + ADD.replace("add", "k")
    line = lower(text, "t.asc").split("\n")[1]
    for word in ("void", "alpha", "beta", "8,"):
        assert unlower(line, line.index(word) + 1) == (text.split("\n")[0], text.index(word) + 1)
    inside = line.index("twin_a")
    assert unlower(line, inside)[1] == text.index("k<<<") + 1


@pytest.mark.parametrize(
    "statement, key",
    [
        ("<<<8, nullptr, s>>>(x);", "source.launch_name"),
        ("(*f)<<<8, nullptr, s>>>(x);", "source.launch_name"),
        ("add<<<8, nullptr, s(x);", "source.launch_form"),
        ("add<<<8, nullptr, s>>>;", "source.launch_form"),
        ("add<<<>>>(x);", "source.launch_form"),
        ("add<<<8, nullptr, s, 0>>>(x);", "source.launch_parts"),
    ],
)
def test_wrong_launches_are_told(statement, key):
    with pytest.raises(SourceError) as raised:
        lower(ADD + "void f() {\n  " + statement + "\n}\n", "t.asc")
    assert raised.value.key == key and raised.value.line == 3


def test_a_launch_in_a_macro_is_named_by_what_the_macro_is_given():
    line = lower(ADD + "#define GO(k) k##_it<T><<<8, \\\n nullptr, s>>>(x)\n", "t.asc").split("\n")[2]
    assert line.startswith("#define GO(k) ::twin::bind<0, 1>(TWIN_TEXT(k##_it<T>), [&]")
    assert line.endswith("{ k##_it<T>(twin_a...); }, 8, \\") and unlower(line)[0] == "#define GO(k) k##_it<T><<<8, \\"
    mixed = "__global__ __mix__(1, 2) void both(GM_ADDR x) {}\n"
    line = lower(ADD + mixed + "#define GO(k) k<<<8, nullptr, s>>>(x)\n", "t.asc").split("\n")[3]
    assert '::twin::cores_of("add:0:1;both:1:2;", TWIN_TEXT(k), 0)' in line
    with pytest.raises(SourceError) as raised:  # an operator's C++ side registers what it launches by its name
        lower_adapter("#define GO(k) k<<<8, nullptr, s>>>(x)\n", "t.cpp")
    assert raised.value.key == "source.launch_macro" and raised.value.line == 1


def test_a_header_in_front_of_the_kernels_knows_the_sizes_that_bisheng_knows():
    assert lower('#include "mine.h"\n' + ADD, "t.asc").startswith('#include <stdint.h>\n#line 1 "t.asc"\n')
    for text in ('#include "kernel_operator.h"\n#include "mine.h"\n' + ADD, ADD):
        assert "stdint" not in lower(text, "t.asc")


def test_macros_in_front_of_a_kernel_are_no_return_type():
    call = "REGISTER(one, two)\nNOTHING\n__global__ __aicore__ void k(GM_ADDR x) {}\n"
    assert [k.name for k in parse(call)] == ["k"]
    with pytest.raises(SourceError) as raised:
        parse("REGISTER(one, two)\n__global__ __aicore__ int k(GM_ADDR x) {}\n")
    assert raised.value.key == "source.not_void"


@pytest.mark.parametrize(
    "launch",
    [
        "k<<<f<int>(3), nullptr, s>>>(x)",
        "k<<<f<g<h<int>>>(3), nullptr, s>>>(x)",
        "k<<<a >> 2, nullptr, s>>>(x)",
        "k<<<(a > b) ? a : b, nullptr, s>>>(x)",
        "k<<<n<3 ? 1 : 2, nullptr, s>>>(x)",
    ],
)
def test_configurations_with_angles(launch):
    line = lower(ADD.replace("add", "k") + f"void f() {{ {launch}; }}\n", "t.asc").split("\n")[2]
    config = launch[4 : launch.rindex(">>>")]
    assert f"twin_a...); }}, {config})/*>>>*/(x)" in line and unlower(line)[0] == f"void f() {{ {launch}; }}"


@pytest.mark.parametrize(
    "entries, key",
    [(["nope"], "source.no_entry"), (["add<half>"], "source.no_entry"), (["put"], "source.template_entry")],
)
def test_wrong_entries_are_told(entries, key):
    with pytest.raises(SourceError) as raised:
        lower(LAUNCHES + ADD, "t.asc", entries)
    assert raised.value.key == key


def test_symbols():
    assert [symbol(e) for e in ("add", "ns::add", "add<half>", "a::b<half, 3>", "k<-1>")] == [
        "add",
        "ns__add",
        "add__half",
        "a__b__half_3",
        "k__minus_1",
    ]


def test_windows_lines_and_byte_order_mark():
    kernel = one("\ufeff// c\r\n" + ADD.replace("\n", "\r\n"))
    assert kernel.line == 2
    assert "\r" not in lower("\ufeff// c\r\n" + ADD, "t.asc")
