"""Whole programs on the twin: `labkit run` on a file and on a sample's folder."""

from __future__ import annotations

import json
import shutil
import time

import pytest
from places import PROGRAMS
from typer.testing import CliRunner

from labkit import cli, program
from labkit.program import cmakefile, commands

SETTINGS = program.Settings(timeout=20)


def run_file(name: str, *arguments: str, settings=SETTINGS, **options) -> program.Result:
    return program.run_file(PROGRAMS / name, list(arguments), settings, capture=True, **options)


def run_folder(name: str, *arguments: str, **options) -> program.Result:
    return program.run_folder(PROGRAMS / name, list(arguments), SETTINGS, capture=True, **options)


# ---- one file


def test_a_program_runs_and_its_launches_are_timed():
    result = run_file("add.asc")
    assert result.exit_code == 0 and "sum 8128" in result.output, result.output
    assert [(x.kernel, x.blocks, len(x.us)) for x in result.launches] == [("add", 2, 3)]
    assert not result.findings and all(us > 0.7 for us in result.launches[0].us)
    assert "elapsed ok" in result.output  # aclrtEventElapsedTime: three launches, modelled


@pytest.mark.parametrize(
    "chip, told",
    [
        ("910B1", "24 cube 48 vector, L2 192 MB, HBM 64 GB\nby acl: 24, 48, 192 MB"),
        ("910B4", "20 cube 40 vector, L2 96 MB, HBM 32 GB\nby acl: 20, 40, 96 MB"),
    ],
)
def test_the_host_is_told_of_the_chip_that_is_modelled(chip, told):
    result = run_file("platform.asc", settings=program.Settings(chip=chip, timeout=20))
    assert result.exit_code == 0 and told in result.output


def test_a_later_launch_finds_what_an_earlier_one_left_in_the_l2():
    (warm,), (cold,) = (
        run_file("add.asc", settings=program.Settings(timeout=20, l2=how)).launches for how in ("warm", "cold")
    )
    assert warm.us[0] == cold.us[0] and warm.us[1] == warm.us[2] < warm.us[0] and len(set(cold.us)) == 1


def test_launches_of_several_host_threads_run_one_after_the_other():
    result = run_file("threads.asc")
    assert result.exit_code == 0 and "60 " * 12 in result.output and not result.findings, result.output
    us = sorted(result.launches[0].us)
    # each thread's first launch reads what nobody has touched; every other one finds the L2 as the last one left it
    assert len(us) == 720 and us[0] == us[707] < us[708] == us[719]


def test_its_own_status_is_handed_on():
    assert run_file("add.asc", "7").exit_code == 7


def test_contexts_and_events_are_what_the_program_made_of_them():
    result = run_file("handles.asc")
    assert result.exit_code == 0, result.output


def test_times_are_the_same_every_time():
    assert (
        run_file("add.asc").launches == run_file("add.asc", settings=program.Settings(timeout=20, threads=1)).launches
    )


def test_a_rounded_tail_that_hurts_nobody_is_a_warning():
    result = run_file("faults.asc", "rounded")
    assert result.exit_code == 0
    assert [(f.code, f.severity, f.numbers["over"]) for f in result.findings] == [("host-overwrite", "warning", 16)]


@pytest.mark.parametrize(
    "fault, code, words",
    [
        ("bounds", "gm-bounds", ["faults.asc:", "256 bytes, aclrtMalloc at"]),
        ("uninit", "gm-uninit", ["aclrtMalloc at"]),
        ("copy", "host-bounds", ["64 past the end"]),
        ("fill", "host-bounds", ["the memory of aclrtMemset takes"]),
        ("direction", "host-direction", ["host memory"]),
        ("freed", "host-freed", ["destination"]),
        ("free", "host-free", ["aclrtFree"]),
        ("twice", "host-freed", ["aclrtFree"]),
        ("touch", "host-touch", ["aclrtMalloc at"]),
        ("null", "host-crash", ["SIGSEGV"]),
        ("abort", "host-abort", []),
        ("divide", "host-divide", ["divided an integer by zero"]),
        ("context", "host-context", ["what: aclrtMalloc comes before aclrtSetDevice"]),
        ("blocks", "host-blocks", ["0 blocks"]),
        ("crash", "crash", ["SIGFPE"]),
        ("leave", "exit", []),
    ],
)
def test_what_went_wrong_is_a_finding_in_the_learners_line(fault, code, words):
    result = run_file("faults.asc", fault)
    assert result.exit_code == 3
    found = next(f for f in result.findings if f.code == code)
    text = str(found)
    wanted = next(
        i for i, line in enumerate((PROGRAMS / "faults.asc").read_text().split("\n"), 1) if f"// {fault}" in line
    )
    assert found.file.endswith("faults.asc") and found.line == wanted, text
    assert [word for word in words if word not in text] == [], f"missing in {text}"


def test_many_launches_cost_little_and_guard_device_memory_after_all():
    """Closing the memory to the host's code costs time for every page in use: not after each of many launches."""
    began = time.time()
    result = run_file("faults.asc", "later")
    assert [f.code for f in result.findings] == ["host-touch"] and "// later" in (
        PROGRAMS / "faults.asc"
    ).read_text().split("\n")[result.findings[0].line - 1]
    assert sum(launch["count"] for launch in result.json()["launches"]) == 601 and time.time() - began < 8


def test_a_result_read_too_early_is_a_warning():
    result = run_file("faults.asc", "early")
    assert [(f.code, f.severity) for f in result.findings] == [("host-unsynced", "warning")] and result.exit_code == 0


def test_a_copy_that_nobody_waited_for_is_a_warning():
    found = run_file("faults.asc", "fetch").findings
    assert [(f.code, f.severity) for f in found] == [("host-unfetched", "warning")] and "// fetch" in (
        PROGRAMS / "faults.asc"
    ).read_text().split("\n")[found[0].line - 1]
    assert run_file("faults.asc", "fetched").findings == []


@pytest.mark.parametrize("fault, code", [("loop", "time-out"), ("host-loop", "host-time-out")])
def test_a_program_that_does_not_end_says_where_it_is(fault, code):
    result = run_file("faults.asc", fault, settings=program.Settings(timeout=4))
    wanted = [i for i, line in enumerate((PROGRAMS / "faults.asc").read_text().split("\n"), 1) if f"// {fault}" in line]
    assert result.late and result.exit_code == 3 and [(f.code, f.line) for f in result.findings] == [(code, wanted[0])]


def test_a_program_that_sleeps_does_not_end_well_when_its_time_is_up(tmp_path):
    (tmp_path / "sleepy.asc").write_text("#include <unistd.h>\nint main() {\n  sleep(60);\n  return 0;\n}\n")
    result = program.run_file(tmp_path / "sleepy.asc", [], program.Settings(timeout=1), capture=True)
    assert result.late and result.exit_code == 3
    assert [(f.code, f.line) for f in result.findings] == [("host-time-out", 3)]


def test_a_late_program_without_a_report_is_no_success():
    result = program.results.of(program.supervise.Ended(0, late=True), program.Settings(timeout=1))
    assert result.exit_code == 3 and [f.code for f in result.findings] == ["host-late"]
    assert "1 s" in repr(result)


def test_a_refused_call_says_why():
    result = run_file("faults.asc", "refused")
    assert "[twin] aclrtBinaryLoadFromFile: the twin runs kernels that are compiled from source" in result.output
    assert "recent: aclrtMalloc: the size is 0" in result.output
    assert "room 0: 0 0 0 0\n" in result.output, "as many bytes as the destination takes"
    assert "room 1: 100000 100000 100000 100000\n" in result.output, "one byte more than the destination takes"


def test_kernels_launched_by_name_take_what_the_caller_has():
    result = run_file("byname/main.cpp")
    assert result.exit_code == 0 and "scaled 3 4.5 42" in result.output, result.output
    assert [x.kernel for x in result.launches] == ["scale", "scale"]
    few = run_file("byname/main.cpp", "few").findings
    wanted = next(
        i
        for i, line in enumerate((PROGRAMS / "byname" / "main.cpp").read_text().split("\n"), 1)
        if line.endswith("// few")
    )
    assert [(f.code, f.line) for f in few] == [("host-arguments", wanted)]


def test_a_mixed_program_has_both_kinds_of_cores():
    result = run_file("mixed.asc")
    assert result.exit_code == 0 and "aiv 4 aic 2" in result.output, result.output


def test_a_kernel_without_main_is_told_how_to_run(tmp_path):
    file = tmp_path / "k.asc"
    file.write_text('#include "kernel_operator.h"\n__global__ __aicore__ void k(GM_ADDR x) {}\n')
    with pytest.raises(program.NoProgram, match="no main"):
        program.run_file(file, [], SETTINGS)


# ---- a folder


def test_a_sample_is_run_as_its_readme_says(tmp_path):
    before = sorted(p.name for p in (PROGRAMS / "sample").iterdir())
    result = run_folder("sample")
    assert result.exit_code == 0 and "all 96 right with factor 2" in result.output, result.output
    assert sorted(p.name for p in (PROGRAMS / "sample").iterdir()) == before
    assert result.steps[-1].startswith("python3 ../scripts/verify_result.py")


def test_another_scenario_reaches_cmake_and_the_scripts():
    assert "all 96 right with factor 5" in run_folder("sample", definitions={"FACTOR": "5"}).output


def test_a_failed_verification_is_the_folders_status():
    result = run_folder("sample", definitions={"BROKEN": "1"})
    assert result.status == 4 and "wrong" in result.output and not result.findings


def test_a_compile_error_is_told_in_the_samples_own_file(tmp_path):
    folder = tmp_path / "sample"
    shutil.copytree(PROGRAMS / "sample", folder)
    source = folder / "scale.asc"
    source.write_text(source.read_text().replace("AscendC::Muls(", "AscendC::Mulls("))
    result = program.run_folder(folder, [], SETTINGS, capture=True)
    assert result.status and f"{source}, line" in result.output and "Muls" in result.output, result.output


def test_run_sh_in_the_style_of_the_old_samples():
    result = run_folder("classic")
    assert result.exit_code == 0 and "right: 3" in result.output, result.output


def test_commands_of_a_readme(tmp_path):
    (tmp_path / "README.md").write_text(
        "Debug:\n```bash\nmsprof op ./demo\n```\n1. Run\n   ```bash\n   N=1\n   mkdir -p build && cd build;  # "
        "make it\n"
        "   cmake -DCMAKE_ASC_ARCHITECTURES=dav-3510 -DN=$N ..;make -j;\n   sudo rm -rf /\n   ./demo $N\n   ```\n"
    )
    assert commands.commands(tmp_path, {"N": "3", "M": "x"}, ["--fast"]).lines == [
        "N=3",
        "mkdir -p build && cd build",
        "cmake -DM=x -DCMAKE_ASC_ARCHITECTURES=dav-2201 -DN=3 .. && make -j",
        "./demo $N --fast",
    ]


# ---- the command line


def test_the_command(tmp_path):
    shown = CliRunner().invoke(cli.app, ["run", "--json", str(PROGRAMS / "add.asc"), "7"])
    assert shown.exit_code == 7 and json.loads(shown.output)["launches"][0]["kernel"] == "add"
    assert CliRunner().invoke(cli.app, ["run", "--chip", "none", str(PROGRAMS / "add.asc")]).exit_code == 2


# ---- CMakeLists.txt


def test_cmake_files(tmp_path):
    for name in ("main.cpp", "k/a.asc", "k/b.asc", "lib.cpp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.16) # a comment (with brackets)
set(MODE "fast" CACHE STRING "how")
option(WITH_LIB "" ON)
if(NOT MODE MATCHES "^(fast|slow)$")
    message(FATAL_ERROR "MODE is ${MODE}")
endif()
file(GLOB KERNELS ${CMAKE_CURRENT_SOURCE_DIR}/k/*.asc)
list(FILTER KERNELS EXCLUDE REGEX "b[.]asc")
string(REGEX MATCH "[0-9]+" ARCH "dav-2201")
function(define target)
    foreach(word IN LISTS ARGN)
        target_compile_definitions(${target} PRIVATE ${word}_ON=1)
    endforeach()
endfunction()
if(WITH_LIB AND EXISTS ${CMAKE_SOURCE_DIR}/lib.cpp)
    add_library(helper STATIC lib.cpp)
else()
    add_library(helper STATIC none.cpp)
endif()
add_executable(demo main.cpp ${KERNELS})
target_link_libraries(demo PRIVATE helper tiling_api)
define(demo A B)
target_compile_options(demo PRIVATE $<$<COMPILE_LANGUAGE:ASC>:--npu-arch=dav-2201 -DARCH=${ARCH}> -I${CMAKE_SOURCE_DIR}/inc)
""")
    project = cmakefile.read(tmp_path)
    (demo,) = project.programs()
    assert [p.name for part in project.parts(demo) for p in part.sources] == ["main.cpp", "a.asc", "lib.cpp"]
    assert demo.definitions == ["A_ON=1", "B_ON=1", "ARCH=2201"] and demo.includes == [str(tmp_path / "inc")]
    with pytest.raises(cmakefile.CMakeError, match="MODE is other"):
        cmakefile.read(tmp_path, {"MODE": "other"})


# ---- sources of others

LAUNCHES = """
#include "acl/acl.h"
#include "inner/kernel.cpp"
#define GO(name, type) name<type><<<2, nullptr, stream>>>(nullptr)
int main() {
    aclInit(nullptr);
    aclrtSetDevice(0);
    aclrtStream stream;
    aclrtCreateStream(&stream);
    GO(ns::nothing, half);
    GO(ns::nothing, float);
    go(stream);
    aclrtSynchronizeStream(stream);
    return SHARED - 7;
}
"""
INNER = """
#include "kernel_operator.h"
#include "sizes.h"
#include "shared.h"
namespace ns {
template <typename T> __global__ __vector__ void nothing(GM_ADDR x) {}
}
__global__ __cube__ void only_cube(GM_ADDR x) {}
void go(void* stream) { only_cube<<<BLOCKS, nullptr, stream>>>(nullptr); }
"""


def test_launches_in_macros_and_files_put_in_place(tmp_path):
    """A launch in a macro has its kernel's name and cores; what an included .cpp includes is found from its folder, and
    a header of another repository by -I."""
    inner, other = tmp_path / "a" / "inner", tmp_path / "other"
    inner.mkdir(parents=True)
    other.mkdir()
    (inner.parent / "main.asc").write_text(LAUNCHES)
    (inner / "kernel.cpp").write_text(INNER)
    (inner / "sizes.h").write_text("constexpr int BLOCKS = 3;\n")
    (other / "shared.h").write_text("constexpr int SHARED = 7;\n")
    done = CliRunner().invoke(cli.app, ["run", "--json", "-I", str(other), str(inner.parent / "main.asc")])
    assert done.exit_code == 0, done.output
    seen = [(x["kernel"], x["blocks"], x["aic"], x["aiv"]) for x in json.loads(done.output)["launches"]]
    assert seen == [("ns::nothing<half>", 2, 0, 1), ("ns::nothing<float>", 2, 0, 1), ("only_cube", 3, 1, 0)]


MARKED = """
#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "kernel_operator.h"
__global__ __vector__ void nothing(GM_ADDR x) {}
int main() {
    aclprofTensor tensors[] = {{0, ACL_FORMAT_ND, ACL_FLOAT, 1, {8}}};
    aclprofTensorInfo info = {aclprofStr2Id("a"), aclprofStr2Id("b"), 0, 1, 0, 2, nullptr, tensors};
    aclprofEventAttributes mark = {ACL_PROF_EVENT_ATTR_VERSION, sizeof(aclprofEventAttributes::message),
                                   ACL_PROF_MESSAGE_TYPE_TENSOR_INFO, {&info}};
    if (info.opNameId == info.opTypeId || aclprofRangePushEx(nullptr) == ACL_SUCCESS) return 1;
    if (aclprofRangePushEx(&mark) != ACL_SUCCESS) return 2;
    nothing<<<2, nullptr, nullptr>>>(nullptr);
    return aclprofRangePop();
}
"""


def test_marks_for_the_profiler_are_accepted(tmp_path):
    """As sample programs set them around a launch since CANN 9.1."""
    (tmp_path / "marked.asc").write_text(MARKED)
    result = program.run_file(tmp_path / "marked.asc", [], SETTINGS, capture=True)
    assert result.status == 0 and len(result.launches) == 1, result


def test_an_operator_project_is_no_program(tmp_path):
    for name in ("op_host", "op_kernel"):
        (tmp_path / name).mkdir()
    with pytest.raises(program.NoProgram, match="operator_project.load"):
        program.run_folder(tmp_path, [], SETTINGS)


def test_the_flags_that_an_older_run_sh_wants(tmp_path):
    (tmp_path / "run.sh").write_text("SHORT=r:,v:,\nLONG=run-mode:,soc-version:,\n")
    assert commands.commands(tmp_path, {}, []).lines == ["bash run.sh -r npu -v Ascend910B1"]
    assert commands.commands(tmp_path, {}, ["-v", "x"]).lines == ["bash run.sh -v x"]
    (tmp_path / "run.sh").write_text("cmake .\n")
    assert commands.commands(tmp_path, {}, []).lines == ["bash run.sh"]
