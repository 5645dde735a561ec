"""Does a build name every sentence that another constant made false?

    python scripts/false_sentences.py --seed 1 --count 5
    python scripts/false_sentences.py --constant dma.to_ub.slow --only 01.05
    python scripts/false_sentences.py --seed 1 --count 5 --list

Constants of the twin's clock are drawn by seed and changed by a tenth, one at a time, in a copy of the checkout
(--work). Each notebook is built there. Two things are printed: the sentences that the build names, and the numbers in
the prose that stood in an output which no longer has them, though no claim beside them was named. The second list is
for a reader: a number may stand in an output by chance. What it cannot see is a sentence without a number.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
TABLE = "labkit/twin/chips/910B1.toml"
SECTIONS = ("dma", "gm", "cube", "vector", "matmul", "scalar", "sync", "launch", "host", "links", "rates", "operators")
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+)?(?![\w])")
LINE = re.compile(r"^(\w+) = ([\d.e+-]+)(?=\s|$)")


def constants(text: str) -> dict[str, int]:
    """The line of each constant of the clock, by its name with its section: dma.to_ub.slow."""
    found, section = {}, ""
    for number, line in enumerate(text.splitlines()):
        if line.startswith("["):
            section = line[1 : line.index("]")]
        elif (m := LINE.match(line)) and section.split(".")[0] in SECTIONS and float(m[2]):
            found[f"{section}.{m[1]}"] = number
    return found


def changed(text: str, line: int, factor: float) -> str:
    """The table with the number of one line multiplied."""
    lines = text.splitlines(keepends=True)
    lines[line] = LINE.sub(lambda m: f"{m[1]} = {float(m[2]) * factor:.12g}", lines[line])
    return "".join(lines)


def copy(work: Path) -> Path:
    """The files that git knows of the checkout."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=REPO, capture_output=True, text=True, check=True).stdout
    for old in (work / "notebooks/source").glob("*.md"):  # of an earlier run: one with another name now stood twice
        old.unlink()
    for name in filter(None, names.split("\0")):
        if (REPO / name).is_file():
            (work / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPO / name, work / name)
    return work


def built(number: str) -> None:
    """In the copy: builds one notebook and prints what was named and what its cells now print, as JSON."""
    from labkit import paths
    from labkit.notebook.build import chosen
    from labkit.notebook.cells import notebook
    from labkit.notebook.execute import DemoFailed, execute

    (src,) = chosen([number])
    named, node = "", None
    try:
        node = execute(
            notebook(src, with_claims=True),
            src.target(paths.notebooks_dir()).parent,
            src.id,
            claims=tuple(src.claims),
            source=src.path.name,
        )
    except DemoFailed as error:
        named, node = str(error), error.notebook
    cells = node["cells"] if node else []
    printed = {c["id"]: sorted(numbers(c)) for c in cells if c["cell_type"] == "code"}
    prose = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    print(json.dumps({"named": named, "cells": printed, "prose": prose}))


def numbers(cell: dict) -> set[str]:
    """The numbers in what a code cell prints or shows as text."""
    texts = []
    for out in cell.get("outputs", ()):
        for text in (out.get("text"), *(out.get("data", {}).get(k) for k in ("text/plain", "text/html"))):
            texts.append("".join(text) if text else "")
    return {n for text in texts for n in NUMBER.findall(text)}


def unnamed(number: str, new: dict[str, list[str]], prose: list[str], named: str) -> list[tuple[str, str]]:
    """(number, sentence) of the prose, as built now, whose number an output has lost, and which is not named."""
    (path,) = REPO.glob(f"notebooks/*/{number}*.ipynb")
    old = json.loads(path.read_text())["cells"]
    lost, kept, found, told = set(), set(), [], set(NUMBER.findall(named))
    for cell in old:
        if cell["cell_type"] == "code" and cell["id"] in new:
            lost |= numbers(cell) - set(new[cell["id"]])
            kept |= set(new[cell["id"]])
    for text in prose:
        for sentence in re.split(r"(?<=[.:!?])\s+|\n", text):
            for n in NUMBER.findall(sentence):
                if len(n.strip("0.,")) > 1 and n in lost - kept and n not in told:
                    found.append((n, sentence))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--constant", action="append", help="this one instead of drawn ones")
    parser.add_argument("--factor", type=float, default=1.1)
    parser.add_argument("--only", action="append", help="this notebook, as 01.05")
    parser.add_argument("--work", type=Path, default=Path("/tmp/labkit-sentences"))
    parser.add_argument("--list", action="store_true", help="say which constants, and stop")
    parser.add_argument("--built", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.built:
        return built(given.built)
    text = (REPO / TABLE).read_text()
    known = constants(text)
    drawn = given.constant or random.Random(given.seed).sample(sorted(known), given.count)
    if unknown := [name for name in drawn if name not in known]:
        parser.error(f"{TABLE} has no constant of the clock {', '.join(unknown)}")
    if given.list:
        return print(*drawn, sep="\n")
    work = copy(given.work)
    env = {**os.environ, "PYTHONPATH": str(work)}
    every = given.only or sorted(p.name[:5] for p in (REPO / "notebooks/source").glob("[0-9]*.md"))
    for name in drawn:
        (work / TABLE).write_text(changed(text, known[name], given.factor))
        print(f"\n== {name} * {given.factor}", flush=True)
        for number in every:
            ran = subprocess.run(
                [sys.executable, __file__, "--built", number], cwd=work, env=env, capture_output=True, text=True
            )
            if ran.returncode:
                print(f"{number}: {ran.stderr[-600:]}", flush=True)
                continue
            told = json.loads(ran.stdout.splitlines()[-1])
            if told["named"]:
                print(told["named"], flush=True)
            for n, sentence in unnamed(number, told["cells"], told["prose"], told["named"]):
                print(f"{number}: {n} is in no output now, and is not named: {sentence[:200]}", flush=True)


if __name__ == "__main__":
    main()
