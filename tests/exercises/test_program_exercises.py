"""Exercises that are whole programs, and programs as notebook cells: built, run, reported at the cell's own lines."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest
from places import PROGRAMS

from labkit.exercises.diagnose import of_program
from labkit.exercises.judge import examine
from labkit.exercises.spec import read
from labkit.notebook import magics
from labkit.program.runnable import HostProgram
from labkit.source.errors import CompileError

SOLUTION = """\
#include <cstdio>
#include <cstdlib>
#include "acl/acl.h"
#include "kernel_operator.h"
__global__ __vector__ void keep(GM_ADDR x, int32_t value)
{
    if (!x) {
        return;
    }
    AscendC::GlobalTensor<int32_t> out;
    out.SetGlobalBuffer((__gm__ int32_t*)x, 16);
    out.SetValue(0, value);
    AscendC::DataCacheCleanAndInvalid<int32_t, AscendC::CacheLine::SINGLE_CACHE_LINE, AscendC::DcciDst::CACHELINE_OUT>(
        out);
}
int main(int argc, char** argv)
{
    int n = std::atoi(argv[1]);
    aclInit(nullptr);
    // >>> exercise: the square | 平方
    // stub: int square = 0;
    aclrtSetDevice(0);
    int square = n * n;
    // <<<
    void* memory = nullptr;
    aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST);
    keep<<<1, nullptr, nullptr>>>((GM_ADDR)memory, square);
    aclrtSynchronizeDevice();
    int result = 0;
    aclrtMemcpy(&result, 4, memory, 4, ACL_MEMCPY_DEVICE_TO_HOST);
    std::printf("%d\\n", result);
    return n < 0 ? 3 : 0;
}
"""
SPEC = """\
kind = "program"
difficulty = 1
importance = 1
minutes = 1
title = { en = "t", zh = "t" }
why = { en = "w", zh = "w" }
hints = [{ en = "1", zh = "1" }, { en = "2", zh = "2" }, { en = "3", zh = "3" }]
"""
GOLDEN = """\
from labkit.exercises import Case
def cases(seed, quick):
    return [Case(f"n={n}", (n,), [str(n * n)]) for n in (3, 5)] if seed == 0 else [Case("minus", (-2,), ["4"])]
"""


@pytest.fixture
def spec(tmp_path):
    folder = tmp_path / "op" / "exercises" / "fx_program"
    folder.mkdir(parents=True)
    (folder / "spec.toml").write_text(SPEC)
    (folder / "solution.asc").write_text(SOLUTION)
    (tmp_path / "op" / "golden.py").write_text(GOLDEN)
    return read(folder / "spec.toml")


@pytest.fixture
def judged(spec, monkeypatch):
    monkeypatch.setattr(sys.modules["labkit.exercises.judge"], "load", lambda name: spec)

    def judge(cell, seed=0):
        monkeypatch.setattr(
            "labkit.exercises.judge.current",
            lambda: SimpleNamespace(target="npu", seed=seed, quick=False, reason="", chip="-", time_kind="-"),
        )
        return examine(spec, cell, 2, even_stub=True)

    return judge


GOOD = "aclrtSetDevice(0);\nint square = n * n;"
PRINTS_ITS_OWN = """
void* other;
aclrtMalloc(&other, 64, ACL_MEM_MALLOC_HUGE_FIRST);
keep<<<1, nullptr, nullptr>>>((GM_ADDR)other, square);
std::printf("%d\\n", square);
std::exit(0);"""


def test_right_output_passes_and_says_that_the_twin_ran_it(judged):
    result = judged(GOOD)
    assert result.state == "PASS" and result.target == "twin" and result.cases == 2
    assert "modelled" in result.checked_on


@pytest.mark.parametrize(
    "cell, seed, diagnosis, where",
    [
        ("aclrtSetDevice(0);\nint square = n + n;", 0, "printed", ""),
        ("int square = n * n;", 0, "host-context", "given part of fx_program:26"),
        (GOOD, 1, "status", ""),
        (GOOD + '\nstd::printf("%d\\n", square);\nstd::exit(0);', 0, "not-launched", ""),
        (GOOD + PRINTS_ITS_OWN, 0, "not-fetched", ""),
        (GOOD + "\nif (n) { return 0; ", 0, "bracket-open", "exercise fx_program:4"),
        ("aclrtSetDevice(0);\nint square = n *;", 0, "compile", "exercise fx_program:3"),
        ("aclrtSetDevice(0);\nint square = *(volatile int*)nullptr;", 0, "host-crash", "exercise fx_program:3"),
    ],
)
def test_what_is_wrong_is_told_in_the_cells_lines(judged, cell, seed, diagnosis, where):
    result = judged(cell, seed)
    assert (result.state, result.diagnosis, result.where) == ("FAIL", diagnosis, where), result.lines
    assert result.case == "" if diagnosis in ("compile", "bracket-open") else result.case


def test_a_warning_counts_and_an_error_comes_first():
    findings = [
        SimpleNamespace(code="w", severity="warning", numbers={}),
        SimpleNamespace(code="e", severity="error", numbers={}),
    ]
    assert of_program(SimpleNamespace(findings=findings, status=0)).key == "e"
    assert of_program(SimpleNamespace(findings=findings[:1], status=0)).key == "w"
    assert of_program(SimpleNamespace(findings=[], status=0)) is None


def test_a_program_is_a_cell(monkeypatch, capsys):
    bound = {}
    monkeypatch.setattr(magics, "_bind", bound.__setitem__)
    magics.ascendc("demo --program", (PROGRAMS / "add.asc").read_text())
    result = bound["demo"](7)
    assert isinstance(bound["demo"], HostProgram) and result.status == 7
    assert "sum 8128\nadd[2] cell demo:57: 3 launches" in repr(result)
    magics.ascendc("demo --program --expect compile", "int main() {\n    return nothing;\n}\n")
    assert "cell demo, line 3" in capsys.readouterr().out
    with pytest.raises(CompileError):
        magics.ascendc("demo --program", "int main() { return nothing; }")
