"""The glossary: every word is used where it says, and every abbreviation of the prose is in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from places import REPO

import labkit
from labkit.book.glossary import Term, terms
from labkit.notebook import source

SOURCES = {path.name[:5]: path for path in source.sources() if int(path.name[3:5]) < 90}
# Names of things and of files, not words: nobody looks them up.
EXCEPTIONS = {"AI", "README", "FREE", "READY", "L62", "L71", "T0", "T1", "NN", "MM", "OK", "ID", "BN", "PTOAS", "QK"}
_ABBREVIATION = re.compile(r"(?<![\w/_-])([A-Z][A-Z0-9]+)(?=s?(?![\w_]))")


def uses(text: str, term: Term) -> bool:
    names = [term.term, *term.also]
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in names)


def prose(path) -> str:
    """English text without fences and code in backticks."""
    text = "\n\n".join(b.en for b in source.read(path).blocks if isinstance(b, source.Markdown))
    return re.sub(r"`[^`]*`", "", re.sub(r"```.*?```", "", text, flags=re.S))


@pytest.mark.parametrize("term", [t for t in terms() if t.notebook], ids=lambda t: t.term)
def test_the_notebook_that_is_named_uses_the_word(term):
    assert term.notebook in SOURCES, f"{term.term}: no notebook {term.notebook}"
    assert uses(SOURCES[term.notebook].read_text(encoding="utf-8"), term), f"{term.notebook} never says {term.term}"


def unknown(text: str) -> set[str]:
    known = {name for t in terms() for name in t.names}
    return set(_ABBREVIATION.findall(text)) - known - EXCEPTIONS


@pytest.mark.parametrize("number", SOURCES)
def test_every_abbreviation_of_the_prose_is_in_the_glossary(number):
    assert not unknown(prose(SOURCES[number])), "add them to notebooks/source/glossary.toml"


def test_an_abbreviation_that_nobody_explains_would_be_found():
    assert unknown("The XPU copies over PCIE, and MTE2s rest.") == {"XPU", "PCIE"}


def test_no_word_stands_twice_and_each_is_complete():
    names = [t.term.casefold() for t in terms()]
    assert len(names) == len(set(names)) > 90
    for t in terms():
        assert t.zh and t.say["en"].endswith(".") and t.say["zh"].endswith("。"), t.term
        assert not re.search(r"[一-鿿]", t.say["en"]) and re.search(r"[一-鿿]", t.say["zh"]), t.term
        assert len(t.say["en"]) < 160, f"{t.term}: one plain sentence"


def test_asking_for_one_word():
    assert [t.term for t in labkit.glossary("ub").found] == ["UB"]
    assert [t.term for t in labkit.glossary("unified buffer").found] == ["UB"]
    assert [t.term for t in labkit.glossary("统一缓冲区").found] == ["UB"]
    assert "did you mean UB" in repr(labkit.glossary("UUB")) and labkit.glossary("UUB").missed == "UUB"
    assert "not in the glossary" in repr(labkit.glossary("qqqqqq"))


def test_as_a_table_in_both_languages(monkeypatch):
    english = labkit.glossary()._repr_mimebundle_()["text/html"]
    monkeypatch.setenv("LABKIT_LANG", "zh")
    chinese = labkit.glossary()._repr_mimebundle_()["text/html"]
    assert english.count("<tr>") == chinese.count("<tr>") and "The memory of a vector core" in english
    assert "矢量核的内存" in chinese and "The machine" not in chinese and "硬件" in chinese


def test_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "labkit", "glossary", "MTE2"], capture_output=True, text=True, cwd=REPO
    )
    assert done.returncode == 0 and done.stdout.startswith("MTE2 | 搬运引擎 2: Copies in") and "[00.01]" in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "labkit", "glossary", "MTE9"], capture_output=True, text=True, cwd=REPO
    )
    assert done.returncode == 1 and "MTE" in done.stdout


def test_the_notebook_shows_the_glossary_as_it_is():
    """Its output is kept when only the glossary changes: labkit build 00.90 then."""
    notebook = json.loads((REPO / "notebooks/00_start/00.90_map_and_words.ipynb").read_text(encoding="utf-8"))
    shown = "".join(
        "".join(o["data"]["text/plain"]) for c in notebook["cells"] for o in c.get("outputs", ()) if "data" in o
    )
    assert repr(labkit.glossary()) in shown, "run labkit build 00.90"
    assert repr(labkit.journey()) in shown, "run labkit build 00.90"
