"""The trace viewer's page in Chromium: drawn also where its place had no width while its script ran.

After Run All JupyterLab has cells out of sight, whose layout Chromium leaves out: the script meets a place of width 0
in a window of 1200, and no "resize" follows. The page is brought into that state here by hiding the place.
"""

from __future__ import annotations

import json

import pytest
from jupyter_page import wait_for

from labkit.profiler import viewer

pytestmark = pytest.mark.browser

TRACE = [{"ph": "X", "name": "MatMul", "pid": 1, "tid": 1, "ts": 0, "dur": 50}]
HIDE = "<style id='hide'>#view { display: none }</style></head>"
COLOURED = """
const c = document.getElementById('c'); if (!c.width || !c.height) return 0;
const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
let n = 0; for (let i = 3; i < data.length; i += 4) n += data[i] > 200; return n;
"""


@pytest.mark.parametrize("hidden", [False, True])
def test_it_is_drawn_once_its_place_has_a_width(hidden, browser, tmp_path):
    trace = tmp_path / "trace_view.json"
    trace.write_text(json.dumps({"traceEvents": TRACE}), encoding="utf-8")
    made = viewer.show(trace).html
    page = tmp_path / "page.html"
    page.write_text(made.replace("</head>", HIDE) if hidden else made, encoding="utf-8")
    browser.get(page.as_uri())
    if hidden:
        browser.execute_script("return new Promise(done => setTimeout(done, 300))")
        assert browser.execute_script(COLOURED) == 0
        browser.execute_script("document.getElementById('hide').remove()")
    wait_for("the bar", lambda: browser.execute_script(COLOURED) > 500, 5)
