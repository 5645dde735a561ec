"""The workbook: sources to notebooks, the gate, runs; on a fixture notebook first, then on the real one."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from drawn import one_in
from places import FIXTURES

from labkit import messages, paths
from labkit.exercises.spec import load
from labkit.notebook import build, gate, run, source, verify
from labkit.notebook.cells import Variant, notebook
from labkit.notebook.execute import DemoFailed, execute

NAME = "00.01_fixture"


@pytest.fixture
def exercises(monkeypatch):
    monkeypatch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))
    monkeypatch.setenv("LABKIT_PROGRESS", "off")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The fixture workbook, stamped, built and executed once."""
    home = tmp_path_factory.mktemp("book") / "notebooks"
    shutil.copytree(FIXTURES / "notebooks", home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))
        assert build.main(home=home, stamp=True) == 0
    return home


@pytest.fixture
def home(built, tmp_path, exercises):
    """A copy of it that a test may change."""
    shutil.copytree(built, tmp_path / "notebooks")
    return tmp_path / "notebooks"


def the_source(home: Path) -> Path:
    return home / "source" / f"{NAME}.md"


def the_notebook(home: Path) -> dict:
    return build.load_notebook(home / "00_fixture" / f"{NAME}.ipynb")


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def told(home: Path) -> str:
    """What the gate says of the fixture workbook (the real exercises are in no notebook of it)."""
    return "\n".join(c for c in gate.complaints(home=home) if "no notebook uses" not in c or "fixtures" in c)


# ---- sources


def test_a_source_in_blocks(exercises):
    src = source.read(the_source(FIXTURES / "notebooks"))
    assert (src.id, src.number, src.stage, src.minutes) == (NAME, "00.01", "00_fixture", 5)
    kinds = [type(b).__name__ for b in src.blocks]
    assert kinds == ["Markdown", "Code", "Markdown", "ExerciseMark", "ExerciseMark", "ExerciseMark", "Markdown", "Code"]
    assert src.blocks[0].zh.startswith("一个核") and src.blocks[0].stale and "```cpp" in src.blocks[6].en
    assert (
        src.blocks[7].tags == ("nbval-ignore-output", "hide-input")
        and src.blocks[7].key == "progress"
        and not src.exercises[2].brief
    )


@pytest.mark.parametrize(
    "old, new, what",
    [
        ("minutes: 5", "minutes: five", "whole number"),
        ("minutes: 5\n", "", "lacks minutes"),
        ("stage: 00_fixture", "stage: 01_fixture", "must start with"),
        ("<!-- /zh -->\n", "", "not closed with"),
        ("<!-- zh -->", "<!-- zh x -->", "not understood"),
        ("```python\nvalues", "```python tag=x\nvalues", "info string"),
        ("title: A", "titel: A", "none of the fields"),
        ("brief=no", "brief", "takes brief=no"),
        ("labkit.progress()\n```", "labkit.progress()\n", "is not closed"),
    ],
)
def test_a_broken_source_says_file_and_line(tmp_path, old, new, what):
    path = tmp_path / f"{NAME}.md"
    shutil.copy(the_source(FIXTURES / "notebooks"), path)
    edit(path, old, new)
    with pytest.raises(source.SourceFormatError, match=what) as error:
        source.read(path)
    assert re.search(r"fixture\.md:\d+: ", str(error.value))


def test_a_translation_goes_stale_with_its_english(tmp_path):
    path = tmp_path / f"{NAME}.md"
    shutil.copy(the_source(FIXTURES / "notebooks"), path)
    assert source.stamp(path) == 3 and source.stamp(path) == 0
    edit(path, "is its share; what", "is  its share;\nwhat")
    assert not source.read(path).blocks[0].stale, "spacing is no change"
    edit(path, "is a tile.", "is one tile.")
    assert source.read(path).blocks[0].stale and source.stamp(path) == 1


def test_prose_is_counted_as_a_reader_meets_it():
    assert (
        source.prose_lines("one\n\ntwo\n# head\n| a | b |\n```\ncode\ncode\n```\n![x](y.svg)\n<details>\n- item") == 3
    )
    assert source.prose_lines("x" * 161) == 2 and source.prose_lines("") == 0


# ---- building


def test_outputs_behind_a_prediction_are_folded_up_to_the_next_heading():
    found = 0
    for src in source.sources():
        asked = False
        for cell in notebook(source.read(src), Variant())["cells"]:
            text, name = cell["source"], cell["metadata"].get("labkit", {}).get("exercise")
            if cell["cell_type"] == "markdown":
                asked &= not re.search(r"(?m)^## ", text) or src.name[2:6] == ".99_" or name is not None
            elif name is not None:
                asked |= load(name).kind == "predict"
            elif "brief" not in text:
                assert bool(cell["metadata"].get("jupyter", {}).get("outputs_hidden")) == asked, (src.name, text)
                found += asked
    assert found > 40


def test_building_is_deterministic_and_ids_are_stable(home):
    src = source.read(the_source(home))
    assert build.to_text(notebook(src)) == build.to_text(notebook(src))
    ids = {c["id"]: c["source"] for c in notebook(src)["cells"]}
    assert len(ids) == len(notebook(src)["cells"])
    edit(the_source(home), "## Count before", "<!-- cell -->\nA new cell.\n<!-- cell -->\n## Count before")
    again = {c["id"]: c["source"] for c in notebook(source.read(the_source(home)))["cells"]}
    for key, text in ids.items():
        if text.startswith(("%%exercise", "labkit.", "### Exercise", "<details>", "# The session")):
            assert again[key] == text, "a moved exercise keeps its ids"


def test_the_student_notebook(home):
    nb = the_notebook(home)
    by_tag = {t: c for c in nb["cells"] for t in c["metadata"].get("tags", ())}
    assert nb["cells"].index(by_tag["setup"]) == nb["cells"].index(by_tag["parameters"]) + 1
    for cell in nb["cells"]:
        if cell["cell_type"] == "code" and "exercise" in cell["metadata"].get("tags", ()):
            assert (
                cell["execution_count"] is None
                and not cell["outputs"]
                and ("TODO" in cell["source"] or "..." in cell["source"])
            )
    counts = [c["execution_count"] for c in nb["cells"] if c["cell_type"] == "code" and c["execution_count"]]
    assert counts == list(range(1, len(counts) + 1)), "counts without gaps"
    assert (
        nb["metadata"]["kernelspec"]["name"] == "python3"
        and "Hint 2" in json.dumps(nb)
        and "Hint 3" not in json.dumps(nb)
    )
    text = (home / "00_fixture" / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert text == build.to_text(nb) and str(home) not in text and build.main(home=home) == 0
    assert text == (home / "00_fixture" / f"{NAME}.ipynb").read_text(encoding="utf-8"), "building again changes nothing"


def test_variants(home, tmp_path):
    src = source.read(the_source(home))
    solved = "\n".join(c["source"] for c in notebook(src, Variant("solved"))["cells"])
    assert 'predict("fx_tiles", 16)' in solved and "left < TILE ? left" in solved and "TODO" not in solved
    mutant = "\n".join(c["source"] for c in notebook(src, Variant("mutant", "fx_tiles", 0))["cells"])
    assert 'predict("fx_tiles", 15)' in mutant and "left < TILE ? left" in mutant, "only one exercise is spoilt"
    chinese = "\n".join(c["source"] for c in notebook(src, Variant(lang="zh"))["cells"])
    assert (
        "一个核处理" in chinese
        and "有几块" in chinese
        and "# 00.01 测试用" in chinese
        and "TODO: 这一块的长度" in chinese
        and "What one block" not in chinese
    )
    path = build.build_variant(src, tmp_path / "solved", Variant("solved"), home)
    outputs = [o for c in build.load_notebook(path)["cells"] if c["cell_type"] == "code" for o in c["outputs"]]
    assert any("[0, 3, 6, 9]" in o.get("text", "") for o in outputs), (
        "demo outputs come along, so that nbval still compares them"
    )


def test_a_demo_must_not_depend_on_an_exercise(home):
    edit(the_source(home), "labkit.progress()", "shares(3, 2)")
    with pytest.raises(DemoFailed, match="shares"):
        build.build(source.read(the_source(home)), home)
    assert build.main(home=home) == 1


def test_names_may_come_from_an_iterator(home, monkeypatch):
    seen = []
    monkeypatch.setattr(
        build, "_build_all", lambda every, home, run, fresh, langs: seen.append((len(every), fresh)) or 0
    )
    assert build.main(iter(["00.01"]), home=home) == 0 and seen == [(1, True)], "what is named is run in any case"


def test_changed_text_is_rewritten_without_running_changed_code_is_run(home, monkeypatch):
    ran = []
    monkeypatch.setattr(build, "execute", lambda nb, *a, **k: ran.append(1) or nb)
    edit(the_source(home), "rarely whole", "seldom whole")
    assert build.main(home=home) == 0 and not ran and "seldom whole" in json.dumps(the_notebook(home))
    edit(the_source(home), "range(4)", "range(5)")
    assert build.main(home=home) == 0 and len(ran) == 2, "in both languages"
    assert build.main(["00.01"], home=home, langs=["en"]) == 0 and len(ran) == 3, (
        "a notebook that is named is run again"
    )
    with pytest.raises(SystemExit, match="no notebook 09.09"):
        build.main(["09.09"], home=home)


# ---- the gate


def test_the_gate_is_content_with_the_fixture(home):
    assert told(home) == ""


LONG = "\n".join(f"Line {n} of a text that goes on." for n in range(10)) + "\n"


@pytest.mark.parametrize(
    "old, new, what",
    [
        ("What one block handles is", "What a block handles is", "made for another English text"),
        ("## Count before you run\n", "## Count before you run\n" + LONG, "lines of prose before the cell"),
        ("```python\nvalues", "```python\n!ls\nvalues", "shell command"),
        ("```python\nvalues", "```python\n%%writefile -a x.asc\nvalues", "appends again"),
        ("```python\nvalues", "```python\nopen('/tmp/x')\nvalues", "absolute path"),
        ("```python\nvalues", "```python tags=parameters\nvalues", "tagged parameters"),
        ("print(values)", "print(values, 3)", "differs from its source"),
        ("<!-- exercise: fx_share -->\n", "", "no notebook uses this exercise"),
        (
            "<!-- exercise: fx_tiles -->\n",
            "<!-- exercise: fx_tiles -->\n<!-- cell -->\n<!-- exercise: fx_tiles -->\n",
            "stands 2 times",
        ),
        ("<!-- exercise: fx_share -->\n", "<!-- exercise: fx_shore -->\n", "no exercise 'fx_shore'"),
        (
            "The last tile is rarely whole.",
            "edges = [min(i * share, n) for i in range(blocks + 1)]",
            "line of fx_share's solution",
        ),
        ("## Count", "<!-- setup -->\n<!-- setup -->\n## Count", "one parameters cell"),
        ("```python\nvalues", "```python key=progress\nvalues", "cells share an id"),
    ],
)
def test_the_gate_finds(home, old, new, what):
    edit(the_source(home), old, new)
    if "solution" in what:
        build.main(home=home, execute=False)
    assert what in told(home)


@pytest.mark.parametrize(
    "old, new, what",
    [
        ('"name": "python3"', '"name": "mindspore"', "kernelspec is"),
        ('"[0, 3, 6, 9]\\n"', '"/home/me/x\\n"', "absolute path"),
        ('"[0, 3, 6, 9]\\n"', '"built:\\n", "/home/me/x\\n"', "absolute path"),
        ('"[0, 3, 6, 9]\\n"', '"<f at 0x7f0011223344>\\n"', "address"),
        ('"execution_count": 3,\n   "id"', '"execution_count": null,\n   "id"', "has not been run"),
        ('"# TODO: the edges', '"# DONE: the edges', "differs from its source"),
    ],
)
def test_the_gate_finds_an_edited_notebook(home, old, new, what):
    edit(home / "00_fixture" / f"{NAME}.ipynb", old, new)
    assert what in told(home)


CHINESE = f"zh/00_fixture/{NAME}.ipynb"


@pytest.mark.parametrize(
    "file, old, new, what",
    [
        (
            f"source/{NAME}.md",
            "## Count before you run\n",
            "Said in English only.\n\n```python\n1\n```\n",
            "no translation",
        ),
        (CHINESE, "有几块", "几块", "differs from its source"),
        (CHINESE, '"[0, 3, 6, 9]\\n"', '"[0, 3, 6, 8]\\n"', "shows other numbers (8 instead of 9)"),
    ],
)
def test_the_gate_finds_a_stale_translation(home, file, old, new, what):
    edit(home / file, old, new)
    assert what in told(home)


def test_the_gate_finds_outputs_of_another_kind_and_a_missing_language(home, monkeypatch):
    nb = build.load_notebook(home / CHINESE)
    next(c for c in nb["cells"] if c["source"].startswith("values"))["outputs"] = []
    build.write(home / CHINESE, nb)
    assert "outputs of other kinds" in told(home)
    (home / CHINESE).unlink()
    assert f"{CHINESE}: missing; run labkit build 00.01" in told(home)
    kernels = home.parent / "kernels"
    shutil.copytree(FIXTURES / "kernels", kernels)
    monkeypatch.setenv("LABKIT_KERNELS", str(kernels))
    spec = kernels / "fx/exercises/fx_tail/spec.toml"
    edit(spec, ', zh = "在 `offset` 处还剩多少个元素？"', "")
    assert "spec.toml: hint 1 has no zh text" in told(home)


def test_the_gate_finds_stray_missing_run_and_failed(home):
    path = home / "00_fixture" / f"{NAME}.ipynb"
    shutil.copy(path, path.with_name("00.02_old.ipynb"))
    assert "no source makes this notebook" in told(home)
    nb = the_notebook(home)
    cell = next(c for c in nb["cells"] if "exercise" in c["metadata"].get("tags", ()))
    cell["execution_count"] = 9
    demo = next(c for c in nb["cells"] if c["source"].startswith("values"))
    demo["outputs"] = [{"output_type": "error", "ename": "E", "evalue": "", "traceback": []}]
    build.write(path, nb)
    assert "has been run" in told(home) and "shows an error" in told(home)
    path.unlink()
    assert "missing; run labkit build 00.01" in told(home)


def test_the_gate_finds_a_solved_stub_and_a_leaky_size(home, monkeypatch):
    monkeypatch.setattr(gate, "MAX_BYTES", 100)
    assert "at most 100" in told(home)
    kernels = home.parent / "kernels"
    shutil.copytree(FIXTURES / "kernels", kernels)
    monkeypatch.setenv("LABKIT_KERNELS", str(kernels))
    edit(
        kernels / "fx/exercises/fx_tail/solution.asc",
        "// stub: uint32_t length = 8;",
        "// stub: uint32_t left = end - offset;\n        // stub: uint32_t length = left < TILE ? left : TILE;",
    )
    edit(kernels / "fx/exercises/fx_share/solution.py", "# stub: edges = [0] * (blocks + 1)", "# stub: edges = [")
    edit(kernels / "fx/exercises/fx_tiles/spec.toml", "n // tile", "n // tiles")
    assert "the stub equals the solution" in told(home) and "the stub does not compile" in told(home)


def test_the_gate_command(home, capsys):
    edit(the_source(home), "print(values)", "print(values, 3)")
    assert gate.main(home=home) == 1
    out = capsys.readouterr().out
    assert re.search(r"ipynb: differs from its source \(cell 5: source\); run labkit build 00\.01", out)


# ---- running


def test_a_run_goes_on_reports_and_exits_non_zero(home, tmp_path, capsys):
    second = home / "source" / "00.02_broken.md"
    second.write_text(
        "---\ntitle: Broken\ntitle_zh: 坏\nminutes: 1\nstage: 00_fixture\n---\nText.\n\n```python\n1 / 0\n```\n",
        encoding="utf-8",
    )
    build.main(["00.02"], execute=False, home=home)
    (home / "00_fixture" / "00.02_broken.ipynb").rename(home / "00_fixture" / "00.00_broken.ipynb")
    second.rename(home / "source" / "00.00_broken.md")
    out = tmp_path / "run"
    assert run.main(["--out", str(out), "-p", "SEED", "7"], home=home) == 1
    outcomes = json.loads((out / "result.json").read_text())
    assert [(o["id"], o["ok"]) for o in outcomes] == [
        ("00.00_broken", False),
        (NAME, True),
    ] and "ZeroDivisionError" in outcomes[0]["error"]
    assert {e["id"]: e["state"] for e in outcomes[1]["exercises"]} == {
        "fx_tiles": "TODO",
        "fx_share": "TODO",
        "fx_tail": "TODO",
    }
    page = (out / "index.html").read_text(encoding="utf-8")
    assert "FAILED" in page and "ZeroDivisionError" in page and "fx_share" in page and (out / f"{NAME}.html").is_file()
    assert "SEED = 7" in (out / f"{NAME}.ipynb").read_text() and "1 of 2" in capsys.readouterr().out


def test_a_solved_run_passes_and_strict_counts(home, tmp_path):
    assert run.main(["--out", str(tmp_path / "a"), "--solved", "-p", "STRICT", "True", "--no-html"], home=home) == 0
    states = {e["id"]: e for e in json.loads((tmp_path / "a" / "result.json").read_text())[0]["exercises"]}
    assert {name: e["state"] for name, e in states.items()} == {
        "fx_tiles": "PASS",
        "fx_share": "PASS",
        "fx_tail": "PASS",
    } and states["fx_tail"]["target"] == "twin"
    assert run.main(["--out", str(tmp_path / "b"), "-p", "STRICT", "True", "--no-html"], home=home) == 1
    assert json.loads((tmp_path / "b" / "result.json").read_text())[0]["exercises"][0]["state"] == "TODO"


def test_a_report_has_the_picture_of_a_widget_and_says_how_long_the_rest_takes(home, tmp_path, capsys):
    pytest.importorskip("ipywidgets")
    for number in (1, 2):
        (home / "source" / f"00.0{number + 1}_widget.md").write_text(
            "---\ntitle: W\ntitle_zh: 控件\nminutes: 1\nstage: 00_fixture\n---\nText.\n\n```python\n"
            "labkit.figures.pipes_widget()\n```\n\n```python\nshown = 1\n```\n",
            encoding="utf-8",
        )
    assert build.main(["00.02", "00.03"], home=home, langs=["en"]) == 0
    made = build.load_notebook(home / "00_fixture" / "00.02_widget.ipynb")
    (shown,) = (o["data"] for c in made["cells"] for o in c.get("outputs", ()) if "image/svg+xml" in o.get("data", {}))
    assert set(shown) == {"text/plain", "image/svg+xml"}, "a view needs the kernel that made it"
    out = tmp_path / "run"
    assert run.main(["00.02", "00.03", "--out", str(out)], home=home) == 0
    page = (out / "00.02_widget.html").read_text(encoding="utf-8")
    assert "An AI Core on one page" in page and "widgets-output" not in page and "unpkg.com/@jupyter" not in page
    told = capsys.readouterr().out
    assert "1 of 2: 00.02_widget ..." in told and re.search(r"2 of 2, about \d+ s left: 00.03_widget \.\.\.", told)


def test_a_run_in_chinese_takes_the_chinese_notebook(home, tmp_path, monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "zh")
    assert run.main(["--out", str(tmp_path / "run"), "--no-html"], home=home) == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())[0]["title"] == "测试用的 notebook"
    assert "一个核处理" in (tmp_path / "run" / f"{NAME}.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("bad", [["STRICTLY", "True"], ["TARGET", "gpu"], ["SEED", "many"]])
def test_wrong_parameters_stop_before_anything_runs(home, tmp_path, bad, capsys):
    assert run.main(["--out", str(tmp_path / "run"), "-p", *bad], home=home) == 2
    assert bad[0] in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_the_chinese_reading_answers_in_chinese(home, tmp_path):
    nb = execute(notebook(source.read(the_source(home)), Variant(lang="zh")), tmp_path, "zh", skip=())
    said = "".join(
        o["data"]["text/plain"]
        for c in nb["cells"]
        if "exercise" in c["metadata"].get("tags", ())
        for o in c["outputs"]
    )
    assert "TODO（待完成）" in said and "labkit.hint" in said and "This is still" not in said


@pytest.mark.slow
def test_three_readings_under_nbval(home, tmp_path):
    unsolved = verify.nbval(home / "00_fixture")
    assert unsolved.returncode == 0, unsolved.stdout
    solved = verify.nbval(verify.variant(tmp_path / "s", Variant("solved"), home=home), strict=True)
    assert solved.returncode == 0, solved.stdout
    mutant = verify.nbval(verify.variant(tmp_path / "m", Variant("mutant", "fx_share", 0), home=home), strict=True)
    assert mutant.returncode == 1 and "[value]" in mutant.stdout and "1 failed" in mutant.stdout


# ---- the real workbook


def test_every_message_is_there_in_both_languages():
    assert list(gate.message_complaints()) == []
    assert set(messages.LANGUAGES) == {"en", "zh"}


def test_the_real_workbook_passes_the_gate(monkeypatch):
    monkeypatch.delenv("LABKIT_KERNELS", raising=False)
    assert list(gate.complaints()) == []


def test_no_output_needs_a_widget_or_a_script():
    """What VS Code, GitHub and a printed page can show stands in every output: words, and a picture where there is one."""
    files = [
        source.read(path).target(paths.notebooks_dir(), lang) for path in source.sources() for lang in ("en", "zh")
    ]
    outputs = [(f, o) for f in files for c in build.load_notebook(f)["cells"] for o in c.get("outputs", ())]
    assert outputs
    for file, output in outputs:
        data = output.get("data", {"text/plain": output.get("text")})
        assert data.get("text/plain"), (file, sorted(data))
        assert set(data) <= {"text/plain", "text/html", "image/svg+xml", "image/png"}, (file, sorted(data))
        assert "<script" not in str(data.get("text/html", "")), file


def real_exercises() -> list[tuple[str, str]]:
    """(exercise, what). Of the known-wrong answers that are compiled and of the stubs judged as code, for which a repair
    is looked for, both of which take long, one in twelve, of those in Python one in six, others after each change of the judge or
    of the exercise, and at least one of each diagnosis; all of them with LABKIT_DRAWN=all.
    """
    plan = [] if os.environ.get("LABKIT_KERNELS") else verify.plan()
    judge, left, told = paths.import_root() / "labkit" / "exercises", {}, set()
    for name, what in plan:
        spec = load(name)
        noticed = {mutant.name: mutant.noticed for mutant in spec.mutants}.get(what)
        if what != "stub as code" and (noticed is None or spec.kind == "predict"):
            continue
        if one_in(12 if spec.compiled or what == "stub as code" else 6, f"{name} {what}", (judge, spec.folder)):
            told.add(noticed)
        else:
            left[name, what] = noticed
    one_each = {noticed: each for each, noticed in reversed(left.items()) if noticed and noticed not in told}
    return [each for each in plan if each not in left or each in one_each.values()]


@pytest.mark.parametrize("name, what", real_exercises())
def test_the_real_exercises_hold(name, what):
    verdict = verify.one(name, what)
    assert verdict.ok, verdict.result
