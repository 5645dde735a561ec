"""Every check reports the mistake it is for, at the line with the mistake, in both languages; nothing else is reported.

tests/faults/broken/*.asc are the mistakes, one a file; tests/faults/broken/index.toml says how each is launched
and what must be found.
"""

from __future__ import annotations

import re
import string
from pathlib import Path

import pins
import pytest
from faults import load
from places import BROKEN, CORRECT, REPO
from same import equal  # noqa: E402
from twin_launch import build_all, launch

import labkit
from labkit import messages, paths
from labkit.launch import record

HERE = BROKEN
INDEX = load(HERE / "index.toml")
GOOD = CORRECT / "tque_double.asc"


@pytest.fixture(scope="module", autouse=True)
def built():
    build_all([GOOD, *({"path": case.file, "entry": case.entry} for case in INDEX.values())])


def marked(path: Path, entry: str | None = None) -> list[tuple[str, int]]:
    """(code, line) of each `// <- code` mark; entry: of those in that kernel, of several in the file."""
    found, kernel = [], None
    for i, line in enumerate(path.read_text().splitlines(), 1):
        if m := re.search(r"\b__global__\b.*?(\w+)\(", line):
            kernel = m[1]
        if (m := re.search(r"// <- ([\w-]+)$", line)) and entry in (None, kernel):
            found.append((m[1], i))
    return found


def good_launch():
    import torch

    k = labkit.kernel(GOOD)
    x = torch.arange(512, dtype=torch.float16).npu()
    z = torch.empty_like(x)
    seen = k[2](x, x, z, 512)
    assert seen.finished and not seen.findings
    assert equal(z.cpu(), x.cpu() + x.cpu())


@pytest.mark.parametrize("name", INDEX)
def test_found(name, monkeypatch):
    case = INDEX[name]
    monkeypatch.setenv("LABKIT_THREADS", "1")  # with two a busy host may play a later block first: it is named then
    path = case.file
    code = case.noticed
    marks = marked(path, case.entry)
    if case.line:
        code = marks[0][0]
        assert {c for c, _ in marks} == {code}, "one code a file"
    patience = case.timeout or (1.0 if code == "time-out" else 20.0)
    seen = launch(path, case.args, case.blocks, timeout=patience, entry=case.entry)
    found = [f for f in seen.findings if f.code == code]
    assert found, f"{code} was not found, but {seen.codes()}\n{seen.report()}"
    severity = "warning" if case.warning else "error"
    assert {f.severity for f in found} == {severity}
    assert {f.file for f in found} == {str(path)}
    if marks:
        assert sorted(f.line for f in found) == [line for _, line in marks], seen.report()
    others = {f.code for f in seen.errors} - {code} - set(case.also)
    assert not others, f"beside {code}:\n{seen.report()}"
    loose = {f.code for f in seen.findings if f.severity == "warning"} - {code} - set(case.warnings)
    assert not loose, f"beside {code}:\n{seen.report()}"
    assert seen.finished == (not case.fatal)
    if seen.finished:
        pins.check(f"broken/{name}", seen)
    for f in found:
        check_texts(f)
    if case.fatal:
        good_launch()


def check_texts(finding: record.Finding) -> None:
    """Three lines in each language, every number in them known."""
    for lang in messages.LANGUAGES:
        lines = finding.lines(lang)
        assert len(lines) == 3 and all(lines)
        for part, line in zip(messages.PARTS, lines):
            template = messages.tables()[f"finding.{finding.code}"][lang][part]
            wanted = {field for _, field, _, _ in string.Formatter().parse(template) if field}
            assert wanted <= {*finding.numbers, "line"}, (
                f"{finding.code}.{lang}.{part}: {wanted - set(finding.numbers)}"
            )
            assert "?" not in line and "？" not in line, line
    assert max("".join(finding.lines("en"))) < "\u2e80", f"Chinese in the English text of {finding.code}"
    assert re.search("[\u4e00-\u9fff]", "".join(finding.lines("zh"))), f"no Chinese text of {finding.code}"


def test_every_file_is_in_the_index():
    assert set(HERE.glob("*.asc")) == {case.file for case in INDEX.values()}


def test_every_check_has_a_broken_kernel():
    """Codes in the twin's sources and in the message table are the same, and each is shown here. Faults of the host's
    part of a program (host-...) need a program: tests/program/test_run.py and, for operators,
    tests/operators/test_registration.py show them and name each."""
    src = paths.twin_dir() / "src"
    spoken = {key.removeprefix("finding.") for key in messages.tables() if key.startswith("finding.")}
    shown = set()
    for name, case in INDEX.items():
        marks = marked(case.file, case.entry)
        shown |= {c for c, _ in marks} or {name.replace("_", "-")}
    host = {code for code in spoken if code.startswith("host-") and code not in shown}
    assert shown == spoken - host
    programs = "".join(
        (REPO / "tests" / f).read_text() for f in ("program/test_run.py", "operators/test_registration.py")
    )
    assert [code for code in sorted(host) if f'"{code}"' not in programs] == []
    sources = "".join(
        file.read_text()
        for file in (
            *src.glob("*/*.cpp"),
            *src.glob("*/*.h"),
            *(paths.twin_dir().parent / "program").glob("*.py"),
            *(paths.twin_dir().parent / "operators").glob("*.py"),
        )
    )
    raised = set(re.findall(r'(?:report|stop|one\.add|host_finding)\("([\w-]+)"', sources))
    assert raised <= spoken
    named = {code for code in spoken if f'"{code}"' in sources}  # some are chosen between
    assert spoken - named <= {"race-raw", "race-war", "race-waw", "race-gm", "time-out", "crash", "exit", "load"}


@pytest.mark.parametrize("name", ["race_raw", "gm_bounds_write", "queue_starved"])
def test_found_with_many_blocks_and_threads(name, monkeypatch):
    """Found once, counted for each block, wherever the blocks run."""
    case, path = INDEX[name], HERE / f"{name}.asc"
    for threads in ("1", "2"):
        monkeypatch.setenv("LABKIT_THREADS", threads)
        seen = launch(path, case.args, 6)
        ((code, line),) = marked(path)
        (finding,) = [f for f in seen.findings if f.code == code]
        assert (finding.line, finding.block) == (line, 0)
        assert finding.count % 6 == 0
