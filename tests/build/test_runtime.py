"""How the twin's runtime is built: which sources for this processor, and what is said meanwhile."""

from __future__ import annotations

import io

import pytest

from labkit.build import headers, includes, runtime
from labkit.paths import twin_dir


def test_what_has_wide_vectors_is_compiled_for_the_instruction_set():
    """Two sources with vectors of different lengths in inline functions of one name: the linker would keep either."""
    for file in sorted((twin_dir() / "src").rglob("*.cpp")):
        reached = includes.reach([file], [], [str(headers.TREES["kernel"]), str(twin_dir() / "src")])
        if any(path.endswith("lanes/lanes.h") for path in reached) or "__AVX" in file.read_text():
            assert any(flag.startswith("-march=") for flag in runtime.unit_flags(file)), file.name


def test_most_sources_are_the_same_for_every_processor():
    sources = sorted((twin_dir() / "src").rglob("*.cpp"))
    plain = [s for s in sources if not any(f.startswith("-march=") for f in runtime.unit_flags(s))]
    assert len(plain) > len(sources) / 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A second at each look."""

    now = -1.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture(autouse=True)
def english(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")


def run(stream, of=20):
    progress = runtime.Progress(stream, Clock())
    for done in range(of + 1):
        progress(done, of)
    return stream.getvalue()


def test_a_log_has_a_line_at_each_quarter():
    lines = run(io.StringIO()).splitlines()
    assert [line.split(" files")[0] for line in lines] == [
        "labkit: 5 of 20",
        "labkit: 10 of 20",
        "labkit: 15 of 20",
        "labkit: all 20",
    ]
    assert lines[1].endswith("about 2 s left") and lines[3].endswith("in 4 s")


def test_a_terminal_has_one_line_written_over():
    text = run(Terminal())
    assert text.count("\n") == 1 and text.endswith("\n") and text.count("\r") == 20
    assert "left" not in text.split("\r")[1]  # nothing is promised from the first file
    assert text.split("\r")[10].rstrip("\x1b[K").endswith("s left")


def test_a_notebook_has_none():
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert run(stream) == ""


def test_one_edited_file_says_nothing():
    assert run(io.StringIO(), of=1) == ""
