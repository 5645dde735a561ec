"""The examples of asc-devkit in C++ and with the C interfaces: found by their READMEs, run as those say."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from . import Case, Outcome, programs

REPOSITORY = "mirror-cann/asc-devkit"
_ROOTS = ("examples/01_simd_cpp_api", "examples/02_simd_c_api")
# What the bar leaves out: each needs something that is no kernel.
_OTHER_NEEDS = {
    "torch": r"#include\s*[<\"]torch|find_package\(Torch|import torch_npu",
    "tensorflow": r"import tensorflow|tensorflow/core",
    "graph engine": r"#include\s*\"(?:ge/|graph/)|register_custom|onnx",
    "aclnn or operator package": r"aclnn_|npu_op_|aclopExecute|aclCreateTensor\b",
    "aclGraph capture": r"aclmdlRICapture",
    "run-time compiler": r"aclrtc",
}

# Samples that show a failure: the finding that their README promises.
_MEANT_TO_FAIL = {"01_utilities/09_log": "[assert]"}


def cases(sources: Path) -> list[Case]:
    home = sources / REPOSITORY.replace("/", "+")
    found = []
    for readme in [readme for root in _ROOTS for readme in sorted((home / root).rglob("README.md"))]:
        folder = readme.parent
        if (folder / "CMakeLists.txt").exists():
            text = readme.read_text(encoding="utf-8", errors="replace")
            if _supports_a2(text):
                found.append(_case(home, folder))
    return found


def _supports_a2(readme: str) -> bool:
    """Whether the table or list of products has a line for Atlas A2."""
    head = re.split(r"^#+\s*(?:目录结构|算子描述|样例描述)", readme, maxsplit=1, flags=re.M)[0]
    return any(
        "Atlas A2" in line for line in head.split("\n") if line.lstrip().startswith(("|", "- Atlas")) or "支持" in line
    )


def _case(home: Path, folder: Path) -> Case:
    texts = "\n".join(
        f.read_text(encoding="utf-8", errors="replace")
        for f in sorted(folder.rglob("*"))
        if f.suffix in (".asc", ".cpp", ".h", ".py", ".txt") and f.is_file()
    )
    need = next((name for name, pattern in _OTHER_NEEDS.items() if re.search(pattern, texts)), "")
    run = functools.partial(_run, folder.relative_to(home))
    return Case(
        "devkit",
        REPOSITORY,
        str(folder.relative_to(home)),
        kind_of(folder),
        run,
        need and f"needs {need}",
        counted=not need,
    )


def kind_of(folder: Path) -> str:
    """ "vector", "cube" or "mixed": what the kernels of a folder run on."""
    from labkit.build.includes import text_of
    from labkit.source import lowering

    core_mixes: set[tuple[int, int]] = set()
    for file in sorted([*folder.glob("*.asc"), *folder.glob("*.cpp")]):
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            core_mixes |= set(lowering.core_mixes(text, str(file), text_of(text, file.parent)).values())
        except Exception:  # not readable as a kernel: the run will say why
            continue
    cube, vector = any(c for c, _ in core_mixes), any(v for _, v in core_mixes)
    return "mixed" if cube and vector else "cube" if cube else "vector"


def _run(path: Path, source: Path, _scratch: Path):
    outcome = programs.run(source / path)
    for name, code in _MEANT_TO_FAIL.items():
        if (
            path.match(f"*/{name}")
            and outcome.result == "built"
            and outcome.reason.startswith(code)
            and outcome.reason.count("[") == 1
        ):
            return Outcome("verified", f"meant to fail: {outcome.reason}")
    return outcome
