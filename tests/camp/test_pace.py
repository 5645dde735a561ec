"""A learner's part is late by its own processor time or by waiting, never because the machine or the lab is at work."""

import threading
import time

import pytest

from labkit.camp.pace import Pace, _waits_for_disk
from labkit.exercises.time_limit import TookTooLong


def works(name: str, seconds: float):
    """A function from a file of this name that uses so much processor time."""
    text = "import time\ndef f():\n    end = time.process_time() + s\n    while time.process_time() < end: pass\n"
    made = {"s": seconds}
    exec(compile(text, name, "exec"), made)
    return made["f"]


def test_the_labs_own_work_is_not_the_learners():
    pace = Pace(0.3, 20, 20)
    with pace.held():
        works("labkit/own.py", 0.9)()
    assert pace.all > 0.6 and pace.learners < 0.2


def test_the_learners_loop_ends():
    with pytest.raises(TookTooLong) as late, Pace(0.3, 20, 20).held():
        works("exercise a", 20)()
    assert late.value.seconds == 0.3


def test_all_of_it_has_a_limit_too():
    with pytest.raises(TookTooLong), Pace(20, 20, 0.3).held():
        works("labkit/own.py", 20)()


def test_sleeping_ends_and_what_waits_for_the_judge_does_not():
    with pytest.raises(TookTooLong), Pace(20, 0.4, 20).held():
        time.sleep(20)
    pace = Pace(20, 0.4, 20)
    pace.pause = True
    with pace.held():
        time.sleep(1)


def test_a_machine_that_gives_no_processor_makes_nobody_late(monkeypatch):
    """Ready all the time, and had none: the kernel's own count of that."""
    began = time.monotonic()
    monkeypatch.setattr("labkit.camp.pace._wanted", lambda task: time.monotonic() - began)
    pace = Pace(20, 0.3, 20)
    with pace.held():
        time.sleep(1)
    assert pace.idle < 0.1


def test_a_busy_disk_makes_nobody_late(monkeypatch):
    monkeypatch.setattr("labkit.camp.pace._waits_for_disk", lambda task: True)
    pace = Pace(20, 0.3, 20)
    with pace.held():
        time.sleep(1)
    assert pace.idle < 0.1
    monkeypatch.undo()
    assert not _waits_for_disk(threading.main_thread().native_id) and not _waits_for_disk(-1)


def test_a_loop_that_swallows_it_is_told_again():
    told = []
    with pytest.raises(TookTooLong), Pace(0.2, 20, 20).held():
        try:
            works("exercise a", 20)()
        except BaseException as first:
            told.append(first)
            works("exercise a", 20)()
    assert len(told) == 1
