"""Single numbers without a sign, as Triton's uint32 has them, and what a kernel prints of its values."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

import labkit  # noqa: E402, F401
from labkit.triton import driver  # noqa: E402
from labkit.triton.refused import Refused  # noqa: E402


@triton.jit
def unsigned(out, n, m):
    a, b = n.to(tl.uint32), m.to(tl.uint32)
    tl.store(out, (a // b).to(tl.int64))
    tl.store(out + 1, (a % b).to(tl.int64))
    tl.store(out + 2, tl.minimum(a, b).to(tl.int64))
    tl.store(out + 3, tl.maximum(a, b).to(tl.int64))
    tl.store(out + 4, (a < b).to(tl.int64))
    tl.store(out + 5, (a >= b).to(tl.int64))
    tl.store(out + 6, a.to(tl.int64))
    tl.store(out + 7, (a + b).to(tl.int64))
    tl.store(out + 8, (a * b).to(tl.int64))
    tl.store(out + 9, (a.to(tl.uint64) * b.to(tl.uint64)).to(tl.int64))
    tl.store(out + 10, (n.to(tl.int64) * 1000000007).to(tl.int32).to(tl.int64))
    tl.store(out + 11, ((n > m) != (m > 0)).to(tl.int64))
    tl.store(out + 12, ((n > m) == (m > 0)).to(tl.int64))


def by_python(n: int, m: int) -> list[int]:
    a, b, low = n % 2**32, m % 2**32, n * 1000000007 % 2**32
    made = [a // b, a % b, min(a, b), max(a, b), a < b, a >= b, a, (a + b) % 2**32, a * b % 2**32]
    whole = a * b - 2**64 if a * b >= 2**63 else a * b
    return [*map(int, made), whole, low - (low >= 2**31) * 2**32, int((n > m) != (m > 0)), int((n > m) == (m > 0))]


@pytest.mark.parametrize("n, m", [(5, 3), (-7, 3), (7, -3), (-1, 2), (-7, -3), (2**31 - 1, 2), (-(2**31), 3)])
def test_single_numbers_without_a_sign(n, m):
    out = torch.zeros(13, dtype=torch.int64).npu()
    unsigned[(1,)](out, n, m)
    assert out.cpu().tolist() == by_python(n, m)


@triton.jit
def between_types(n, m, x, floats, wholes):
    tl.store(floats, n.to(tl.uint32).to(tl.float32))
    tl.store(floats + 1, m.to(tl.uint64).to(tl.float32))
    tl.store(floats + 2, n.to(tl.float32))
    tl.store(wholes, x.to(tl.uint32).to(tl.int64))
    tl.store(wholes + 1, x.to(tl.int64))


def test_single_numbers_without_a_sign_become_floats_and_come_from_them():
    floats, wholes = torch.zeros(3).npu(), torch.zeros(2, dtype=torch.int64).npu()
    between_types[(1,)](-5, -(2**40), 3e9, floats, wholes)
    assert floats.cpu().tolist() == [float(2**32), float(2**64 - 2**40), -5.0]
    assert wholes.cpu().tolist() == [3_000_000_000, 3_000_000_000]


@triton.jit
def sorted_alone(x, out, n: tl.constexpr):
    i = tl.arange(0, n)
    tl.store(out + i, tl.sort(tl.load(x + i)))


def test_one_number_is_sorted():
    out = torch.zeros(1).npu()
    sorted_alone[(1,)](torch.tensor([3.0]).npu(), out, 1)
    assert out.cpu().tolist() == [3.0]


@triton.jit
def remainders(a, b, out):
    i = tl.arange(0, 64)
    tl.store(out + i, tl.load(a + i) % tl.load(b + i))


def test_a_remainder_has_memory_of_its_own():
    a, b = torch.arange(64.0).half() / 4 - 8, torch.arange(64.0).half() / 8 + 1
    out = torch.zeros(64).half().npu()
    remainders[(1,)](a.npu(), b.npu(), out)
    assert torch.equal(out.cpu(), torch.fmod(a, b)) and not labkit.triton.last().codes()


@triton.jit
def by_extremes(x, out):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
    tl.store(out + i, v / 7.346839692639297e-40)
    tl.store(out + 64 + i, v / 1.7014118346046923e38)


def test_a_divisor_without_a_reciprocal():
    x = torch.arange(64.0) * 2.0**-60
    out = torch.zeros(128).npu()
    by_extremes[(1,)](x.npu(), out)
    assert torch.equal(out.cpu(), torch.cat([x / 2.0**-130, x / 2.0**127]))


@triton.jit
def window(x, out, n, off, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i + off
    inside = at.to(tl.uint32, bitcast=True) < n.to(tl.uint32)  # 0 <= at < n in one comparison
    tl.store(out + i, tl.load(x + at, mask=inside, other=-1.0))


@pytest.mark.parametrize("off", [-4, 0, 9])
def test_both_ends_by_one_comparison_without_a_sign(off):
    x, out = torch.arange(32.0).npu(), torch.zeros(32).npu()
    window[(1,)](x, out, 20, off, BLOCK=32)
    assert out.cpu().tolist() == [float(i + off) if 0 <= i + off < 20 else -1.0 for i in range(32)]


@triton.jit
def says(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.device_print("100%d of\nn", n)
    tl.device_print('a\\b "quoted" \\', n)
    tl.device_print("50% done", tl.load(x + i, mask=i < n))
    tl.device_print("unsigned", n.to(tl.uint32), n)
    tl.device_print("wide", n.to(tl.uint64))
    tl.device_print("hex", n, hex=True)
    tl.device_print("ends\\", i.to(tl.uint32))
    tl.device_print("few", i < 2)
    tl.device_print("100%")


def test_what_a_kernel_prints(capfd):
    says[(1,)](torch.arange(4.0).npu(), -5, BLOCK=4)
    printed = capfd.readouterr().out.replace("[block 0] ", "")
    wanted = (
        "pid (0, 0, 0) 100%d of\nn: -5\n",
        'pid (0, 0, 0) a\\b "quoted" \\: -5\n',
        "pid (0, 0, 0) unsigned: 4294967291\npid (0, 0, 0) unsigned: -5\n",
        "pid (0, 0, 0) wide: 18446744073709551611\n",
        "pid (0, 0, 0) hex: 0xfffffffb\n",
        "uint32_t[4]:\n  0 1 2 3",
        "pid (0, 0, 0) idx (1) few: 1\npid (0, 0, 0) idx (2) few: 0\n",
        "\n100%\n",
    )
    assert [w for w in wanted if w not in printed] == [], printed


@triton.jit
def says_where(x):
    tl.device_print("x", x)


def test_a_pointer_is_not_printed():
    with pytest.raises(Refused, match="of a pointer.*tl.load"):
        says_where[(1,)](torch.zeros(4).npu())


@triton.jit
def asserts(n):
    tl.device_assert(n > 1000, 'n\\ is "small", 5%\nof it')


def test_what_an_assertion_says(capfd):
    with pytest.raises(Exception, match="assertion failed"):
        asserts[(1,)](5, debug=True)
    assert 'n\\ is "small", 5%\n' in capfd.readouterr().out.replace("[block 0] ", "")


@triton.jit
def double(x, n):
    xor = n ^ 5
    nullptr = xor + 1
    tl.store(x, xor * nullptr)


def test_names_that_mean_something_in_cpp():
    """Of the kernel and of its variables; Python has no word for them."""
    x = torch.zeros(1, dtype=torch.int32).npu()
    made = double[(1,)](x, 9)
    assert x.item() == 12 * 13 and "double_kernel(" in made.asm["asc"].decode()


def test_a_kernel_of_a_name_that_is_taken_is_named_by_its_text(monkeypatch):
    """The file's name is part of the key in the cache: by the number of kernels before, another order compiled anew."""
    named = []
    monkeypatch.setattr(driver, "again", lambda text, file, make: named.append(file))
    for texts in ("ab", "acb"):
        monkeypatch.setattr(driver, "_kernels", {})
        monkeypatch.setattr(driver, "_texts", {})
        for text in texts:
            driver.Utils.load_binary("add", text.encode(), 0, 0)
    assert named[1] == named[4] != named[3] and named[0] == named[2] == "add.asc"


def test_a_loaded_file_replaces_no_other_module(tmp_path, monkeypatch):
    import random
    import sys

    for name in ("random", "wave", "my_kernels"):
        (tmp_path / f"{name}.py").write_text("mine = 1\n")
    monkeypatch.delitem(
        sys.modules, "wave", raising=False
    )  # of the standard library; imported later it must be that one
    made = [labkit.triton.load(tmp_path / f"{name}.py") for name in ("random", "wave", "my_kernels")]
    assert all(module.mine == 1 for module in made) and sys.modules["random"] is random and "wave" not in sys.modules
    assert sys.modules["my_kernels"] is made[2]
    (tmp_path / "my_kernels.py").write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        labkit.triton.load(tmp_path / "my_kernels.py")
    assert sys.modules["my_kernels"] is made[2]


def test_the_newest_records_alone_are_kept():
    out = torch.zeros(13, dtype=torch.int64).npu()
    for _ in range(70):
        unsigned[(1,)](out, 5, 3)
    assert len(driver.records) == len(driver.launched) == 64 and labkit.triton.last() is driver.records[-1]
