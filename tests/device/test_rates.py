"""The device's rates are in the units that its cost model counts in: nanoseconds, and bytes per nanosecond."""

from __future__ import annotations

import pytest

from labkit import chips
from labkit.device.rates import rates

BOUNDS = {  # what a card can be, a factor of two or more around what is published of these chips
    "host_dispatch": (1e3, 5e4),
    "host_api": (50, 5e3),
    "launch": (500, 1e4),
    "copy_latency": (1e3, 1e5),
    "link": (5, 100),
    "peer": (5, 400),
    "peer_latency": (1e3, 1e5),
    "clock": (0.9, 3),
    "aic": (8, 64),
    "aiv": (16, 128),
    "l2": (32 * 2**20, 1024 * 2**20),
    "core": (30, 600),
    "hbm": (400, 6000),
    "l2_read": (800, 12000),
    "l2_write": (800, 12000),
    "spread": (10, 5e3),
}


@pytest.mark.parametrize("chip", chips.names())
def test_units(chip):
    got = rates(chip)
    assert set(BOUNDS) <= set(got)
    for name, (least, most) in BOUNDS.items():
        assert least <= got[name] <= most, name
    assert got["aiv"] == 2 * got["aic"]
    classes = {name.removesuffix(".fixed") for name in got if name.endswith(".fixed")}
    assert len(classes) > 15
    for c in classes:
        assert 500 < got[f"{c}.fixed"] < 5e4, c  # a launch takes a microsecond or more
        assert 1 <= got[f"{c}.block"] < 5e3, c  # what a core's beginning adds
        assert 0 < got[f"{c}.repeat"] < 1e4 and 0 < got[f"{c}.row"] < 1e4, c  # cycles


def test_another_chip_has_other_rates():
    all_of_them = {chip: rates(chip) for chip in chips.names()}
    assert len({r["hbm"] for r in all_of_them.values()}) > 1 and len({r["aic"] for r in all_of_them.values()}) > 1
    with pytest.raises(ValueError, match="no chip"):
        rates("910Z")


def test_a_misspelt_name_in_a_chips_table_is_refused(tmp_path, monkeypatch):
    (tmp_path / "chips").mkdir()
    (tmp_path / "chips" / "910B1.toml").write_bytes((chips.twin_dir() / "chips" / "910B1.toml").read_bytes())
    for name, text in {
        "good": 'base = "910B1"\n[clock]\nhz = 1.5e9\n[vector.cycles]\nOwn = 4\n',
        "bad": 'base = "910B1"\n[clokc]\nhz = 1.5e9\n',
        "bare": "[clock]\nhz = 1.5e9\n",
    }.items():
        (tmp_path / "chips" / f"{name}.toml").write_text(text)
    chips.load.cache_clear()
    monkeypatch.setattr(chips, "twin_dir", lambda: tmp_path)
    try:
        assert chips.load("good")["clock"]["hz"] == 1.5e9
        with pytest.raises(ValueError, match="'clokc.hz'; 'clock.hz'?"):
            chips.load("bad")
        with pytest.raises(ValueError, match='needs base = "910B1"'):
            chips.load("bare")
    finally:
        chips.load.cache_clear()
