"""What the twin does not have is reported in one line: the name, where it is documented, what covers it. And hints for
calls: what they say of a function holds for that function, and nothing of the twin's own is named.
"""

import pytest

from labkit import messages, paths
from labkit.build import compiler
from labkit.build.diagnostics import compile_error
from labkit.source import api
from labkit.source.errors import CompileError
from labkit.source.lowering import lower

NAME = "Histograms"  # not on Atlas A2: it stays absent


def told(stderr, text="x\n" * 30):
    return compile_error(stderr, filename="k.asc", text=text).problems


def test_one_line_a_name_whatever_else_the_compiler_says():
    problems = told(
        f"k.asc:7:5: error: '{NAME}' was not declared in this scope\nk.asc:9:5: error: 'y' was not declared in this scope\n"
        f"k.asc:12:5: error: '{NAME}' was not declared in this scope\nk.asc:13:9: error: 'AscendC::{NAME}' has not been declared\n"
    )
    assert [(p["line"], NAME in p["message"]) for p in problems] == [(7, True)]
    assert api.documented()[NAME][1] in problems[0]["message"]
    assert "Atlas A2" in problems[0]["hint"]


@pytest.mark.parametrize(
    "said",
    [
        "'{}' is not a member of 'AscendC'",
        "use of undeclared identifier '{}'",
        "there are no arguments to '{}' that depend on a template parameter",
        "no member named '{}' in namespace 'AscendC'",
    ],
)
def test_however_it_is_said(said):
    assert NAME in told(f"k.asc:7:5: error: {said.format(NAME)}\n")[0]["message"]


def test_what_the_twin_has_is_not_absent():
    assert not api.absent("Add") and not api.absent("NoSuchThing") and api.absent(NAME)


def test_what_covers_it():
    problem = told("k.asc:7:5: error: 'IsNan' was not declared in this scope\n")[0]
    assert "IsNan is Ascend C, but not on Atlas A2" in problem["message"] and "CMPMODE::NE" in problem["hint"]
    for name in (key.removeprefix("instead.") for key in messages.tables() if key.startswith("instead.")):
        assert name in ("other", "not_on_a2") or api.absent(name), f"{name}: no error leads to this message"
    assert "Ascend 950" in told("k.asc:7:5: error: 'Reg' has not been declared\n")[0]["message"]


def test_the_table_is_whole():
    table = api.documented()
    assert len(table) > 900 and table["Add"] == (True, "基础API/Memory矢量计算/基础算术/Add.md")
    assert sum(on_a2 for on_a2, _ in table.values()) > 550


# ---- calls, as g++ tells of them


BODY = """\
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void k(GM_ADDR x) {
    TPipe pipe; TQue<TPosition::VECIN, 1> queue; LocalTensor<half> h; LocalTensor<float> f; LocalTensor<uint32_t> u;
    GlobalTensor<half> g;
    CALL
}
"""


@pytest.mark.parametrize(
    "call, said, never",
    [
        ("Mmad(f, h, h);", ["got 3 arguments", "take 4 / 5", "MmadParams"], ["share one type", "count)"]),
        ("Sort32(h, h, u);", ["got 3 arguments", "take 4"], ["share one type"]),
        ("Add(f, h, h, 8);", ["argument 1 is float, argument 2 is half", "share one type"], []),
        ("Fixpipe(g, f);", ["got 2 arguments", "take 3 / 4"], ["works on LocalTensors"]),
        ("Add(h, g, h, 8);", ["works on LocalTensors", "argument 2"], []),
        ("SetFlag<HardEvent::MTE2_V>();", ["got 0 arguments", "take 1", "SetFlag(int32_t)"], ["count)"]),
        ("SetFlag<HardEvent::MTE2_V>(1, 2);", ["One argument too many"], []),
        ("PipeBarrier<PIPE_V>(3);", ["One argument too many"], []),
        ("PipeBarrier<PIPE_V>(3, 4);", ["PipeBarrier got 2 arguments", "PipeBarrier()"], ["count)"]),
        ("queue.AllocTensor<half>(1, 2, 3);", ["AllocTensor got 3 arguments", "take 0 / 1"], ["TQue"]),
        ("queue.EnQue(1);", ["EnQue(LocalTensor<"], ["destination first"]),
        ("GetBlockNum(1);", ["takes no arguments", "Write GetBlockNum()"], []),
        ("DataCopyPad(h, g, 8);", ["got 3 arguments; its forms take 4", "counts bytes"], []),
        ("pipe.InitBuffer(queue, 2);", ["got 2 arguments; its forms take 3", "InitBuffer(TQueBind"], ["TBuf"]),
        ("LoadData(h, g);", ["LoadData(LocalTensor<T>, GlobalTensor<T>, LoadData2DParams)"], ["in UB"]),
        ("Cast(h, h, 8);", ["take 1 / 4 / 6", "Cast(dst, ..., count)"], []),
    ],
)
def test_calls(call, said, never):
    with pytest.raises(CompileError) as raised:
        text = lower(BODY.replace("CALL", call), "k.asc")
        compiler.compile_kernel(text, filename="k.asc", include_dirs=[paths.twin_dir() / "include"])
    problem = raised.value.problems[0]
    shown = f"{problem['message']} {problem['hint']}"
    assert all(word in shown for word in said), shown
    assert not any(word in shown for word in [*never, "twin::"]), shown


def test_the_parts_of_a_call_of_any_compiler():
    from labkit.build.compile_hints import _call_parts

    pair = "Std::pair<int, (TPosition)9>"
    assert _call_parts(f"AscendC::TQue<(AscendC::TPosition)9, 1>::AllocTensor<half>({pair}, int)") == (
        "AllocTensor",
        [pair, "int"],
    )
    assert _call_parts("Add") == ("Add", []) and _call_parts("f()") == ("f", [])
    few = (
        "k.asc:2:1: error: too few arguments to function 'void f(Pair<int, int>, void (*)(int, int)) [with T = int]'\n"
    )
    assert told(few)[0]["message"] == "f takes 2 arguments: (Pair<int, int>, void (*)(int, int))."


@pytest.mark.parametrize(
    "first, hint",
    [
        ("#include <kernel_operator.h>", "AscendC::LocalTensor"),
        ('#include "kernel_operator.h"', "AscendC::LocalTensor"),
        ('// #include "kernel_operator.h"', "at the top"),
    ],
)
def test_a_header_counts_that_is_included(first, hint):
    problem = told("k.asc:2:1: error: 'LocalTensor' does not name a type\n", f"{first}\nLocalTensor<half> x;\n")[0]
    assert hint in problem["hint"]


def test_a_header_of_an_environment_beside_the_file_is_not_the_learners(tmp_path):
    header = tmp_path / ".venv/lib/python3.11/site-packages/torch/include/ATen/x.h"
    header.parent.mkdir(parents=True)
    header.write_text("\n" * 20)
    file = tmp_path / "add.asc"
    said = (
        f"In file included from {file}:1:\n{header}: In instantiation of 'void at::f(T) [with T = int]':\n"
        f"{file}:5:3:   required from here\n{header}:12:5: error: static assertion failed: not for int\n"
    )
    problems = compile_error(said, filename=str(file), text="\n" * 9).problems
    assert [(p["file"], p["line"]) for p in problems] == [(str(file), 5)]


@pytest.mark.parametrize(
    "said, message",
    [
        ("no member named 'qqqq' in namespace 'AscendC'", "AscendC has no member 'qqqq'."),
        ("'qqqq' is not a member of 'AscendC'", "AscendC has no member 'qqqq'."),
        ("'using Mine = struct Pair' {aka 'struct Pair'} has no member named 'qqqq'", "Pair has no member 'qqqq'."),
    ],
)
def test_whose_member_is_missing(said, message):
    assert told(f"k.asc:7:5: error: {said}\n")[0]["message"] == message
