"""Cores that wait for one another: meetings, flags, turns; what arrives when, and what happens if a core is missing."""

import pytest

torch = pytest.importorskip("torch")
from places import KERNELS  # noqa: E402
from same import equal  # noqa: E402

import labkit  # noqa: E402

FILE = KERNELS / "cores.asc"
ROW = 16


@pytest.fixture(params=["program", "worst"])
def play(request, monkeypatch):
    def launch(entry, blocks, *args, threads=2):
        monkeypatch.setenv("LABKIT_THREADS", str(threads))
        return labkit.kernel(FILE, entry=entry, schedule=request.param)[blocks](*args)

    return launch


def rows(n):
    return torch.arange(n * ROW, dtype=torch.float32).view(n, ROW).npu()


def zeros(*shape):
    return torch.zeros(*shape).npu()


@pytest.mark.parametrize("blocks", [1, 2, 7, 48])
@pytest.mark.parametrize("rounds", [1, 3])
def test_a_meeting_of_all(play, blocks, rounds):
    x, mid, z = rows(blocks), zeros(blocks, ROW), zeros(blocks, ROW)
    record = play("meet", blocks, x, mid, z, rounds)
    assert record.findings == []
    assert equal(z.cpu(), torch.roll(x.cpu(), -rounds, 0) + rounds)


def test_a_meeting_costs_what_the_chip_says(play):
    times = {r: play("meet", 4, rows(4), zeros(4, ROW), zeros(4, ROW), r).core_us for r in (1, 2, 3)}
    assert times[3] - times[2] == pytest.approx(times[2] - times[1], rel=0.02)
    assert times[2] - times[1] > 2 * 1.9


@pytest.mark.parametrize("entry", ["meet", "neighbours", "hand_over", "chain"])
def test_one_thread_or_two(play, entry):
    def once(threads):
        args = {
            "meet": (8, rows(16), zeros(16, ROW), zeros(16, ROW), 2),
            "neighbours": (8, rows(16), zeros(16, ROW), zeros(16, ROW), 2),
            "hand_over": (8, rows(8), zeros(8, ROW), zeros(16, ROW), 2),
            "chain": (8, rows(1), zeros(8, ROW), zeros(128)),
        }[entry]
        blocks, *tensors = args
        record = play(entry, blocks, *tensors, threads=threads)
        return record.time_us, record.core_us, [t.cpu().tolist() for t in tensors if hasattr(t, "cpu")], record.findings

    assert once(1) == once(2) == once(2)


def test_a_meeting_in_gm(play):
    z = zeros(5, ROW)
    assert (
        play("meet_in_gm", 5, zeros(5, ROW), zeros(5, ROW), z, torch.zeros(40, dtype=torch.int32).npu()).findings == []
    )
    assert z.cpu()[:, 0].tolist() == [1, 2, 3, 4, 0]


def test_a_chain(play):
    x, z = rows(1), zeros(9, ROW)
    assert play("chain", 9, x, z, torch.zeros(200, dtype=torch.int32).npu()).findings == []
    assert equal(z.cpu(), x.cpu() + torch.arange(1.0, 10).view(-1, 1))


@pytest.mark.parametrize("blocks, rounds", [(1, 1), (4, 1), (5, 3)])
def test_turns(play, blocks, rounds):
    z = zeros(1, ROW)
    assert play("turns", blocks, zeros(1, ROW), z, torch.zeros(200, dtype=torch.int32).npu(), rounds).findings == []
    assert (z.cpu() == blocks * rounds).all()


def test_ones_own_flag_orders_ones_own_pipes(play):
    x, z = rows(4), zeros(4, ROW)
    assert play("read_back", 4, x, zeros(4, ROW), z).findings == []
    assert equal(z.cpu(), x.cpu())


@pytest.mark.parametrize("blocks", [2, 6, 48])
def test_a_group(play, blocks):
    half = blocks // 2
    x, z = rows(half * 3), zeros(half * 3, ROW)
    assert play("group", blocks, x, zeros(half * 3, ROW), z, zeros(64 * blocks), 3).findings == []
    assert equal(z.cpu().view(3, half, ROW), torch.roll(x.cpu().view(3, half, ROW) + 1, -(blocks // 2 + 1) % half, 1))


@pytest.mark.parametrize("blocks", [1, 3, 24])
def test_a_cube_core_and_its_vector_cores(play, blocks):
    z = zeros(2 * blocks, ROW)
    record = play("hand_over", blocks, zeros(blocks, ROW), zeros(blocks, ROW), z, 3)
    assert record.findings == [] and record.finished
    want = torch.tensor([[r * 100 + v // 2 + 0.25 * (v % 2) for r in range(3)] for v in range(2 * blocks)])
    assert equal(z.cpu()[:, :3], want)


def test_flags_between_vector_cores(play):
    x, z = rows(6), zeros(6, ROW)
    out = torch.roll(x.cpu() + 1, -2, 0) + 10
    assert play("neighbours", 3, x, zeros(6, ROW), z, 1).findings == []
    assert equal(z.cpu(), out)
    assert equal(x.cpu(), out[[1, 0, 3, 2, 5, 4]] + 100)


def test_more_blocks_than_cores_cannot_meet():
    with pytest.raises(labkit.LaunchError):
        labkit.kernel(FILE, entry="meet")[49](rows(49), zeros(49, ROW), zeros(49, ROW), 1)


def test_the_cores_of_a_mixed_kernel_in_the_timeline():
    record = labkit.kernel(FILE, entry="neighbours")[2](rows(4), zeros(4, ROW), zeros(4, ROW), 1)
    assert sorted({(int(e["block"]), int(e["core"])) for e in record.timeline}) == [(0, 0), (0, 1), (1, 0), (1, 1)]


STORES = """#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void met(GM_ADDR z, uint32_t later) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> mine = buffer.Get<float>();
    GlobalTensor<float> to;
    to.SetGlobalBuffer((__gm__ float*)z, 1024);
    Duplicate(mine, float(1 + GetBlockIdx()), 1024);
    PipeBarrier<PIPE_ALL>();
    if (GetBlockIdx() == 1) DataCopy(to, mine, 64);
    if (GetBlockIdx() == 0) DataCopy(to[8], mine, 8);
    PipeBarrier<PIPE_ALL>();
    SyncAll();
    if (later && GetBlockIdx() == 0) DataCopy(to, mine, 1024);
    PipeBarrier<PIPE_ALL>();
}
extern "C" __global__ __aicore__ void numbers(GM_ADDR z, uint32_t step) {
    GlobalTensor<int32_t> to;
    to.SetGlobalBuffer((__gm__ int32_t*)z, 64);
    for (uint32_t i = 0; i < 2; i++) to.SetValue(i * (1 + GetBlockIdx()), 5 + GetBlockIdx());
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(to);
}
extern "C" __global__ __aicore__ void strided(GM_ADDR z, uint32_t from, uint32_t count) {
    TPipe pipe;
    TBuf<> buffer;
    pipe.InitBuffer(buffer, 4096);
    LocalTensor<float> mine = buffer.Get<float>();
    GlobalTensor<float> all;
    all.SetGlobalBuffer((__gm__ float*)z, 1024);
    Duplicate(mine, 1.0f, 1024);
    PipeBarrier<PIPE_ALL>();
    if (GetBlockIdx() == 0) DataCopy(mine, all, DataCopyParams(4, 2, 2, 0));
    else DataCopy(all[from], mine, count);
    PipeBarrier<PIPE_ALL>();
}
"""


@pytest.mark.parametrize("later", [0, 1])
def test_a_store_behind_a_meeting_hides_no_conflict_before_it(tmp_path, later):
    (tmp_path / "stores.asc").write_text(STORES)
    record = labkit.kernel(tmp_path / "stores.asc", entry="met")[2](torch.zeros(1024).npu(), later)
    assert [(f.code, f.line, f.count) for f in record.findings] == [("gm-overlap", 13, 1)]


def test_bytes_and_a_line_that_two_cores_share_are_two_findings(tmp_path):
    (tmp_path / "stores.asc").write_text(STORES)
    record = labkit.kernel(tmp_path / "stores.asc", entry="numbers")[2](torch.zeros(64, dtype=torch.int32).npu(), 0)
    assert sorted((f.code, f.line, f.count) for f in record.findings) == [("gm-line", 22, 1), ("gm-overlap", 22, 1)]


@pytest.mark.parametrize("start, count, read", [(0, 128, 256), (8, 8, 32), (8, 56, 96), (24, 64, 128), (16, 16, 0)])
def test_an_unordered_read_of_rows_counts_the_bytes_of_all_of_them(tmp_path, start, count, read):
    """Four rows of 64 bytes, 128 apart; another core stores to `count` numbers from `start` on."""
    (tmp_path / "stores.asc").write_text(STORES)
    record = labkit.kernel(tmp_path / "stores.asc", entry="strided")[2](torch.zeros(1024).npu(), start, count)
    assert [f.code for f in record.findings] == ["gm-unordered"] * bool(read)
    assert f" {read} bytes" in record.report() or not read, record.report()


@pytest.mark.parametrize("block, event", [(0, -1), (1, -1), (-1, 0), (-1, 1)])
@pytest.mark.parametrize("call", ["IBSet", "IBWait"])
def test_a_negative_event_or_block_has_no_mark(call, block, event):
    text = f"""
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void marks(GM_ADDR s, int32_t block, int32_t event) {{
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_MIX_AIV_1_0);
    GlobalTensor<int32_t> sync;
    sync.SetGlobalBuffer((__gm__ int32_t*)s, 64);
    TPipe pipe;
    TBuf<TPosition::VECCALC> buf;
    pipe.InitBuffer(buf, 32);
    LocalTensor<int32_t> work = buf.Get<int32_t>();
    if (GetBlockIdx() == 1) {call}(sync, work, block, event);
}}
"""
    seen = labkit.kernel(text=text, filename="marks.asc")[2](torch.zeros(64, dtype=torch.int32).npu(), block, event)
    (found,) = seen.findings
    assert (found.code, found.line, found.numbers["need"]) == ("sync-space", 12, -32) and seen.finished
    assert found.numbers["call"] == f"{call}(blockIdx={block}, eventID={event})"
