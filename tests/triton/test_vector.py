"""Kernels on the vector cores: numbers, findings on the author's line, refusals."""

from __future__ import annotations

import importlib.util
import re

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux x86_64 and aarch64 only")
torch = pytest.importorskip("torch")

import labkit.triton

labkit.triton.install()
import triton_kernels as kernels

import labkit
from labkit.triton import driver
from labkit.triton.refused import Refused


def exact(*shape, dtype=torch.float32):
    generator = torch.Generator().manual_seed(sum(shape))
    return (torch.randint(-40, 41, shape, generator=generator) / 8).to(dtype)


def launched():
    record = labkit.triton.last()
    assert not record.findings, record.report()
    return record


def test_adds_as_the_first_tutorial():
    x, y = exact(98432), exact(98433)[1:]
    z = torch.zeros(98432).npu()
    made = kernels.add[(97,)](x.npu(), y.npu(), z, 98432, BLOCK=1024)
    assert torch.equal(z.cpu(), x + y)
    assert launched().blocks == 48
    text = made.asm["asc"].decode()
    assert "// 14: tl.store(z + at" in text or "tl.store(z + at" in text, "the author's lines stand in it"
    assert "LocalTensor<float> x" not in text.split("__global__")[0]


def test_softmax_as_the_second_tutorial():
    x = exact(183, 781)
    y = torch.zeros_like(x).npu()
    kernels.softmax[(48,)](y, x.npu(), 781, 781, 183, 781, BLOCK=1024)
    assert (y.cpu() - torch.softmax(x, 1)).abs().max() < 1e-6
    assert launched().time_us < 12, "modelled; the hand-written kernel takes 7.9 us"


@pytest.mark.parametrize("way", kernels.TANGENTS)
def test_tangents_and_sigmoids(way):
    """GELU, and a product with a sigmoid, take one exponential and one division; what else uses a part gets it."""
    assert kernels.run_tangents(way)[0] < 1
    assert not launched().findings


@pytest.mark.parametrize(
    "way, instructions",
    [
        ("GELU", ["Muls", "Exp", "Adds", "Div"]),
        ("of its own number", ["Muls", "Exp", "Adds", "Div"]),
        ("not halved", ["Muls", "Exp", "Adds", "Muls", "Div"]),
        ("a sigmoid's product", ["Muls", "Exp", "Adds", "Div"]),
        ("the square of one", ["Muls", "Exp", "Adds", "Duplicate", "Div", "Mul", "Add"]),
        ("two sigmoids", ["Muls", "Exp", "Adds", "Muls", "Exp", "Adds", "Duplicate", "Div", "Div"]),
        ("the sum twice", ["Muls", "Exp", "Adds", "Duplicate", "Div", "Mul", "Add"]),
    ],
)
def test_gelu_is_one_division(way, instructions):
    text = kernels.run_tangents(way)[1].split("__global__")[1]
    assert re.findall(r"^\s+(\w+)\(.*, \d+\);", text, re.M) == instructions


@pytest.mark.parametrize(
    "rows, width, tall, rest, programs, lanes",
    [
        (5, 700, 1, 0, 0, 704),  # rows end at a multiple of 64
        (5, 700, 1, 0, 9, 704),  # more programs than rows
        (3, 1000, 1, 0, 0, 1024),  # 1000 is 1024 then
        (5, 700, 4, 0, 0, 704),  # rows of a tile that do not count
        (5, 100, 2, 0, 0, 128),
        (12, 513, 8, 0, 0, 576),
        (5, 700, 1, 1, 0, 1024),  # what is masked off counts in a sum
        (6, 2100, 2, 1, 0, 4096),
        (6, 2112, 2, 0, 0, 2112),
    ],
)
def test_lanes_that_masks_leave_out_everywhere(rows, width, tall, rest, programs, lanes):
    assert kernels.run_masked_rows(rows, width, tall, rest, programs) < 1
    launch = labkit.triton.last()
    assert not launch.codes(), launch.report()
    assert re.findall(r"Exp\(\w+, \w+, (\d+)\)", labkit.triton.body())[0] == str(tall * lanes)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_layer_norm_in_three_loops(dtype):
    x, w, b = exact(5, 300, dtype=dtype), exact(300, dtype=dtype), exact(301, dtype=dtype)[:300]
    y, mean, rstd = torch.zeros_like(x).npu(), torch.zeros(5).npu(), torch.zeros(5).npu()
    kernels.layer_norm[(5,)](x.npu(), y, w.npu(), b.npu(), mean, rstd, 300, 300, 1e-5, BLOCK=128)
    want = torch.nn.functional.layer_norm(x.float(), (300,), w.float(), b.float(), 1e-5)
    assert ((y.cpu().float() - want).abs() / want.abs().clamp(min=1)).max() < (2e-3 if dtype == torch.float16 else 1e-2)
    assert (mean.cpu() - x.float().mean(1)).abs().max() < 1e-5
    launched()


def test_rows_and_lanes_by_a_loaded_index():
    table, index = exact(20, 30), torch.tensor([3, 19, 0, 3], dtype=torch.int64)
    out = torch.zeros(4, 30).npu()
    kernels.rows_gathered[(4,)](table.npu(), index.npu(), out, 30, BLOCK=32)
    assert torch.equal(out.cpu(), table[index])
    x, at = exact(64), torch.arange(50, dtype=torch.int32).flip(0)
    y = torch.zeros(50).npu()
    made = kernels.lanes_gathered[(1,)](x.npu(), at.npu(), y, 50, BLOCK=64)
    assert torch.equal(y.cpu(), x[at.long()])
    assert "gather, element by element: a loaded index" in made.asm["asc"].decode()
    launched()


@pytest.mark.parametrize("n", [0, 1, 10, 16])
@pytest.mark.parametrize("tile", [True, False])
def test_lanes_that_are_masked_off_have_other_though_all_read_one_address(tile, n):
    x, rest = torch.full((1,), 2.0), exact(16)
    y = torch.zeros(16).npu()
    kernels.one_address[(1,)](x.npu(), rest.npu(), y, n, TILE=tile, BLOCK=16)
    reads = torch.full((16,), n > 0) if tile else torch.arange(16) < n
    assert torch.equal(y.cpu(), torch.where(reads, x, rest if tile else torch.tensor(7.0)))
    launched()


def test_what_is_stored_the_other_way_round():
    x = exact(13, 27)
    y = torch.zeros(27, 13).npu()
    made = kernels.turned[(1,)](x.npu(), y, 13, 27, HIGH=16, WIDE=32)
    assert torch.equal(y.cpu(), x.t())
    assert "strided, element by element: neighbouring lanes lie rows elements apart" in made.asm["asc"].decode()
    launched()


def test_a_mask_that_is_no_rectangle():
    x = exact(29, 29)
    y = torch.zeros_like(x).npu()
    kernels.causal[(1,)](x.npu(), y, 29, BLOCK=32)
    assert torch.equal(y.cpu(), torch.where(torch.ones(29, 29).tril() > 0, x, -1.0))
    launched()


@pytest.mark.parametrize("times", [0, 1, 2, 5])
def test_tiles_that_change_roles_in_a_loop(times):
    a, b = exact(100), exact(101)[1:]
    x, y = a.npu(), b.npu()
    for i in range(times):
        a, b = (b, a + b) if i % 2 == 0 else (b + 1, a)
    kernels.swapped[(1,)](x, y, 100, times, BLOCK=128)
    assert torch.equal(x.cpu(), a) and torch.equal(y.cpu(), b)
    launched()


def test_integers_are_exact():
    x = torch.randint(-(10**8), 10**8, (60,), generator=torch.Generator().manual_seed(1), dtype=torch.int32)
    x[:9] = torch.arange(9)
    y, total = torch.zeros_like(x).npu(), torch.zeros(1, dtype=torch.int32).npu()
    kernels.whole_numbers[(1,)](x.npu(), y, total, 60, BLOCK=64)
    want = torch.where(x > 3, x * 2 - 1, x + 100)
    assert torch.equal(y.cpu(), want.clamp(max=150))
    assert int(total.cpu()) == int(want.sum(dtype=torch.int32))
    launched()


def test_block_pointers():
    x = exact(37, 100)
    y = torch.zeros_like(x).npu()
    kernels.block_pointers[(5,)](x.npu(), y, 37, 100, HIGH=8, WIDE=32)
    assert torch.equal(y.cpu(), x * 2)
    launched()


def test_a_grid_of_three_dimensions_and_views():
    x, y = exact(64, 64).npu(), exact(64, 64).npu()
    z = torch.zeros(64, 64).npu()
    kernels.add[(2, 1, 1)](x.t(), y.t(), z.t(), 4096, BLOCK=2048)
    assert torch.equal(z.cpu(), (x + y).cpu())


def test_what_is_not_there_is_one_line_with_the_authors():
    x = exact(64).npu()
    with pytest.raises(Refused) as error:
        kernels.addresses[(1,)](x, x, BLOCK=64)
    text = str(error.value)
    assert "\n" not in text and "triton_kernels.py:" in text and "tl.store(y + at, (x + at).to(tl.int64)" in text, text
    with pytest.raises(Refused, match="too_large needs 262144 bytes of UB"):
        kernels.too_large[(1,)](x, x, BLOCK=32768)


def test_a_finding_points_at_the_authors_line():
    x, y = exact(64).npu(), torch.zeros(100).npu()
    with labkit.expect("gm-bounds") as seen:
        kernels.beyond_the_end[(1,)](x, y, BLOCK=4096 * 2)
    finding = seen.findings[0]
    assert finding.file.endswith("triton_kernels.py")
    line = open(finding.file).read().splitlines()[finding.line - 1]
    assert "tl.load" in line or "tl.store" in line


def test_a_finding_points_at_the_file_that_is_launched(tmp_path):
    """Triton keeps a compiled kernel by its text: one that was compiled in another folder comes back from its cache,
    and the folder may be gone."""
    for folder in ("first", "second"):
        file = tmp_path / folder / "moved.py"
        file.parent.mkdir()
        file.write_text(
            "import triton\nimport triton.language as tl\n\n\n"
            "@triton.jit\ndef beyond(x, y, BLOCK: tl.constexpr):\n"
            f"    at = tl.arange(0, BLOCK)  # {tmp_path.name}\n"
            "    tl.store(y + at, tl.load(x + at))\n"
        )
        spec = importlib.util.spec_from_file_location(f"moved_{folder}", file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        with labkit.expect("gm-bounds") as seen:
            module.beyond[(1,)](exact(64).npu(), torch.zeros(64).npu(), BLOCK=128)
        assert {(f.file, f.line) for f in seen.findings} == {(str(file), 8)}
        file.unlink()


def test_a_tensor_of_the_cpu_is_refused():
    with pytest.raises(ValueError, match="write x.npu()"):
        kernels.add[(1,)](torch.zeros(8), torch.zeros(8).npu(), torch.zeros(8).npu(), 8, BLOCK=8)


def test_do_bench_empties_the_l2(monkeypatch):
    """As upstream's does; a second run in a row is quicker. The tests' own launches all begin cold."""
    import triton.testing

    x, y, z = (torch.zeros(1 << 20).npu() for _ in range(3))

    def call():
        kernels.add[(128,)](x, y, z, 1 << 20, BLOCK=8192)

    call()
    monkeypatch.setattr(driver._kernels[driver.launched[-1]], "l2", "warm")
    cold, warm = triton.testing.do_bench(call), driver.do_bench(call, cold=False)
    assert triton.testing.do_bench is driver.do_bench and cold > 1.5 * warm
    again = [driver.do_bench(call), *triton.testing.do_bench(call, quantiles=(0.5, 0.9))]
    assert again == pytest.approx([cold] * 3, rel=1e-9)  # differences of a clock that has gone on


def test_a_kept_kernel_finds_the_l2_as_this_process_does(monkeypatch):
    """Not as the one that built it, which may have begun all its launches cold."""
    text = '#include "kernel_operator.h"\nextern "C" __global__ __aicore__ void kept(GM_ADDR x) {}  // of the L2'

    def made():
        return driver.kernel(text=text, filename="kept.asc")

    monkeypatch.setattr(driver.launching, "DEFAULT_L2", "cold")
    assert driver.again(text, "kept.asc", made).l2 == "cold"
    monkeypatch.setattr(driver.launching, "DEFAULT_L2", "warm")
    assert driver.again(text, "kept.asc", made).l2 == "warm"
