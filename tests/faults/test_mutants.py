"""One small change to a correct kernel, and the check that has to notice it: for each kind of check and each family of
the API. tests/faults/mutants.toml lists the changes; the kernel without the change gives no finding for the same
launch."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pins
import pytest
from places import MUTANTS
from twin_launch import build_all, launch, load_index

from labkit import paths

INDEX = load_index(MUTANTS)
FAMILIES = {  # what a change touches
    "unary",
    "binary",
    "scalar",
    "mask form",
    "cast",
    "compare",
    "select",
    "reduce",
    "gather",
    "gather mask",
    "sort",
    "transpose",
    "fill",
    "broadcast",
    "pad",
    "copy count",
    "copy blocks",
    "copy pad",
    "copy slice",
    "copy nd2nz",
    "atomic",
    "gm scalar",
    "ub scalar",
    "tque",
    "tbuf",
    "tquebind",
    "pool",
    "allocator",
    "static tensor",
    "events",
    "mask mode",
    "load data",
    "mmad",
    "fixpipe",
    "matmul",
    "softmax",
    "normalisation",
    "math",
    "topk",
    "cumsum",
    "quantization",
    "sync all",
    "cross core",
    "block chain",
    "tiling",
    "language",
}
CHECKS = {  # codes without a mutant, and where their broken kernel or program shows them
    "host-": "faults of a host program: tests/program/test_run.py, test_adapter.py"
}


def source(case: dict) -> Path:
    return paths.repo_root() / case["file"]


def mutated(case: dict) -> str:
    text, old = source(case).read_text(encoding="utf-8"), case["old"]
    at, found = case.get("occurrence", 1), text.count(old)
    assert found == 1 or "occurrence" in case, f"{old!r} occurs {found} times in {case['file']}"
    assert 1 <= at <= found, f"{old!r} occurs {found} times in {case['file']}"
    parts = text.split(old)
    return old.join(parts[:at]) + case["new"] + old.join(parts[at:])


def options(case: dict) -> dict:
    return {"entry": case["entry"]} if "entry" in case else {}


@cache
def findings_without(file: str, entry: str | None, args: str, blocks: int) -> list[str]:
    case = next(
        c
        for c in INDEX.values()
        if (c["file"], c.get("entry"), repr(c["args"]), c.get("blocks", 1)) == (file, entry, args, blocks)
    )
    seen = launch(source(case), case["args"], blocks, **options(case))
    return seen.codes() if seen.finished else ["did not finish", *seen.codes()]


@pytest.fixture(scope="module", autouse=True)
def built():
    originals = {(c["file"], c.get("entry")): {"path": source(c), **options(c)} for c in INDEX.values()}
    changed = [{"text": mutated(c), "filename": str(source(c)), **options(c)} for c in INDEX.values()]
    build_all([*originals.values(), *changed])


@pytest.mark.parametrize("name", INDEX)
def test_caught(name):
    case = INDEX[name]
    blocks = case.get("blocks", 1)
    assert findings_without(case["file"], case.get("entry"), repr(case["args"]), blocks) == []
    seen = launch(
        source(case), case["args"], blocks, timeout=case.get("timeout", 20.0), text=mutated(case), **options(case)
    )
    assert case["code"] in seen.codes(), seen.report()
    beside = set(seen.codes()) - {case["code"]} - set(case.get("also", []))
    assert not beside, f"beside {case['code']}:\n{seen.report()}"
    if seen.finished:
        pins.check(f"mutants/{name}", seen)
    assert seen.ok is False or {f.severity for f in seen.findings} == {"warning"}


def test_enough_of_every_kind():
    from labkit import messages

    assert len(INDEX) >= 60
    assert {f for case in INDEX.values() for f in case["family"]} == FAMILIES
    codes = {key.removeprefix("finding.") for key in messages.tables() if key.startswith("finding.")}
    without = {c for c in codes if not c.startswith(tuple(CHECKS))} - {case["code"] for case in INDEX.values()}
    assert not without, f"no mutant shows {sorted(without)}"
