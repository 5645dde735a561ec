"""The map: what each notebook needs is there, stands before it, and no circle."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

import pytest
from places import REPO

import labkit
from labkit.book.chapters import Chapter, Stage, chapters, circle, needs, opening_lines, reduced, stages

WAY = [c for c in chapters() if not c.beside]


def test_every_need_is_there_and_stands_before():
    order = [c.number for c in chapters()]
    for c in chapters():
        for other in c.needs:
            assert other in order, f"{c.id} needs {other}, which is not there"
            assert order.index(other) < order.index(c.number) or c.beside, f"{c.id} needs {other}, which comes later"


def test_every_notebook_but_the_first_says_what_it_needs():
    assert [c.number for c in WAY if not c.needs] == ["00.01"], 'a sentence "You need 01.02 ..." in the first paragraph'


def test_no_circle():
    assert circle({c.number: c.needs for c in chapters()}) == []
    assert sorted(circle({"a": ("b",), "b": ("c",), "c": ("b",)})) == ["b", "c"], "and one would be found"


def test_needs_are_read_from_the_sentence():
    assert needs("We do it. You need 01.05 and the events of 01.03. Then 09.09.") == ("01.05", "01.03")
    assert needs("You need tiles (01.01,\n01.02).") == ("01.01", "01.02") and needs(
        "You need a kernel of stage 01."
    ) == ("01.01",)
    assert needs("Nothing.") == ()


def test_what_follows_is_not_drawn():
    assert reduced({"a": (), "b": ("a",), "c": ("a", "b")}) == {"a": (), "b": ("a",), "c": ("b",)}


def chapter(number: str, *wanted: str) -> Chapter:
    return Chapter(number, number + "_x", number[:2] + "_s", {"en": "Title " + number, "zh": "题目"}, 20, wanted, ())


def test_the_picture_has_every_notebook_and_is_the_same_each_time(monkeypatch):
    figure = labkit.journey()
    ElementTree.fromstring(figure.svg)
    assert figure.svg == labkit.journey().svg and len(figure.svg) < 60_000
    for c in WAY:
        assert f">{c.number}<" in figure.svg and f"{c.number} {c.title['en']}" in figure.desc
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert WAY[3].title["zh"] in labkit.journey().desc


def test_arrows():
    part = [
        Stage(n, {"en": n, "zh": n}, {"en": "x", "zh": "x"}, {"en": "x", "zh": "x"}, "") for n in ("00", "01", "02")
    ]
    every = [chapter("00.01"), chapter("01.01", "00.01"), chapter("01.02", "01.01", "00.01"), chapter("02.01", "00.01")]
    svg = labkit.journey(every, part).svg
    assert svg.count('z" fill="currentColor"') == 2, "00.01 to 01.01 and 01.01 to 01.02; the third follows"
    assert "← 00.01" in svg, "a need two rows above is written into the box"
    with pytest.raises(ValueError, match="02.01 needs 09.09"):
        labkit.journey([*every[:3], chapter("02.01", "09.09")], part)


def test_a_long_stage_has_lines_of_at_most_seven():
    part = [Stage("01", {"en": "01", "zh": "01"}, {"en": "x", "zh": "x"}, {"en": "x", "zh": "x"}, "")]
    names = [f"01.{at:02}" for at in range(1, 17)]
    every = [chapter(name, *names[max(0, at - 1) : at]) for at, name in enumerate(names)]
    every.append(chapter("01.17", "01.05"))
    svg = labkit.journey(every, part).svg
    boxes = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="72"', svg)
    lines = [[float(x) + float(w) for x, y, w in boxes if y == top] for top in dict.fromkeys(y for _, y, _ in boxes)]
    assert [len(line) for line in lines] == [6, 6, 5] and max(map(max, lines)) <= 760 - 16
    assert svg.count('z" fill="currentColor"') == 15, "each to the next, and over a line's end too"
    assert "← 01.05" in svg, "two lines above: written into the box"


def test_each_stage_says_what_it_is_for_and_where_to_go_on():
    numbers = [c.number for c in WAY]
    assert [s.number for s in stages()] == sorted({c.stage for c in chapters()})
    for s in stages():
        first = next(c for c in chapters() if c.stage == s.number)
        assert s.to in numbers and numbers.index(s.to) > numbers.index(first.number), f"stage {s.number}: {s.to}"
        for lang in ("en", "zh"):
            lines = opening_lines(first.id, lang)
            assert len(lines) == 2 and s.able[lang] in lines[0] and s.to in lines[1] and s.easy[lang] in lines[1]
        made = json.loads((REPO / "notebooks" / first.folder / f"{first.id}.ipynb").read_text(encoding="utf-8"))
        assert s.easy["en"] in "".join(made["cells"][0]["source"]), f"run labkit build {first.number}"
    second = next(c for c in WAY if c.number == "01.02")
    assert opening_lines(second.id, "en") == [] and not re.search("阶段", "".join(opening_lines(WAY[0].id, "en")))
