"""The audit of a published claim about SwiGLU on the 910B: each number against arithmetic and the chip's table.

    python -m labkit.operators.swiglu.claims      writes data/claims.csv

The claim: gate and up projection with their activation, B=32, S=512, H=4096, I=16384, fp16. What bounds it here follows
from labkit/twin/chips/910B1.toml; nothing is measured or modelled.
"""

from __future__ import annotations

import csv
import io
from typing import NamedTuple

from labkit import chips, paths

COLUMNS = ("id", "claim", "published", "unit", "source", "arithmetic", "bound", "bound_unit", "verdict")
SOURCE = "issue 5 of this project, Claims audit (the issue names no publisher)"
VERDICTS = ("possible", "impossible", "contradicts", "undecided")
MI = 2**20  # "MB" is read as 2**20 bytes, which favours the claim
# operations a second, the largest rate stated for an A2: ops-nn, docs/zh/develop/cross_platform_migration_guide.md
STATED = 376e12


class Shape(NamedTuple):
    """batch * sequence tokens, hidden and intermediate width, bytes an element."""

    batch: int = 32
    sequence: int = 512
    hidden: int = 4096
    intermediate: int = 16384
    bytes: int = 2

    @property
    def tokens(self) -> int:
        return self.batch * self.sequence

    @property
    def flops(self) -> float:
        """Of the two projections; a multiply-add counts as two."""
        return 2 * 2.0 * self.tokens * self.hidden * self.intermediate

    @property
    def sizes(self) -> dict[str, float]:
        """MiB of: x; both weights; one tensor of the intermediate width (gate, up, silu(gate), the result)."""
        return {
            "x": self.tokens * self.hidden * self.bytes / MI,
            "weights": 2 * self.hidden * self.intermediate * self.bytes / MI,
            "wide": self.tokens * self.intermediate * self.bytes / MI,
        }


def peak(chip: str = chips.DEFAULT) -> float:
    """fp16 operations a second of all cube cores: one 16 x 16 x k fractal a cycle and core."""
    table = chips.load(chip)
    return table["cores"]["aic"] * table["clock"]["hz"] * 2 * 16 * 16 * table["cube"]["k"]["half"]


def least_ms(shape: Shape = Shape(), chip: str = chips.DEFAULT) -> float:
    """Milliseconds that the two projections take at the peak."""
    return shape.flops / peak(chip) * 1e3


def rows(shape: Shape = Shape(), chip: str = chips.DEFAULT) -> list[dict]:
    """The table, a dict a row."""
    ms, tera = least_ms(shape, chip), peak(chip) / 1e12
    mib = shape.sizes
    made = []

    def add(id, claim, published, unit, arithmetic, bound, bound_unit, verdict):
        made.append(dict(zip(COLUMNS, (id, claim, published, unit, SOURCE, arithmetic, bound, bound_unit, verdict))))

    for id, name, published in (("time-1", "first", 15.6), ("time-2", "second", 8.2), ("time-3", "third", 5.1)):
        needs = shape.flops / published / 1e9
        add(
            id,
            f"time of the {name} version",
            published,
            "ms",
            f"{published} ms would be {needs:.0f} TFLOP/s, {needs / tera:.0%} of the peak; "
            f"{shape.flops / 1e12:.2f} TFLOP at {tera:.1f} TFLOP/s take no less "
            f"than the bound (at {STATED / 1e12:.0f} TFLOP/s, the largest rate that is stated anywhere, "
            f"{shape.flops / STATED * 1e3:.1f} ms)",
            f"{ms:.1f}",
            "ms",
            "possible" if published >= ms else "impossible",
        )

    two_in_place, fused = mib["x"] + 2 * mib["wide"], mib["x"] + mib["wide"]
    for id, name, published, least, held in (
        ("memory-1", "first", 1280, two_in_place, "x, gate, up"),
        ("memory-2", "second", 896, fused, "x and the result"),
        ("memory-3", "third", 768, fused, "x and the result"),
    ):
        whole = least + mib["weights"]
        add(
            id,
            f"memory of the {name} version",
            published,
            "MB",
            f"{held}: {least:.0f} MiB, {whole:.0f} with the weights; what else there is may be in place, and the "
            "claim does not say which tensors it counts",
            f"{least:.0f}",
            "MiB",
            "impossible" if published < least else "possible" if published >= whole else "undecided",
        )

    for id, name, published, time in (("tokens-1", "first", 65536, 15.6), ("tokens-3", "third", 200704, 5.1)):
        rate = shape.tokens / time * 1e3
        add(
            id,
            f"throughput of the {name} version",
            published,
            "tokens/s",
            f"{shape.tokens} tokens in {time} ms are {rate / published:.1f} times that; both numbers are the claim's",
            f"{rate:.0f}",
            "tokens/s",
            "contradicts",
        )

    add(
        "speedup",
        "third version against the first",
        3.2,
        "x",
        f"the published times give 15.6/5.1 = {15.6 / 5.1:.2f}; at the peak no more than 15.6/{ms:.1f}",
        f"{15.6 / ms:.2f}",
        "x",
        "impossible",
    )
    add(
        "percent",
        "106 % (the issue does not say of what)",
        106,
        "%",
        f"the third published rate is {200704 / 65536 - 1:.0%} above the first, not 106%; as a share of the peak "
        "it would be more than there is",
        "100",
        "%",
        "contradicts",
    )
    return made


def csv_text() -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows())
    return out.getvalue()


def main() -> None:
    path = paths.data_dir() / "claims.csv"
    path.write_text(csv_text(), encoding="utf-8")
    print(f"{paths.display_path(path)}: {len(rows())} claims")


if __name__ == "__main__":
    main()
