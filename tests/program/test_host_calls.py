"""What the host's calls (acl*) do at their edges: sizes that overflow, several devices, streams that wait for others."""

from __future__ import annotations

import pytest
from places import PROGRAMS

from labkit import program


def run(case: str) -> program.Result:
    result = program.run_file(PROGRAMS / "edges.asc", [case], program.Settings(timeout=20), capture=True)
    assert not result.late, result.output
    return result


@pytest.mark.parametrize(
    "case, printed, codes",
    [
        ("huge", ["malloc 207001 1", "host 200000 1"], []),
        ("negative", ["copy 107000", "set 107000"], ["host-bounds", "host-bounds"]),
        ("pitch", ["pitch 100000 107000", "a row has 16 bytes, the next one begins after 8"], ["host-bounds"]),
        ("null", ["null 107000"], ["host-direction"]),
        ("bad-stream", ["copy 107003 set 107003"], []),
        ("pinned", ["set 0 0, byte 64 is 1", "too far 100000 100000", "there are 4032 from there on"], []),
    ],
)
def test_what_cannot_be_is_refused_and_touches_no_memory(case, printed, codes):
    result = run(case)
    assert [line for line in printed if line not in result.output] == [], result.output
    assert [f.code for f in result.findings] == codes


def test_the_text_of_an_error_that_left_a_finding():
    result = run("error")
    assert "107000 aclrtMemcpy failed: host-direction, see the findings 107000" in result.output


@pytest.mark.parametrize("case", ["event-chain", "event-query"])
def test_whoever_has_waited_by_an_event_may_read(case):
    """By another stream's wait for it, or by asking until it has passed."""
    result = run(case)
    assert "read 0" in result.output and not result.findings, result.findings


@pytest.mark.parametrize("case", ["event-too-early", "event-other"])
def test_an_event_says_nothing_of_a_kernel_behind_it_or_elsewhere(case):
    """However late it is by then: on another chip or with more work the kernel is still running."""
    assert [f.code for f in run(case).findings] == ["host-unsynced"]


def test_a_device_that_is_reset_takes_nothing_of_another():
    result = run("reset-other")
    assert "read 0 free 0" in result.output and not result.findings, result.output


def test_a_device_is_released_when_the_last_one_resets_it():
    result = run("reset-counted")
    assert "read 0 free 0 stream 0" in result.output and "after 107002" in result.output, result.output
    assert [f.code for f in result.findings] == ["host-context"]


def test_each_device_has_its_own_memory():
    assert "1 0 1" in run("room").output


def test_memory_that_was_given_back_can_be_had_again():
    """Also when so much was asked for, one after another, that the range of addresses is at its end."""
    assert "failed 0\n" in run("again").output


def test_what_is_lost_at_a_reset_is_told_once():
    (found,) = run("late").findings
    assert (found.code, found.count) == ("host-unfetched", 1)
