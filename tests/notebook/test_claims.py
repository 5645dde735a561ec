"""A sentence that says what a cell shows is tied to it: `<!-- holds: ... -->` in a source."""

from __future__ import annotations

import json

import pytest
from places import FIXTURES

from labkit.notebook import build, claims, gate, source, verify
from labkit.notebook.cells import Variant
from labkit.notebook.execute import DemoFailed

SOURCE = """---
title: Claims
title_zh: 断言
minutes: 5
stage: 00_fixture
---
We set two numbers.
<!-- zh -->
我们设两个数。
<!-- /zh -->

```python
small, large = 3.14, 20.25
```

The larger one is 20.2, six times the other.
{claim}
<!-- zh -->
较大的是 20.2，是另一个的六倍。
<!-- /zh -->

```python
print(large > small)
```
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Builds the notebook with one claim; its path."""
    monkeypatch.setenv("LABKIT_KERNELS", str(FIXTURES / "kernels"))

    def make(claim: str):
        path = tmp_path / "source" / "00.01_claims.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(SOURCE.format(claim="\n".join(f"<!-- holds: {c} -->" for c in claim.split("\n") if c)))
        source.stamp(path)
        src = source.read(path)
        build.build(src, tmp_path)
        return src, src.target(tmp_path)

    return make


def test_a_true_claim_leaves_nothing_in_the_notebook(made):
    src, path = made('says("20.2", large)\n6 < large / small < 7')
    nb = json.loads(path.read_text())
    assert len(src.claims) == 2 and [b.en.count("\n") for b in src.blocks if hasattr(b, "en")] == [0, 0], (
        "a claim ends no text"
    )
    assert not any("claim" in str(c["metadata"]) or "holds" in str(c["source"]) for c in nb["cells"])
    assert [c["execution_count"] for c in nb["cells"] if c["cell_type"] == "code"] == [1, 2, 3, 4]


def test_every_false_one_is_named_with_its_sentence(made):
    with pytest.raises(DemoFailed) as error:
        made('says("20.3", large)\nlarge > small\nlarge / small < 6\nlarge.missing == 1')
    said = str(error.value)
    assert said.count("no longer true") == 3 and said.count("six times the other") == 3
    assert "large = 20.25" in said and "large / small < 6 (" in said and "AttributeError" in said
    assert "00.01_claims.md:17: " in said and ":19: " in said


def test_another_claim_runs_the_notebook_again(made):
    made("large > small")
    with pytest.raises(DemoFailed):
        made("large < small")


def test_the_solved_notebook_has_them_as_cells(made, tmp_path):
    src, path = made("large > small")
    build.build_variant(src, tmp_path / "solved", Variant("solved"), tmp_path)
    solved = tmp_path / "solved" / path.relative_to(tmp_path)
    assert verify.nbval(solved).returncode == 0
    solved.write_text(solved.read_text().replace("large > small'", "large < small'"))
    ran = verify.nbval(solved)
    assert ran.returncode and "large = 20.25" in ran.stdout


@pytest.mark.parametrize(
    "written, value, holds",
    [
        ("20.2", 20.249, True),
        ("20.2", 20.3, False),
        ("3,100", 3100.4, True),
        ("2", 1.6, True),
        ("0.25", 0.2449, False),
        ("-1.5", -1.5, True),
    ],
)
def test_a_number_as_it_is_written(written, value, holds):
    assert claims.says(written, value) is holds


def test_the_gate_wants_the_number_in_both_texts(made, tmp_path):
    src, path = made('says("20.2", large)')
    assert not list(claims.unsaid(src))
    src.path.write_text(src.path.read_text().replace("较大的是 20.2", "较大的是 20.20"))
    assert [(number, lang) for _, number, lang in claims.unsaid(source.read(src.path))] == [("20.2", "zh")]
    assert any("says('20.2', ...)" in c for c in gate.complaints(home=tmp_path))


def test_a_claim_that_is_no_expression(tmp_path):
    path = tmp_path / "00.01_claims.md"
    path.write_text(SOURCE.format(claim="<!-- holds: large > -->"))
    with pytest.raises(source.SourceFormatError, match=r":17: .*no Python expression"):
        source.read(path)


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("{claim}", "<!-- exercise: -->", ":17: .*needs an exercise's id"),
        ("minutes: 5", "minutes: ²", ":1: minutes is '²'"),
        ("六倍。", "六倍。\n<!-- holds: 1 == 2 -->", ":20: a claim inside a translation"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(old, new, said, tmp_path):
    path = tmp_path / "00.01_claims.md"
    path.write_text(SOURCE.replace(old, new).replace("{claim}", ""))
    with pytest.raises(source.SourceFormatError, match=said):
        source.read(path)
