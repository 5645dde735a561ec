"""A spec.toml with a wrong type, a wrong encoding or a number for an answer: said in a sentence, or taken as it is meant."""

from __future__ import annotations

import re

import pytest

from labkit import paths
from labkit.camp import release
from labkit.exercises.spec import SpecError, read

PREDICT = paths.kernels_dir() / "add" / "exercises" / "add_case" / "spec.toml"


def given(tmp_path, words: str | bytes):
    file = tmp_path / PREDICT.parent.name / "spec.toml"
    file.parent.mkdir(parents=True)
    file.write_bytes(words if isinstance(words, bytes) else words.encode())
    return file


TYPES = {
    "difficulty": (r"(?m)^difficulty = .*", 'difficulty = "3"', "difficulty is '3'; it must be 1 to 5"),
    "title": (r"(?m)^title = .*", 'title = "Sums"', "title must be a table of two texts"),
    "text": (r"(?m)^title = .*", "title = { en = 1, zh = 2 }", "title must be a table of two texts"),
    "hints": (r"(?s)\A(.*?)\[\[hints\]\].*", r'\1hints = ["a", "b", "c"]', "hint 1 must be a table of two texts"),
    "mutants": (r"\Z", '\n[[mutant]]\nname = "x"\nnoticed = "value"\nedit = [["a", "b", "c"]]\n', "too many values"),
}


@pytest.mark.parametrize("field", TYPES)
def test_a_field_of_another_type_says_file_and_field(tmp_path, field):
    old, new, told = TYPES[field]
    with pytest.raises(SpecError, match=told) as error:
        read(given(tmp_path, re.sub(old, new, PREDICT.read_text(encoding="utf-8"), count=1)))
    assert "spec.toml" in str(error.value)


def test_an_editors_encoding(tmp_path):
    words = PREDICT.read_text(encoding="utf-8")
    marked = read(given(tmp_path / "a", words.encode("utf-8-sig")))
    assert marked.title == read(PREDICT).title
    release._exercise(tmp_path / "copy", marked)  # a student's copy of it
    assert 'en = "' in (tmp_path / "copy" / "spec.toml").read_text(encoding="utf-8")
    with pytest.raises(SpecError, match="save it as UTF-8"):
        read(given(tmp_path / "b", words.encode("gbk")))


def test_an_answer_may_be_written_as_a_number(tmp_path):
    words = re.sub(r"(?m)^value = .*", "value = 0", PREDICT.read_text(encoding="utf-8"), count=1)
    assert read(given(tmp_path, words)).answer.value == "0"
