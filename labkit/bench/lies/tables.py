"""Tables of a script: a figure by the name of what it belongs to."""

from __future__ import annotations

import ast


def names_of_table(n: ast.ListComp | ast.GeneratorExp) -> bool:
    """[name for name in rates if rates[name] >= least], or of rates.items(): candidates by their figures. The names
    are what is kept, and no sample is left out."""
    part = n.generators[0]
    table, kept = part.iter, n.elt
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Name) and table.func.id in ("sorted", "list"):
        table = table.args[0] if len(table.args) == 1 else table
    method = ""
    if isinstance(table, ast.Call) and isinstance(table.func, ast.Attribute) and not table.args:
        method, table = table.func.attr, table.func.value
    if not isinstance(kept, ast.Name):
        return False
    if method == "items" and isinstance(part.target, ast.Tuple):
        return isinstance(part.target.elts[0], ast.Name) and part.target.elts[0].id == kept.id
    if method not in ("", "keys") or not isinstance(part.target, ast.Name) or part.target.id != kept.id:
        return False
    looked_up = {
        id(x.slice) for test in part.ifs for x in ast.walk(test)
        if isinstance(x, ast.Subscript) and ast.unparse(x.value) == ast.unparse(table)
    }  # fmt: skip
    uses = [x for test in part.ifs for x in ast.walk(test) if isinstance(x, ast.Name) and x.id == kept.id]
    return bool(uses) and all(id(x) in looked_up for x in uses)
