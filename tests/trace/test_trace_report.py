"""The report and the comparison: text, JSON, one page without a network, and when a change is more than noise."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import planted_programs as programs
import planted_tree
import pytest

from labkit import trace
from labkit.trace import comparison, module_tree, refusals
from labkit.trace.finding import time


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    return planted_tree.write(programs.sick("sync_in_loop", 7)[0], tmp_path_factory.mktemp("a"))


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.links, self.figures = [], [], 0

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.figures += tag == "svg"
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.links += [v for k, v in attributes if k in ("src", "href", "xlink:href")]


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_page_stands_alone_and_is_the_same_each_time(tree, lang, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", lang)
    page = trace.report(tree).html()
    assert page == trace.report(tree).html()
    tags = Tags()
    tags.feed(page)
    assert tags.open == [] and tags.links == [] and tags.figures == 4
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "") and "<script" not in page
    assert page.count("<title ") + page.count("<title>") > 4 and page.count("<desc ") == 4, (
        "each figure in words as well"
    )
    said = {"en": "modelled, none was measured", "zh": "没有一个是在 NPU 上实测的"}[lang]
    assert said in page and "{" not in re.sub(r"<style>.*?</style>", "", page, flags=re.S)


def test_the_numbers_of_text_and_json_agree(tree):
    report = trace.report(tree)
    found = json.loads(json.dumps(report.json()))
    assert found["times"] == "modelled" and found["findings"][0]["code"] == "synchronisation"
    one = found["ranks"][0]
    assert one["busy_us"] + sum(one["idle_us"].values()) == pytest.approx(one["length_us"], rel=1e-6)
    assert sum(k["share"] for k in found["kernels"]) == pytest.approx(1.0)
    assert time(one["busy_us"]) in report.text() and "synchronis" in report.text().lower()
    assert found["findings"][0]["evidence"], "with the rows that show it"


def test_kernels_hang_under_the_operator_that_issued_them(tree):
    root = module_tree.tree(trace.read(tree).trace)
    assert root.us == pytest.approx(trace.read(tree).kernels["dur"].sum())
    linear = root.children["aten::linear"]
    assert set(linear.children) == {"MatMulV2"} and linear.kernels == linear.children["MatMulV2"].kernels


def test_modules_stand_above_operators():
    path = module_tree._path(
        ["nn.Module: Net_0", "nn.Module: Linear_1", "aten::linear", "aten::addmm"], "MatMulV2", True
    )
    assert path == ("Net_0", "Linear_1", "aten::linear", "MatMulV2")
    assert module_tree._path(["aten::linear", "aten::addmm"], "MatMulV2", False) == (
        "aten::linear",
        "aten::addmm",
        "MatMulV2",
    )


def run(folder, seed, matmul, steps=6):
    m = programs.Machine(seed)
    s = programs.Shape(layers=3, matmul=matmul, vector=60, host=12, steps=steps)
    return planted_tree.write(programs.run(m, s, lambda i: programs.step(m, s)), folder)


def test_a_change_is_told_from_noise(tmp_path):
    a, b, c = run(tmp_path / "a", 1, 200), run(tmp_path / "b", 2, 200), run(tmp_path / "c", 3, 260)
    same, slower, faster = trace.compare(a, b), trace.compare(a, c), trace.compare(c, a)
    assert (
        same.steps["verdict"] == "noise" and slower.steps["verdict"] == "slower" and faster.steps["verdict"] == "faster"
    )
    by_type = {r["type"]: r["verdict"] for r in slower.types}
    assert by_type["MatMulV2"] == "slower" and by_type["Gelu"] == "noise"
    assert {r["verdict"] for r in same.types} == {"noise"}
    shape = next(r for r in slower.shapes if r["type"] == "MatMulV2")
    assert shape["delta_us"] == pytest.approx(12 * 60 * 1.45, rel=0.15)
    assert trace.compare(a, a).steps["p"] == 1.0
    assert "slower" in slower.text() and "slower" in slower.html() and slower.json()["steps"]["p"] < 0.05


def test_too_few_steps_are_said_to_be_too_few(tmp_path):
    few = trace.compare(run(tmp_path / "a", 1, 200, 3), run(tmp_path / "b", 2, 400, 3))
    assert few.steps["verdict"] == "few" and "too few" in few.text()
    assert comparison.attainable(3, 3) > 0.05 > comparison.attainable(4, 4)


def test_p_values():
    assert comparison.p_value([1, 2, 3, 4], [11, 12, 13, 14]) == pytest.approx(2 / 70)
    assert comparison.p_value([1, 1, 1, 1], [1, 1, 1, 1]) == 1.0
    draw = np.random.default_rng(3)
    values = [comparison.p_value(draw.normal(size=6), draw.normal(size=6)) for _ in range(200)]
    assert 0.01 <= np.mean(np.array(values) < 0.05) <= 0.10, "one in twenty where nothing changed"
    many = comparison.p_value(range(20), range(100, 120))
    assert many == comparison.p_value(range(20), range(100, 120)) and many <= 2e-4
    assert comparison.adjusted([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.04, 0.04])


def test_an_operator_that_is_gone_or_new_is_called_so(tmp_path):
    a = run(tmp_path / "a", 1, 200)
    m = programs.Machine(1)
    s = programs.Shape(layers=3, matmul=200, vector=60, host=12, steps=6)

    def body(i):
        programs.step(m, s)
        m.op("aten::relu", "Relu", 50, 12)

    b = planted_tree.write(programs.run(m, s, body), tmp_path / "b")
    assert {r["type"]: r["verdict"] for r in trace.compare(a, b).types}["Relu"] == "new"
    assert {r["type"]: r["verdict"] for r in trace.compare(b, a).types}["Relu"] == "gone"


def test_the_command(tree, tmp_path):
    def labkit(*words):
        return subprocess.run(
            [sys.executable, "-m", "labkit", "trace", *map(str, words)], capture_output=True, text=True
        )

    done = labkit("report", tree, "--json", "--html", tmp_path / "r.html")
    assert (
        done.returncode == 0
        and json.loads(done.stdout)["findings"]
        and (tmp_path / "r.html").read_text().startswith("<!DOCTYPE")
    )
    assert labkit("compare", tree, tree).stdout.startswith("A ")
    wrong = labkit("report", tmp_path)
    assert wrong.returncode == 1 and "holds no recording" in wrong.stderr and "Traceback" not in wrong.stderr


def test_importing_labkit_loads_no_engine():
    code = "import sys, labkit, labkit.trace; print(sorted({'polars', 'msgspec', 'numpy', 'tqdm'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_a_notebook_shows_the_page(tree):
    assert "<svg" in trace.read(tree)._repr_html_() and "Findings" in repr(trace.read(tree))


@pytest.mark.parametrize("lang, kind", [("en", "recordings of separate runs"), ("zh", "份各自独立的记录")])
def test_recordings_side_by_side_are_no_ranks(tmp_path, monkeypatch, lang, kind):
    """Two runs recorded into one folder: neither has a rank's number, and they share no collective."""
    monkeypatch.setenv("LABKIT_LANG", lang)
    for name in ("one", "two"):
        planted_tree.write(programs.sick("sync_in_loop", 7)[0], tmp_path / name)
    for folder in tmp_path.glob("*/*_ascend_pt"):
        folder.rename(tmp_path / f"{folder.parent.name}_ascend_pt")
    profile = trace.read(tmp_path)
    text = profile.report().text()
    assert len(profile.traces) == 2 and kind in text and not re.search(r"(?i)\brank", text), text[:600]
    assert "one_ascend_pt" in text and kind in profile.report().html()


def test_ranks_that_are_not_shown_are_counted(tree, monkeypatch):
    report = trace.read(tree).report()
    report.profile.traces *= 18
    report.traces = report.profile.traces
    monkeypatch.setattr(type(report), "sums", lambda self, i=0: [f"rank {i}"])
    said, page = report.text(), report.html()
    assert "2 more of them" in said and "2 more of them" in page and "rank 15" in said and "rank 16" not in said


def test_ranks_stay_ranks_and_a_notice_stands_once(tmp_path):
    machine = programs.well(4)[0]
    assert len(machine.ranks) > 1
    profile = trace.read(planted_tree.write(machine, tmp_path))
    for one in profile.traces:
        one.problems.append(refusals.Problem("bad_json", {"path": f"x{one.rank}", "error": "-"}))
    text, html = profile.report().text(), profile.report().html()
    assert "ranks" in text.split("\n")[1] and "separate" not in text
    assert text.count("Not everything could be read") == html.count("Not everything could be read") == 1
    assert all(f"x{one.rank}" in text for one in profile.traces)
