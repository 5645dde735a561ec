"""Do a notebook and its translation show the same? Their cells come from one source; here their outputs are compared.

What a demo cell shows in another language has other words and the same numbers. So a translation that was not run again
after the library changed is found without running it, by the English one, which nbval holds to what the code does.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from labkit import messages, paths
from labkit.notebook.build import load_notebook
from labkit.notebook.source import Source

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_OPAQUE = ("image/png", "application/vnd.jupyter.widget-view+json")  # an id of its own at each run


def complaints(src: Source, home: Path) -> Iterator[str]:
    """Cells of a translation whose outputs are of another kind, or hold other numbers, than the English ones."""
    english = load_notebook(src.target(home))
    for lang in messages.LANGUAGES[1:]:
        path = src.target(home, lang)
        other = load_notebook(path)
        if english is None or other is None or len(english["cells"]) != len(other["cells"]):
            continue  # the gate has said so
        for number, (one, two) in enumerate(zip(english["cells"], other["cells"]), 1):
            if difference := _difference(one, two):
                yield (
                    f"{paths.display_path(path)}: cell {number} shows {difference}, unlike the English notebook; "
                    f"run labkit build {src.number}"
                )


def _difference(one: dict, two: dict) -> str:
    if one["cell_type"] != "code" or "nbval-ignore-output" in one["metadata"].get("tags", ()):
        return ""
    kinds = [[(o["output_type"], *sorted(o.get("data", ()))) for o in cell["outputs"]] for cell in (one, two)]
    if kinds[0] != kinds[1]:
        return "outputs of other kinds"
    for a, b in zip(one["outputs"], two["outputs"]):
        for mime, text in _texts(a).items():
            before, now = (Counter(_NUMBER.findall(seen(mime, t))) for t in (text, _texts(b)[mime]))
            if before != now:
                return f"other numbers ({_some(now - before)} instead of {_some(before - now)})"
    return ""


def _texts(output: dict) -> dict[str, str]:
    data = {mime: data for mime, data in output.get("data", {}).items() if mime not in _OPAQUE}
    return {"text": output.get("text", ""), **data}


def seen(mime: str, text) -> str:
    """The words of an output that a reader sees: of markup only what stands between the tags."""
    if mime not in ("image/svg+xml", "text/html"):
        return str(text)
    return html.unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", text, flags=re.S))


def _some(numbers: Counter) -> str:
    return ", ".join(sorted(numbers)[:4]) or "none"
