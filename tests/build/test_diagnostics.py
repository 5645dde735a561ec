"""Compiler errors at the learner's own line, in words that help; and the lints for what a host compiler lets pass."""

from __future__ import annotations

import pickle

import pytest

from labkit import messages, paths
from labkit.build import compiler
from labkit.build.compiler_output import read
from labkit.build.diagnostics import compile_error
from labkit.source import api
from labkit.source.errors import CompileError, SourceError
from labkit.source.lint import lint
from labkit.source.lowering import lower

INCLUDE = paths.twin_dir() / "include"

KERNEL = """\
#include "kernel_operator.h"
using namespace AscendC;
constexpr int32_t TILE = 256;
template <typename T> class KernelAdd {
public:
    __aicore__ inline KernelAdd() {}
    __aicore__ inline void Init(GM_ADDR x, GM_ADDR z, uint32_t n) {
        xGm.SetGlobalBuffer((__gm__ T*)x, n);
        zGm.SetGlobalBuffer((__gm__ T*)z, n);
        pipe.InitBuffer(inQ, 2, TILE * sizeof(T));
        pipe.InitBuffer(outQ, 2, TILE * sizeof(T));
    }
    __aicore__ inline void Process() {
        LocalTensor<T> x = inQ.AllocTensor<T>();
        DataCopy(x, xGm, TILE);
        inQ.EnQue(x);
        LocalTensor<T> a = inQ.DeQue<T>();
        LocalTensor<T> z = outQ.AllocTensor<T>();
        Add(z, a, a, TILE);
        outQ.EnQue(z);
        inQ.FreeTensor(a);
    }
private:
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inQ;
    TQue<TPosition::VECOUT, 2> outQ;
    GlobalTensor<T> xGm, zGm;
};
extern "C" __global__ __aicore__ void add(GM_ADDR x, GM_ADDR z, uint32_t n) {
    KernelAdd<half> op;
    op.Init(x, z, n);
    op.Process();
}
void launch(void* stream, uint8_t* x) {
    add<<<8, nullptr, stream>>>(x, x, 3);
}
"""
ADD = "Add(z, a, a, TILE);"
ALLOC = "LocalTensor<T> z = outQ.AllocTensor<T>();"

# (what is changed, into what, line of the first problem, text of its line where the caret stands, words of message and
# hint)
BROKEN = {
    "semicolon, next line": (ADD, ADD[:-1], 19, "", ["; is missing"]),
    "semicolon, declaration": ("inQ.DeQue<T>();\n", "inQ.DeQue<T>()  // no end\n", 17, None, ["; is missing"]),
    "semicolon, member": ("TPipe pipe;", "TPipe pipe", 24, "", ["; is missing"]),
    "semicolon, class": ("zGm;\n};", "zGm;\n}", 28, "", ["; is missing"]),
    "spelling, function": ("DataCopy(x", "DataCpoy(x", 15, "DataCpoy(x", ["DataCpoy", "mean DataCopy?"]),
    "spelling, type": ("LocalTensor<T> z", "LocalTenser<T> z", 18, "LocalTenser", ["mean LocalTensor?"]),
    "spelling, member": ("outQ.EnQue(z)", "outQ.Enque(z)", 20, "Enque(z)", ["mean EnQue?"]),
    "spelling, enumerator": (ADD, "Cast(z, a, RoundMode::CAST_NON, TILE);", 19, "CAST_NON", ["mean CAST_NONE?"]),
    "spelling, qualifier": (
        "__aicore__ inline void Process",
        "__aicroe__ inline void Process",
        13,
        "__aicroe__",
        ["mean __aicore__?"],
    ),
    "spelling, own variable": ("a, a, TILE)", "a, a, tile)", 19, "tile)", ["mean TILE?"]),
    "namespace": ("using namespace AscendC;", "", 24, "TPipe pipe", ["AscendC::TPipe", "using namespace AscendC;"]),
    "no header": ('#include "kernel_operator.h"', "", 2, "AscendC", ['#include "kernel_operator.h"']),
    "header spelling": ("kernel_operator.h", "kernel_operater.h", 1, None, ['mean "kernel_operator.h"?']),
    "header unknown": ("kernel_operator.h", "quite_different.hpp", 1, None, ["quite_different.hpp is not found"]),
    "element type not supported": ("KernelAdd<half> op", "KernelAdd<double> op", 19, "Add(z", ["takes half"]),
    "twin's assertion alone": (
        "outQ.EnQue(z)",
        "PipeBarrier<PIPE_S>()",
        20,
        None,
        ["PipeBarrier<PIPE_S> does not exist: the scalar unit"],
    ),
    "element types differ": (ALLOC, ALLOC.replace("<T>", "<float>"), 19, "Add(z", ["float", "half", "Cast("]),
    "conversion of a tensor": (
        ALLOC,
        "LocalTensor<float> z = outQ.AllocTensor<T>();",
        18,
        None,
        ["LocalTensor<half>", "LocalTensor<float>"],
    ),
    "GM operand": ("Add(z, a, a", "Add(z, xGm, a", 19, "Add(z", ["GlobalTensor (in GM)", "DataCopy"]),
    "GM pointer": (
        "DataCopy(x, xGm",
        "DataCopy(x, (GM_ADDR)nullptr",
        15,
        "DataCopy",
        ["raw GM address", "SetGlobalBuffer"],
    ),
    "GM cast": ("(__gm__ T*)x", "x", 8, "SetGlobalBuffer", ["(__gm__ half*)"]),
    "argument count": (ADD, "Add(z, a, a);", 19, "Add(z", ["got 3 arguments", "4"]),
    "template arguments": ("LocalTensor<T> z", "LocalTensor<T, 3> z", 18, None, ["template arguments", "one type"]),
    "constant": ("TPosition::VECIN, 2> inQ;", "TPosition::VECIN, depth> inQ; int depth;", 25, "depth>", ["depth"]),
    "narrowing": (
        "DataCopy(x, xGm, TILE)",
        "uint16_t rows{-1}; DataCopy(x, xGm, DataCopyParams{1, rows, 0, 0})",
        15,
        None,
        ["uint16_t", "static_cast"],
    ),
    "enum": ("TPosition::VECIN,", "VECIN,", 25, "VECIN,", ["TPosition::VECIN"]),
    "brace open": ("inQ.FreeTensor(a);\n    }", "inQ.FreeTensor(a);\n", 13, "{", ["{ of line 13 is never closed"]),
    "brace open, last": ("op.Process();\n}", "op.Process();\n", 29, "{", ["{ of line 29 is never closed"]),
    "brace extra": ("op.Process();\n}", "op.Process();\n}}", 33, "}", ["closes nothing"]),
    "parenthesis": (ADD, "Add(z, a, a, TILE;", 19, None, [") is missing"]),
    "quote": ("op.Process();", 'printf("hi);', 32, None, ["opened on this line"]),
    "declared twice": ("op.Init(x, z, n);", "int n = 3;", 31, "n = 3", ["'n' is declared twice"]),
    "private": ("op.Process();", "op.pipe.Reset();", 32, "pipe.Reset", ["pipe is private"]),
    "pointer": ("TPipe pipe;", "TPipe* pipe;", 10, None, ["->"]),
    "PipeInit": ("op.Process();", "PipeInit();", 32, "PipeInit", ["no PipeInit", "InitBuffer"]),
    "untold type": (
        "inQ.AllocTensor<T>()",
        "inQ.AllocTensor()",
        14,
        "AllocTensor",
        ["not told the element type", "AllocTensor<half>"],
    ),
    "handle": (
        "LocalTensor<T> a = inQ.DeQue<T>();",
        "LocalTensor<half> a; a = inQ.DeQue();",
        17,
        None,
        ["bare handle", "DeQue<half>()"],
    ),
    "DataCopyPad counts bytes": (
        "DataCopy(x, xGm, TILE);",
        "DataCopyPad(x, xGm, TILE);",
        15,
        "DataCopyPad",
        ["DataCopyExtParams"],
    ),
    "LoadDataAsync": ("DataCopy(x,", "LoadDataAsync(x,", 15, "LoadDataAsync", ["no LoadDataAsync", "DataCopyPad"]),
    "__local__": ("KernelAdd<half> op;", "__local__ half buf[16];", 30, "__local__", ["no __local__", "__ubuf__"]),
    "get_core_num": ("op.Process();", "int c = get_core_num();", 32, "get_core_num", ["GetBlockNum()"]),
    "STL": ("op.Process();", "std::vector<int> v;", 32, None, ["no C++ standard library"]),
    "launch, count": ("(x, x, 3)", "(x, x)", 35, "add<<<", ["add", "3"]),
    "launch, type": ("(x, x, 3)", "(x, x, x)", 35, "add<<<", ["Argument 3", "uint32_t"]),
}


def failed(text, filename="lesson.asc"):
    with pytest.raises(CompileError) as raised:
        compiler.compile_kernel(lower(text, filename), filename=filename, include_dirs=[INCLUDE])
    return raised.value


def changed(old, new):
    assert old in KERNEL
    return KERNEL.replace(old, new, 1)


def test_the_kernel_that_is_broken_below_is_right():
    compiler.compile_kernel(lower(KERNEL, "lesson.asc"), filename="lesson.asc", include_dirs=[INCLUDE])


@pytest.mark.parametrize("case", BROKEN)
def test_errors_point_and_help(case):
    old, new, line, caret, words = BROKEN[case]
    text = changed(old, new)
    error = failed(text)
    first = error.problems[0]
    assert (first["file"], first["line"]) == ("lesson.asc", line), error.problems
    shown = str(error)
    for word in words:
        assert word in shown, shown
    assert "/twin/" not in shown and "twin_a" not in shown and "labkit entry" not in shown
    if caret is not None:
        assert text.split("\n")[line - 1][first["column"] - 1 :].startswith(caret)
        if caret == "":
            assert first["column"] == len(text.split("\n")[line - 1].rstrip()) + 1
    assert {p["file"] for p in error.problems} == {"lesson.asc"}


@pytest.mark.parametrize("case", BROKEN)
def test_errors_in_chinese(case, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    old, new, *_ = BROKEN[case]
    lines = failed(changed(old, new))._render_traceback_()
    assert lines[0].startswith("编译错误 lesson.asc 第")
    told = "".join(lines)
    assert "建议：" in told or "static" in told or " on Atlas A2 " in told or "PipeBarrier" in told


def test_the_rendered_form():
    error = failed(
        changed(ADD, "Exp(z, a, TILE); int k = ;\n        DataCpoy(x, xGm, TILE);").replace("<half> op", "<int32_t> op")
    )
    lines = error._render_traceback_()
    assert lines[0].startswith("Compile error in lesson.asc, line 19: ")
    assert lines[1] == "   19 |         Exp(z, a, TILE); int k = ;"
    assert lines[2].strip("| ") == "^" and lines[2].index("^") - len("      | ") < len(lines[1])
    assert [line for line in lines if line.startswith("  1 more (line 20)")], "\n".join(lines)
    assert str(error) == "\n".join(lines) and error.stderr and error.command


def test_tabs_and_wide_characters_keep_the_caret():
    text = changed(ADD, "/* 求和 */\tAdd(z, a, a, tile);")
    error = failed(text)
    source, caret = error.render()[1:3]
    wide = sum(ord(c) > 0x2E7F for c in source)
    assert caret.index("^") == source.index("tile") + wide


def test_a_missing_semicolon_above_a_comment_of_wide_characters():
    text = "int f() {\n  int x = 1\n  /* 乘以二乘以二 */ x = 2;\n}\n"
    column = len("  /* 乘以二乘以二 */ x".encode())  # bytes, as compilers count
    said = f"lesson.asc:3:{column}: error: expected ',' or ';' before 'x'\n"
    first = compile_error(said, filename="lesson.asc", text=text).problems[0]
    assert (first["line"], first["column"]) == (2, len("  int x = 1") + 1)


def test_an_error_in_a_header_of_the_learner(tmp_path):
    (tmp_path / "mine.h").write_text("inline int two() {\n    return missing;\n}\n")
    file = str(tmp_path / "k.asc")
    error = failed('#include "mine.h"\n' + KERNEL, file)
    assert error.problems[0]["file"].endswith("mine.h") and error.problems[0]["line"] == 2
    assert "return missing;" in str(error)


def test_further_mistakes_name_their_file_where_it_is_another_one(tmp_path):
    (tmp_path / "mine.h").write_text("inline int two() {\n    return missing;\n}\n")
    error = failed(
        '#include "mine.h"\n' + KERNEL + "\nint again = absent;\nint more = missed;\n", str(tmp_path / "k.asc")
    )
    last = len(KERNEL.split("\n")) + 3
    assert f"  2 more (line k.asc:{last - 1}, k.asc:{last});" in str(error)


def test_several_mistakes_are_all_kept_and_consequences_dropped():
    text = changed(ALLOC, "LocalTenser<T> z = outQ.AllocTensor<T>();").replace("op.Process();", "PipeInit();")
    assert [p["line"] for p in failed(text).problems] == [18, 32]


def test_where_the_type_came_from_is_told():
    assert failed(changed("KernelAdd<half> op", "KernelAdd<double> op")).problems[0]["via"] == [32]


def test_it_is_handed_on_by_a_pool_of_processes():
    for error in (CompileError([], stderr="why"), SourceError("build.silent", filename="a.asc", line=1, text="x")):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error) and again.__dict__ == error.__dict__


def test_ipython_shows_the_error_and_no_stack():
    interactive = pytest.importorskip("IPython.core.interactiveshell")
    shell = interactive.InteractiveShell.instance()
    try:
        shell.user_ns["fail"] = lambda: (_ for _ in ()).throw(failed(changed(ADD, ADD[:-1])))
        result = shell.run_cell("fail()", silent=True)
        assert isinstance(result.error_in_exec, CompileError)
    finally:
        interactive.InteractiveShell.clear_instance()


# ---- compilers that may not be installed here: what they print

CLANG = """\
In file included from lesson.asc:1:
In file included from /lab/twin/include/kernel_operator.h:10:
/lab/twin/include/twin/vector.h:122:1: error: static_assert failed due to requirement '::twin::one_of()' "Exp takes half and float"
TWIN_UNARY(Exp, "half and float", half, float);
^
/lab/twin/include/twin/vector.h:74:9: note: expanded from macro 'TWIN_UNARY'
lesson.asc:19:9: note: in instantiation of function template specialization 'AscendC::Exp<int>' requested here
        Exp(z, a, TILE);
        ^
lesson.asc:32:8: note: in instantiation of member function 'KernelAdd<int>::Process' requested here
lesson.asc:20:14: error: no member named 'Enque' in 'AscendC::TQue<AscendC::TPosition::VECOUT, 2, 0>'; did you mean 'EnQue'?
lesson.asc:21:9: error: no matching function for call to 'Add'
/lab/twin/include/twin/vector.h:130:13: note: candidate template ignored: deduced conflicting types for parameter 'T' ('float' vs. 'half')
/lab/twin/include/twin/vector.h:130:13: note: candidate function template not viable: requires at least 6 arguments, but 4 were provided
lesson.asc:35:47: error: no matching function for call to 'add'
lesson.asc:29:39: note: candidate function not viable: requires 3 arguments, but 2 were provided
3 errors generated.
"""


def test_clang_is_understood():
    problems = compile_error(CLANG, filename="lesson.asc", text=lower(KERNEL, "lesson.asc")).problems
    assert [p["line"] for p in problems] == [19, 20, 21, 35]
    assert problems[0]["message"] == "Exp takes half and float" and problems[0]["via"] == [32]
    assert "EnQue" in problems[1]["hint"] and "float" in problems[2]["message"] and "half" in problems[2]["message"]
    assert problems[3]["message"].startswith("Kernel add takes 3")


def test_clang_what_follows_from_a_failed_declaration_is_dropped():
    text = "int f() {\n    LocalTenser<half> z = get();\n    return z;\n}\n"
    said = (
        "k.asc:2:5: error: no template named 'LocalTenser'; did you mean 'LocalTensor'?\n"
        "k.asc:3:12: error: use of undeclared identifier 'z'\nk.asc:4:1: error: use of undeclared identifier 'w'\n"
    )
    assert [p["line"] for p in compile_error(said, filename="k.asc", text=text).problems] == [2, 4]


def test_clang_an_open_quote_is_only_a_warning():
    said = "k.asc:1:5: warning: missing terminating '\"' character [-Winvalid-pp-token]\nk.asc:1:5: error: expected expression\n"
    problems = compile_error(said, filename="k.asc", text='f = "hi;\n').problems
    assert len(problems) == 1 and "not closed" in problems[0]["message"]


GCC_MACRO = """\
In file included from mine.h:3,
                 from lesson.asc:1:
/lab/twin/include/x.h: In function 'void f()':
/lab/twin/include/x.h:9:5: error: 'a' was not declared in this scope
/lab/twin/include/x.h:4:20: error: expected expression
lesson.asc:7:11: note: in expansion of macro 'COPY'
/lab/twin/include/x.h:2:1: note: elsewhere
lesson.asc:9:11: note: in expansion of macro 'OTHER'
"""


def test_macros_and_includes_lead_to_the_learner():
    first, second = read(GCC_MACRO)
    assert [(f.file, f.line) for f in first.frames] == [("mine.h", 3), ("lesson.asc", 1)]
    assert [f.line for f in second.frames] == [7, 3, 1] and [n.line for n in second.notes] == [2]
    assert [(f.file, f.line) for f in read(CLANG)[0].frames[-2:]] == [
        ("/lab/twin/include/kernel_operator.h", 10),
        ("lesson.asc", 1),
    ]
    lines = [p["line"] for p in compile_error(GCC_MACRO, filename="lesson.asc", text="\n" * 40).problems]
    assert lines == [7, 1]  # a place inside the text comes before a mere #include


def test_the_chain_ends_where_the_next_function_begins():
    text = (
        "k.asc: In instantiation of 'void A<T>::f() [with T = int]':\nk.asc:9:3:   required from here\n/t.h:1:1: error: one\n/t.h:2:1: error: two\n"
        "k.asc: In function 'void g()':\nk.asc:5:1: error: three\n"
    )
    assert [[f.line for f in d.frames] for d in read(text)] == [[9], [9], []]


@pytest.mark.parametrize(
    "line, severity, message",
    [
        ("x86_64-conda-linux-gnu-c++: fatal error: Killed signal terminated program cc1plus", "error", "Killed signal terminated program cc1plus"),
        ("aarch64-linux-gnu-g++-12: error: no such file: 'a.cpp'; cannot go on", "error", "no such file: 'a.cpp'; cannot go on"),
        ("/opt/x86_64-conda-linux-gnu/bin/x86_64-conda-linux-gnu-ld: cannot find -lq", "error", "cannot find -lq"),
        ("clang-15: error: linker command failed with exit code 1: signal 9", "error", "linker command failed with exit code 1: signal 9"),
        ("/usr/bin/ld: warning: cannot find entry symbol _start; defaulting to 0000", "warning", "cannot find entry symbol _start; defaulting to 0000"),
        ("g++: warning: switch '-foo' cannot be used", "warning", "switch '-foo' cannot be used"),
        ("a.cpp:3:5: error: unused variable 'x' [-Werror,-Wunused-variable]", "error", "unused variable 'x'"),
        ("a.cpp:3:5: warning: hi [-W#warnings]", "warning", "hi"),
        ("a.cpp:3:5: warning: hi [-Wc++20-extensions]", "warning", "hi"),
    ],
)  # fmt: skip
def test_one_line_of_a_tool(line, severity, message):
    assert [(d.severity, d.message) for d in read(line)] == [(severity, message)]


def test_a_tools_warning_is_no_reason_of_a_failure():
    said = "/usr/bin/ld: warning: cannot find entry symbol _start\n/usr/bin/ld: cannot find -lq\n"
    assert [p["message"] for p in compile_error(said, filename="k.asc", text="\n").problems] == ["cannot find -lq"]


@pytest.mark.parametrize(
    "stderr, word",
    [
        (
            "/usr/bin/ld: a.o: in function `f':\nk.asc:3: undefined reference to `g()'\ncollect2: error: ld returned 1 exit status\n",
            "g()",
        ),
        ("g++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n", "memory"),
        (
            "In file included from k.asc:1:\n/t/norm.h: In instantiation of 'void f()':\nk.asc:2:3:   required from here\n"
            "/t/norm.h:9:5: internal compiler error: in tsubst_copy, at cp/pt.cc:17004\n"
            "Please submit a full bug report.\nSee <file:///usr/share/doc/gcc-12/README.Bugs> for instructions.\n",
            "internal compiler error",
        ),
        (
            "/opt/bin/x86_64-conda-linux-gnu-c++: fatal error: Killed signal terminated program cc1plus\ncompilation terminated.\n",
            "memory",
        ),
        ("something nobody expected\n", "something nobody expected"),
        ("", "said nothing"),
    ],
)
def test_failures_without_a_place(stderr, word):
    error = compile_error(stderr, filename="k.asc", text="\nint x;\n")
    assert len(error.problems) == 1 and word in str(error)


@pytest.mark.parametrize(
    "stderr, word",
    [
        (
            "k.asc:2:5: error: 'DTYPE_X' was not declared in this scope; did you mean 'DTYPE_Y'?\n",
            "operator_project.load",
        ),
        ("k.asc:2:10: fatal error: torch/extension.h: No such file or directory\n", "labkit.register"),
    ],
)
def test_signposts_for_sources_of_others(stderr, word):
    assert word in str(compile_error(stderr, filename="k.asc", text="\nDTYPE_X x;\n"))


def test_errors_of_the_labs_own_sources_are_told_as_they_are():
    error = compile_error("/lab/src/a.cpp:3:5: error: 'q' was not declared in this scope\n", filename=None, text=None)
    assert error.problems[0]["line"] == 3 and error.problems[0]["file"] == "/lab/src/a.cpp"


# ---- names


def test_api_names_are_those_of_the_headers():
    assert {"DataCopy", "LocalTensor", "Add", "GetBlockIdx", "__aicore__", "GM_ADDR"} <= api.names()
    assert [name for name in api.names() if name.startswith("TWIN_")] == []
    assert api.enum_of("VECIN") == "TPosition" and api.enum_of("MTE2_V") == "HardEvent" and api.enum_of("Add") == ""
    assert api.close("qqqq") == "" and api.close("Addd", ["Addd"]) == "Add"


# ---- lint


def codes(body="", before="", params="GM_ADDR x, __gm__ float* p", after=""):
    text = f'#include "kernel_operator.h"\n{before}\nextern "C" __global__ __aicore__ void k({params}) {{\n{body}\n}}\n{after}\n'
    return [(p["code"], p["line"]) for p in lint(text)]


def test_good_code_has_no_findings():
    assert lint(KERNEL) == []
    assert lint("no kernel here") == [] and lint("__global__ broken") == []


@pytest.mark.parametrize(
    "body, expected",
    [
        ("std::vector<int> v;", "stl"),
        ("std::sort(a, b);", "stl"),
        ("std::atomic<int> a;", "atomic"),
        ("int* p = new int[3];", "heap"),
        ("void* m = malloc(3);", "heap"),
        ("delete q;", "heap"),
        ("throw 3;", "runtime"),
        ("k(x, p);", "recursion"),
        ("#pragma omp parallel", "omp"),
        ("float v = p[3];", "gm_deref"),
        ("uint8_t v = *x;", "gm_deref"),
        ("*p = 3;", "gm_deref"),
        ("f(*x);", "gm_deref"),
    ],
)
def test_device_code_that_the_device_refuses(body, expected):
    assert (expected, 4) in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        "// new malloc( std::vector",
        'const char* s = "new";',
        "int newer = a * x2;",
        "auto y = (__gm__ float*)x;",
        "g.free(t);",
        "int c = 3 * xx;",
        "std::is_same_v<int, int>;",
    ],
)
def test_device_code_that_is_fine(body):
    assert codes(body) == []


def test_helpers_need_a_mark():
    helper = "inline int helper(int a) { return a; }"
    assert codes("helper(1);", before=helper) == [("no_aicore", 2)]
    assert codes("", before=helper) == [] and codes("helper(1);", before="__aicore__ " + helper) == []
    assert codes("helper(1);", before="constexpr " + helper) == []
    methods = "class K { public: K() {} __aicore__ inline void Go() { Help(); }\nvoid Help() {}\nvoid HostOnly() {} };"
    assert codes("K o; o.Go();", before=methods) == [("no_aicore", 2), ("no_aicore", 3)]


def test_headers_of_the_host():
    assert codes(before="#include <vector>") == [("stl_include", 2)]
    assert codes(before="#include <vector>", after="int main() { std::vector<int> v; }") == []
    assert codes("helper(1);", before="#include <vector>\nint helper(int a) { return a; }") == [
        ("stl_include", 2),
        ("no_aicore", 3),
    ]


def test_kernels_are_launched_and_marked():
    assert codes(after="void f() { k(a, b); }") == [("kernel_call", 6)]
    assert codes(after="void f() { k<<<1, nullptr, s>>>(a, b); ACLRT_LAUNCH_KERNEL(k)(1, s, a, b); }") == []
    assert codes(params="float* x") == [("plain_pointer", 3)]
    assert codes(after="__global__ __vector__ void other(GM_ADDR x) {}") == [("unmarked", 3)]


def test_lints_speak_both_languages(monkeypatch):
    text = 'extern "C" __global__ __aicore__ void k(GM_ADDR x) { std::vector<int> v; }\n'
    english = lint(text, "a.asc")[0]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    chinese = lint(text, "a.asc")[0]
    assert (
        english["file"] == "a.asc" and english["severity"] == "warning" and english["column"] == text.index("std") + 1
    )
    assert (
        "std::vector" in english["message"]
        and "std::vector" in chinese["message"]
        and english["hint"] != chinese["hint"]
    )


def test_every_lint_has_its_words():
    import re

    used = set(re.findall(r'_say\(\s*"(\w+)"', (paths.repo_root() / "labkit" / "source" / "lint.py").read_text()))
    assert used and used == {key[5:] for key in messages.tables() if key.startswith("lint.")}


# ---- a text put together from parts, as an exercise's is


def joined(body):
    """The class of KERNEL around a cell that holds the lines of Process; the cell starts at line 5 of `cell one`."""
    lines = KERNEL.split("\n")
    return "\n".join(
        [
            '#line 1 "add.asc (given)"',
            *lines[:13],
            '#line 5 "cell one"',
            *body,
            '#line 22 "add.asc (given)"',
            *lines[21:],
        ]
    )


BODY = KERNEL.split("\n")[13:21]


@pytest.mark.parametrize(
    "change, place, words",
    [
        ({5: "        Ad(z, a, a, TILE);"}, ("cell one", 10), "Ad(z"),
        ({7: "        inQ.FreeTensor(a)  // end"}, ("cell one", 12), "inQ.FreeTensor(a)"),
        ({5: "        if (true) {"}, ("cell one", 10), "if (true)"),
        ({5: "        Exp(z, a);"}, ("cell one", 10), "Exp(z"),
    ],
)
def test_parts_keep_their_own_lines(change, place, words):
    error = failed(joined([change.get(i, line) for i, line in enumerate(BODY)]), "cell one")
    first = error.problems[0]
    assert (first["file"], first["line"]) == place
    assert words in error.render()[1] and first["column"] > 0


def test_parts_in_mistakes_of_the_source_and_in_lints():
    text = joined(BODY).replace("__aicore__ void add", "void add")
    with pytest.raises(CompileError) as raised:
        lower(text, "cell one")
    assert (raised.value.problems[0]["file"], raised.value.problems[0]["line"]) == ("add.asc (given)", 29)
    assert raised.value.line == 32 and "void add(GM_ADDR" in str(raised.value)
    found = lint(joined([*BODY[:2], "        std::vector<int> v;", *BODY[2:]]), "cell one")
    assert [(p["file"], p["line"], p["code"]) for p in found] == [("cell one", 7, "stl")]


def test_a_raw_address_is_named_by_its_place():
    """The first argument counts as any other."""
    from labkit.build import compile_hints

    tensor = "AscendC::LocalTensor<float>&"
    for arguments, at in ((["uint8_t*", tensor, "int"], 1), ([tensor, "const uint8_t*", "int"], 2)):
        said = compile_hints._raw_pointer("Add", arguments, [])
        assert f"argument {at};" in str(said), said
