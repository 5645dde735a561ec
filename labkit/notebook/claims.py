"""What the notebooks' sentences say of their cells, checked when a notebook is built.

A sentence of a notebook is written once, and what it speaks of is computed anew at each build. `<!-- holds: expression
-->` in a source ties the two together: the expression is evaluated in the notebook's kernel behind the cells that stand
before it, and a build in which it is not true fails and names the sentence. says() ties a number of the prose to its
value, as it is written there:

    The larger tile takes 20.2 us.
    <!-- holds: says("20.2", large.task_us) -->
    <!-- holds: small.task_us < large.task_us -->
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from labkit.notebook.source import Claim, Markdown, Source

TAG = "claim"


def says(written: str, value: float) -> bool:
    """Whether `value`, rounded to the digits of `written` ("20.2", "3,100"), is what is written."""
    digits = len(written.partition(".")[2])
    return f"{value:,.{digits}f}".replace(",", "") == written.replace(",", "")


def cell(claim: Claim) -> str:
    """A cell that raises AssertionError with what holds no more. It leaves no name behind in the notebook."""
    return (
        "(lambda space: eval(compile("
        f"{_STATEMENT!r}, 'claim', 'exec'), space | dict(_expression={claim.expression!r}, _space=space)))(globals())"
    )


_STATEMENT = """
from labkit.notebook.claims import says as _says, values as _values
if not eval(_expression, _space | {"says": _says}):
    raise AssertionError(_values(_expression, _space))
"""


def values(expression: str, space: dict) -> str:
    """What the parts of an expression are, for the message: `small.us = 3.1, large.us = 2.9`."""
    import ast

    found = {}
    for node in ast.walk(ast.parse(expression, mode="eval")):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Call, ast.Name)):
            text = ast.unparse(node)
            if any(text in other for other in found):
                continue
            try:
                value = eval(text, space | {"says": says})
            except Exception:
                continue
            if isinstance(value, (int, float, str, bool)) and not text.startswith("says("):
                found[text] = f"{value:.6g}" if isinstance(value, float) else repr(value)[:60]
    return ", ".join(f"{text} = {value}" for text, value in found.items())


def complaint(claim: Claim, where: str, values: str) -> str:
    """One line for a sentence that is no longer true."""
    sentence = claim.sentence if len(claim.sentence) <= 160 else "... " + claim.sentence[-156:]
    return (
        f"{where}:{claim.line}: no longer true: {claim.expression}"
        + (f" ({values})" if values else "")
        + (f"\n    beside: {sentence}" if sentence else "")
    )


_SAID = re.compile(r"says\(\s*['\"]([^'\"]+)['\"]")


def unsaid(src: Source) -> Iterable[tuple[Claim, str, str]]:
    """(claim, number, language) of each number that a claim ties and that no text around it has."""
    texts: list[Markdown] = []
    for position, block in enumerate(src.blocks):
        if not isinstance(block, Claim):
            continue
        texts = [b for b in _around(src.blocks, position) if isinstance(b, Markdown)]
        for number in _SAID.findall(block.expression):
            for lang, written in (("en", [t.en for t in texts]), ("zh", [t.zh for t in texts if t.zh])):
                if written and not any(re.search(rf"(?<![\d.,]){re.escape(number)}(?![\d])", t) for t in written):
                    yield block, number, lang


def _around(blocks: tuple, position: int) -> Iterable:
    """The texts beside a claim, up to the next thing that runs in either direction."""
    for step in (-1, 1):
        at = position + step
        while 0 <= at < len(blocks) and isinstance(blocks[at], (Claim, Markdown)):
            yield blocks[at]
            at += step
