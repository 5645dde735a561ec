"""One small change to a correct kernel, and the check that has to notice it: for each kind of check and each family of
the API. tests/faults/mutants.toml lists the changes; the kernel without the change gives no finding for the same
launch."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pins
import pytest
from faults import Fault, load
from places import BROKEN, MUTANTS
from twin_launch import build_all, launch

INDEX = load(MUTANTS)
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


def options(fault: Fault) -> dict:
    return {"entry": fault.entry} if fault.entry else {}


@cache
def findings_without(file: Path, entry: str | None, args: str, blocks: int) -> list[str]:
    fault = next(f for f in INDEX.values() if (f.file, f.entry, repr(f.args), f.blocks) == (file, entry, args, blocks))
    seen = launch(file, fault.args, blocks, **options(fault))
    return seen.codes() if seen.finished else ["did not finish", *seen.codes()]


@pytest.fixture(scope="module", autouse=True)
def built():
    originals = {(f.file, f.entry): {"path": f.file, **options(f)} for f in INDEX.values()}
    changed = [{"text": f.text(), "filename": str(f.file), **options(f)} for f in INDEX.values()]
    build_all([*originals.values(), *changed])


@pytest.mark.parametrize("name", INDEX)
def test_caught(name):
    fault = INDEX[name]
    before = findings_without(fault.file, fault.entry, repr(fault.args), fault.blocks)
    assert before == [], f"{fault.file} has findings without its change"
    timeout = fault.timeout or 20.0
    seen = launch(fault.file, fault.args, fault.blocks, timeout=timeout, text=fault.text(), **options(fault))
    assert fault.noticed in seen.codes(), f"{fault.noticed} is not found in {name}: {seen.report() or 'no finding'}"
    beside = set(seen.codes()) - {fault.noticed} - set(fault.also)
    assert not beside, f"beside {fault.noticed}:\n{seen.report()}"
    if seen.finished:
        pins.check(f"mutants/{name}", seen)
    assert seen.ok is False or {f.severity for f in seen.findings} == {"warning"}


def test_enough_of_every_kind():
    from labkit import messages

    assert len(INDEX) >= 60
    assert {f for case in INDEX.values() for f in case.family} == FAMILIES
    codes = {key.removeprefix("finding.") for key in messages.tables() if key.startswith("finding.")}
    broken = "".join(file.read_text(encoding="utf-8") for file in BROKEN.glob("*.asc"))
    shown = {case.noticed for case in INDEX.values()} | set(re.findall(r"// <- ([\w-]+)$", broken, re.M))
    without = {c for c in codes if not c.startswith(tuple(CHECKS))} - shown
    assert not without, f"no wrong kernel shows {sorted(without)}"
