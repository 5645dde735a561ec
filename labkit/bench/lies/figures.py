"""Figures of a report that no interval of the run can have: a unit that is a thousand or a million off.

Physics alone: a call cannot take longer than the longest interval between two readings, nor shorter than the shortest
one divided by all that was launched in it. Only what is printed and what was seen count, whatever the code looks like.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator

from labkit.bench.lies.case import Case, Finding
from labkit.bench.lies.units import SAID

_NUMBER = r"(?<![\w.,+±-])(\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?)"
_UNIT = r"(us|µs|μs|usec|microsec\w*|ms|msec|millisec\w*|ns|nsec|nanosec\w*|s|sec|seconds|微秒|毫秒|纳秒|秒)"
_FIGURE = re.compile(rf"{_NUMBER}\s?{_UNIT}(?![\w])(?!\s?/\s?\w*s\b)", re.IGNORECASE)
_HEAD = re.compile(rf"(?<![a-z/])(?<!per )(?<!/ )(?<!a ){_UNIT}(?![a-z])", re.IGNORECASE)  # no rate: items_per_s
_CHINESE = {"微秒": -6, "毫秒": -3, "纳秒": -9, "秒": 0, "µs": -6, "μs": -6}
# Which of the samples, or what each of them is; and what is no sample's time.
_PLACE = (
    r"median|mean|average|\bavg|\bp ?\d\d?(\.\d+)?\b|percentile|quartile|\bq[1-3]\b|\bmin\b|minim|\bmax\b|maxim|fastest"
    r"|slowest|shortest|longest|\bbest\b|\bworst\b|\bleast\b|lowest|highest|largest"
    r"|中位|平均|最小|最大|最快|最慢|分位"
)
_CALL = (
    r"(\b(a|per|each|one|every)|/) ?(call|launch|step|iteration|iter|run|lap|op|operator|request|block|burst|sample)\b"
)
_OTHER = (
    r"total|\bsum\b|\ball\b|altogether|together|whole|budget|limit|timeout|deadline|target|goal|\bsl[ao]\b|allow"
    r"|at most|below|under\b|over\b|above|within|until|after|since|elapsed|start|begin|\bend\b|\bat\b|clock|stamp"
    r"|resolution|tick|sleep|pause|interval|period|window|every \d|duration|epoch|day|hour|minute"
    r"|\d{3,} (step|call|token|request)"
    r"|std|stdev|deviation|\bsd\b|iqr|\bmad\b|spread|error|noise|jitter|drift|differ|less|more|sav|overhead|gap|gain|delta"
    r"|idle|wait|drain|compil|first|warm|captur|build|load|import|copy|transfer|host|queue|issu|launch(es)? (cost|take)"
    r"|modell?ed|predict|ideal|theor|roof|bound|spec|peak|expect|paper|publish|hypot"
    r"|总|合计|预算|上限|标准差|误差|首次|预热|编译"
)
_PARTS = r"(\b(?:a|per|each|an|one)|/) ?(?!call|launch|step|iter|run|lap|op|request|block|burst|sample|batch)[a-z]{2,}"
_FAR, _NEAR = 3.0, 1.5


def impossible(c: Case) -> Iterator[Finding]:
    timed = [r for r in c.regions if r["value_us"] > 0 and (r["kernels"] or r["copies"] or r["on_host"])]
    if not timed:
        return
    every = [us for r in c.seen.regions for us in (r["value_us"], r["host_us"]) if us > 0]
    least = min(min(r["value_us"], r["host_us"] or r["value_us"]) / _launches(r) for r in timed)
    most, written = max(every), f"{c.text.strings}\n"
    figures = [
        (10.0 ** (power + 6) * float(text.replace(",", "")), f"{text} {unit}", power)
        for text, unit, power in said(c.seen.output)
        if float(text.replace(",", "")) not in c.text.numbers and f"{text} {unit}" not in written
    ]
    right = {power for us, _, power in figures if least / _FAR <= us <= _FAR * most}
    for us, text, power in figures:
        for off in (3, 6, 9) if us and power not in right else ():  # who uses a unit well elsewhere means another thing
            if least / _NEAR <= us * 10.0 ** (-off if us > most else off) <= _NEAR * most:
                line, off = timed[-1]["line"], f"{10**off:,}"
                yield c.find("timer", line, "figure", said=text, least=least, most=most, off=off)
                return


def _launches(r: dict) -> int:
    return max(1, r["kernels"] + r["copies"], r["calls"], *r["parts"])


def said(output: str) -> Iterator[tuple[str, str, int]]:
    """(number, unit, its power of ten in seconds) of what the report says of a sample or of a call."""
    lines = output.split("\n")
    for line in lines:
        for clause in re.split(r"[;()\[\]|]|, |\. |: (?=\D)", line):
            for match in _FIGURE.finditer(clause):
                if _of_a_call(clause):
                    yield match[1], match[2], _power(match[2])
    yield from _columns(lines)
    yield from _keys(output)


def _of_a_call(clause: str) -> bool:
    """Does it say which of the samples, or of what, and nothing else that may be longer or shorter?"""
    if re.search(_OTHER, clause, re.IGNORECASE) or re.search(_PARTS, clause, re.IGNORECASE):
        return False
    return bool(re.search(f"{_PLACE}|{_CALL}", clause, re.IGNORECASE))


def _power(unit: str) -> int:
    unit = unit.lower()
    if unit in _CHINESE:
        return _CHINESE[unit]
    return SAID.get(unit, {"mic": -6, "mil": -3, "nan": -9, "sec": 0}.get(unit[:3], 0))


def _columns(lines: list[str]) -> Iterator[tuple[str, str, int]]:
    """Of tables: a head with a unit in a cell, and rows of as many cells under it."""
    for cut in (_commas, _pipes, _blanks):
        heads: list[tuple[int, str, int]] = []
        width = 0
        for line in lines:
            cells = cut(line)
            found = [(i, m[1], _power(m[1])) for i, cell in enumerate(cells) if (m := _head(cell))]
            if found:
                heads, width = found, len(cells)
            elif len(cells) != width:
                heads = heads if not line.strip(" -|=:+") else []
            for i, unit, power in heads if not found and len(cells) == width else ():
                if re.fullmatch(r"\d[\d,]*(\.\d+)?(e[+-]?\d+)?", cells[i]):
                    yield cells[i], unit, power


def _head(cell: str) -> re.Match | None:
    name = cell.replace("_", " ")
    if re.search(r"\d\.\d", name) or re.search(_OTHER, name, re.IGNORECASE) or re.search(_PARTS, name, re.IGNORECASE):
        return None
    if re.search(r"\bper\b|/", name) and not re.search(_CALL, name, re.IGNORECASE):
        return None
    placed = re.search(f"{_PLACE}|{_CALL}", name, re.IGNORECASE)
    match = _unit(name)
    return match if match and (placed or match[0] == name.strip() and match[0] != "s") else None


def _unit(name: str) -> re.Match | None:
    """The last one that a name says: us, of s_to_us."""
    return max(_HEAD.finditer(name), key=re.Match.start, default=None)


def _commas(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line]), [])] if "," in line else []


def _pipes(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if "|" in line else []


def _blanks(line: str) -> list[str]:
    cells = re.split(r"\s{2,}", line.strip())
    return cells if len(cells) > 1 else []


def _keys(output: str) -> Iterator[tuple[str, str, int]]:
    """Of JSON: a whole report, or one in a line."""
    for text in (output, *output.split("\n")):
        if text.strip()[:1] in ("{", "["):
            try:
                document = json.loads(text)
            except ValueError:
                continue
            yield from _inside(document, "", None)


def _inside(value, path: str, unit: tuple[str, int] | None) -> Iterator[tuple[str, str, int]]:
    if isinstance(value, dict):
        for key, under in value.items():
            match = _unit(str(key).replace("_", " "))
            yield from _inside(
                under, f"{path} {key}".replace("_", " "), (match[1], _power(match[1])) if match else unit
            )
    elif isinstance(value, list):
        for under in value:
            yield from _inside(under, path, unit)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and unit and value > 0:
        if not re.search(_OTHER, path, re.IGNORECASE) and not re.search(_PARTS, path, re.IGNORECASE):
            if re.search(f"{_PLACE}|{_CALL}", path, re.IGNORECASE):
                yield repr(value), *unit
