"""Three notebooks of different stages in JupyterLab: they run, and they look right in light, dark and a narrow window.

Nothing is cut off or wider than its place, every figure is there, and every text stands out from what is behind it: by
what the page computes, for each text of it. The pictures are kept as run/browser/looks-*.png, to be looked at.
"""

from __future__ import annotations

import json

import pytest
from jupyter_page import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

LESSONS = ("02_compile_and_launch/02.01_compile", "04_fuse/04.02_conv_bn_relu", "zh/01_kernels/01.05_bounds_and_races")
VIEWS = (("light", 1280, "JupyterLab Light"), ("dark", 1280, "JupyterLab Dark"), ("narrow", 700, "JupyterLab Dark"))
LEAST_CONTRAST = 3.0  # WCAG's bound for large text and for what is set back on purpose

TROUBLE = """
const [least] = arguments, found = [];
const panel = document.querySelector('.jp-NotebookPanel-notebook');
const name = e => `${e.tagName.toLowerCase()} "${e.textContent.trim().slice(0, 40)}"`;
const scrolls = e => e.matches('pre, table') || e.closest('.jp-OutputArea-output') &&
  /auto|scroll/.test(getComputedStyle(e.parentElement).overflowX + getComputedStyle(e).overflowX);
for (const e of panel.querySelectorAll('.jp-RenderedMarkdown > *, .jp-OutputArea-output > *'))
  if (e.getClientRects().length && !scrolls(e)
      && e.scrollWidth > e.clientWidth + 2 && e.clientWidth) found.push(`wider than its place: ${name(e)}`);
for (const e of panel.querySelectorAll('.jp-OutputArea-output img, .jp-OutputArea-output svg')) {
  const box = e.getBoundingClientRect(), place = e.closest('.jp-OutputArea').getBoundingClientRect();
  if (e.tagName === 'IMG' && !e.naturalWidth) found.push('a figure that does not load');
  if (box.right > place.right + 2 && !scrolls(e) || box.width < 40) found.push(`a figure of ${box.width} in a place of ${place.width}`);
}
const parse = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const over = (a, b) => [0, 1, 2].map(i => a[i] * a[3] + b[i] * (1 - a[3]));
const light = c => { const [r, g, b] = c.map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const texts = document.createTreeWalker(panel, NodeFilter.SHOW_TEXT);
while (texts.nextNode()) {
  const e = texts.currentNode.parentElement;
  if (!texts.currentNode.data.trim() || !e.getClientRects().length || e.closest('svg, style')) continue;
  if (!e.closest('.jp-RenderedMarkdown, .jp-OutputArea-output') || e.closest('.jp-RenderedMarkdown pre')) continue;  // JupyterLab's own
  let back = [255, 255, 255], layers = [], opacity = 1;
  for (let at = e; at; at = at.parentElement) {
    const style = getComputedStyle(at); opacity *= Number(style.opacity);
    const layer = parse(style.backgroundColor); if (layer[3]) layers.unshift(layer);
  }
  for (const layer of layers) back = over(layer, back);
  const ink = parse(getComputedStyle(e).color); ink[3] *= opacity;
  const [a, b] = [light(over(ink, back)), light(back)].sort((x, y) => y - x), contrast = (a + .05) / (b + .05);
  if (contrast < least) found.push(`contrast ${contrast.toFixed(2)}: ${name(e)} in ${e.className}`);
}
return [...new Set(found)];
"""


WRONG = "<p style='white-space:nowrap;color:#eee'>" + "as white as the page, and wider " * 20 + "</p>"


@pytest.mark.parametrize("lesson", LESSONS)
def test_it_runs_and_looks_right(lesson, browser, server, repo):
    source = repo / "notebooks" / f"{lesson}.ipynb"
    notebook = json.loads(source.read_text(encoding="utf-8"))
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for cell in code:
        cell.update(outputs=[], execution_count=None)
    (server.root / source.name).write_text(json.dumps(notebook), encoding="utf-8")
    page = Page(browser, server, source.name)
    page.run_all(len(code))
    assert not page.errors()
    page.fold_file_list()
    trouble = {}
    try:
        for view, width, theme in VIEWS:
            page.theme(theme)
            page.screenshot(repo / "run" / "browser" / f"looks-{source.name.split('_')[0]}-{view}.png", width=width)
            trouble[view] = page.script(TROUBLE, LEAST_CONTRAST)
    finally:
        page.theme(VIEWS[0][2])
    assert not any(trouble.values()), json.dumps(trouble, indent=1, ensure_ascii=False)
    page.script(f"document.querySelector('.jp-RenderedMarkdown').insertAdjacentHTML('beforeend', {json.dumps(WRONG)})")
    told = "\n".join(page.script(TROUBLE, LEAST_CONTRAST))
    assert "wider than its place" in told and "contrast 1." in told and "does not load" not in told, "it finds nothing"
