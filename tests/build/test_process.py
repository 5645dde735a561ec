"""Child processes of a build: what they may take, and what is said where it is not enough."""

from __future__ import annotations

import sys

import pytest

from labkit.build import process
from labkit.build.diagnostics import compile_error


def test_a_compiler_gets_a_part_of_the_memory():
    code = f"held = bytearray({process.MOST_KIB << 10})"
    status, said = process.Workers().run([sys.executable, "-c", code], timeout=60)
    assert status != 0 and "MemoryError" in said
    assert process.Workers().run([sys.executable, "-c", "held = bytearray(64 << 20)"], timeout=60) == (0, "")


def test_its_limits_are_those_of_its_children_too():
    code = (
        "import subprocess; print(subprocess.run(['sh', '-c', 'ulimit -v; ulimit -t'], capture_output=True, text=True)"
    )
    status, said = process.Workers().run(
        [sys.executable, "-c", f"import sys; {code}.stdout, file=sys.stderr)"], timeout=60
    )
    assert status == 0 and said.split() == [str(process.MOST_KIB), str(process._MOST_S)]


def test_a_command_that_is_not_there():
    with pytest.raises(FileNotFoundError, match="no-such-compiler"):
        process.Workers().run(["no-such-compiler"], timeout=60)


@pytest.mark.parametrize("said", ["cc1plus: out of memory allocating 17 bytes after a total of 6 bytes",
                                  "virtual memory exhausted: Cannot allocate memory"])  # fmt: skip
def test_memory_that_runs_out_is_said(said):
    error = compile_error(f"{said}\n", filename="a.asc", text="int x;")
    assert f"more than {process.MOST_KIB >> 20} GiB" in str(error) and "never ends" in str(error)
