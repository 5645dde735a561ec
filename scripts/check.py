"""make check: formats, rules and the quick tests, in one to three minutes once the twin is built.

    python scripts/check.py [pytest's arguments]

What takes longer (every exercise with its known-wrong solutions, the notebooks, models, the browser) is `make test`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Every room has its tests among these, or such that take longer.
QUICK = """
    test_cli.py test_rooms.py test_house.py source build/test_absent_names.py build/test_diagnostics.py
    build/test_runtime.py launch figures analysis environment exercises/test_diagnose.py exercises/test_session.py
    exercises/test_exercise.py device/test_names.py device/test_time.py twin/core twin/lanes
    twin/clock/test_costs.py faults/test_correct_kernels.py
""".split()


def cpp_files() -> list[str]:
    """The C++ of the repository, but for kernels: their line numbers are part of lessons and tests."""
    names = ["*.cpp", "*.h"]
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", *names], cwd=ROOT, capture_output=True, text=True
    )
    return [name for name in out.stdout.split() if (ROOT / name).is_file() and not name.startswith("kernels/")]


def main(arguments: list[str]) -> int:
    """The number of steps that failed."""
    steps = {
        "ruff check": [sys.executable, "-m", "ruff", "check", "."],
        "ruff format": [sys.executable, "-m", "ruff", "format", "--check", "."],
        "clang-format": [str(Path(sys.executable).with_name("clang-format")), "--dry-run", "-Werror", *cpp_files()],
        "quick tests": [sys.executable, "-m", "pytest", "-q", "-n", str(os.cpu_count() or 1), "--dist", "worksteal",
                        *(f"tests/{path}" for path in QUICK), *arguments],
    }  # fmt: skip
    failed = [name for name, command in steps.items() if subprocess.run(command, cwd=ROOT).returncode]
    print(f"check: {', '.join(failed)} failed" if failed else "check: all well")
    return len(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
