"""Kernels that a macro declares, and calls that find AscendC by their arguments; where the scanner sees an end."""

import subprocess

import pytest

from labkit.build import compiler
from labkit.source import braces, kernels, lowering, macros, scan


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


# ---- the scanner: a wrong end is a kernel, a parameter or a struct that is cut off, or takes the next one in

ENDS = [  # ^ stands in front of the opening bracket, $ in front of the one that closes it; no $: none does
    "^(a[b]{c}$)", "f(^(a$)(b)", "x^[a[1]$]]", "^(a]", "^{a", "^[a)", "a)^(b$)",
    "^<a$>", "^<A<b>$>", "f<^<a$>", "^<a, (b > c)$>", "^<f[1 > 0], {2 > 1}$>", "^<1 << 2$>", "^<a <= b$>", "^<a->b$>",
    "^<a", "^<a;>", "^<a)>", "^<(a>", "^<<a>", "^<= a>", "A<b> ^<c$>>", "^<a - 1$> b", "^<A<(b)>, c$>>", "^<a < b>",
    "^<f(a)[b]$>",
]  # fmt: skip


@pytest.mark.parametrize("marked", ENDS)
def test_where_a_bracket_ends(marked):
    at, text = marked.index("^"), marked.replace("^", "")
    end, text = text.find("$"), text.replace("$", "")
    assert (scan.closing_angle if text[at] == "<" else scan.closing)(text, at) == end


@pytest.mark.parametrize(
    "text, with_angles, without",
    [
        ("a, b(c, d), e[f, g], {h, i}", "a| b(c, d)| e[f, g]| {h, i}", None),
        ("A<b, c> d, e", "A<b, c> d| e", "A<b| c> d| e"),
        ("a = 1 << 12, b", "a = 1 << 12| b", None),
        ("a = 8 < 9, b", "a = 8 < 9| b", None),
        ("f(A<b, c>, d), A<A<1, 2>, 3>", "f(A<b, c>, d)| A<A<1, 2>, 3>", "f(A<b, c>, d)| A<A<1| 2>| 3>"),
        ("a <= b, c > d", "a <= b| c > d", None),
        (",a,", "|a|", None),
        ("", "", None),
    ],
)
def test_parts_between_separators(text, with_angles, without):
    """Nothing before the start and behind the end is looked at. A `;` ends what looks like arguments of a template."""
    for sign in ",;" if "<" not in text else ",":
        whole = f"<(,;{text}>),;".replace(",", sign)
        for angles, wanted in ((True, with_angles), (False, without or with_angles)):
            parts = scan.split(whole, 4, 4 + len(text), angles=angles, separator=sign)
            assert "|".join(whole[a:b] for a, b in parts) == wanted.replace(",", sign), (sign, angles)


def test_places_in_a_text():
    lines = scan.Lines("ab\n\nc")
    assert [(lines.line(k), lines.column(k)) for k in range(6)] == [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2)]


def test_where_a_statement_begins_and_what_is_around_it():
    """The semicolons of a `for` and the braces of an initialiser end no statement; a block holds its own `}`."""
    text = "int a; void f(T x) { for (i = 0; i < n; k++) { h; } int t[] = {1, 2}, y; } struct S { int z; }; int q;"
    outline = scan.Outline(text)

    def start(word: str) -> str:
        return text[outline.statement_start(text.index(word)) :].lstrip()[:5].strip()

    assert [start(w) for w in ("a;", "T x", "k++", "h;", "2}", "y;", "z;", "q;")] == [
        "int a", "void", "for (", "h; }", "int t", "int t", "int z", "int q",
    ]  # fmt: skip

    def around(at: int) -> list[tuple[str, str]]:
        block = outline.around(at)
        return [(b.kind, b.name) for b in block.chain()] if block else []

    f, loop, s = ("function", "f"), ("other", ""), ("type", "S")
    assert [around(text.index(w)) for w in ("a;", "T x", "k++", "h;", "2}", "z;", "q;")] == [
        [], [], [f], [loop, f], [f], [s], [],
    ]  # fmt: skip
    close = text.index("} int t")
    assert (around(close), around(close + 1), around(text.index("{"))) == ([loop, f], [f], [])
    assert [text[b.head : b.open].strip() for b in outline.blocks] == [
        "void f(T x)",
        "for (i = 0; i < n; k++)",
        "struct S",
    ]


@pytest.mark.parametrize(
    "front, outside, inside",  # of a function; None: the same
    [
        ("namespace a::b", "namespace a::b", None),
        ("inline namespace v", "namespace v", None),
        ("namespace", "namespace ", None),
        ('extern " "', "linkage ", None),
        ("struct S final : A, B<int>", "type S", None),
        ("enum class E : int", "type E", None),
        ("typedef union", "type ", None),
        ("template <class T> struct S<T, 1>", "type S", None),
        ("private: public: template <int N = (1 > 0)> template <class T> void f(T)", "function f", "other "),
        ("auto f() const noexcept -> std::vector<int>", "function f", "initialiser "),
        ("S::~S()", "function ~S", "other "),
        ("bool operator == (A b)", "function operator==", "other "),
        ("S(int a) : x(a)", "function S", "other "),
        ("S() noexcept : x(1), y", "initialiser ", None),
        ("int x", "initialiser ", None),
        ("A<int>", "initialiser ", None),
        ("return", "initialiser ", None),
        ("f(", "initialiser ", None),
        ("f(a,", "initialiser ", None),
        ("int a[] =", "initialiser ", None),
        ("while (a)", "function while", "other "),
        ("else", "initialiser ", "other "),
        ("x = 1; do", "initialiser ", "other "),
        ("", "other ", None),
    ],
)
def test_what_a_brace_opens(front, outside, inside):
    """A struct is looked up and a function may be a kernel; an initialiser ends no statement."""
    assert " ".join(scan.classify_head(front)) == outside
    assert " ".join(scan.classify_head(front, in_function=True)) == (outside if inside is None else inside)


@pytest.mark.parametrize(
    "text, blamed",
    [
        ("void f() {\n}\n", None),
        ("void f() {\n", ("open", 1, 10)),
        ("}\n", ("extra", 1, 1)),
        ("class A {\n    void f() {\n        if (x) {\n    }\n};\n", ("open", 3, 16)),
        ("#if 0\n{{{\n#else\n{\n#endif\n}\n", None),
        ('const char* s = "{"; // {\n', None),
        ("a {\n  b {\n  }\n", ("open", 1, 3)),
        ("a {\n  b {\n}\n", ("open", 2, 5)),  # the second is closed where the first begins
        ("a {\n\tb {\n    }\n", ("open", 1, 3)),  # a tab is as wide as four spaces
        ("a {\n\tb {\n   }\n", ("open", 2, 4)),
        ("a {\n} }\n", ("extra", 2, 3)),
        ("}\n{\n", ("extra", 1, 1)),
        ('a { // {\n} /* { */ x = "{";\n', None),
        ("#if A\na {\n#else\nb {\n#endif\n}\n", None),  # of branches the first
        ("#if A\n#if B\n#elif C\n{\n#endif\n{\n#else\n}\n#endif\n}\n", None),
        ("#if 0\n{\n#else\nx {\n#endif\n", ("open", 4, 3)),
        ("#if 0\n{\n#if A\n{\n#endif\n#endif\n", None),
        ("#ifdef A\nx }\n#endif\n", ("extra", 2, 3)),
        ("#if A\n#if 0\n{\n#else\nx {\n#endif\n#endif\n", ("open", 5, 3)),
        ("#endif\n#else\n{\n", ("open", 3, 1)),  # the compiler says what is wrong there
        ("#define A {\n", None),
    ],
)
def test_which_brace_is_to_blame(text, blamed):
    """The line and column of the message; of what the compiler does not see nothing is said."""
    assert braces.unbalanced(text) == blamed
