"""The draw of `further.py`, as code: which public kernels come next, by a rule that looks at no outcome.

    python -m tests.world.draw /tmp/world          # folders owner+name, with the commits of data/world_kernels.csv

A candidate is a folder with op_host and op_kernel, or a source of a kernel by itself, as further.py says; rows of the
table are left out. In each repository random.Random(18) shuffles the sorted paths; they are taken in turn over the
sorted repositories.
"""

from __future__ import annotations

import csv
import random
import re
import sys
from itertools import zip_longest
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "data" / "world_kernels.csv"
LINES = {"kernel": 900, "host": 1200, "file": 400}
VENDORS = ("hicann/", "vllm-project/", "sgl-project/")  # students' definitions may name any chip
# Other chips' own code, generated files, communication between cards, attention, recurrent operators.
LEFT_OUT = re.compile(
    r"arch3[0-9]|ascend950|910_95|autogen|/build/|/build_out/|310p|mc2|hccl|shmem|all_?reduce|all_?gather|all_?to_?all|dispatch|"
    r"combine|barrier|attention|attn|flash|\bfa\b|mla|lstm|gru|rnn|delta_rule|template|/tests?/|/ut/",
    re.IGNORECASE,
)
# The chip's own words in the text: registers and threads of Ascend 950.
LEFT_OUT_TEXT = re.compile(r"__simd_vf__|__simt|MicroAPI|AscendC::Reg\b|dav-?3510|RegTensor|mx_?fp|fp8|fp4")
SOURCES = (".cpp", ".h", ".hpp", ".cce", ".asc")


def lines(folder: Path) -> int:
    return sum(p.read_bytes().count(b"\n") for p in folder.rglob("*") if p.suffix in SOURCES and "arch35" not in str(p))


def projects(root: Path, vendor: bool):
    for host in root.rglob("op_host"):
        home = host.parent
        if (
            not (home / "op_kernel").is_dir()
            or lines(home / "op_kernel") > LINES["kernel"]
            or lines(host) > LINES["host"]
        ):
            continue
        text = "".join(p.read_text(errors="replace") for p in host.glob("*.cpp"))
        if "OpDef" in text and ("ascend910b" in text.lower() or not vendor):
            yield home


def files(root: Path, taken: list[Path]):
    for p in root.rglob("*"):
        if p.suffix not in (".cpp", ".asc", ".cce") or any(p.is_relative_to(t) for t in taken) or not p.is_file():
            continue
        text = p.read_text(errors="replace")
        if LEFT_OUT_TEXT.search(text) or not re.search(r"__global__[^;{}()]*\([^;{}]*\)\s*\{", text):
            continue
        if "__aicore__" in text and text.count("\n") <= LINES["file"]:
            yield p


def order(sources: Path) -> list[tuple[str, str]]:
    """(repository, path) in the order of the draw."""
    with open(TABLE, encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    drawn = sorted({r["repository"] for r in rows if r["group"] == "drawn"})
    columns = []
    for repository in drawn:
        root = sources / repository.replace("/", "+")
        known = [r["path"] for r in rows if r["repository"] == repository]
        homes = list(projects(root, repository.startswith(VENDORS)))
        every = {r.relative_to(root).as_posix() for r in root.rglob("op_host") for r in [r.parent]}
        found = [h.relative_to(root).as_posix() for h in [*homes, *files(root, [root / e for e in every])]]
        left = sorted(p for p in found if not LEFT_OUT.search(f"/{p}/") and not any(p in k or k in p for k in known))
        random.Random(18).shuffle(left)
        columns.append([(repository, p) for p in left])
    return [one for turn in zip_longest(*columns) for one in turn if one]


if __name__ == "__main__":
    for i, (repository, path) in enumerate(order(Path(sys.argv[1])), 1):
        print(i, repository, path)
