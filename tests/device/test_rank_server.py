"""The server that the ranks of labkit.ranks() are forked from: a rank is what a program of its own would be."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from device_lab import simulated  # noqa: E402

import labkit  # noqa: E402
from labkit.device import rank_server, ranks  # noqa: E402

pytestmark = [simulated, pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")]


@pytest.fixture(scope="module", autouse=True)
def nothing_left():
    yield
    ranks.stop()


@pytest.fixture(autouse=True)
def no_pool():
    ranks.stop()


def server() -> int:
    return rank_server._server.process.pid


def state(rank):
    """All that a function can see of the process it is called in."""
    import ctypes
    import faulthandler
    import gc
    import os
    import random
    import signal
    import sys
    import tempfile
    import threading
    import warnings

    import numpy
    import torch

    from labkit import device

    def link(fd):
        return os.readlink(f"/proc/self/fd/{fd}") if os.path.lexists(f"/proc/self/fd/{fd}") else ""

    with open("/proc/self/status") as file:
        status = [
            line
            for line in file
            if line.startswith(("SigBlk", "SigIgn", "SigCgt", "Cap", "Umask", "Cpus_allowed:", "NoNewPrivs"))
        ]
    with open("/proc/self/limits") as file:
        limits = file.read()
    tasks = [open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")]
    main, out, errors = sys.modules["__main__"], sys.__stdout__, sys.__stderr__
    same = {
        "modules": sorted(sys.modules),
        "finders": [str(type(finder)) for finder in sys.meta_path],
        "path": sys.path,
        "words": (sys.argv[:3], len(sys.argv), sys.orig_argv[:3], str(sys.flags)),
        "main": (main.__name__, main.__file__, sorted(vars(main))),
        "environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "folder": (os.getcwd(), tempfile.tempdir),
        "status": (status, limits, os.nice(0), ctypes.CDLL(None).prctl(3)),
        "session": (os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()),
        "descriptors": sorted(link(fd).partition("[")[0].partition("labkit-ranks")[0].partition(".in-use-")[0] for fd in os.listdir("/proc/self/fd")),
        "standard": [os.path.basename(link(fd)) for fd in range(3)] + [sys.__stdin__.read()],
        "streams": [(s.name, s.encoding, s.line_buffering, s.isatty()) for s in (out, errors)],
        "threads": (sorted(tasks), [t.name for t in threading.enumerate()], torch.get_num_threads()),
        "signals": [str(signal.getsignal(s)) for s in signal.valid_signals()] + [faulthandler.is_enabled()],
        "warnings": [str(f) for f in warnings.filters],
        "memory": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count()),
        "numbers": (torch.initial_seed(), torch.rand(3).tolist(), torch.rand(3, device="npu").tolist()),
        "device": (device.clock(), device.chip(), device.timeline(), torch.npu.memory_stats()),
    }  # fmt: skip
    return same, (random.random(), numpy.random.rand(), os.getppid())


def test_a_forked_rank_is_what_a_program_would_be(monkeypatch):
    forked = labkit.ranks(2, state)
    assert len({numbers for _, (*numbers, _) in forked for numbers in numbers}) == 4, "no two ranks draw the same"
    assert {parent for _, (*_, parent) in forked} == {server()}
    ranks.stop()
    monkeypatch.setattr(ranks, "usable_npu", lambda: True)  # as on a node; the ranks find out that there is none
    started = labkit.ranks(2, state)
    assert {parent for _, (*_, parent) in started} == {os.getpid()}
    for (one, _), (other, _) in zip(forked, started, strict=True):
        for name in other:
            assert one[name] == other[name], name


def spent(rank):
    import time

    return time.process_time()


def test_the_next_pool_imports_nothing():
    labkit.ranks(1, spent)
    first = server()
    for count in (2, 3):
        assert max(labkit.ranks(count, spent)) < 0.6, "importing PyTorch takes 1.5 seconds at least"
        assert server() == first
    assert len(os.listdir(f"/proc/{first}/task")) == 1, "a process with threads must not be forked"


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_ranks_that_ended_are_no_zombies():
    labkit.ranks(2, spent)
    assert len(children(server())) == 2
    ranks.stop()
    assert children(server()) == []


def test_words_folder_and_limits_are_those_of_the_call(monkeypatch, tmp_path):
    def told(rank):
        import os
        import sys

        os.umask(umask := os.umask(0))
        return [os.environ.get(f"{n}_OTHER") for n in ("LABKIT", "PYTEST", "OMP")], os.getcwd(), sys.path[0], umask

    def ask():
        ranks.stop()
        return labkit.ranks(1, told)[0], server()

    here = os.getcwd()
    os.umask(umask := os.umask(0))
    monkeypatch.setenv("PYTEST_OTHER", "there")
    said, first = ask()
    assert said == ([None, "there", None], here, here, umask)
    monkeypatch.delenv("PYTEST_OTHER")
    monkeypatch.setenv("LABKIT_OTHER", "here")
    assert ask() == ((["here", None, None], here, here, umask), first), "no import reads these words"
    monkeypatch.setenv("OMP_OTHER", "8M")  # PyTorch may have read it when it was imported
    monkeypatch.chdir(tmp_path)
    said, second = ask()
    assert said == (["here", None, "8M"], str(tmp_path), str(tmp_path), umask) and second != first
    os.umask(umask ^ 0o40)
    try:
        assert ask()[0][-1] == umask ^ 0o40
    finally:
        os.umask(umask)


def test_a_server_that_was_killed_takes_its_ranks_along_and_is_started_again():
    def waits(rank):
        import os
        import time

        os.kill(os.getppid(), 9)
        time.sleep(60)

    with pytest.raises(labkit.RankError, match="ended"):
        labkit.ranks(2, waits, timeout=20)
    assert labkit.ranks(1, spent)[0] < 0.6


def test_a_server_that_cannot_start_says_why(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no such torch')")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(labkit.RankError, match="ImportError: no such torch"):
        labkit.ranks(1, spent)
    monkeypatch.undo()
    assert labkit.ranks(1, spent)[0] < 0.6


def test_a_server_ends_with_its_parent_also_where_a_fork_of_that_holds_its_pipe():
    text = """if True:
        import os, time, labkit
        from labkit.device import rank_server
        pids = labkit.ranks(1, lambda rank: __import__("os").getpid()).results
        if not os.fork():
            time.sleep(300)
        print(*pids, rank_server._server.process.pid, flush=True)
        os.kill(os.getpid(), 9)
    """
    words = [sys.executable, "-c", text]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as run:
        pids = [int(pid) for pid in run.stdout.readline().split()]
        until = time.monotonic() + 30
        while (left := [pid for pid in pids if _alive(pid)]) and time.monotonic() < until:
            time.sleep(0.1)
        os.killpg(run.pid, 9)  # the fork
    assert len(pids) == 2 and not left


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_fork_of_this_process_leaves_server_and_ranks_alone():
    labkit.ranks(1, spent)
    first = server()
    if not (child := os.fork()):
        try:
            ranks.stop()
            rank_server.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert labkit.ranks(1, spent).results and server() == first and len(children(first)) == 1
