"""Writes data/triton_drawn.csv: kernels by chance through labkit.triton, against PyTorch in float32.

    python scripts/drawn_triton.py --count 400
    python scripts/drawn_triton.py --count 100 --whole     # data/triton_drawn_whole.csv
    python scripts/drawn_triton.py --count 60 --mixed      # data/triton_mixed_drawn.csv: products and vector steps

The rule: the first COUNT examples that hypothesis draws from tests/support/triton_drawn.py (--mixed: triton_mixed.py)
by seed 19, all counted; right is an error within the type's unit (wrong <= 1) and no finding of the twin.
"""

from __future__ import annotations

import csv
import sys
import tempfile
from pathlib import Path

import typer

REPO = Path(__file__).resolve().parents[1]
sys.path += [str(REPO), str(REPO / "tests" / "support")]


VECTOR = ["tile", "tensor", "loads", "steps", "stored"]
MIXED = ["order", "sides", "turned", "steps", "type"]


def described(kernel, mixed: bool) -> list:
    """Its first columns in the table."""
    if mixed:
        steps = " | ".join(" ".join(names) for names in (kernel.before, kernel.between, kernel.behind))
        sides = f"{' x '.join(map(str, kernel.sides))}, {kernel.rows} rows, {kernel.times} times"
        return [kernel.order, sides, kernel.turned, steps, kernel.dtype]
    tile, tensor = f"{kernel.high} x {kernel.wide}", f"{kernel.rows} x {kernel.width}"
    loads = " ".join(f"{k}:{d}" for k, d, _ in kernel.loads)
    return [tile, tensor, loads, " ".join(n for n, _ in kernel.steps), kernel.out]


def main(count: int = 400, out: Path | None = None, show: bool = False, whole: bool = False, mixed: bool = False):
    """whole: integers of 8 to 64 bits, quotients, bits, scans and argmax in place of floats' arithmetic. mixed:
    products and vector steps."""
    out = out or REPO / "data" / f"triton_{'mixed_' if mixed else ''}drawn{'_whole' if whole else ''}.csv"
    import triton_drawn
    import triton_mixed
    from hypothesis import HealthCheck, Phase, given, seed, settings

    import labkit.triton

    labkit.triton.install()
    rows: list[list] = []

    drawn = triton_mixed.kernels() if mixed else triton_drawn.whole_kernels() if whole else triton_drawn.kernels()

    @seed(19)
    @settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
        database=None,
    )
    @given(kernel=drawn)
    def each(kernel):
        row = described(kernel, mixed)
        try:
            got, want = kernel.run(folder)
            record = labkit.triton.last()
            error, codes = (kernel if mixed else triton_drawn).wrong(got, want), sorted(set(record.codes()))
            row += [
                "right" if error <= 1 and not codes else "wrong",
                f"{error:.3f}",
                f"{record.time_us:.2f}",
                " ".join(codes),
            ]
        except Exception as problem:
            row += ["error", "", "", f"{type(problem).__name__}: {problem}".splitlines()[0][:160]]
        if show and row[5] != "right":
            print(row, kernel.source(), sep="\n")
        rows.append(row)

    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        each()
    with out.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow([*(MIXED if mixed else VECTOR), "outcome", "error", "modelled_us", "note"])
        table.writerows(rows)
    print(f"{sum(r[5] == 'right' for r in rows)} of {len(rows)} right")


if __name__ == "__main__":
    typer.run(main)
