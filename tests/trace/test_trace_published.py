"""Excerpts of what real nodes wrote; sources and licence in published/README.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import paths, trace

HERE = Path(__file__).parent / "published"


@pytest.mark.parametrize(
    "name, version, rows, first",
    [
        ("kernel_details_2023.csv", "CANN 6 to 7", 12, None),
        ("kernel_details_cann8.csv", "CANN 8", 8, None),
        ("kernel_details_level0.csv", "CANN 8, Level0", 12, "trans_TransData_0"),
    ],
)
def test_tables_of_three_generations(name, version, rows, first):
    found = trace.read(HERE / name).trace
    assert found.generation == version and found.kernels.height == rows and found.word == "measured"
    assert found.kernels["dur"].min() > 0 and found.kernels["start"].is_sorted()
    if first:
        assert found.kernels["name"][0] == first and found.kernels["in_shapes"].null_count() == rows, (
            "Level0 has no shapes"
        )


def test_a_tree_without_its_timeline_still_says_what_the_tables_know():
    profile = trace.read(paths.data_dir() / "profiles/alexnet_910b/rank0_ascend_pt")
    one = profile.trace
    assert (one.rank, one.level, one.simulated, one.kernels.height) == (0, "Level1", False, 191)
    row = one.kernels.row(0, named=True)
    assert (row["type"], row["in_shapes"], row["in_formats"], row["out_formats"]) == (
        "TransData",
        "32,3,224,224",
        "NCHW",
        "NC1HWC0",
    )
    assert row["blocks"] == 32 and row["aiv_mte3"] == pytest.approx(0.667) and row["dur"] == 53.741
    assert one.step_times["computing"][0] == pytest.approx(8873.756) and one.step_times["step"][0] == "50"
    assert one.comm_times.height == 4 and one.comm_times["elapsed"].max() == pytest.approx(79089.5, rel=1e-4)
    text = profile.report().text()
    assert "measured" in text and "modelled" not in text
