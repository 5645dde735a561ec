"""What several threads, processes and measurements have in common: random numbers, the clock's zero, a card's time, and
the length of a collective."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading

import pytest
from device_lab import device, simulated, torch
from torch.nn import functional as F

import labkit
from labkit.device import card, ranks
from labkit.profiler.recorder import Recorder

pytestmark = simulated


@pytest.fixture(autouse=True)
def from_zero():
    torch.npu.synchronize()
    device.reset_clock()
    yield
    torch.npu.synchronize()
    device.reset_clock()


# ---- random numbers


def drawn(count: int, draw) -> list[tuple]:
    """What `count` draws in each of two threads at once give, in any order."""
    found, begin = [], threading.Barrier(2)

    def some():
        for _ in range(count):
            begin.wait()
            found.append(tuple(draw().flatten()[::997].tolist()))

    threads = [threading.Thread(target=some) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(found)


def test_two_threads_draw_what_one_draws():
    """A call's numbers are its own, whichever thread's begins meanwhile."""

    def draw():
        return torch.randn(1 << 19, device="npu")

    torch.npu.manual_seed(3)
    both = drawn(8, draw)
    torch.npu.manual_seed(3)
    assert both == sorted(tuple(draw().flatten()[::997].tolist()) for _ in range(16))


def test_the_hosts_numbers_do_not_hear_of_the_devices():
    """A thread that prepares data, beside one in a dropout or in an attention that drops."""
    x, q = torch.ones(1 << 18, device="npu"), torch.ones(1, 4, 256, 64, device="npu")
    torch.manual_seed(5)
    alone = [torch.rand(1000) for _ in range(3000)]
    going, ready = threading.Event(), threading.Event()

    def device_work():
        while not going.is_set():
            F.dropout(x)
            F.scaled_dot_product_attention(q, q, q, dropout_p=0.5)
            ready.set()

    torch.manual_seed(5)
    worker = threading.Thread(target=device_work)
    worker.start()
    ready.wait()
    try:
        beside = [torch.rand(1000) for _ in range(3000)]
    finally:
        going.set()
        worker.join()
    assert all(torch.equal(a, b) for a, b in zip(alone, beside))


def test_dropout_is_the_hosts():
    for x in (torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last), torch.ones(0, 3)):
        for p, train in ((0.4, True), (0.4, None), (1.0, True), (0.0, True), (0.5, False)):
            torch.manual_seed(1), torch.npu.manual_seed(1)
            host, npu = torch.native_dropout(x, p, train), torch.native_dropout(x.npu(), p, train)
            for a, b in zip(host, npu):
                assert torch.equal(a, b.cpu()) and a.stride() == b.stride() and a.dtype == b.dtype


# ---- the clock's zero


@pytest.fixture
def x():
    return torch.ones(1 << 20, device="npu")


def test_an_event_of_before_the_zero_is_over(x):
    old, never = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    for _ in range(100):
        x.add_(1)
    old.record()
    device.reset_clock()
    assert old.query() and never.query()
    host = device.clock().host_us
    old.synchronize()
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        old.wait()
        torch.ones(4, device="npu")
    torch.npu.synchronize()
    assert device.clock().host_us - host < 50, "nothing waits for what is over"
    new = torch.npu.Event(enable_timing=True)
    new.record()
    for first, second in ((old, new), (new, old)):
        with pytest.raises(RuntimeError, match="reset_clock"):
            first.elapsed_time(second)
    plain = [torch.Event(device="npu", enable_timing=True) for _ in range(2)]
    plain[0].record()
    device.reset_clock()
    plain[1].record()
    with pytest.raises(RuntimeError, match="reset_clock"):
        plain[0].elapsed_time(plain[1])


def test_two_events_of_one_zero_keep_what_lay_between_them(x):
    first, second = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    first.record()
    for _ in range(10):
        x.add_(1)
    second.record()
    before = first.elapsed_time(second)
    device.reset_clock()
    assert first.elapsed_time(second) == before > 0


def test_nobody_takes_the_zero_away_from_what_counts_on_it(x, tmp_path):
    class Resets(torch.nn.Module):
        def forward(self, t):
            device.reset_clock()
            return torch.relu(t) + 1

    recorder = Recorder()
    recorder.start()
    try:
        with pytest.raises(RuntimeError, match="torch_npu.profiler"):
            device.reset_clock()
        x.add_(1)
    finally:
        session = recorder.stop()
    assert all(r.end >= r.start for r in session.ranges)
    with card.shared(card.make(str(tmp_path)), 0, 1), pytest.raises(RuntimeError, match="card.shared"):
        device.reset_clock()
    from labkit import migrate
    from labkit.serving.runner import stopwatch

    with stopwatch() as watch:
        with pytest.raises(RuntimeError, match="labkit.serving"):
            device.reset_clock()
        x.add_(1)
    assert watch.cost.launches == 1
    with pytest.raises(RuntimeError, match="labkit.migrate"):
        migrate.recording._step(Resets(), (x.cpu(),), {}, None, None, device.shapes_only())
    x.add_(1)
    device.reset_clock()  # behind each of them as before
    assert device.clock().launches == 0


# ---- a card of several processes

WAITS = """
import sys, torch, labkit
from labkit.device import card, host_work, clock, reset_clock
x, event, side = torch.ones(1 << 20, device="npu"), torch.npu.Event(), torch.npu.Stream()
x.add_(1)
event.record()
torch.npu.synchronize()
reset_clock()
file, seat, how = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with card.shared(file, seat, 2):
    if seat == 0:
        host_work(500)
        x.add_(1)
    else:
        call = {
            "record": event.record, "query": event.query, "idle": torch.npu.current_stream().query,
            "wait": lambda: side.wait_event(event),
        }[how]
        while clock().host_us < 600:
            call()
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["record", "query", "idle", "wait"])
def test_a_process_that_only_asks_and_marks_holds_nobody_up(tmp_path, how):
    """Each call takes the host's time, after which it can launch nothing earlier: the others need not wait for that."""
    file = card.make(str(tmp_path))
    command = [sys.executable, "-c", WAITS, file]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    processes = [subprocess.Popen([*command, str(seat), how], **pipes) for seat in (1, 0)]
    try:
        for process in processes:  # the other one, too, while the first one stays where it is
            ready, _, _ = select.select([process.stdout], [], [], 300)
            assert ready and process.stdout.readline() == "ready\n"
    finally:
        for process in processes:
            process.kill()
            process.wait()


def test_a_forked_child_is_not_its_parents_seat(tmp_path):
    """What it launches on its copy of the clock is not told to the others of the card."""
    file = card.make(str(tmp_path))
    with card.shared(file, 0, 1):
        before = open(file, "rb").read()
        child = os.fork()
        if child == 0:
            try:
                device.host_work(1e6)
                device.launch("x", 1e6)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        assert open(file, "rb").read() == before


# ---- a collective


def sums_with_noise(rank):
    import torch.distributed as dist

    g = torch.ones(1 << 16, device="npu")
    dist.all_reduce(g)
    device.reset_clock()
    with device.noise(100 + rank, jitter=0.2, outliers=0.2, first_launch_us=0):
        for _ in range(20):
            g.mul_(0.5)
            dist.all_reduce(g)
            torch.npu.synchronize()
    spans = device.timeline()
    return (
        [(s.start_us, s.end_us) for s in spans if s.name.startswith("c10d::")],
        [s.end_us - s.start_us for s in spans if not s.name.startswith("c10d::")],
        [s.start_us >= s.host_us for s in spans],
    )


@pytest.mark.skipif(not torch.distributed.is_available(), reason="torch without distributed")
def test_a_collective_is_one_piece_of_time_on_all_ranks_with_noise_too():
    try:
        (first, ours, issued), (second, theirs, _) = labkit.ranks(2, sums_with_noise)
    finally:
        ranks.stop()
    assert len(first) == 20 and first == second, "begin and length are what the ranks agreed on"
    assert ours != theirs and all(issued)
