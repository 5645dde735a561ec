"""What kernels of vllm-ascend and flash-linear-attention asked for: small kernels of our own for each, against PyTorch,
without a finding; at the end known-wrong lowerings."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import triton
import triton.language as tl

import labkit.triton

labkit.triton.install()
from labkit import chips, paths
from labkit.triton import cube, kernel, memory, mixed, program

N = 32


def eighths(*shape, seed=1):
    return torch.randint(-16, 17, shape, generator=torch.Generator().manual_seed(seed)) / 8


@triton.jit
def two_sums(x, y, z, first, last, N: tl.constexpr, TWICE: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float32)
    for k in range(0, first, N):
        total += tl.dot(tl.load(x + i * last + k + j), tl.load(y + (k + i) * N + j))
    for k in range(first, last, N):
        total += tl.dot(tl.load(x + i * last + k + j), tl.load(y + (k + i) * N + j))
    if TWICE:
        total = total * 2
    tl.store(z + i * N + j, total)


def sums(first: int, last: int, twice: bool) -> float:
    x, y = eighths(N, last).half(), eighths(last, N, seed=2).half()
    z = torch.full((N, N), 7.0).npu()
    two_sums[(1,)](x.npu(), y.npu(), z, first, last, N=N, TWICE=twice)
    return float((z.cpu() - (x.float() @ y.float()) * (2 if twice else 1)).abs().max())


@triton.jit
def beside(x, y, c, z, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    for n in range(2):
        at = n * 4 * N * N + i * N + j
        p, q = tl.load(c + at), tl.load(c + at + N * N)  # four queues with eight events
        r, s = tl.load(c + at + 2 * N * N), tl.load(c + at + 3 * N * N)
        more = (p * 2 + q) + (r + s) - p
        total = tl.dot(tl.load(x + i * N + j), tl.load(y + i * N + j)) + more
        tl.store(z + n * N * N + i * N + j, tl.maximum(total, 0.0))


def added() -> float:
    x, y, c = eighths(N, N).half(), eighths(N, N, seed=2).half(), eighths(2, 4, N, N, seed=3)
    z = torch.zeros(2, N, N).npu()
    beside[(1,)](x.npu(), y.npu(), c.npu(), z, N=N)
    return float((z.cpu() - (x.float() @ y.float() + c.sum(1)).clamp(min=0)).abs().max())


@triton.jit
def by_way_of_gm(x, kept, y, rows, N: tl.constexpr):
    at = tl.arange(0, N)
    for r in range(rows):
        tl.store(kept + r * N + at, tl.load(x + r * N + at) * 2)
    for r in range(rows):
        tl.store(y + r * N + at, tl.load(kept + (rows - 1 - r) * N + at) + tl.load(kept + r))


def kept() -> float:
    x = eighths(4, 64)
    scratch, y = torch.zeros(4, 64).npu(), torch.zeros(4, 64).npu()
    by_way_of_gm[(1,)](x.npu(), scratch, y, 4, N=64)
    return float((y.cpu() - (2 * x.flip(0) + 2 * x[0, :4, None])).abs().max())


@triton.jit
def squared(x, z, N: tl.constexpr, TWICE: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    a = tl.load(x + i * N + j)
    total = tl.dot(a, a)
    if TWICE:
        a = a + 1.0
        total = tl.dot(a, a) + total * 2.0
    tl.store(z + i * N + j, total)


def square(twice: bool) -> float:
    x, z = eighths(N, N), torch.zeros(N, N).npu()
    squared[(1,)](x.npu(), z, N=N, TWICE=twice)
    return float((z.cpu() - (((x + 1) @ (x + 1) + 2 * x @ x) if twice else x @ x)).abs().max())


@triton.jit
def leaves(x, z, n, N: tl.constexpr, DOT: tl.constexpr):
    p = tl.program_id(0)
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    if p >= n:
        return
    a = tl.load(x + p * N * N + i * N + j)
    if p % 2 == 0:
        if p == 2:
            tl.store(z + p * N * N + i * N + j, a - 1)
        else:
            tl.store(z + p * N * N + i * N + j, a + 1)
        return
    b = a * 2
    if DOT:
        b = tl.dot(a, a) * 3
    tl.store(z + p * N * N + i * N + j, b)


def left(dot: bool) -> float:
    x, z = eighths(5, N, N), torch.zeros(5, N, N).npu()
    leaves[(5,)](x.npu(), z, 4, N=N, DOT=dot)
    odd = 3 * (x @ x) if dot else 2 * x
    want = torch.stack([x[0] + 1, odd[1], x[2] - 1, odd[3], torch.zeros(N, N)])
    return float((z.cpu() - want).abs().max())


@triton.jit
def sometimes(x, y, z, n, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    total = tl.zeros((N, N), tl.float32)
    for k in range(n):
        total = total * 0.5
        if k < 2:
            total = tl.dot(tl.load(x + k * N * N + i * N + j), tl.load(y + i * N + j), total)
    tl.store(z + i * N + j, total, mask=(i < N - 3) * (j < N - 5))


def branched() -> float:
    x, y, z = eighths(3, N, N).half(), eighths(N, N, seed=2).half(), torch.zeros(N, N).npu()
    sometimes[(1,)](x.npu(), y.npu(), z, 3, N=N)
    want = (x[0].float() @ y.float() / 2 + x[1].float() @ y.float()) / 2
    want[-3:], want[:, -5:] = 0, 0
    return float((z.cpu() - want).abs().max())


@triton.jit
def each_row(x, z, N: tl.constexpr):
    at = tl.program_id(0) * N * N + tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    a = tl.load(x + at)
    product = tl.dot(a, a)
    tl.store(z + at + tl.program_id(1) * N, product + 1, mask=tl.arange(0, N)[:, None] < 1)


def grids() -> float:
    x, z = eighths(2, N, N), torch.zeros(2, N, N).npu()
    each_row[(2, 3)](x.npu(), z, N=N)
    want = torch.zeros(2, N, N)
    want[:, :3] = (x @ x + 1)[:, :1]
    return float((z.cpu() - want).abs().max())


@triton.jit
def counted(z):
    tl.atomic_add(z + tl.program_id(0), 1.0)


def repeated() -> float:
    z = torch.zeros(4).npu()
    counted[(3, 2)](z)
    return float((z.cpu() - torch.tensor([2.0, 2, 2, 0])).abs().max())


@triton.jit
def continued(x, y, N: tl.constexpr):
    at = tl.arange(0, N)
    # fmt: off
    a = tl.load(x + at) * 2 + \
        tl.load(x + at + N)
    # fmt: on
    tl.store(y + at, a)


def long_line() -> float:
    x, y = eighths(2, 64), torch.zeros(64).npu()
    continued[(1,)](x.npu(), y, N=64)
    return float((y.cpu() - (2 * x[0] + x[1])).abs().max())


@triton.jit
def rewritten(x, z, rows, BY: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    for r in range(rows):
        tl.store(z + r * BY + at, tl.load(x + r * N + at) * 2)
    tl.store(z + at, tl.load(x + at) + 1)
    tl.store(z + N // 2 + at, tl.load(x + at) + 2)


def overlapping(by: int) -> float:
    x, z = eighths(8, 64), torch.zeros(8 * 64).npu()
    rewritten[(1,)](x.npu(), z, 8, BY=by, N=64)
    want = torch.zeros(8 * 64)
    for r in range(8):
        want[r * by :][:64] = x[r] * 2
    want[:64], want[32:96] = x[0] + 1, x[0] + 2
    return float((z.cpu() - want).abs().max())


CASES = {
    "a loop stores to one place": lambda: overlapping(0),
    "a loop's stores overlap": lambda: overlapping(32),
    "stores behind a loop overlap": lambda: overlapping(64),
    "a line that ends in a backslash": long_line,
    "a grid of two dimensions that one core asks for": grids,
    "a grid of two dimensions that nobody asks for": repeated,
    "one loop is empty": lambda: sums(0, 64, False),
    "one loop is empty, then vector steps": lambda: sums(0, 64, True),
    "both loops run": lambda: sums(32, 64, True),
    "no loop runs": lambda: sums(0, 0, False),
    "no loop runs, then vector steps": lambda: sums(0, 0, True),
    "a product is added to tiles": added,
    "a program reads what it stored": kept,
    "a matrix both ways round": lambda: square(False),
    "a computed matrix both ways round": lambda: square(True),
    "early returns with work": lambda: left(False),
    "early returns beside a product": lambda: left(True),
    "a product in a branch, conditions multiplied": branched,
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_right(name):
    assert CASES[name]() <= 1e-5 and not labkit.triton.last().findings, labkit.triton.last().report()


def in_panels(v, turned):
    return [0, 0][: len(cube_panels(v, turned))]


def test_where_queues_are_too_much_loads_and_stores_share_places(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    beside.device_caches.clear()
    made = []
    monkeypatch.setattr(program, "_mixed", lambda read, own=program._mixed: made.append(own(read)) or made[-1])
    assert added() <= 1e-5
    single = sum(map(int, re.findall(r"InitBuffer\(\w+, (?:\d, )?(\d+)\)", made[0].text)))
    memory = chips.load(chips.chosen())["memory"]
    monkeypatch.setattr(kernel, "SPARE", memory["ub"] - memory["ub_reserved"] - single + 32)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "again"))
    beside.device_caches.clear()
    assert added() <= 1e-5 and not labkit.triton.last().findings
    assert "TQue" in made[0].text and "TQue" not in made[1].text
    beside.device_caches.clear()


def never_begun(self, line: str, emit=cube.CubeKernel.emit) -> None:
    if not line.startswith("fresh"):
        emit(self, line)


def with_all_slots(self, homes=kernel.Kernel.homes) -> list[str]:
    self.between.clear()
    return homes(self)


cube_panels = cube.panels_of
WRONG = {
    "a sum that nothing was added to is left": (
        "no loop runs", lambda m: m.setattr(cube.CubeKernel, "whole", lambda self, s: None)),
    "the second loop begins anew": ("both loops run", lambda m: m.setattr(cube.CubeKernel, "emit", never_begun)),
    "stores do not wait for stores": (
        "a loop's stores overlap", lambda m: m.setattr(memory, "stores_again", lambda *_: False)),
    "loads do not wait for stores": (
        "a program reads what it stored", lambda m: m.setattr(kernel, "behind_stores", lambda f: set())),
    "turned matrices lie as the others": ("a matrix both ways round", lambda m: m.setattr(cube, "panels_of", in_panels)),
    "a product forgets what it is added to": (
        "a product is added to tiles", lambda m: m.setattr(mixed, "zero", lambda v: True)),
    "queues take all events": (
        "a product is added to tiles", lambda m: m.setattr(kernel.Kernel, "homes", with_all_slots)),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_lowering_shows(name, tmp_path, monkeypatch):
    case, change = WRONG[name]
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    kernels = (two_sums, beside, by_way_of_gm, squared, rewritten)
    for f in kernels:
        f.device_caches.clear()
    change(monkeypatch)
    try:
        shows = not CASES[case]() <= 1e-5 or bool(labkit.triton.last().codes())
    except Exception as problem:  # the twin stopped it
        assert type(problem).__module__.startswith("labkit"), problem
        shows = True
    for f in kernels:
        f.device_caches.clear()
    assert shows


def test_a_store_waits_only_where_bytes_may_be_the_same():
    waits = []
    for by in (0, 32, 64):
        assert overlapping(by) == 0
        waits.append(labkit.triton.body().count("PipeBarrier<PIPE_MTE3>"))
    assert waits == [3, 3, 2], "in the loop only while its rows overlap"


@triton.jit
def long_then_short(out, OFF: tl.constexpr):
    tl.store(out + tl.arange(0, 1024), tl.zeros((1024,), tl.float32))
    tl.store(out + OFF + tl.arange(0, 64), tl.zeros((64,), tl.float32) + 1.0)


@pytest.mark.parametrize("by, waits", [(512, 1), (960, 1), (1024, 0)])
def test_a_short_store_into_a_longer_one_waits(by, waits):
    out = torch.zeros(2048).npu()
    long_then_short[(1,)](out, by)
    assert out.cpu().nonzero().flatten().tolist() == list(range(by, by + 64))
    assert labkit.triton.body().count("PipeBarrier<PIPE_MTE3>") == waits and not labkit.triton.last().codes()


@pytest.mark.parametrize("module", ["labkit.triton.driver", "labkit.triton.compiler", "labkit.triton", "triton"])
def test_any_module_may_be_imported_first(module):
    """Triton imports the back end while it is itself imported."""
    code = f"import {module}, triton; print('ascendc' in triton.backends.backends)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "True\n"


# ---- scripts/triton_public.py


PUBLIC = """
@triton.jit
def answers(x): tl.store(x, 1.0)
@triton.jit
def ends_the_process(x): tl.store(x, 2.0)
class Ender:
    dtype = torch.float32
    def data_ptr(self): os._exit(3)
def test_without_a_kernel(): pass
def test_that_ends():
    answers[(1,)](torch.zeros(1, device="npu"))
    ends_the_process[(1,)](Ender())
"""


def test_a_process_that_ends_in_a_kernel_is_counted_as_wrong(monkeypatch, tmp_path):
    """It was "not here: no test could call a kernel"."""
    monkeypatch.syspath_prepend(paths.repo_root() / "scripts")
    import triton_public

    file = tmp_path / "test_ends.py"
    file.write_text("import os, torch, triton, triton.language as tl\n" + PUBLIC, encoding="utf-8")
    ((name, (test, outcome, kernels, note)),) = triton_public.run([file], tmp_path, [], 60, False).items()
    assert (name, test, kernels) == ("test_ends.py", "test_that_ends", "answers ends_the_process!")
    assert triton_public.judged(outcome, note) == "wrong"
