"""Claims about what passed that the timed operators cannot hold: more bytes than they touch, a conversion that no
operator makes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from itertools import permutations

from labkit.bench.lies import words
from labkit.bench.lies.case import Case, Finding, names_of

_UNIT = r"([KMGT])(i?)B\s?(?:/|_?per_?|p)\s?s"
_RATE = re.compile(rf"(\d[\d,]*(?:\.\d+)?)\s?{_UNIT}\b")
_COLUMN = re.compile(rf"\b{_UNIT}\b|_{_UNIT}\b")
_OVER, _MOST = 1.15, 5.0  # what is counted wrongly is counted a few times; what is further off is another thing


def overstated(c: Case) -> Iterator[Finding]:
    """A rate of more bytes than all tensors that the operators of any sample take and give."""
    timed = [r for r in c.regions if (r["kernels"] or r["copies"]) and r["value_us"] > 0]
    if not timed or any(r["kernels"] and not r["bytes"] for r in timed):
        return
    best = max(timed, key=lambda r: _bytes(r) / r["value_us"])
    rate = 1e6 * _bytes(best) / best["value_us"]
    for said, unit, scale in _said(c):
        if said / scale not in c.text.numbers and _OVER * rate < said < _MOST * rate:
            yield c.find(
                "timer", best["line"], "rate", said=f"{said / scale:,.4g}", unit=unit, bytes=float(_bytes(best)),
                us=best["value_us"], rate=f"{rate / scale:,.4g}",
            )  # fmt: skip
            return


def unconverted(c: Case) -> Iterator[Finding]:
    """The report names a conversion, and nothing that was timed takes the type that it begins with."""
    timed = [r for r in c.regions if r["kernels"]]
    taken = {d for r in timed for d in r["dtypes"]}
    for one, other in permutations(words.DTYPES, 2):
        named = rf"(?:{words.DTYPES[one]})[^\n.,;]{{0,16}}?(?:->|→|=>|\bto\b)\s*(?:{words.DTYPES[other]})"
        if timed and other in taken and one not in taken and re.search(named, c.seen.output):
            yield c.find("no_work", timed[-1]["line"], "cast", one=one, other=other, seen=sorted(taken))
            return


def undropped(c: Case) -> Iterator[Finding]:
    """The report speaks of dropout, and no operator that was timed draws a mask: the module was in eval()."""
    timed = [r for r in c.regions if r["kernels"]]
    draws = any(re.search("drop|bernoulli|uniform|rand", n) for r in timed for n in r["names"])
    said = [line for line in c.seen.output.split("\n") if re.search(words.DROPS, line, re.IGNORECASE)]
    if timed and said and not draws and {"Dropout", "eval"} <= c.text.words:
        if not re.search(words.DROPS_NOT, "\n".join(said), re.IGNORECASE):
            yield c.find("no_work", timed[-1]["line"], "dropout", seen=names_of(timed[-1]["names"]))


def _bytes(r: dict) -> int:
    return r["bytes"] + r["copy_bytes"]


def _said(c: Case) -> Iterator[tuple[float, str, float]]:
    """(bytes a second, unit, what it counts) of each rate in the report: in its text, or in a column of a table."""
    lines = c.seen.output.split("\n")
    for line in lines:
        if not re.search(words.GIVEN, line, re.IGNORECASE):
            for number, letter, binary in _RATE.findall(line):
                scale = _scale(letter, binary)
                yield float(number.replace(",", "")) * scale, f"{letter}{binary}B", scale
    rows = [row for row in csv.reader(line for line in lines if "," in line)]
    for head, *under in (rows[i:] for i in range(len(rows))):
        for k, name in enumerate(head):
            if (found := _COLUMN.search(name)) and not re.search(words.GIVEN, name, re.IGNORECASE):
                letter, binary = [g for g in found.groups() if g is not None][:2]
                scale = _scale(letter, binary)
                for row in under:
                    if len(row) == len(head) and re.fullmatch(r"\s*\d+(\.\d+)?\s*", row[k]):
                        yield float(row[k]) * scale, f"{letter}{binary}B", scale


def _scale(letter: str, binary: str) -> float:
    """Bytes in a kB, MiB, ..."""
    return (1024.0 if binary else 1000.0) ** ("KMGT".index(letter) + 1)
