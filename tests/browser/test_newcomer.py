"""A newcomer's first own line of C++: a fresh copy of the workbook, JupyterLab, 00.01 read, a line typed, PASS.

In English and in Chinese, with JupyterLab in that language. Counted are the words to read up to there and the keys to
type: everything that the README's first section, the texts, the unfolded code and the outputs of 00.01 say, figures and
hints aside. What then stands on the page is kept as run/browser/newcomer-*.png.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from jupyter_page import Page, Server, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSON = "00_start/00.01_first_look.ipynb"
EXERCISE = "%%exercise look_repair"
LINE = "pipe->InitBuffer(queueZ, BUFFER_NUM, tileLength * sizeof(half));"
MINUTES = 8.0
WORDS, CHARACTERS, KEYS = 200, 300, 100  # a minute: words read, Chinese characters read, keys typed by a slow hand


def to_read(text: str) -> float:
    """Minutes."""
    chinese = len(re.findall(r"[\u4e00-\u9fff]", text))
    return chinese / CHARACTERS + len(re.findall(r"[A-Za-z0-9_][\w.'%-]*", text, re.A)) / WORDS


def path_of(notebook: dict, readme: str) -> str:
    """All that is read before the first own line: stops behind the exercise's cell."""
    told = [readme[readme.index("## Two commands") : readme.index(">>> import labkit")]]
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            told += [source] * ("<details" not in source)
            continue
        if not cell["metadata"].get("jupyter", {}).get("source_hidden"):
            told.append(source)
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/svg+xml" not in data:
                told += ["".join(output.get("text", "")), "".join(data.get("text/plain", ""))]
        if source.startswith(EXERCISE):
            return "\n".join(told)
    raise AssertionError(f"no {EXERCISE}")


def coloured(page: Page, place: int, line: int) -> list[str]:
    """What the pieces of a line of code that have a colour begin with: one piece, where it is a comment of C++."""
    spans = "[...document.querySelectorAll('.jp-NotebookPanel .jp-Cell')[arguments[0]].querySelectorAll('.cm-line')"
    return page.script(f"return {spans}[arguments[1]].children].map(e => e.textContent.slice(0, 7))", place, line)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_first_own_line_comes_within_eight_minutes(lang, repo):
    committed = repo / "notebooks" / ("" if lang == "en" else lang) / LESSON
    told = path_of(json.loads(committed.read_text(encoding="utf-8")), (repo / "README.md").read_text(encoding="utf-8"))
    typed = len("make lab") + len(LINE) + 20  # and the answers to the predictions on the way
    assert to_read(told) + typed / KEYS <= MINUTES, (to_read(told), typed)


@pytest.mark.parametrize("lang, menu", [("en", "Run"), ("zh", "运行")])
def test_a_newcomer_types_a_line_and_sees_pass(lang, menu, browser, repo, tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", lang)
    command = [sys.executable, "-m", "labkit", "notebooks", str(tmp_path / "root" / "workbook"), "--lang", lang]
    subprocess.run(command, cwd=repo, check=True, capture_output=True)
    server = Server(tmp_path)
    try:
        page = Page(browser, server, f"workbook/{LESSON}")
        assert any(item.text.strip() == menu for item in page.all(".lm-MenuBar-item"))
        place = page.cell_with(EXERCISE)
        page.run_through(place)
        assert "TODO" in page.output(place), page.output(place)
        assert LINE not in page.file.read_text(encoding="utf-8"), "the answer stands in the notebook"
        wait_for("the colours of C++", lambda: coloured(page, place, 1) == ["// TODO"], 10)
        assert coloured(page, page.cell_with("add = labkit.kernel("), 0) != ["// TODO"]
        keys = page.type_over(place, 2, LINE)
        page.fold_file_list()
        page.screenshot(repo / "run" / "browser" / f"newcomer-{lang}.png")
        assert "PASS" in page.output(place), page.output(place)
        assert ("通过" in page.output(place)) == (lang == "zh")
        assert keys <= 80
    finally:
        server.close()
