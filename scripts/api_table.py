"""Writes data/ascendc_api.csv: every function, class and macro that the public Ascend C reference has a page for.

    python scripts/api_table.py DIR      DIR: a checkout of asc-devkit

The lab reads it when a kernel uses a name that the twin does not have: the message says whether the name exists,
where it is documented, and whether Atlas A2 has it. Only facts are taken: names, places, product support.
"""

import csv
import re
import sys
from pathlib import Path

from labkit.paths import repo_root

API = Path("docs/zh/api/SIMD-API")
_A2 = re.compile(r"Atlas A2 训练系列产品/Atlas A2 推理系列产品\s*[：:|]\s*(不?支持|√|x)")


def rows(devkit: Path):
    for page in sorted((devkit / API).rglob("*.md")):
        text = page.read_text(encoding="utf-8", errors="replace")
        support = _A2.search(text)
        if support is None:
            continue  # an overview, not a page of a name
        on_a2 = "yes" if support[1] in ("支持", "√") else "no"
        stem = re.sub(r"[（(].*?[)）]", " ", page.stem)
        for name in set(re.findall(r"[A-Za-z_][A-Za-z0-9_]{2,}", stem)) - {"Kernel", "HCCL"}:  # words of a title
            yield name, on_a2, str(page.relative_to(devkit / API))


def main(devkit: str) -> None:
    known: dict[str, list[str]] = {}
    for name, on_a2, page in rows(Path(devkit)):
        before = known.setdefault(name, [on_a2, page])
        if on_a2 == "yes" and before[0] == "no":  # one of several forms: what A2 has counts
            known[name] = [on_a2, page]
    out = repo_root() / "data" / "ascendc_api.csv"
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["name", "on_a2", "page"])
        writer.writerows([name, *rest] for name, rest in sorted(known.items()))
    print(f"{out}: {len(known)} names, {sum(r[0] == 'yes' for r in known.values())} of them on Atlas A2")


if __name__ == "__main__":
    main(sys.argv[1])
