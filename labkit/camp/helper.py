"""A function of golden.py alone: what must run beside a learner's code, without the answers that stand around it.

Some exercises pass on models, streams or devices, which cannot cross to another process. The function that golden.py
names as `run` then goes to the worker, with the definitions that it reaches and nothing else of the file: no cases, no
expected values. What it does reach is named by `carried`, and data/camp_promises.csv lists it for each exercise.
"""

from __future__ import annotations

import ast


def _defines(node: ast.stmt) -> set[str]:
    """The names that a statement of a module gives a value to."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(a.asname or a.name).partition(".")[0] for a in node.names}
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _uses(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _reached(text: str, names: set[str]) -> list[ast.stmt]:
    tree = ast.parse(text)
    body = tree.body
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    wanted, kept, grew = set(names), set(), True
    while grew:
        grew = False
        for k, node in enumerate(body):
            future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
            if k not in kept and (future or _defines(node) & wanted):
                kept.add(k)
                wanted |= _uses(node)
                if "globals" in _uses(node):  # it finds them by their names, which stand in its cases
                    wanted |= texts
                grew = True
    return [body[k] for k in sorted(kept)]


def alone(text: str, *names: str) -> str:
    """The module text with these functions and what they reach."""
    return "\n\n".join(ast.unparse(node) for node in _reached(text, set(names))) + "\n"


def carried(text: str, *names: str) -> list[str]:
    """The definitions beside the functions themselves that go along; imports are not named."""
    nodes = [n for n in _reached(text, set(names)) if not isinstance(n, (ast.Import, ast.ImportFrom))]
    return sorted(set().union(*map(_defines, nodes)) - set(names)) if nodes else []
