"""A control group holds the number of processes, and knows what has left its session. Nothing here forks unbounded."""

import subprocess
import sys
import time

import pytest

from labkit.camp import confine, group

FORKS = ("import os, time\nmade = 0\nfor n in range(40):\n    try:\n        if os.fork() == 0: time.sleep(20)\n    except OSError: break\n"
         "    made += 1\nprint(made)")  # fmt: skip


@pytest.fixture(autouse=True)
def there():
    if group._above() is None:
        pytest.skip("no control group can be made here")


def test_it_holds_and_is_removed():
    made = group.make(12)
    process = subprocess.Popen([sys.executable, "-c", FORKS], preexec_fn=made.join, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "11\n" and made.peak_reached() and len(made.members()) >= 11
    made.end()
    assert process.wait(10) in (0, -9) and not made.folder.exists()


def test_what_left_its_session_ends_too(monkeypatch):
    """At the level at which nothing else would find it."""
    monkeypatch.setenv("LABKIT_CONFINE", "landlock")
    have = confine.offers()
    if have.level != "landlock":
        pytest.skip(str(have.missing))
    text = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\ntime.sleep(0.5)"
    made = confine.start([sys.executable, "-s", "-c", text], offers_=have)
    made.process.wait(60)
    left = made.group.members()
    assert len(left) == 1
    made.close()
    time.sleep(0.05)
    assert not made.group.folder.exists() and made.group.members() == []
    assert have.group and "control group" in str(have)
