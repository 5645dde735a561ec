"""The kernel object: what it refuses, what it returns, and that nothing a kernel does ends this process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import torch
from places import BROKEN
from same import equal  # noqa: E402

import labkit
from labkit import paths
from labkit.build.process import descendants, processor_time
from labkit.launch import runner
from labkit.launch.kernel import ArgumentError

HEAD = '#include "kernel_operator.h"\nusing namespace AscendC;\n'
OWN = """
extern "C" __global__ __aicore__ void copy(GM_ADDR x, GM_ADDR y, uint32_t n) {
    GlobalTensor<float> a, b;
    a.SetGlobalBuffer((__gm__ float*)x + GetBlockIdx() * n, n);
    b.SetGlobalBuffer((__gm__ float*)y + GetBlockIdx() * n, n);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
    pipe.InitBuffer(through, 1, n * sizeof(float));
    LocalTensor<float> t = through.AllocTensor<float>();
    DataCopy(t, a, n);
    through.EnQue(t);
    t = through.DeQue<float>();
    DataCopy(b, t, n);
    through.FreeTensor(t);
}
"""
NEVER = """
template <typename T> __aicore__ inline void never(LocalTensor<float> c, LocalTensor<T> a, LocalTensor<T> b) {
    if ASCEND_IS_AIC { Mmad(c, a, b, MmadParams()); }
    TQue<TPosition::A1, 1> queue;
}
"""
CUBE = """
template <typename T> __global__ __aicore__ void through_l1(GM_ADDR x) {
    GlobalTensor<T> a;
    a.SetGlobalBuffer((__gm__ T*)x, 256);
    TPipe pipe;
    TQue<TPosition::A1, 1> queue;
    pipe.InitBuffer(queue, 1, 512);
    LocalTensor<T> t = queue.template AllocTensor<T>();
    DataCopy(t, a, 256);
    queue.EnQue(t);
    t = queue.template DeQue<T>();
    queue.FreeTensor(t);
}
"""
SCALE = (
    HEAD
    + """
struct Tiling { uint32_t length; float factor; };
__aicore__ inline void scale(GM_ADDR x, GM_ADDR y, uint32_t length, float factor) {
    GlobalTensor<float> in, out;
    in.SetGlobalBuffer((__gm__ float*)x, length);
    out.SetGlobalBuffer((__gm__ float*)y, length);
    TPipe pipe;
    TQueBind<TPosition::VECIN, TPosition::VECOUT, 1> through;
    TQue<TPosition::VECIN, 1> inQ;
    TQue<TPosition::VECOUT, 1> outQ;
    pipe.InitBuffer(inQ, 1, length * sizeof(float));
    pipe.InitBuffer(outQ, 1, length * sizeof(float));
    LocalTensor<float> a = inQ.AllocTensor<float>();
    DataCopy(a, in, length);
    inQ.EnQue(a);
    a = inQ.DeQue<float>();
    LocalTensor<float> b = outQ.AllocTensor<float>();
    Muls(b, a, factor + GetBlockIdx(), int32_t(length));
    outQ.EnQue(b);
    inQ.FreeTensor(a);
    b = outQ.DeQue<float>();
    DataCopy(out, b, length);
    outQ.FreeTensor(b);
}
extern "C" __global__ __aicore__ void by_scalar(GM_ADDR x, GM_ADDR y, uint32_t length, float factor) { scale(x, y, length, factor); }
extern "C" __global__ __aicore__ void by_struct(GM_ADDR x, GM_ADDR y, Tiling t) { scale(x, y, t.length, t.factor); }
struct Args { GM_ADDR x; float* y; Tiling t; };
extern "C" __global__ __aicore__ void by_addresses(Args a) { scale(a.x, (GM_ADDR)a.y, a.t.length, a.t.factor); }
extern "C" __global__ __aicore__ void by_gm(GM_ADDR x, GM_ADDR y, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(Tiling, t, tiling);
    scale(x, y, t.length, t.factor);
}
template <typename T> __global__ __aicore__ void typed(__gm__ float* x, GM_ADDR y, uint32_t length, T factor) { scale((GM_ADDR)x, y, length, float(factor)); }
"""
)


def made(entry: str) -> labkit.Kernel:
    return labkit.kernel(text=SCALE, filename="scale.asc", entry=entry)


@pytest.fixture
def pair():
    x = torch.arange(256, dtype=torch.float32).npu()
    return x, torch.zeros_like(x)


def test_arguments_by_scalar_struct_and_gm(pair):
    x, y = pair
    for entry, rest in (
        ("by_scalar", (256, 1.5)),
        ("by_struct", ({"length": 256, "factor": 1.5},)),
        ("typed<half>", (256, 1.5)),
        ("typed<float>", (256, 1.5)),
    ):
        y.zero_()
        record = made(entry)[1](x, y, *rest)
        assert record.ok and torch.equal(y.cpu(), x.cpu() * 1.5), entry
    k = made("by_gm")
    y.zero_()
    assert k[1](x, y, k.struct("Tiling", length=256, factor=2.0)).ok
    assert equal(y.cpu(), x.cpu() * 2)


def test_a_struct_may_hold_tensors_and_addresses(pair):
    x, y = pair
    k, tiling = made("by_addresses"), {"length": 256, "factor": 1.5}
    for fields in ({"x": x, "y": y, "t": tiling}, {"x": x.data_ptr(), "y": y.data_ptr(), "t": tiling}):
        y.zero_()
        assert k[1](k.struct("Args", **fields)).ok and equal(y.cpu(), x.cpu() * 1.5)
    short = torch.zeros(128).npu()
    assert "gm-bounds" in k[1]({"x": x, "y": short, "t": tiling}).codes()


def test_record_has_what_the_lessons_draw(pair):
    x, y = pair
    record = made("by_scalar")[1](x, y, 256, 2.0)
    assert record.target == "twin" and record.time_kind == "modelled" and record.time_us > record.core_us > 0
    assert [record.op_names[e["op"]] for e in record.timeline] == ["CopyIn", "Muls", "CopyOut"]
    assert [b["pos"] for b in record.buffers] == ["VECIN", "VECOUT"] and record.ub_used == 2048
    assert record.busy["MTE2"] > 0 and record.busy["M"] == 0
    lines = SCALE.splitlines()
    assert "Muls(" in lines[record.timeline[1]["line"] - 1]
    assert "modelled" in str(record)


@pytest.mark.parametrize(
    "arguments, said",
    [
        (lambda x, y: (x.cpu(), y, 256, 1.0), "x = x.npu()"),
        (lambda x, y: (x.view(16, 16).t(), y, 256, 1.0), "contiguous()"),
        (lambda x, y: (x, y, 256), "takes 4 arguments"),
        (lambda x, y: (x, y, -1, 1.0), "uint32_t"),
        (lambda x, y: (x, y, 2**32, 1.0), "uint32_t"),
        (lambda x, y: (x, y, torch.tensor(3), 1.0), "by value"),
        (lambda x, y: (3, y, 256, 1.0), "GM pointer"),
        (lambda x, y: (x, y, "n", 1.0), "uint32_t"),
    ],
)
def test_refused_arguments_say_what_to_write(pair, arguments, said):
    with pytest.raises(ArgumentError) as error:
        made("by_scalar")[1](*arguments(*pair))
    assert said in str(error.value)


def test_pointer_type_is_held_against_the_tensor(pair):
    x, y = pair
    with pytest.raises(ArgumentError, match="float32"):
        made("typed<float>")[1](x.half(), y, 256, 1.0)


def test_blocks_are_needed_and_bounded(pair):
    k = made("by_scalar")
    for bad in (0, -1, 65536, 1.5, True):
        with pytest.raises(ArgumentError):
            k[bad]
    with pytest.raises(ArgumentError, match=r"by_scalar\[8\]"):
        k(*pair, 256, 1.0)


def test_entry_must_be_named_among_several():
    with pytest.raises(ValueError, match="by_struct"):
        labkit.kernel(text=SCALE)
    with pytest.raises(ValueError, match="nothing_like_it"):
        made("nothing_like_it")


def test_an_entry_of_a_namespace_by_its_own_name(pair):
    """Also one with C's linkage, as operators' repositories write it, and an instance of a template."""
    text = (
        HEAD
        + """
namespace inner {
extern "C" __global__ __aicore__ void fill(GM_ADDR x) { ((__gm__ float*)x)[0] = 3; }
template <typename T, int n> __global__ __aicore__ void put(GM_ADDR x) { ((__gm__ T*)x)[0] = n; }
}
"""
    )
    for entry, value in (("fill", 3), ("inner::fill", 3), ("put<float, 4>", 4), ("inner::put<float, 5>", 5)):
        x = torch.zeros(8).npu()
        labkit.kernel(text=text, entry=entry)[1](x)
        assert x[0].item() == value


def test_unknown_struct_field(pair):
    with pytest.raises(ArgumentError, match="lenght"):
        made("by_struct")[1](*pair, {"lenght": 1})


@pytest.mark.parametrize(
    "body, code",
    [
        ("int* p = (int*)8; *p = 3;", "crash"),
        ("volatile int a = 1, b = 0; a = a / b;", "crash"),
        ("volatile uint32_t i = 0; while (true) { i = i + 1; }", "time-out"),
        ("while (true) { PipeBarrier<PIPE_ALL>(); }", "time-out"),
        ("volatile char* p = new char[100ull << 30]; *p = 3;", "host-memory"),
        (
            "for (;;) { volatile char* p = new char[1 << 26]; for (int i = 0; i < (1 << 26); i += 4096) p[i] = 1; }",
            "host-memory",
        ),
        ("__builtin_trap();", "crash"),
    ],
)
def test_a_kernel_cannot_take_this_process_down(pair, body, code):
    x, y = pair
    text = HEAD + 'extern "C" __global__ __aicore__ void bad(GM_ADDR x) {\n    ' + body + "\n}\n"
    bad = labkit.kernel(text=text, filename="bad.asc", timeout=2 if code == "time-out" else 60)
    with pytest.raises(labkit.LaunchError) as error:
        bad[2](x)
    finding = error.value.record.findings[0]
    assert finding.code == code and finding.line == 4 and finding.file.endswith("bad.asc")
    assert not error.value.record.finished and "?" not in str(finding)
    assert made("by_scalar")[1](x, y, 256, 3.0).ok and torch.equal(y.cpu(), x.cpu() * 3)


def test_a_forked_child_launches_nothing_on_its_parents_memory(pair):
    x, y = pair
    kernel = made("by_scalar")
    kernel[1](x, y, 256, 3.0)
    y.zero_()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kernel[1](x, y, 256, 3.0)
            os.write(write, b"went through")
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    assert said.startswith("RuntimeError: Cannot re-initialize NPU in forked subprocess"), said
    assert y.sum().item() == 0
    assert kernel[1](x, y, 256, 3.0).ok and torch.equal(y.cpu(), x.cpu() * 3)


def test_memory_that_the_twin_itself_does_not_get_is_no_crash(pair, monkeypatch):
    """With ever less of it, the first launch that does not go through: its cores want their own memories."""
    x, y = pair
    kernel = made("by_scalar")
    try:
        for megabytes in range(40, 0, -2):
            monkeypatch.setattr(runner, "_MEMORY_BYTES", megabytes << 20)
            runner.forget(kernel.chip)
            try:
                assert kernel[32](x, y, 8, 3.0).finished
            except labkit.LaunchError as error:
                finding = error.record.findings[0]
                break
    finally:
        monkeypatch.undo()
        runner.forget(kernel.chip)
    assert finding.code == "host-memory" and "?" not in str(finding), (megabytes, str(finding))
    assert kernel[1](x, y, 256, 3.0).ok


def test_a_time_out_names_a_core_that_runs(pair, monkeypatch):
    """Of two threads one runs block 1 for ever; the other, the first to begin, sleeps until block 1 comes."""
    monkeypatch.setenv("LABKIT_THREADS", "2")
    body = (
        "if (GetBlockIdx() == 0) { for (volatile uint32_t i = 0; i < 100000000; i = i + 1) {} SyncAll(); }\n"
        "    volatile uint32_t i = 0; while (true) { i = i + 1; }"
    )
    text = HEAD + 'extern "C" __global__ __aicore__ void late(GM_ADDR x) {\n    ' + body + "\n}\n"
    with pytest.raises(labkit.LaunchError) as error:
        labkit.kernel(text=text, filename="late.asc", timeout=2)[2](pair[0])
    finding = error.value.record.findings[0]
    assert (finding.code, finding.block, finding.line) == ("time-out", 1, 5)


@pytest.mark.parametrize("checks", [True, False])
def test_a_launch_finds_static_variables_as_they_were(checks):
    body = "static int32_t n = 0; n += 2; GlobalTensor<int32_t> g; g.SetGlobalBuffer((__gm__ int32_t*)x); g.SetValue(0, n);"
    text = HEAD + f'extern "C" __global__ __aicore__ void counts(GM_ADDR x) {{ {body} }}\n'
    kernel, x = labkit.kernel(text=text, filename="counts.asc", checks=checks), torch.zeros(8, dtype=torch.int32).npu()
    for _ in range(2):
        assert kernel[1](x).codes() == (["static-state"] if checks else []) and x[0].item() == 2


def test_a_dump_is_cut_where_the_output_ends():
    text = HEAD + (
        'extern "C" __global__ __aicore__ void dumps(GM_ADDR x, uint32_t n) {\n'
        "    GlobalTensor<float> g;\n    g.SetGlobalBuffer((__gm__ float*)x, n);\n    DumpTensor(g, 1, n);\n}\n"
    )
    said = labkit.kernel(text=text, filename="dumps.asc")[1](torch.ones(1 << 16).npu(), 1 << 16).output
    assert said.endswith("\n... (output cut here)\n") and len(said) < 65 << 10


def test_an_address_is_looked_up_once(pair, monkeypatch):
    """A finding without a call has its line from addr2line: a child for each, at each launch."""
    raw = labkit.kernel(
        text=HEAD
        + 'extern "C" __global__ __aicore__ void raw(GM_ADDR x) {\n    volatile float a = ((__gm__ float*)x)[512];\n}\n',
        filename="raw.asc",
    )
    asked, run = [], subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda words, **how: asked.append(words[0]) or run(words, **how))
    findings = [[(f.code, f.line) for f in raw[1](pair[0]).findings] for _ in range(3)]
    assert findings == [[("gm-pointer", 4)]] * 3 and asked.count("addr2line") == 1


def test_what_a_kernel_leaks_is_gone_with_its_process(pair):
    """The next launch has all its memory again: 16 million notes of the clock need most of it."""
    body = "for (;;) { volatile char* p = new char[1 << 26]; for (int i = 0; i < (1 << 26); i += 4096) p[i] = 1; }"
    bad = labkit.kernel(
        text=HEAD + 'extern "C" __global__ __aicore__ void bad(GM_ADDR x) {\n    ' + body + "\n}\n",
        filename="bad.asc",
        timeout=60,
    )
    with pytest.raises(labkit.LaunchError):
        bad[1](pair[0])
    long = labkit.kernel(paths.repo_root() / "tests" / "speed" / "kernels" / "instructions.asc", timeout=60)
    assert long[1](pair[0], 20_000_000).extrapolated


def test_findings_do_not_raise_unless_strict(pair, capsys, monkeypatch):
    x, y = pair
    k = made("by_scalar")
    record = k[2](x, y, 256, 1.0)  # two blocks, one range
    assert record.codes() == ["gm-overlap"] and not record.ok and record.finished
    assert "gm-overlap" in capsys.readouterr().out
    monkeypatch.setenv("LABKIT_STRICT", "1")
    with pytest.raises(labkit.LaunchError):
        k[2](x, y, 256, 1.0)


def test_expect_shows_what_it_swallows_and_misses_nothing(pair, capsys):
    x, y = pair
    k = made("by_scalar")
    with labkit.expect("gm-overlap") as seen:
        k[2](x, y, 256, 1.0)
    assert [f.code for f in seen.findings] == ["gm-overlap"] and "gm-overlap" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="race-raw"):
        with labkit.expect("race-raw"):
            k[2](x, y, 256, 1.0)
    with pytest.raises(AssertionError):
        with labkit.expect("gm-overlap"):
            k[1](x, y, 256, 1.0)


def test_expect_does_not_launch_on_hardware(pair, capsys, monkeypatch):
    k = made("by_scalar")
    monkeypatch.setattr(type(k), "target", "npu")
    monkeypatch.setattr(type(k), "build", lambda self: pytest.fail("launched"))
    with labkit.expect("gm-overlap") as seen:
        k[2](*pair, 256, 1.0)
    assert "SKIP" in capsys.readouterr().out and not seen.findings


def test_many_tensors_alive_are_not_gone_through_at_each_new_one(monkeypatch):
    monkeypatch.setattr(runner, "MOST_KNOWN", 4)
    l2, tensors, times = runner.L2(), [torch.empty(1) for _ in range(40)], 0
    for tensor in tensors:
        before = l2._known
        l2.meet(tensor)
        times += l2._known is not before
    assert times == 3 and len(l2._known) == 40


def test_torch_empty_is_known_to_hold_nothing(pair):
    x, y = pair
    record = made("by_scalar")[1](torch.empty(256).npu() * 0 + 1, y, 256, 1.0)
    assert record.ok
    record = made("by_scalar")[1](torch.empty(256, device="npu"), y, 256, 1.0)
    assert record.codes() == ["gm-uninit"] and record.findings[0].numbers["tensor"] == "x"


def test_launch_advances_the_device_clock(pair):
    x, y = pair
    start, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    start.record()
    record = made("by_scalar")[1](x, y, 256, 1.0)
    end.record()
    torch.npu.synchronize()
    assert start.elapsed_time(end) * 1e3 >= record.time_us > 0


def test_same_launch_same_time_on_one_and_two_threads(monkeypatch):
    k = labkit.kernel(labkit.paths.repo_root() / "tests" / "speed" / "kernels" / "add.asc", l2="cold")
    n = 8 * 8192 * 3
    x, y = torch.randn(n).half().npu(), torch.randn(n).half().npu()
    z = torch.empty_like(x)
    records = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("LABKIT_THREADS", threads)
        records.append(k[8](x, y, z, n))
    assert equal(z, x + y)
    assert len({r.time_us for r in records}) == 1 and len({r.timeline.tobytes() for r in records}) == 1


def test_structs_are_c_structs():
    s = made("by_gm").struct("Tiling", length=7, factor=0.5)
    assert ctypes.sizeof(s) == 8 and bytes(s)[:4] == (7).to_bytes(4, "little")


# ---- sources of others


@pytest.mark.parametrize("before", ["", NEVER, '#include "lib/matmul_intf.h"\n' + NEVER])
def test_cores_follow_from_what_is_compiled(before):
    """Cube code that nobody instantiates makes no cube core: blocks would count twice, GetBlockIdx run past the end."""
    k = labkit.kernel(text=HEAD + before + OWN)
    x, y = torch.arange(256.0).npu(), torch.zeros(256).npu()
    record = k[4](x, y, 64)
    assert record.mix == k.core_mix == (0, 1) and record.findings == [] and equal(x.cpu(), y.cpu())


def test_cores_of_each_kernel_of_a_source():
    both = HEAD + NEVER + CUBE + OWN
    assert labkit.kernel(text=both, entry="through_l1<half>").core_mix == (1, 0)
    assert labkit.kernel(text=both, entry="copy").core_mix == (0, 1)
    used = (
        both
        + """
extern "C" __global__ __aicore__ void mixed(GM_ADDR x, GM_ADDR y, uint32_t n) {
    if ASCEND_IS_AIC { through_l1<half>(x); }
    if ASCEND_IS_AIV { copy(x, y, n); }
}
"""
    )
    assert labkit.kernel(text=used, entry="mixed").core_mix == (1, 2)


@pytest.mark.parametrize("dims", [0, 3, 8])
def test_a_source_sets_the_macros_that_cann_leaves_open(dims):
    text = f"#define K_MAX_SHAPE_DIM {dims}\n#define QBUF_MAX_LEN 32\n{HEAD}" + (
        f"#if K_MAX_SHAPE_DIM != {dims} || QBUF_MAX_LEN != 32\n#error these are the source's own\n#endif\n"
        f'static_assert(sizeof(ShapeInfo::shape) == 4 * {dims}, "the shape of a tensor is as long");\n'
    )
    x, y = torch.arange(64.0).npu(), torch.zeros(64).npu()
    assert labkit.kernel(text=text + OWN)[1](x, y, 64).findings == [] and equal(x.cpu(), y.cpu())


def test_the_same_line_of_two_files_is_two_findings(tmp_path):
    body = OWN.replace("GetBlockIdx() * n, n", "0, n")  # all blocks store to the same place
    (tmp_path / "step.h").write_text(
        HEAD + body.replace('extern "C" __global__', "inline").replace("void copy", "void step")
    )
    (tmp_path / "twice.asc").write_text(
        '#include "kernel_operator.h"\n#include "step.h"\n'
        + body.replace("    TPipe", "    step(z, z + 4096, n); TPipe").replace("GM_ADDR y", "GM_ADDR y, GM_ADDR z")
    )
    x = torch.ones(64).npu()
    seen = labkit.kernel(tmp_path / "twice.asc")[2](x, torch.zeros(64).npu(), torch.zeros(2048).npu(), 64)
    assert sorted(Path(f.file).name for f in seen.findings if f.code == "gm-twice") == ["step.h", "twice.asc"]


def test_a_tiling_struct_of_the_library():
    k = labkit.kernel(text=HEAD + OWN)
    made = k.struct("TCubeTiling", M=48, stepKb=2)
    assert len(bytes(made)) == 200 and bytes(made)[4:8] == b"\x30\0\0\0" and made.stepKb == 2
    with pytest.raises(KeyError, match="no struct Nothing"):
        k.struct("Nothing")


def test_a_header_with_the_attributes_of_the_device_compiler(tmp_path):
    """Such a header is put in place of the line that includes it; the lines of the source stay."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "first.h").write_text('#pragma once\n#include "sizes.h"\n')
    (tmp_path / "own" / "sizes.h").write_text(
        "#pragma once\n#define __aicore__ [aicore]\ninline __aicore__ int32_t twice(int32_t n) { return 2 * n; }\n"
    )
    file = tmp_path / "own.asc"
    file.write_text('#include "own/first.h"\n' + HEAD + OWN.replace("GetBlockIdx() * n", "twice(0)"))
    x, y = torch.arange(64.0).npu(), torch.zeros(64).npu()
    assert labkit.kernel(file)[1](x, y, 64).findings == [] and equal(x.cpu(), y.cpu())
    file.write_text('#include "own/first.h"\n' + HEAD + OWN.replace("GetBlockIdx() * n", "thrice(0)"))
    with pytest.raises(labkit.CompileError) as raised:
        labkit.kernel(file)
    line = 1 + file.read_text().split("\n").index("    a.SetGlobalBuffer((__gm__ float*)x + thrice(0), n);")
    assert f"own.asc, line {line}: " in str(raised.value)


def test_a_launch_ends_with_the_program_that_made_it():
    """Killed without a word while its kernel loops, long before the kernel's time is up."""
    body = "volatile uint32_t i = 0; while (true) { i = i + 1; }"
    text = HEAD + f'extern "C" __global__ __aicore__ void loop(GM_ADDR x) {{ {body} }}\n'
    program = "import sys, labkit, torch; labkit.kernel(text=sys.argv[1], filename='l.asc', timeout=300)[1](torch.zeros(8).npu())"
    with subprocess.Popen([sys.executable, "-c", program, text]) as started:
        loops: list[int] = []
        while not loops and started.poll() is None:
            below = descendants(started.pid)
            loops = [pid for pid in below if program_of(pid).endswith(b"/twin-runner") and processor_time(pid) > 1]
            time.sleep(0.1)
        started.kill()
    assert len(loops) == 1
    end = time.monotonic() + 60
    while program_of(loops[0]) and time.monotonic() < end:
        time.sleep(0.1)
    assert not program_of(loops[0])


def program_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""


def test_two_threads_share_a_runner(monkeypatch):
    """Each launched into one of its own; the first was left to itself."""
    both, made = threading.Barrier(2, timeout=20), []

    class Slow(runner.Runner):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            both.wait()

    monkeypatch.setattr(runner, "Runner", Slow)
    monkeypatch.setattr(runner, "_runners", {})
    threads = [threading.Thread(target=lambda: made.append(runner.runner_for("910B1", None))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made[0] is made[1] is runner.runner_for("910B1", None)


def test_a_line_is_found_below_a_folder_with_brackets(monkeypatch):
    from labkit.launch import answer

    said = "/home/a/copy (2)/k.asc:7\n/home/a/copy (2)/k.asc:9 (discriminator 3)\n??:?\n"
    monkeypatch.setattr(answer.subprocess, "run", lambda *a, **_: subprocess.CompletedProcess(a, 0, said))
    path = "/home/a/copy (2)/k.asc"
    assert answer._asked.__wrapped__("k", 0, 0) == ((path, 7), (path, 9))


def test_a_finding_names_the_tensor_of_a_kernel_that_is_a_text(capsys):
    """ "src0 is read (at UB address 8192)" means nothing to who wrote `sum`."""
    text = (BROKEN / "uninit_local.asc").read_text(encoding="utf-8")
    kernel = labkit.kernel(text=text, filename="a cell")
    x, z = (torch.ones(n, dtype=torch.float32).npu() for n in (512, 64))
    with labkit.expect("uninit-local") as seen:
        kernel[1](x, z, 8, 64)
    assert seen.findings[0].lines()[0].startswith("`sum` (src0 of Add) is read"), seen.findings[0].lines()
