"""Custom-operator projects: their own tiling function decides, their kernel runs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from places import PROGRAMS
from same import equal  # noqa: E402

from labkit.program import operator_project, operator_repo, tiling_structs
from labkit.source.errors import CompileError

FOLDER = PROGRAMS / "op_project"
torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def project():
    return operator_project.load(FOLDER)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("shape", [(5,), (37, 41), (3, 1000)])
def test_the_projects_own_tiling_runs_its_kernel(project, dtype, shape):
    x, y = torch.randn(shape).to(dtype), torch.randn(shape).to(dtype)
    result = project(x, y, None, alpha=0.5)
    assert equal(result.outputs[0], x + y * 0.5)
    assert result.record.ok and result.tiling.key == 1 and result.tiling.workspaces == [1024]
    assert result.record.blocks == min(48, -(-x.numel() * x.element_size() // 32))


def test_an_attribute_has_the_definitions_default(project):
    x = torch.ones(64)
    assert equal(project(x, x, None).outputs[0], x + x * 0.1)
    assert project(x, x, x).tiling.key == 2


def test_an_output_begins_as_the_caller_says(project):
    x, began = torch.ones(64), torch.full((64,), 3.0)
    seen = {}
    project._kernel, kernel = lambda *a: Seen(kernel(*a), seen), project._kernel
    try:
        assert equal(project(x, x, None, outputs=[began]).outputs[0], x + x * 0.1)
    finally:
        project._kernel = kernel
    assert equal(seen["output"], began) and equal(began, torch.full((64,), 3.0))


class Seen:
    """A kernel whose fourth argument is looked at before it runs."""

    def __init__(self, kernel, seen):
        self.kernel, self.signature, self.seen = kernel, kernel.signature, seen

    def __getitem__(self, blocks):
        def launch(*arguments):
            self.seen["output"] = arguments[3].cpu()
            return self.kernel[blocks](*arguments)

        return launch


def test_of_a_named_operator_only_its_own_files_are_compiled(tmp_path):
    """Another operator's file that does not compile is no obstacle; one that belongs to none can be left out."""
    shutil.copytree(FOLDER, tmp_path / "two")
    (tmp_path / "two" / "op_host" / "broken.cpp").write_text("OP_ADD(Other) this is no C++\n")
    (tmp_path / "two" / "op_host" / "of_none.cpp").write_text("nor is this\n")
    made = operator_project.load(tmp_path / "two", "ScaleAdd", without=["of_none.cpp"])
    assert made.name == "ScaleAdd" and "broken.cpp" not in [h.name for h in made.hosts]
    with pytest.raises(CompileError):
        operator_project.load(tmp_path / "two", without=["of_none.cpp"])


def test_what_the_host_code_refuses_is_told(project):
    with pytest.raises(operator_project.ProjectError, match="ScaleAdd refused"):
        project(torch.ones(4), torch.ones(5), None, outputs=[((4,), torch.float32)])
    with pytest.raises(operator_project.ProjectError, match="defines ScaleAdd, not Other"):
        operator_project.load(FOLDER, "Other")


def test_plain_structs_have_the_bytes_that_the_host_writes():
    text = (FOLDER / "op_host" / "scale_add_tiling.h").read_text()
    structs = tiling_structs.plain_structs(text)
    assert list(structs) == ["ScaleAddPart", "ScaleAddTilingData"]
    assert "uint32_t marks[3];" in structs["ScaleAddPart"]
    assert "alignas(8) ScaleAddPart part;" in structs["ScaleAddTilingData"]
    old = "#if 0\nBEGIN_TILING_DATA_DEF(ScaleAddPart)\nEND_TILING_DATA_DEF;\nREGISTER_TILING_DATA_CLASS(Old, Old)\n#ifdef A\n#endif\n#else\n"
    assert tiling_structs.plain_structs(old + text + "#endif\n") == structs
    assert tiling_structs.registered(old + text + "#endif\n") == tiling_structs.registered(text)


def test_a_tiling_key_of_zero_stands_for_the_first_declared_values():
    """A key holds the places of the values in their lists; a host that never sets it means the first of each."""
    text = """
// ASCENDC_TPL_UINT_DECL(old, 8, ASCENDC_TPL_UI_LIST, 9)
ASCENDC_TPL_ARGS_DECL(Op, ASCENDC_TPL_DATATYPE_DECL(T, C_DT_FLOAT16, C_DT_FLOAT, ASCENDC_TPL_INPUT(0)),
    ASCENDC_TPL_UINT_DECL(mode, ASCENDC_TPL_8_BW, ASCENDC_TPL_UI_LIST, MODE_A, MODE_B), \\
    ASCENDC_TPL_UINT_DECL(n, 8, ASCENDC_TPL_UI_RANGE, 1, 4, 7), ASCENDC_TPL_BOOL_DECL(last, 1, 0));
"""
    assert tiling_structs.first_arguments(text) == ["TypeFromId<C_DT_FLOAT16>::type", "MODE_A", "4", "1"]


@pytest.mark.parametrize(
    "dtype, times", [("float16", 1), ("float32", 1), ("float16", 2), ("float16", 5), ("float32", 3)]
)
def test_template_arguments_must_be_selected_together(dtype, times):
    """CANN's build makes a kernel for each ASCENDC_TPL_ARGS_SEL; for other arguments there is none to launch."""
    add = operator_project.load(FOLDER.parent / "op_templates")
    x = torch.arange(64).to(getattr(torch, dtype))
    if dtype == "float16" or times == 1:
        result = add(x, times=times)
        assert equal(result.outputs[0], x + times) and not result.record.findings, result.record.report()
    else:
        with pytest.raises(operator_project.ProjectError, match="T = 0, times = 3, last = 1"):
            add(x, times=times)


def test_template_arguments_that_are_not_known_here_are_taken():
    text = """
// ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_UINT_SEL(n, ASCENDC_TPL_UI_LIST, 9))
constexpr int kMost = 2 + 1;
ASCENDC_TPL_ARGS_DECL(Op, ASCENDC_TPL_UINT_DECL(n, 8, ASCENDC_TPL_UI_LIST, 1, kMost, 7), \\
    ASCENDC_TPL_FORMAT_DECL(f, C_FORMAT_ND, C_FORMAT_NCHW), ASCENDC_TPL_BOOL_DECL(last, 1, 0));
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_UINT_SEL(n, ASCENDC_TPL_UI_LIST, kMost),
    ASCENDC_TPL_TILING_STRUCT_SEL(One), ASCENDC_TPL_BOOL_SEL(last, 0)),
    ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_UINT_SEL(n, ASCENDC_TPL_UI_RANGE, 2, 0, 1, 7, 8),
    ASCENDC_TPL_KERNEL_TYPE_SEL(ASCENDC_TPL_MIX_AIC_1_2), ASCENDC_TPL_FORMAT_SEL(f, C_FORMAT_ND)))
"""
    for right in ([3, 2, 0], [1, 5, 1], [7, 2, 0]):
        assert tiling_structs.unselected(text, right, {}) == ""
    assert tiling_structs.unselected(text, [3, 2, 1], {}) == "n = 3, f = 2, last = 1"
    assert tiling_structs.unselected(text, [8, 2, 1], {}) == "n = 8, f = 2, last = 1"  # selected and not declared
    assert tiling_structs.unselected("", [8], {}) == ""


@pytest.mark.parametrize(
    "name, snake",
    [
        ("AddCustom", "add_custom"),
        ("MatMul", "mat_mul"),
        ("ThreeNN", "three_nn"),
        ("IsInf", "is_inf"),
        ("AddRmsNormV2", "add_rms_norm_v2"),
        ("NLLLoss", "nll_loss"),
    ],
)
def test_file_names_of_operators(name, snake):
    assert operator_project._snake(name) == snake


def test_an_operator_in_a_repository_with_lists_of_tensors():
    """Headers and their sources in common folders, a tiling function elsewhere, dynamic inputs,
    instructions by pointer.
    """
    scale = operator_project.load(FOLDER.parent / "op_repo" / "lists" / "list_scale")
    xs = [torch.randn(8, 128), torch.randn(256)]
    result = scale(xs, torch.tensor([0.5], dtype=torch.bfloat16), outputs=[[(x.shape, x.dtype) for x in xs]])
    assert result.record.ok and not result.record.findings, result.record.report()
    for x, y in zip(xs, result.outputs):
        assert torch.allclose(y, torch.tanh(1.5 * x) * 1.5 * x, atol=1e-5)


def test_what_is_installed_in_a_clone_is_no_header_of_its_own(tmp_path):
    """A virtual environment below the repository holds a time.h; <ctime> must not find it."""
    (tmp_path / ".git").mkdir()
    for place, marker in (("run/venv/lib/include", "run/venv/pyvenv.cfg"), (".venv/include", ""), ("common", "")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "time.h").write_text("")
        if marker:
            (tmp_path / marker).write_text("")
    host = tmp_path / "op" / "op_host" / "a.cpp"
    host.parent.mkdir(parents=True)
    host.write_text("#include <time.h>\n")
    found, _ = operator_repo.beyond([host], [], host.parents[1])
    assert found == [str(tmp_path / "common")]


@pytest.mark.parametrize("place", ["clone", "src/clone", "arch35/clone"])
def test_where_a_clone_lies_and_what_it_got_since_do_not_matter(tmp_path, place):
    """Sources in src belong to headers in include, also where these are not in a folder of their own."""
    root = tmp_path / place
    files = {
        "LICENSE": "",
        "op/op_host/a.cpp": '#include "deep/one.h"\n#include "two.h"\n#include "./../side/three.h"\n#include "late.h"\n',
        "other/side/three.h": "",
        **{f"lib/include/{name}.h": "" for name in ("deep/one", "two")},
        **{f"lib/src/{name}.cpp": "" for name in ("deep/one", "two")},
    }

    def write(name: str, text: str) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    for name, text in files.items():
        write(name, text)
    op = root / "op"
    host = op / "op_host" / "a.cpp"
    found, sources = operator_repo.beyond([host], [], op)
    assert found == [str(root / "lib/include"), str(root / "other/side")]
    assert sorted(sources) == [root / "lib/src/deep/one.cpp", root / "lib/src/two.cpp"]
    write("new/late.h", "")
    assert str(root / "new") in operator_repo.beyond([host], [], op)[0], "the user has added what was missing"


def test_a_thread_may_read_what_another_renews(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / "one").mkdir()
    operator_repo._index.cache_clear()
    operator_repo._index(tmp_path)
    reading = iter(operator_repo._times[tmp_path].items())
    next(reading)
    (tmp_path / "two").mkdir()
    operator_repo._look_again(tmp_path)
    operator_repo._index(tmp_path)
    assert [Path(folder).name for folder, _ in reading] == ["one"]
    assert {Path(folder).name for folder in operator_repo._times[tmp_path]} >= {"one", "two"}
