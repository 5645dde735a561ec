"""What somebody hands in: one Python file with a kernel, how it is launched, and a report. It is read, not imported.

    NAME = "two rows at a time"
    TASK = "scaled_residual"                   # of labkit.migrate.capstone_tasks.TASKS
    KERNEL = r\"\"\"...\"\"\"                        # Ascend C; GM arguments are the task's inputs, then its outputs
    REPORT = \"\"\"... operator_us: 12.5 ...\"\"\"
    def launch(rows, width): return {"blocks": 8, "scalars": [rows, width]}   # what follows the GM arguments

NAME, TASK, KERNEL and REPORT must be plain text. launch() runs in a process of its own that holds no tensor, no clock
and no golden: whole numbers go in, whole numbers and a kernel's name come out. So nothing that the file does in Python
can change what is measured. "entry" in launch()'s answer names an instantiation, "norm<half>".
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from labkit import paths
from labkit.build import includes
from labkit.messages import text
from labkit.migrate.capstone_tasks import TASKS, Task

_TEXTS = ("NAME", "TASK", "KERNEL", "REPORT")
_SECONDS, _BYTES = 10, 1 << 30
# The first lines of the process in which launch() runs. What the file prints goes nowhere.
_CHILD = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
resource.setrlimit(resource.RLIMIT_AS, ({size}, {size}))
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
asked = json.load(sys.stdin)
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
space = {{"__name__": "entry"}}
exec(compile(asked["source"], "entry.py", "exec"), space)
answer.write(json.dumps([space["launch"](*shape) for shape in asked["shapes"]]))
answer.flush()
"""


@dataclass(frozen=True)
class Entry:
    """digest: of the source and of the lab's own files that the kernel includes, 16 hexadecimal digits."""

    name: str
    task: Task
    kernel: str
    report: str
    source: str
    digest: str

    @property
    def filename(self) -> str:
        """Where the kernel's quoted includes are looked up: beside the lab's own kernels."""
        return str(paths.kernels_dir() / "capstone" / "entry.asc")


def read(source: str) -> Entry:
    """Raises ValueError, with what is missing, for a source that is no entry."""
    try:
        tree = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(text("capstone.syntax", line=error.lineno or 0, error=error.msg)) from None
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            value = node.value.value if isinstance(node.value, ast.Constant) else None
            if node.targets[0].id in _TEXTS and isinstance(value, str):
                found[node.targets[0].id] = value
    if missing := [name for name in _TEXTS if not found.get(name, "").strip()]:
        raise ValueError(text("capstone.missing", names=", ".join(missing)))
    if not any(isinstance(node, ast.FunctionDef) and node.name == "launch" for node in tree.body):
        raise ValueError(text("capstone.no-launch"))
    if found["TASK"] not in TASKS:
        raise ValueError(text("capstone.no-task", task=found["TASK"], all=", ".join(TASKS)))
    folder = paths.kernels_dir() / "capstone"
    around = includes.text_of(found["KERNEL"], folder, ())
    digest = hashlib.sha256(f"{source}\0{around}".encode()).hexdigest()[:16]
    name = " ".join(found["NAME"].split())[:60]
    return Entry(name, TASKS[found["TASK"]], found["KERNEL"], found["REPORT"], source, digest)


def plans(entry: Entry, shapes: list[tuple[int, int]]) -> list[dict[str, Any]]:
    """What launch() says for each shape: blocks, scalars, entry. Raises ValueError."""
    child = _CHILD.format(seconds=_SECONDS, size=_BYTES)
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-I", "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=folder, env={"PATH": os.environ.get("PATH", "")}, start_new_session=True, text=True,
        )  # fmt: skip
        try:
            out, said = process.communicate(
                json.dumps({"source": entry.source, "shapes": shapes}), timeout=3 * _SECONDS
            )
        except subprocess.TimeoutExpired:
            raise ValueError(text("capstone.launch", why=f"{3 * _SECONDS} s")) from None
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # and whatever it started
            except ProcessLookupError:
                pass
            process.wait()
    if process.returncode:
        raise ValueError(
            text("capstone.launch", why=(said.strip().splitlines() or [str(process.returncode)])[-1][:300])
        )
    try:
        made = json.loads(out)
    except ValueError:
        made = None
    if not isinstance(made, list) or len(made) != len(shapes) or not all(map(plain, made)):
        raise ValueError(text("capstone.plan"))
    return made


def plain(plan: Any) -> bool:
    """Whether launch() may answer that: blocks, scalars that a kernel can take, the name of an instantiation."""
    if not isinstance(plan, dict) or not plan.keys() <= {"blocks", "scalars", "entry"}:
        return False
    number = plan.get("blocks")
    scalars = plan.get("scalars", [])
    good = isinstance(number, int) and not isinstance(number, bool) and 1 <= number <= 65535
    good &= isinstance(scalars, list) and all(isinstance(v, (int, float)) for v in scalars)
    return good and isinstance(plan.get("entry", ""), str)
