"""Products of what a vector core computed: attention, kernels by chance (60 by LABKIT_DRAWN=all), and wrong lowerings."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import triton
import triton.language as tl
from drawn import whole
from hypothesis import HealthCheck, given, settings
from triton.tools.tensor_descriptor import TensorDescriptor

import labkit.triton

labkit.triton.install()
import triton_mixed as mixed_kernels

from labkit.triton import mixed, program, split
from labkit.triton.refused import Refused

SMALL = (2, 128, 64, (64, 32))
CHAIN = mixed_kernels.Mixed("loop", (32, 32, 64, 32), 40, "f16", "z", ("half",), ("relu", "share"), ("column",), 2)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("case", [SMALL, (1, 128, 128, (128, 64))], ids=str)
def test_attention(case, causal):
    error = mixed_kernels.attend(*case, causal)
    record = labkit.triton.last()
    assert error <= 1 and not record.findings, record.report()


@settings(max_examples=60 if whole() else 8, deadline=None, suppress_health_check=list(HealthCheck))
@given(kernel=mixed_kernels.kernels())
def test_a_drawn_kernel_is_right(kernel, tmp_path_factory):
    got, want = kernel.run(tmp_path_factory.getbasetemp())
    found = labkit.triton.last().findings
    assert not found, "\n".join(map(str, found)) + "\n" + kernel.source()
    assert kernel.wrong(got, want) <= 1, kernel.source()


@triton.jit
def crossed(a, b, out, times, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    p, q = tl.zeros((N, N), tl.float32), tl.zeros((N, N), tl.float32)
    for t in range(times):
        x, y = tl.load(a + t * N * N + at), tl.load(b + t * N * N + at)
        p, q = tl.dot(x, y, q), tl.dot(y, x, p)
    tl.store(out + at, p)
    tl.store(out + N * N + at, q)


@triton.jit
def begun_alike(a, b, begin, out, times, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    x = tl.load(a + at)
    most = tl.load(begin + i)
    twice = most
    for t in range(times):
        most = tl.maximum(most, tl.max(tl.dot(x, tl.load(b + t * N * N + at)), 1))
        twice = twice * 2.0
    tl.store(out + i, most)
    tl.store(out + N + i, twice)


def test_a_row_of_numbers_that_two_of_a_loop_begin_with():
    """Rows are parted over two vector cores: one of the two kept all of them, and the kernel was refused."""
    a, b = (torch.randn(n, 32, 32, generator=torch.Generator().manual_seed(n)).half() for n in (1, 3))
    begin, out = torch.arange(32.0) / 8, torch.zeros(2, 32).npu()
    begun_alike[(1,)](a.npu(), b.npu(), begin.npu(), out, 3, N=32)
    most = torch.maximum(begin, (a.float() @ b.float()).amax((0, 2)))
    assert torch.allclose(out.cpu(), torch.stack([most, begin * 8]), atol=1e-4)
    record = labkit.triton.last()
    assert not record.findings, record.report()


def test_two_sums_that_change_places_in_each_turn():
    a, b = (torch.randn(3, 16, 16, generator=torch.Generator().manual_seed(s)).half() for s in (1, 2))
    out = torch.zeros(2, 16, 16).npu()
    crossed[(1,)](a.npu(), b.npu(), out, 3, N=16)
    p = q = torch.zeros(16, 16)
    for x, y in zip(a.float(), b.float()):
        p, q = x @ y + q, y @ x + p
    record = labkit.triton.last()
    assert not record.findings, record.report()
    assert torch.allclose(out.cpu(), torch.stack((p, q)), atol=1e-3)


@triton.jit
def product(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, OUT: tl.constexpr,
            TWICE: tl.constexpr):  # fmt: skip
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), OUT)
    for first in range(0, K, BK):
        k = first + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * am + k[None, :] * ak, mask=(m < M)[:, None] & (k < K)[None, :], other=0)
        y = tl.load(b + k[:, None] * bk + n[None, :] * bn, mask=(k < K)[:, None] & (n < N)[None, :], other=0)
        total = tl.dot(x, y, total, out_dtype=OUT)
    if TWICE:
        total = total * 2
    tl.store(c + m[:, None] * N + n[None, :], total, mask=(m < M)[:, None] & (n < N)[None, :])


@pytest.mark.parametrize("turned", ["", "a", "b", "ab"])
@pytest.mark.parametrize("kind", [torch.float32, torch.int8], ids=str)
def test_types_whose_matrices_are_turned_in_squares(kind, turned, twice=False):
    m, n, k = 50, 100, 90
    generator = torch.Generator().manual_seed(1)
    a, b = (torch.randint(-9, 10, s, generator=generator).to(kind) for s in ((m, k), (k, n)))
    x, y = (v.t().contiguous().npu().t() if name in turned else v.npu() for name, v in zip("ab", (a, b)))
    out = torch.float32 if kind.is_floating_point else torch.int32
    c = torch.zeros(m, n, dtype=out).npu()
    made = product[(2, 2)](x, y, c, m, n, k, *x.stride(), *y.stride(), BM=32, BN=64, BK=32,
                    OUT=tl.float32 if kind.is_floating_point else tl.int32, TWICE=twice)  # fmt: skip
    assert torch.equal(c.cpu(), (a.to(out) @ b.to(out)) * (2 if twice else 1)) and not labkit.triton.last().findings
    assert ("__mix__" if twice else "__cube__") in made.asm["asc"].decode()


def test_a_product_of_int8_goes_to_the_vector_cores():
    test_types_whose_matrices_are_turned_in_squares(torch.int8, "", twice=True)


@triton.jit
def doubled(x, y, BM: tl.constexpr, BN: tl.constexpr):
    at = [tl.program_id(0) * BM - 4, 0]
    y.store(at, x.load(at) * 2.0)


@triton.jit
def further(left, right):
    return tl.where(tl.abs(left) > tl.abs(right), left, right)


@triton.jit
def scanned(g, x, y, z, D: tl.constexpr):
    i, j = tl.arange(0, D)[:, None], tl.arange(0, D)[None, :]
    gate = tl.cumsum(tl.load(g + i * D + j), axis=1)
    product = tl.dot((tl.load(x + i * D + j) * gate).to(tl.float16), tl.load(y + i * D + j))
    tl.store(z + i * D + j, tl.associative_scan(product, 1, further))


def test_scans_before_and_behind_a_product():
    draw = torch.Generator().manual_seed(7)
    g, x, y = (torch.randn(32, 32, generator=draw) for _ in range(3))
    z = torch.zeros(32, 32).npu()
    scanned[(1,)](g.npu(), x.npu(), y.half().npu(), z, 32)
    assert not labkit.triton.last().findings
    product = (x * g.cumsum(1)).half().float() @ y.half().float()
    want = product.clone()
    for k in range(1, 32):
        last = want[:, k - 1]
        want[:, k] = torch.where(last.abs() > product[:, k].abs(), last, product[:, k])
    torch.testing.assert_close(z.cpu(), want, rtol=2e-3, atol=2e-2)


def test_descriptors_from_the_host_and_rows_before_the_tensor():
    x = torch.arange(40.0 * 24).reshape(40, 24)
    y = torch.zeros(40, 24).npu()
    doubled[(6,)](*(TensorDescriptor(t, [40, 24], [24, 1], [8, 32]) for t in (x.npu(), y)), BM=8, BN=32)
    assert torch.equal(y.cpu(), x * 2) and not labkit.triton.last().findings


@triton.jit
def batch(x, y, z, B: tl.constexpr):
    b, i, j = tl.arange(0, 2)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, B)[None, None, :]
    at = b * B * B + i * B + j
    tl.store(z + at, tl.dot(tl.load(x + at), tl.load(y + at)))


def test_what_is_refused_says_what_to_do():
    x, z = torch.zeros(2, 16, 16).half().npu(), torch.zeros(2, 16, 16).npu()
    with pytest.raises(Refused, match=r"test_mixed.py:\d+: .*three dimensions.*in a loop"):
        batch[(1,)](x, x, z, B=16)
    with pytest.raises(Refused, match="bytes of UB.*smaller BLOCK"):
        mixed_kernels.attend(1, 256, 128, (256, 128), False)


def edit(old: str, new: str):
    """A change of the emitted text."""

    def apply(monkeypatch):
        own = program._mixed

        def changed(read):
            lowered = own(read)
            assert old in lowered.text
            return replace(lowered, text=lowered.text.replace(old, new))

        monkeypatch.setattr(program, "_mixed", changed)

    return apply


WRONG = {
    "a product is read before it is whole": edit("CrossCoreWaitFlag(READY0);", ""),
    "a tile is multiplied before it is whole": edit("CrossCoreWaitFlag(SENT1);", ""),
    "a tile is written over before it was read": edit("if (untaken1) CrossCoreWaitFlag(TAKEN1);", ""),
    "a product is written over before it was read": edit("if (unread1) CrossCoreWaitFlag(FREE1);", ""),
    "the flag goes ahead of the tile": edit("Flag<0x2, PIPE_MTE3>(SENT1)", "Flag<0x2, PIPE_V>(SENT1)"),
    "both vector cores write the first rows": edit("DataCopyPad(accSpace2[row0 * 64]", "DataCopyPad(accSpace2[0]"),
    "all spaces are one": lambda m: m.setattr(split.Space, "bytes", property(lambda s: 0)),
    "each step forgets the sum before it": lambda m: m.setattr(mixed, "zero", lambda v: True),
    "the last flags are left": lambda m: m.setattr(split, "ended", lambda spaces, from_cube: []),
    "the sum lies where the next tile comes": edit(
        "const int32_t row0 = strip * 16;", "const int32_t row0 = strip * 8;"
    ),
}


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    return tmp_path


@pytest.mark.parametrize("name", ["right", *WRONG])
def test_a_wrong_lowering_shows(name, own_cache, monkeypatch):
    WRONG.get(name, lambda m: None)(monkeypatch)
    try:
        got, want = CHAIN.run(own_cache)
        shows = CHAIN.wrong(got, want) > 1 or bool(labkit.triton.last().codes())
    except Exception as problem:  # the twin stopped it
        assert type(problem).__module__.startswith("labkit"), problem
        shows = True
    assert shows == (name != "right")
