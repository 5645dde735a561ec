"""The figure of the device's timeline: lanes, overlap, windows."""

from __future__ import annotations

import pytest
from figure_samples import all_text, device_work

from labkit import figures


def test_streams_are_lanes_and_overlap_is_counted():
    figure = figures.stream_timeline(device_work())
    said = figure.desc.split("\n")
    assert (
        said[0].startswith("7 pieces of work in 38 us, modelled; the device is busy 100 %")
        and "at once 32 %" in said[0]
    )
    assert said[1:] == [
        "default stream: 1 pieces, 8 us, 21 %",
        "stream A: 3 pieces, 30 us, 79 %",
        "stream B: 3 pieces, 12 us, 32 %",
    ]
    assert "mm" in all_text(figure) and "aten::mm" not in all_text(figure)


def test_streams_in_a_window_and_of_several_processes():
    part = figures.stream_timeline(device_work(), t0=30, t1=38)
    assert part.desc.split("\n")[1:] == ["default stream: 1 pieces, 8 us, 100 %", "stream A: 1 pieces, 4 us, 50 %"]
    both = figures.stream_timeline({"one": device_work(), "two": device_work(1)})
    assert [line.split(":")[0] for line in both.desc.split("\n")[1:]] == [
        f"{who} {lane}" for who in ("one", "two") for lane in ("default stream", "stream A", "stream B")
    ]
    many = figures.stream_timeline(device_work(5000))
    assert len(many.svg) < 60_000
    for wrong in (dict(t0=50), dict(t0=0, t1=0)):
        with pytest.raises(ValueError):
            figures.stream_timeline(device_work(), **wrong)


def test_nothing_modelled_is_said(monkeypatch):
    from labkit import device

    monkeypatch.setattr(device, "_mode", "npu")
    device.reset_clock()
    assert device.timeline() == [] and device.clock().host_us != device.clock().host_us
    assert "no virtual timeline" in figures.stream_timeline(device.timeline()).desc
    assert "no virtual timeline" in figures.stream_timeline({"rank 0": [], "rank 1": []}).desc
