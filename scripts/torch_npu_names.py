"""Which public names of torch.npu the simulation has, as a table: data/torch_npu_names.csv.

python scripts/torch_npu_names.py      writes it
"""

from __future__ import annotations

import csv
import io

from labkit import paths
from labkit.device import npu
from labkit.device.names import REAL_NAMES, instead


def table() -> list[tuple[str, str, str]]:
    """(name, "yes" or "no", what to use instead) of every public name of torch.npu."""
    rows = []
    for name in sorted(REAL_NAMES):
        has = name in npu.__dict__
        rows.append((name, "yes" if has else "no", "" if has else instead(name)))
    return rows


def csv_text() -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("name", "simulated", "instead"))
    writer.writerows(table())
    return out.getvalue()


def main() -> None:
    path = paths.repo_root() / "data" / "torch_npu_names.csv"
    path.write_text(csv_text(), encoding="utf-8")
    rows = table()
    print(f"{path}: {sum(has == 'yes' for _, has, _ in rows)} of {len(rows)} names simulated")


if __name__ == "__main__":
    main()
