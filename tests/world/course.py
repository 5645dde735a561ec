"""The answers of cann-learning-hub's Ascend C course, and the programs its notebooks build up.

A notebook writes its files with %%writefile cells into Sources/<lesson>; those, and the copies between
folders that it makes, are done again in a scratch folder. Then the answer takes the place of the
exercise and the lesson's folder is run.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from pathlib import Path

from . import Case, Outcome, programs

REPOSITORY = "hicann/cann-learning-hub"
_COURSE = "tutorials/ascendc_operator_development_light"
_CONTRIB = (
    "contrib/tutorials/data_structure_for_hpc/02_parallel_computing/02.02_extra_ascendc_static_tensor_matmul.ipynb"
)

# lesson's notebook, its folder, {name in the folder: answer}, class
_ANSWERS = [
    ("02_AscendC_basic", "02.02_HelloWorld", "02.02", {"hi_ascend.asc": "02.02/02.02_answer.txt"}, "vector"),
    (
        "02_AscendC_basic",
        "02.04_introduction_to_kernel_functions_based_on_add_operator",
        "02.04",
        {"sub_custom.asc": "02.04/02.04_answer.txt"},
        "vector",
    ),
    (
        "02_AscendC_basic",
        "02.05_generalized_tiling_design",
        "02.05",
        {"sub_custom_template.asc": "02.05/sub_custom_template.asc"},
        "vector",
    ),
    (
        "02_AscendC_basic",
        "02.07_kernel_function_practice",
        "02.07",
        {"sigmoid_custom.asc": "02.07/02.07_answer.txt"},
        "vector",
    ),
    (
        "02_AscendC_basic",
        "02.08_vector_operator_practice",
        "02.08",
        {"sigmoid_custom.asc": "02.08/sigmoid_custom.asc"},
        "vector",
    ),
    (
        "03_simple_operator_practice",
        "03.03_matrix_multiplication_operator_development_with_high_level_api",
        "03.03-prac",
        {"matmul_custom.asc": "03.03/matmul_custom.asc", "matmul_custom_tiling.h": "03.03/matmul_custom_tiling.h"},
        "cube",
    ),
    (
        "03_simple_operator_practice",
        "03.05_cv_fused_operator_development",
        "03.05",
        {"matmul_abs.asc": "03.05/matmul_abs.asc"},
        "mixed",
    ),
    (
        "03_simple_operator_practice",
        "03.06_matmul_practice",
        "03.06",
        {"matmul_custom.asc": "03.06/matmul_custom.asc", "matmul_custom_tiling.h": "03.06/matmul_custom_tiling.h"},
        "cube",
    ),
    (
        "03_simple_operator_practice",
        "03.07_cv_fused_operator_practice",
        "03.07",
        {"matmul_sinh.asc": "03.07/matmul_sinh.asc"},
        "mixed",
    ),
]
# notebooks whose lesson is itself a whole program: (chapter, notebook, folder, class)
_LESSONS = [
    ("02_AscendC_basic", "02.02_HelloWorld", "hello_world.asc", "vector"),
    ("02_AscendC_basic", "02.04_introduction_to_kernel_functions_based_on_add_operator", "add_custom.asc", "vector"),
    ("02_AscendC_basic", "02.05_generalized_tiling_design", "", "vector"),
    ("03_simple_operator_practice", "03.03_matrix_multiplication_operator_development_with_high_level_api", "", "cube"),
    ("03_simple_operator_practice", "03.05_cv_fused_operator_development", "", "mixed"),
    ("04_debug", "04.02_NPU_On-Board_Debugging", "", "vector"),
    ("04_debug", "04.03_profiling_tool_usage", "", "vector"),
]


def cases(sources: Path) -> list[Case]:
    found = []
    for chapter, notebook, folder, files, kind in _ANSWERS:
        first = next(iter(files.values()))
        found.append(
            Case(
                "course",
                REPOSITORY,
                f"{_COURSE}/{chapter}/answer/{first}",
                kind,
                functools.partial(_answer, chapter, notebook, folder, files),
            )
        )
    for chapter, notebook, program, kind in _LESSONS:
        run = functools.partial(_lesson, Path(_COURSE) / chapter / f"{notebook}.ipynb", program)
        found.append(
            Case(
                "course-lessons",
                REPOSITORY,
                f"{_COURSE}/{chapter}/{notebook}.ipynb",
                kind,
                run,
                "the lesson itself",
                counted=False,
            )
        )
    run = functools.partial(_lesson, Path(_CONTRIB), "")
    found.append(Case("course-lessons", REPOSITORY, _CONTRIB, "cube", run, "contributed", counted=False))
    return found


def _cells(notebook: Path) -> list[str]:
    data = json.loads(notebook.read_text(encoding="utf-8"))
    return ["".join(c["source"]) for c in data["cells"] if c["cell_type"] == "code"]


def _replay(cell: str, home: Path) -> None:
    """What a cell writes, copies or removes below `home`, the notebook's folder in the scratch copy."""
    m = re.match(r"%%writefile[ \t]+(-a[ \t]+)?(\S+)[ \t]*\n", cell)
    if m:
        file = home / m[2]
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a" if m[1] else "w", encoding="utf-8") as out:
            out.write(cell[m.end() :] + "\n")
        return
    for line in re.findall(r"^!(.*)$", cell, re.M):
        words = line.split()
        names = [w for w in words[1:] if not w.startswith("-") and w not in (">", ">>")]
        if words[:1] == ["mkdir"]:
            for name in names:
                (home / name).mkdir(parents=True, exist_ok=True)
        elif words[:1] == ["cp"] and len(names) == 2:
            _copy(home / names[0], home / names[1])
        elif words[:1] == ["cat"] and ">>" in words:
            with open(home / names[-1], "a", encoding="utf-8") as out:
                out.write((home / names[0]).read_text(encoding="utf-8"))


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target / source.name if target.is_dir() else target, dirs_exist_ok=True)
    elif source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _chapter(source: Path, chapter: Path, scratch: Path) -> Path:
    home = scratch / "chapter"
    shutil.copytree(source / chapter, home)
    return home


def _answer(chapter: str, notebook: str, folder: str, files: dict[str, str], source: Path, scratch: Path) -> Outcome:
    home = _chapter(source, Path(_COURSE) / chapter, scratch)
    for cell in _cells(home / f"{notebook}.ipynb"):
        _replay(cell, home)
    lesson = home / "Sources" / folder
    for name, answer in files.items():
        shutil.copy(home / "answer" / answer, lesson / name)
    if (lesson / "run.sh").exists():
        return programs.run(lesson)
    return programs.run(lesson / next(iter(files)))


def _lesson(notebook: Path, program: str, source: Path, scratch: Path) -> Outcome:
    """Runs the program as it stands when the notebook first builds it."""
    home = _chapter(source, notebook.parent, scratch)
    for cell in _cells(home / notebook.name):
        built = re.search(r"!.*(?:\bmake\b|run\.sh|\bbisheng\b)", cell)
        if built and (where := re.search(r"Sources/[\w.-]+", cell)):
            folder = home / where[0]
            if program:
                return programs.run(folder / program)
            return programs.run(folder)
        _replay(cell, home)
    return Outcome("failed", "the notebook builds nothing")
