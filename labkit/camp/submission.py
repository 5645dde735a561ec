"""What a learner handed in, taken out of a notebook by reading it. No cell is run, no expression is evaluated but
numbers, text and the arithmetic between them.
"""

from __future__ import annotations

import ast
import json
import operator
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LARGEST = 64 << 20  # bytes of a notebook
_MAGIC = re.compile(r"^%%exercise[ \t]+(\w+)[ \t]*$")
_IPYTHONS = re.compile(r"\s*[%!?]|\s*[\w.%*]+\?\??\s*$|[\w\s.,]+=\s*[%!]")  # lines that are no Python
_DO = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
       ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.UAdd: operator.pos,
       ast.USub: operator.neg}  # fmt: skip


class Unreadable(ValueError):
    """A file that is no notebook, or an answer that is no value: why."""


@dataclass(frozen=True)
class Answer:
    """What stands for one exercise. source: an exercise cell's text; value: a prediction, Ellipsis where it is still
    open; problem: why there is no value. cell: its number among the notebook's code cells, from 1.
    """

    exercise: str
    cell: int
    source: str | None = None
    value: Any = None
    problem: str = ""


@dataclass(frozen=True)
class Submission:
    """One notebook of one learner."""

    student: str
    assignment: str
    path: Path


def submissions(folder: Path) -> list[Submission]:
    """The notebooks below `folder`: nbgrader's submitted/<student>/<assignment>/*.ipynb, or <student>/*.ipynb, or
    <student>.ipynb. Links are not followed.
    """
    root = folder / "submitted" if (folder / "submitted").is_dir() else folder
    found = []
    for above, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith("."))
        for name in sorted(files):
            path = Path(above) / name
            if name.endswith(".ipynb") and not path.is_symlink() and path.is_file():
                parts = path.relative_to(root).parts
                assignment = parts[1] if len(parts) > 2 else path.stem
                found.append(Submission(parts[0] if len(parts) > 1 else path.stem, assignment, path))
    return found


def answers(path: Path) -> dict[str, Answer]:
    """Exercise id -> what stands for it; of several cells for one exercise the last. Raises Unreadable."""
    found: dict[str, Answer] = {}
    for number, text in enumerate(_code(path), 1):
        first, _, rest = text.partition("\n")
        if match := _MAGIC.match(first.rstrip("\r")):
            found[match[1]] = Answer(match[1], number, source=rest.rstrip("\n"))
        elif "predict" in text:
            for made in _predictions(text, number):
                found[made.exercise] = made
    return found


def _code(path: Path) -> Iterator[str]:
    if path.stat().st_size > LARGEST:
        raise Unreadable(f"{path.name}: larger than {LARGEST >> 20} MB")
    try:
        cells = json.loads(path.read_bytes().decode("utf-8-sig", errors="replace"))["cells"]
        if not isinstance(cells, list):
            raise TypeError("cells is no list")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unreadable(f"{path.name}: no notebook ({type(error).__name__}: {error})"[:300]) from None
    for cell in cells:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            yield _as_run("".join(map(str, source)) if isinstance(source, list) else str(source))


def _as_run(text: str) -> str:
    """A cell as IPython runs it: without the blank lines in front and the first line's indentation."""
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if line.strip()), 0)
    indent = re.match(r"[ \t]*", lines[first])[0]
    return "\n".join(line.removeprefix(indent) for line in lines[first:])


def _predictions(text: str, number: int) -> Iterator[Answer]:
    """Calls `predict("id", value)` of a cell, whatever stands before the dot."""
    tree = _parsed(text) or _parsed("\n".join("" if _IPYTHONS.match(line) else line for line in text.split("\n")))
    if tree is None:
        return
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for node in sorted(calls, key=lambda n: (n.lineno, n.col_offset)):  # the last in the text is the last that ran
        if getattr(node.func, "attr", getattr(node.func, "id", "")) != "predict":
            continue
        given = dict(zip(("exercise_id", "value"), node.args)) | {k.arg: k.value for k in node.keywords}
        name = given.get("exercise_id")
        if isinstance(name, ast.Constant) and isinstance(name.value, str) and "value" in given:
            try:
                yield Answer(name.value, number, value=literal(given["value"]))
            except Unreadable as error:
                yield Answer(name.value, number, problem=str(error))


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def literal(node: ast.expr) -> Any:
    """A number, a text, `...`, a list of them, and + - * / // % ** of numbers. Raises Unreadable: a name, a call."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [literal(e) for e in node.elts]
    try:
        if isinstance(node, ast.UnaryOp):
            return _number(_DO[type(node.op)](_number(literal(node.operand))))
        if isinstance(node, ast.BinOp):
            left, right = _number(literal(node.left)), _number(literal(node.right))
            if isinstance(node.op, ast.Pow):
                if abs(right) > 64 or abs(left) > 2**32:
                    raise Unreadable("a power that is too large")
                return _number(left**right)
            return _number(_DO[type(node.op)](left, right))
    except KeyError:
        pass  # an operator that is not in _DO
    except (ArithmeticError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__}: {error}") from None
    raise Unreadable(f"`{ast.unparse(node)[:60]}` is no value: write the number or the text itself")


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Unreadable("arithmetic with something that is no number")
    if isinstance(value, int) and value.bit_length() > 512:
        raise Unreadable("a number that is too large")
    return value
