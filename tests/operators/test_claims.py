"""data/claims.csv, the audit of a published SwiGLU claim:
generated, and its bounds once more from the chip's table alone.
"""

from __future__ import annotations

import csv
import os

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
pytest.importorskip("torch")

from labkit.operators.swiglu import claims  # noqa: E402

import labkit  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.messages import tomllib  # noqa: E402

PUBLISHED = {
    "time-1": 15.6,
    "time-2": 8.2,
    "time-3": 5.1,
    "memory-1": 1280,
    "memory-2": 896,
    "memory-3": 768,
    "tokens-1": 65536,
    "tokens-3": 200704,
    "speedup": 3.2,
    "percent": 106,
}


@pytest.fixture(scope="module")
def table():
    with open(paths.data_dir() / "claims.csv", encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def test_the_file_is_the_generated_one():
    assert (paths.data_dir() / "claims.csv").read_text(encoding="utf-8") == claims.csv_text(), (
        "python -m labkit.operators.swiglu.claims"
    )


def test_every_published_number_has_its_row(table):
    assert {name: float(row["published"]) for name, row in table.items()} == PUBLISHED
    assert tuple(next(iter(table.values()))) == claims.COLUMNS and all(
        row["verdict"] in claims.VERDICTS and all(row.values()) for row in table.values()
    )


def test_the_bounds_once_more(table):
    chip = tomllib.loads((paths.twin_dir() / "chips" / "910B1.toml").read_text(encoding="utf-8"))
    tokens, hidden, wide = 32 * 512, 4096, 16384
    flops = 2 * 2 * tokens * hidden * wide
    peak = chip["cores"]["aic"] * 16 * 16 * chip["cube"]["k"]["half"] * 2 * chip["clock"]["hz"]
    assert peak == pytest.approx(chip["rates"]["cube16"], rel=1e-3)
    least = 1e3 * flops / peak
    assert 11.7 <= least == pytest.approx(12.09, abs=0.01) and 1e3 * flops / claims.STATED == pytest.approx(
        11.7, abs=0.01
    )
    bounds = {
        "time-1": least,
        "time-2": least,
        "time-3": least,
        "tokens-1": tokens / 15.6e-3,
        "tokens-3": tokens / 5.1e-3,
        "speedup": 15.6 / least,
        "memory-1": 2 * (tokens * hidden + 2 * tokens * wide) / 2**20,
        "memory-2": 2 * (tokens * hidden + tokens * wide) / 2**20,
        "memory-3": 2 * (tokens * hidden + tokens * wide) / 2**20,
        "percent": 100,
    }
    for name, bound in bounds.items():
        assert float(table[name]["bound"]) == pytest.approx(bound, rel=5e-3), name
        published = PUBLISHED[name]
        verdict = table[name]["verdict"]
        if name.startswith("time"):
            assert verdict == ("possible" if published >= bound else "impossible")
        elif name.startswith("tokens"):
            assert verdict == "contradicts" and bound > 10 * published
        elif name == "speedup":
            assert verdict == "impossible" and published > bound
        elif name.startswith("memory"):
            assert published >= bound and verdict != "impossible"


def test_another_shape():
    decode = claims.Shape(batch=32, sequence=1)
    assert claims.least_ms(decode) == pytest.approx(claims.least_ms() / 512)
    assert claims.Shape().sizes == {"x": 128, "weights": 256, "wide": 512}
    assert labkit.operator("swiglu").__name__.startswith("labkit.operators")
