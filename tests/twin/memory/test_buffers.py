"""Queues, pools and pipes against what CANN's headers do: where buffers lie, in which order they come,
which events are held.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from same import equal  # noqa: E402
from twin_image import HERE

import labkit

SOURCE = HERE / "buffers.asc"
FREE, OCCUPIED, QUEUED, TAKEN = range(4)
L1 = 512 * 1024


class Queue:
    """TQue<VECIN, depth> with `num` buffers behind 64 bytes of another; `steps` are [operation, slot]."""

    def __init__(self, depth, num):
        self.depth, self.num, self.next = depth, num, 0
        self.state, self.tag, self.fifo, self.slot = [FREE] * num, [-1] * num, [], {}
        self.steps, self.seen = [], []

    def able(self):
        free = self.slot and [s for s in range(4) if s not in self.slot] or list(range(4))
        out = []
        if FREE in self.state and free:
            out.append((0, free[0]))
        if len(self.fifo) < self.depth:
            out += [(1, s) for s, b in self.slot.items() if self.state[b] in (OCCUPIED, TAKEN)]
        if self.fifo and free:
            out.append((2, free[0]))
        out += [(3, s) for s, b in self.slot.items() if self.state[b] in (OCCUPIED, TAKEN)]
        return out

    def step(self, op, s):
        if op == 0:
            while self.state[self.next] != FREE:
                self.next = (self.next + 1) % self.num
            b = self.next
            self.next = (self.next + 1) % self.num
            self.slot[s], self.state[b], self.tag[b] = b, OCCUPIED, len(self.steps)
        elif op == 2:
            b = self.slot[s] = self.fifo.pop(0)
            self.state[b] = TAKEN
        else:
            b = self.slot.pop(s)
            self.state[b] = QUEUED if op == 1 else FREE
            if op == 1:
                self.fifo.append(b)
        self.steps += [op, s]
        self.seen += [
            64 + b * 96,
            len(self.fifo),
            int(len(self.fifo) < self.depth),
            int(bool(self.fifo)),
            int(FREE in self.state),
            len(self.steps) // 2 - 1 if op == 0 else self.tag[b],
            self.state[b],
        ]
        if op == 0:
            self.tag[b] = len(self.steps) // 2 - 1


@settings(max_examples=25, deadline=None)
@given(st.sampled_from([1, 2, 4]), st.integers(1, 4), st.lists(st.integers(0, 99), max_size=24))
def test_a_queue_hands_its_buffers_out_in_turn(depth, num, choices):
    import torch

    model = Queue(depth, num)
    for c in choices:
        able = model.able()
        model.step(*able[c % len(able)])
    while any(s != FREE for s in model.state):  # leave nothing behind
        model.step(*next(o for o in reversed(model.able()) if o[0] >= 2))
    steps = len(model.steps) // 2
    z, program = (
        torch.zeros(max(7 * steps, 1), dtype=torch.int32).npu(),
        torch.tensor(model.steps or [0], dtype=torch.int32).npu(),
    )
    record = labkit.kernel(SOURCE, entry=f"turns<{depth}>")[1](z, program, steps, num)
    assert record.ok and not record.findings, record.report()
    assert z.cpu().tolist()[: 7 * steps] == model.seen


@settings(max_examples=15, deadline=None)
@given(st.lists(st.integers(0, 99), min_size=1, max_size=30))
def test_event_ids_are_the_lowest_that_nobody_holds(choices):
    import torch

    held, program, want = set(), [], []
    for c in choices:
        lowest = next(i for i in range(9) if i not in held)
        if held and (c % 3 == 2 or lowest > 7):
            gone = sorted(held)[c % len(held)]
            held.remove(gone)
            program, want = program + [2 + gone], want + [-1]
        else:
            program, want = program + [c % 3 and 1], want + [lowest]
            held |= set() if c % 3 else {lowest}
    z = torch.zeros(len(program), dtype=torch.int32).npu()
    record = labkit.kernel(SOURCE, entry="events")[1](z, torch.tensor(program, dtype=torch.int32).npu(), len(program))
    assert record.ok and not record.findings, record.report()
    assert z.cpu().tolist() == want


@pytest.mark.parametrize("schedule", ["program", "worst"])
@pytest.mark.parametrize("entry", ["in_place", "through"])
def test_tiles_through_one_queue(entry, schedule):
    import torch

    x = torch.randn(7 * 96).half().npu()
    z = torch.zeros_like(x)
    record = labkit.kernel(SOURCE, entry=entry, schedule=schedule)[1](x, z, 7, 96)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), x.cpu().abs())


@pytest.mark.parametrize("n", [8, 256, 1000])
def test_pools_share_by_turns(n):
    import torch

    x = torch.randn(n).npu()
    z, at = torch.zeros(n).npu(), torch.zeros(5, dtype=torch.int32).npu()
    record = labkit.kernel(SOURCE, entry="pools")[1](x, z, at, n)
    assert record.ok and not record.findings, record.report()
    want = x.cpu()
    for _ in range(4):
        want = want + 1
    assert equal(z.cpu(), want)
    size = 4 * n
    assert at.cpu().tolist() == [128 + 4 * size, 4 * size, size, 0, 2 * size]


@pytest.mark.parametrize("n", [8, 512])
def test_a_pipe_ends_and_begins_again(n):
    import torch

    z, at = torch.zeros(n).npu(), torch.zeros(5, dtype=torch.int32).npu()
    record = labkit.kernel(SOURCE, entry="pipes")[1](torch.zeros(n).npu(), z, at, torch.zeros(n).npu(), n)
    assert record.ok and not record.findings, record.report()
    assert z.cpu().tolist() == [8.0] * n
    size = 4 * n
    assert at.cpu().tolist() == [4 * size, 192 * 1024 - 64 - 4 * size, 4096, 64, 0]


AGAIN = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void again(GM_ADDR at, GM_ADDR sum) {
    GlobalTensor<int32_t> ga, gs;
    ga.SetGlobalBuffer((__gm__ int32_t*)at);
    gs.SetGlobalBuffer((__gm__ int32_t*)sum);
    TPipe pipe;
    SetAtomicAdd<int32_t>();
    for (uint32_t i = 0; i < 3; i++) {
        if (i) pipe.Init();
        TBuf<TPosition::VECCALC> buf;
        pipe.InitBuffer(buf, 128 * 1024);
        ga.SetValue(2 * i, int32_t(uint64_t(buf.Get<half>().GetPhyAddr())));
        ga.SetValue(2 * i + 1, int32_t(pipe.AllocEventID<HardEvent::V_S>()));
        Duplicate(buf.Get<int32_t>(), int32_t(1 << i), 8);
        PipeBarrier<PIPE_ALL>();
        DataCopy(gs, buf.Get<int32_t>(), 8);
        PipeBarrier<PIPE_ALL>();
    }
    SetAtomicNone();
}
"""


def test_init_of_an_open_pipe_gives_everything_back():
    """Its memory and its events are free again; the core's registers, here the atomic addition, stay as they are."""
    import torch

    at, total = torch.full((6,), -1, dtype=torch.int32).npu(), torch.zeros(8, dtype=torch.int32).npu()
    record = labkit.kernel(text=AGAIN, filename="again.asc")[1](at, total)
    assert record.ok and not record.findings, record.report()
    assert at.cpu().tolist() == [0, 0] * 3, "address and event after each Init"
    assert total.cpu().tolist() == [1 + 2 + 4] * 8, "three copies that add"


def test_queues_of_a_cube_core():
    """Each in the memory of its position; TSCM at the end of L1;
    of M_MTE1 events the pipe has three and L0A, L0B, BT one each.
    """
    import torch

    at = torch.zeros(20, dtype=torch.int32).npu()
    record = labkit.kernel(SOURCE, entry="cube_queues")[1](at)
    assert record.ok and not record.findings, record.report()
    a1, a2, b1, b2, c1, c2, co1, scm, fix = 1, 2, 3, 4, 5, 6, 7, 13, 14
    assert at.cpu().tolist() == [
        0,
        a1,
        2048,
        b1,
        0,
        a2,
        0,
        b2,
        0,
        co1,
        3072,
        c1,
        0,
        c2,
        0,
        fix,
        L1 - 2048,
        scm,
        3136,
        6,
    ]


@pytest.mark.parametrize("rows, size", [(1, 64), (5, 96), (7, 6), (3, 130)])
def test_copies_by_their_raw_names(rows, size):
    import torch

    gap = 4 if size % 32 else 32
    x = torch.randint(0, 256, (rows, size + gap), dtype=torch.uint8)
    z = torch.zeros(rows, size, dtype=torch.uint8).npu()
    record = labkit.kernel(SOURCE, entry="raw")[1](x.npu(), z, rows, size)
    assert record.ok and not record.findings, record.report()
    assert equal(z.cpu(), x[:, :size])
