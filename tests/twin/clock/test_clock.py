"""The modelled clock keeps its own rules, and a launch is the same launch however many host threads run it.

Every constant comes from the chip's table; nothing here holds a number of the hardware.
"""

from __future__ import annotations

import pytest
import torch
from faults import load
from places import CORRECT, REPO, TESTS
from same import equal  # noqa: E402
from twin_launch import launch, tensor

import labkit
from labkit import chips

CHIP = chips.load()
HZ = CHIP["clock"]["hz"]

TILES = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void tiles(GM_ADDR x, GM_ADDR z, uint32_t tile, uint32_t count, uint32_t buffers) {
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * tile * count);
    gz.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * tile * count);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    TQue<TPosition::VECOUT, 1> out;
    pipe.InitBuffer(in, buffers, tile * sizeof(float));
    pipe.InitBuffer(out, buffers, tile * sizeof(float));
    for (uint32_t i = 0; i < count; i++) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, gx[i * tile], tile);
        in.EnQue(a);
        a = in.DeQue<float>();
        LocalTensor<float> b = out.AllocTensor<float>();
        Adds(b, a, 1.0f, tile);
        Muls(b, b, 2.0f, tile);
        in.FreeTensor(a);
        out.EnQue(b);
        b = out.DeQue<float>();
        DataCopy(gz[i * tile], b, tile);
        out.FreeTensor(b);
    }
}
"""
STEPS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void steps(GM_ADDR x, GM_ADDR z, uint32_t n, uint32_t apart, uint32_t what) {
    InitSocState();
    LocalTensor<float> a(TPosition::VECIN, 0, n), b(TPosition::VECCALC, n * 4 + apart, n), c(TPosition::VECOUT, 131072, n);  // in a bank of its own
    GlobalTensor<float> gx, gz;
    gx.SetGlobalBuffer((__gm__ float*)x);
    gz.SetGlobalBuffer((__gm__ float*)z);
    Duplicate(a, 1.0f, n);
    Duplicate(b, 2.0f, n);
    if (what == 0) {
        Add(c, a, b, n);
    } else if (what == 1) {
        for (uint32_t i = 0; i < n; i++) c.SetValue(i, a.GetValue(i));
    } else if (what == 2) {
        Exp(c, a, n);
        PipeBarrier<PIPE_ALL>();
        DataCopy(a, gx, n);
        SetFlag<HardEvent::MTE2_V>(EVENT_ID1);
        WaitFlag<HardEvent::MTE2_V>(EVENT_ID1);
        Add(c, a, b, n);
    }
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, what == 2 ? a : c, n);
}
"""


def us(cycles: float) -> float:
    return cycles / HZ * 1e6


def rate(op: str, t: str) -> float:
    """Cycles a repeat."""
    table = CHIP["vector"]["cycles"]
    entry = table.get(op, table["default"])
    return entry[t] if isinstance(entry, dict) else entry


def dma(way: str, size: int) -> float:
    d = CHIP["dma"][way]
    return max(d["latency"] + size / d["fast"], size / d["slow" if way == "to_ub" else "hit"])


def tiles(tile=2048, count=8, buffers=2, blocks=1):
    x = tensor(f"float {tile * count * blocks}")
    record = labkit.kernel(text=TILES, filename="tiles.asc")[blocks](x, x.new_empty(x.shape), tile, count, buffers)
    assert record.ok and not record.findings
    return record


def steps(n=1024, apart=0, what=0):
    x = tensor(f"float {n}")
    record = labkit.kernel(text=STEPS, filename="steps.asc")[1](x, x.new_empty(x.shape), n, apart, what)
    assert record.ok and not record.findings, record.report()
    return record


def of(record, op: str, block: int = 0):
    t = record.timeline
    return t[(t["op"] == record.op_names.index(op)) & (t["block"] == block)]


# ---- order


@pytest.mark.parametrize("buffers", [1, 2, 4])
def test_a_pipe_runs_one_instruction_after_the_other(buffers):
    t = tiles(buffers=buffers, blocks=2).timeline
    for block in range(2):
        for pipe in range(7):
            mine = t[(t["block"] == block) & (t["pipe"] == pipe)]
            assert (mine["end"] > mine["start"]).all()
            assert (mine["start"][1:] >= mine["end"][:-1]).all()


@pytest.mark.parametrize("buffers", [1, 2])
def test_a_queue_orders_the_pipes(buffers):
    record = tiles(buffers=buffers)
    copied, added, scaled, left = (of(record, op) for op in ("CopyIn", "Adds", "Muls", "CopyOut"))
    assert len(copied) == len(added) == len(scaled) == len(left) == 8
    assert (added["start"] >= copied["end"]).all()  # DeQue waits for the copy
    assert (left["start"] >= scaled["end"]).all()
    assert (copied["start"][buffers:] >= added["end"][:-buffers]).all()  # AllocTensor waits for a free buffer
    assert (added["start"][buffers:] >= left["end"][:-buffers]).all()


def test_two_buffers_overlap_and_one_does_not():
    one, two = tiles(buffers=1), tiles(buffers=2)
    assert two.time_us < one.time_us

    def together(record):
        copied, added = of(record, "CopyIn"), of(record, "Adds")
        return sum(c["start"] < a["end"] and a["start"] < c["end"] for c in copied for a in added)

    assert together(one) == 0 and together(two) > 0
    assert one.busy["V"] == pytest.approx(two.busy["V"])  # the same work


def test_flags_and_barriers_order_in_time():
    record = steps(what=2)
    (exp,), (copied,), (added,), (left,) = (of(record, op) for op in ("Exp", "CopyIn", "Add", "CopyOut"))
    assert copied["start"] >= exp["end"]  # the barrier
    assert added["start"] >= copied["end"]  # the flag
    assert left["start"] >= added["end"]


def test_the_scalar_unit_waits_for_what_it_reads():
    record = steps(what=1, n=64)
    (scalar,) = of(record, "Scalar")
    assert scalar["start"] >= of(record, "Duplicate")["end"][0]
    assert scalar["end"] - scalar["start"] == pytest.approx(
        us(64 * (CHIP["scalar"]["get"] + CHIP["scalar"]["set"])), rel=0.1
    )


# ---- durations


@pytest.mark.parametrize(
    "op, n, what", [("Duplicate", 64, 0), ("Duplicate", 4096, 0), ("Duplicate", 100, 0), ("Exp", 640, 2)]
)
def test_a_vector_instruction_costs_its_startup_and_its_repeats(op, n, what):
    event = of(steps(n=n if n % 8 == 0 else n + 4, what=what), op)[0]
    repeats = -(-n * 4 // 256)
    assert event["end"] - event["start"] == pytest.approx(us(CHIP["vector"]["startup"] + repeats * rate(op, "f32")))


def test_sources_in_one_bank_group_cost_more():
    def length(record):
        (event,) = of(record, "Add")
        return event["end"] - event["start"]

    same, apart = length(steps(n=1024, apart=0)), length(steps(n=1024, apart=256))
    assert same - apart == pytest.approx(us(16 * CHIP["vector"]["bank_group_conflict"]))


@pytest.mark.parametrize("tile", [8, 256, 8192])
def test_a_copy_costs_its_latency_and_its_bytes(tile):
    record = tiles(tile=tile, count=1)
    for op, way in (("CopyIn", "to_ub"), ("CopyOut", "from_ub")):
        (event,) = of(record, op)
        assert event["bytes"] == tile * 4
        assert event["end"] - event["start"] == pytest.approx(us(dma(way, tile * 4)))


def test_many_cores_share_the_memory():
    cores = CHIP["cores"]["aiv"]
    alone, crowd = tiles(tile=8192, blocks=1), tiles(tile=8192, blocks=cores)
    moved = 8 * 8192 * 4 * cores
    assert crowd.core_us > 1.5 * alone.core_us
    assert moved / CHIP["gm"]["hbm"] * 1e6 <= crowd.core_us <= 1.2 * moved / CHIP["gm"]["hbm"] * 1e6


def test_the_l2_holds_what_was_read_before():
    """The same tile again and again: only the first comes from HBM, and the others come faster."""
    x = tensor("float 2048")
    record = labkit.kernel(
        text=TILES.replace("gx[i * tile]", "gx[0]").replace("gz[i * tile]", "gz[0]"), filename="tiles.asc"
    )[1](x, x.new_empty(x.shape), 2048, 8, 1)
    (core,) = record.cores
    assert (core["read_miss"], core["read_hit"]) == (8192, 7 * 8192)
    copied = of(record, "CopyIn")
    d = CHIP["dma"]["to_ub"]
    assert copied["end"][1] - copied["start"][1] == pytest.approx(us(d["latency_hit"] + 8192 / d["hit"]), rel=1e-6)


READS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void reads(GM_ADDR x, uint32_t tile) {
    GlobalTensor<float> gx;
    gx.SetGlobalBuffer((__gm__ float*)x);
    LocalTensor<float> a(TPosition::VECIN, 0, 16 * tile);
    for (uint32_t i = 0; i < 16; i++) DataCopy(a[i * tile], gx[i * tile], tile);
}
"""


@pytest.mark.parametrize("tile", [512, 640, 1024, 2560])
def test_transfers_out_of_the_l2_overlap_whatever_their_size(tile):
    """Out of HBM only the small ones do."""
    x, k, d = (
        tensor(f"float {tile * 16}"),
        labkit.kernel(text=READS, filename="reads.asc", l2="warm"),
        CHIP["dma"]["to_ub"],
    )
    cold, warm = (k[1](x, tile).busy["MTE2"] for _ in range(2))
    assert warm == pytest.approx(us(d["latency_hit"] + 16 * max(d["issue"], tile * 4 / d["hit"])), rel=0.02)
    alone = us(d["latency"] + tile * 4 / d["fast"])
    share = min(1, tile * 4 / d["window"])
    assert cold == pytest.approx(alone * (15 * share + 1), rel=0.05)


# ---- the L2 between launches


def test_a_launch_finds_in_the_l2_what_another_left():
    def read(k, *tensors):
        (core,) = k[1](*tensors, 2048, 4, 2).cores
        return core["read_miss"]

    all_ = 4 * 2048 * 4
    x, z = tensor("float 8192"), tensor("float 8192")
    warm, cold = (labkit.kernel(text=TILES, filename="tiles.asc", l2=how) for how in ("warm", "cold"))
    assert [read(warm, x, z), read(warm, x, z), read(cold, x, z), read(warm, x, z)] == [all_, 0, all_, 0]
    assert read(warm, z, x) == 0  # what a launch has written is there too
    labkit.clear_l2()
    assert read(warm, x, z) == all_
    with pytest.raises(ValueError, match="hot"):
        labkit.kernel(text=TILES, filename="tiles.asc", l2="hot")


@pytest.mark.parametrize("tile", [2048, 24])  # 24: the tensor ends within a sector
def test_a_new_tensor_is_cold_wherever_it_lies(tile):
    k, seen, miss = labkit.kernel(text=TILES, filename="tiles.asc", l2="warm"), set(), []
    for _ in range(4):
        x = tensor(f"float {4 * tile}")  # the allocator gives the same memory again
        miss.append(k[1](x, tensor(f"float {4 * tile}"), tile, 4, 2).cores[0]["read_miss"])
        seen.add(x.data_ptr())
        del x
    assert len(seen) < 4 and miss == [miss[0]] * 4 and miss[0] == {2048: 4 * 2048 * 4, 24: 96}[tile], miss


def test_what_does_not_fit_into_the_l2_drives_out_what_lies_there_longest():
    table = chips.variant("small-l2", {"base": "910B1", "memory": {"l2": 65536}})
    k = labkit.kernel(text=TILES, filename="tiles.asc", chip=table, l2="warm")
    x, z = tensor("float 8192"), tensor("float 8192")  # 32 KB each

    def read(source):
        (core,) = k[1](source, z, 2048, 4, 1).cores
        return core["read_miss"]

    other, into = tensor("float 16384"), tensor("float 16384")
    assert read(x) == 32768 and read(x) == 0
    assert labkit.kernel(text=TILES, filename="tiles.asc", chip=table, l2="warm")[1](other, into, 2048, 8, 1).ok
    assert read(x) == 32768


def test_a_sequence_of_launches_takes_the_same_times_every_time():
    def times():
        labkit.clear_l2()
        x, y = tensor("float 65536"), tensor("float 65536")
        k = labkit.kernel(text=TILES, filename="tiles.asc", l2="warm")
        return [k[8](*pair, 1024, 8, 2).time_us for pair in ((x, y), (y, x), (x, x), (x, y))]

    first = times()
    assert first == times() and first[1] < first[0]


def test_the_time_is_the_same_with_and_without_checks():
    """The scalar unit waits for what it reads also where nobody looks for races."""
    text = STEPS.replace("if (what == 0) {", "DataCopy(a, gx, n);\n    if (what == 0) {")
    x = tensor("float 1024")
    for what in (0, 1):
        one, two = (
            labkit.kernel(text=text, filename="s.asc", checks=c, l2="cold")[1](x, x.new_empty(1024), 1024, 0, what)
            for c in (True, False)
        )
        assert one.time_us == two.time_us


# ---- the whole launch


@pytest.mark.parametrize("blocks", [1, 7, 48])
def test_the_launch_is_its_slowest_core_and_its_head(blocks):
    record = tiles(blocks=blocks, count=4)
    uneven = CHIP["launch"]["uneven"] * sum(c["time"] for c in record.cores) / blocks if blocks > 1 else 0
    assert record.time_us == pytest.approx(record.core_us + CHIP["launch"]["head"] * 1e6 + uneven)
    assert record.core_us >= record.timeline["end"].max() - 1e-8


def test_blocks_beyond_the_cores_wait_for_their_turn():
    cores = CHIP["cores"]["aiv"]
    full, more = tiles(blocks=cores, count=2, tile=64), tiles(blocks=2 * cores, count=2, tile=64)
    one = sum(c["time"] for c in full.cores) / cores  # the first ones begin one after the other, the next as they end
    assert more.core_us - full.core_us == pytest.approx(one + CHIP["launch"]["next_block"] * 1e6, rel=0.1)


@pytest.mark.parametrize("blocks", [1, 5])
def test_busy_is_the_sum_of_the_bars(blocks):
    record = tiles(blocks=blocks)
    t = record.timeline
    assert record.timeline_total == len(t)
    for i, pipe in enumerate(record.pipe_names):
        assert record.busy[pipe] <= record.core_us + 1e-9
        if pipe != "S":
            bars = (t["end"] - t["start"])[t["pipe"] == i].sum() / blocks
            assert record.busy[pipe] == pytest.approx(bars)
    assert record.busy["V"] > 0 and record.busy["MTE2"] > 0 and record.busy["MTE3"] > 0 and record.busy["M"] == 0


def test_twice_the_work_takes_twice_as_long():
    """A pipeline that runs full: per tile the time is that of its slowest pipe."""
    short, long = tiles(count=20), tiles(count=40)
    slowest = max(short.busy["MTE2"], short.busy["V"], short.busy["MTE3"])
    assert long.core_us - short.core_us == pytest.approx(slowest, rel=0.05)


def test_a_cut_timeline_leaves_the_times_alone():
    record = tiles(tile=8, count=12000, buffers=2)
    assert record.timeline_total == 48000 > len(record.timeline) > 0
    busy = record.busy["V"] / (2 * us(CHIP["vector"]["startup"] + rate("Adds", "f32")))
    assert busy == pytest.approx(12000)


# ---- the same launch again


def same(a, b) -> None:
    assert (a.time_us, a.core_us, a.busy, a.ub_used, a.buffers, a.timeline_total) == (
        b.time_us,
        b.core_us,
        b.busy,
        b.ub_used,
        b.buffers,
        b.timeline_total,
    )
    assert a.timeline.tobytes() == b.timeline.tobytes()
    assert a.findings == b.findings and a.output == b.output


@pytest.mark.parametrize(
    "name",
    [
        "correct/static_pingpong",
        "correct/softmax",
        "correct/print_dump",
        "broken/race_war",
        "broken/gm_overlap",
        "broken/queue_left",
        "broken/uninit_local",
        "broken/queue_starved",
    ],
)
def test_threads_do_not_show(name, monkeypatch):
    correct = {
        "static_pingpong": ["float 5000", "empty float 5000", 5000],
        "softmax": ["float 700", "empty float 700", 7, 100],
        "print_dump": ["half 160", "empty half 160", 160],
    }
    short = name.partition("/")[2]
    fault = load(TESTS / "faults" / "broken" / "index.toml").get(short)
    args, blocks = (fault.args, fault.blocks) if fault else (correct[short], 1)
    seen = []
    for threads in ("1", "2", "1", "7"):
        monkeypatch.setenv("LABKIT_THREADS", threads)
        labkit.clear_l2()
        seen.append(
            launch(TESTS / "faults" / f"{name}.asc", args, max(10, blocks) if name != "broken/gm_overlap" else 4)
        )
    for other in seen[1:]:
        same(seen[0], other)


def test_the_results_do_not_depend_on_the_threads(monkeypatch):
    x = tensor("float 20000")
    k = labkit.kernel(CORRECT / "static_pingpong.asc")
    got = []
    for threads in ("1", "2"):
        monkeypatch.setenv("LABKIT_THREADS", threads)
        z = x.new_empty(x.shape)
        assert k[13](x, z, 20000).ok
        got.append(z.cpu().numpy())
    assert equal(*got)


CUT = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void cut(GM_ADDR x, uint32_t count) {
    GlobalTensor<float> gx;
    gx.SetGlobalBuffer((__gm__ float*)x, 64);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> in;
    pipe.InitBuffer(in, 2, 256);
    for (uint32_t i = 0; GetBlockIdx() == 0 && i < count; i++) {
        LocalTensor<float> a = in.AllocTensor<float>();
        DataCopy(a, gx, 64);
        in.EnQue(a);
        a = in.DeQue<float>();
        Adds(a, a, 1.0f, 64);
        for (uint32_t j = 0; j < 4; j++) a.SetValue(j, a.GetValue(j));
        in.FreeTensor(a);
    }
}
"""


def test_beyond_what_a_tape_holds_marks_and_waits_count_as_well():
    """A launch shares the tape among its cores: block 0 fills its 48th part soon, the others leave theirs empty."""
    kernel = labkit.kernel(text=CUT, filename="cut.asc", timeout=60, checks=False, l2="cold")
    some, many = kernel[48](tensor("float 64"), 20_000), kernel[48](tensor("float 64"), 120_000)
    assert not some.extrapolated and many.extrapolated
    assert many.core_us == pytest.approx(6 * some.core_us, rel=0.03)
    assert many.busy["S"] == pytest.approx(6 * some.busy["S"], rel=0.03)
    assert "extrapolated" in str(many) and "extrapolated" not in str(some)


def test_more_instructions_than_a_tape_holds_are_taken_in_proportion():
    kernel = labkit.kernel(REPO / "tests" / "speed" / "kernels" / "instructions.asc", timeout=60)
    x = tensor("float 8")
    some, many = kernel[1](x, 1_000_000), kernel[1](x, 20_000_000)
    assert not some.extrapolated and many.extrapolated
    assert many.core_us == pytest.approx(20 * some.core_us, rel=0.03)


ATOMICS = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void adds(GM_ADDR z, uint32_t apart, uint32_t step, uint32_t atomic) {
    InitSocState();
    LocalTensor<float> a(TPosition::VECOUT, 0, 16);
    GlobalTensor<float> gz;
    gz.SetGlobalBuffer((__gm__ float*)z + GetBlockIdx() * apart);
    Duplicate(a, 1.0f, 16);
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    if (atomic) SetAtomicAdd<float>();
    for (uint32_t i = 0; i < 64; i++) DataCopy(gz[i * step], a, 16);
    SetAtomicNone();
}
"""


def test_atomic_stores_to_one_line_go_one_after_the_other():
    """48 cores that add to the same bytes take as long as all their stores in a row; on lines of their own as long as
    plain stores do. Half a line apart is the same line."""
    kernel = labkit.kernel(text=ATOMICS, filename="adds.asc", checks=False)  # plain stores of two cores may meet
    z, line, hold = torch.zeros(48 * 64 * 64).npu(), int(CHIP["gm"]["atomic_line"]) // 4, CHIP["gm"]["atomic"] * 1e6
    assert kernel[48](z, 64 * line, line, 1).time_us == kernel[48](z, 64 * line, line, 0).time_us
    shared, plain = kernel[48](z, 0, 0, 1).time_us, kernel[48](z, 0, 0, 0).time_us
    assert shared == pytest.approx(48 * 64 * hold + plain, rel=0.02)
    halves, whole = kernel[2](z, line // 2, 0, 1).time_us, kernel[2](z, line, 0, 1).time_us
    assert halves - whole == pytest.approx(64 * hold, rel=0.05)
