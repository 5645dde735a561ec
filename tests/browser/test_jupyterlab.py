"""The first notebook as a learner meets it: opened in JupyterLab, run from the menu, its slider dragged.

What the notebook looks like then is kept as run/browser/00.01.png.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from jupyter_page import Page, wait_for

pytestmark = pytest.mark.browser

# Console messages of level SEVERE that say nothing about the lab, each with its reason.
HARMLESS: tuple[tuple[str, str], ...] = ()

FIGURE = """
    const area = arguments[0].closest('.jp-OutputArea') && arguments[0].closest('.jp-Cell-outputArea');
    return [...area.querySelectorAll('img, svg')].filter(e => !e.closest('.noUi-target')).map(e => e.src || e.outerHTML).join('\\n')
         + [...area.querySelectorAll('.widget-html, .jp-RenderedText')].map(e => e.textContent).join('\\n');
"""


def first_notebook(repo: Path) -> Path:
    """00.01 of the workbook; a stand-in with one slider while there is none."""
    found = sorted(repo.glob("notebooks/*/00.01*.ipynb"))
    return found[0] if found else Path(__file__).with_name("fixture.ipynb")


@pytest.fixture(scope="module")
def page(browser, server, repo):
    """The notebook after Run > Run All Cells. It is a copy without outputs: JupyterLab saves into what it opens, and
    what is seen here must come from this run."""
    source = first_notebook(repo)
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        cell.update(outputs=[], execution_count=None)
    (server.root / source.name).write_text(json.dumps(notebook), encoding="utf-8")
    page = Page(browser, server, source.name)
    try:
        page.run_all(len(code))
    except TimeoutError:
        browser.save_screenshot(str(repo / "run" / "browser-failed.png"))
        raise
    return page


def sliders_with_a_figure(page: Page) -> list:
    return [handle for handle in page.all(".jp-OutputArea .noUi-handle") if page.script(FIGURE, handle)]


def test_every_cell_runs_without_an_error(page, repo):
    page.fold_file_list()
    page.screenshot(repo / "run" / "browser" / "00.01.png")
    saved = page.save()
    code = [cell for cell in saved["cells"] if cell["cell_type"] == "code" and "".join(cell["source"]).strip()]
    assert code
    unrun = [cell["id"] for cell in code if cell["execution_count"] is None]
    errors = ["\n".join(out["traceback"]) for cell in code for out in cell["outputs"] if out["output_type"] == "error"]
    assert not unrun and not errors, (unrun, errors)


def test_the_slider_redraws_the_figure(page):
    from selenium.webdriver import ActionChains

    handles = sliders_with_a_figure(page)
    assert handles, "no slider beside a figure in the notebook's outputs"
    handle = handles[0]
    page.script("arguments[0].scrollIntoView({block: 'center'})", handle)
    before = page.script(FIGURE, handle)
    ActionChains(page.browser).click_and_hold(handle).move_by_offset(40, 0).move_by_offset(20, 0).release().perform()
    after = wait_for("another figure", lambda: (now := page.script(FIGURE, handle)) != before and now, 30)
    assert after
    page.rested()


def test_the_console_is_quiet(page):
    told = [message for message in page.severe() if not any(re.search(pattern, message) for pattern, _ in HARMLESS)]
    assert not told, "\n".join(told)
