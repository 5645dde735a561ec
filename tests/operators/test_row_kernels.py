"""The kernels of the operators: every step is right, the next one is faster, and known-wrong ones are recognised.

kernels/<operator>/mutants.toml holds the wrong ones, as changes to the right text, and what has to notice them.
"""

from __future__ import annotations

import os

import pytest
from drawn import half

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

import pins  # noqa: E402
from device_lab import simulated  # noqa: E402
from faults import Fault, load  # noqa: E402
from ops_cases import TIMES, WAYS, build, name_of, wrong  # noqa: E402
from ops_lab import TYPES  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import expect  # noqa: E402

pytestmark = simulated
HALF, FLOAT = torch.float16, torch.float32
# Every step in half, the last one in all types, the first one in float too.
COUNT = {way: TIMES.LAUNCHES[way].steps or 1 for way in WAYS}
STEPS = [
    (way, step, dtype)
    for way, count in COUNT.items()
    for step in range(count)
    for dtype in TYPES
    if dtype == HALF or step == count - 1 or (step == 0 and dtype == FLOAT)
]
MUTANTS = {
    f"{operator}:{name}": fault
    for operator in ("swiglu", "rms_norm", "bias_gelu")
    for name, fault in load(paths.kernels_dir() / operator / "mutants.toml").items()
}


def file_of(way):
    return paths.kernels_dir() / TIMES.LAUNCHES[way].file


def timed(way, dtype, step=None, blocks=48, shape=None, text=None):
    torch.npu.empty_cache()  # in a part of an earlier test's memory tensors lie otherwise to the L2's lines: other times
    return TIMES.timed(way, name_of(dtype), *(shape or TIMES.LAUNCHES[way].shapes[1]), step, blocks, text)


def whole(way) -> str:
    """The kernel's text with what it includes from kernels/, so that a change can be anywhere."""
    text = file_of(way).read_text(encoding="utf-8")
    for name in ("rms_norm.h", "../rows.h"):
        path = file_of(way).parent / name
        if f'#include "{name}"' in text:
            text = text.replace(f'#include "{name}"', path.read_text(encoding="utf-8").replace("#pragma once\n", ""))
    return text


def mutated(mutant: Fault) -> str:
    return mutant.text(whole(mutant.way))


def how(mutant: Fault) -> dict:
    return {"way": mutant.way, "dtype": getattr(torch, mutant.dtype), "step": mutant.step}


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    plain = [{"path": file_of(way), "entry": TIMES.entry(way, name_of(dtype), step)} for way, step, dtype in STEPS]
    changed = [
        {"text": mutated(m), "filename": str(file_of(m.way)), "entry": TIMES.entry(m.way, m.dtype, m.step)}
        for m in MUTANTS.values()
    ]
    build_all([*plain, *changed])


@pytest.mark.parametrize("way, step, dtype", STEPS)
def test_every_step_is_right(way, step, dtype):
    assert wrong(way, build(way, dtype, step), dtype) == []


@pytest.mark.parametrize("way", WAYS)
def test_no_luck_is_needed(way):
    """Every transfer as late as the synchronisation allows."""
    assert wrong(way, build(way, HALF, schedule="worst"), HALF) == []


@pytest.mark.parametrize(
    "way, shape, factor",
    [
        ("rms_norm", (4096, 4096), 2),
        ("rms_norm", (32768, 128), 10),
        ("rms_norm_backward", (4096, 4096), 2),
        ("rms_norm_backward", (32768, 128), 8),
        ("bias_gelu", (4096, 4096), 1.7),
        ("bias_gelu", (65536, 64), 10),
        ("bias_gelu_backward", (4096, 4096), 1.4),
        ("bias_gelu_backward", (65536, 64), 10),
    ],
)
def test_each_step_is_faster(way, shape, factor):
    """Modelled; the times may change with the clock, their order may not."""
    times = [timed(way, HALF, step, shape=shape).time_us for step in range(COUNT[way])]
    if way.startswith("rms_norm") and shape[1] > 512:  # the last step is for narrow rows
        assert times.pop() <= times[-1]
    assert all(b < a for a, b in zip(times, times[1:])) and times[0] > factor * times[-1], times


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("way", ["swiglu", "swiglu_backward"])
def test_each_step_of_swiglu_is_faster(way, dtype):
    """On one core, then on all; tiles of one length matter where a core has few."""
    times = [
        timed(way, dtype, step, blocks).time_us for step, blocks in ((0, 1), (1, 1), (2, 1), (3, 1), (3, 48), (4, 48))
    ]
    assert (
        all(b < a for a, b in zip(times[:-1], times[1:-1])) and times[-1] <= times[-2] and times[0] > 20 * times[-1]
    ), times


@pytest.mark.parametrize("rows", [1, 16, 256])
@pytest.mark.parametrize("way", [way for way in WAYS if "wide" not in way])
def test_the_operators_choose_their_cores_well(way, rows):
    """No more than an eighth behind the best of these numbers of cores."""
    best = min(
        timed(way, HALF, blocks=min(b, rows if way.startswith("rms_norm") else 48), shape=(rows, 4096)).time_us
        for b in (1, 4, 12, 32, 48)
    )
    assert timed(way, HALF, blocks=TIMES.blocks_for(way, rows, 4096), shape=(rows, 4096)).time_us < 1.125 * best


@pytest.mark.parametrize("way", [way for way in WAYS if "wide" not in way])
def test_what_they_choose_by(way):
    """The constants of rows_torch.h and of the adapters are the chip's and the clock's."""
    chip = labkit.chips.load("910B1")
    hz = chip["clock"]["hz"]
    assert TIMES.constant("rows_torch.h", "CORES") == chip["cores"]["aiv"]
    assert TIMES.constant("rows_torch.h", "NEXT_CORE") == pytest.approx(chip["launch"]["per_core"] * hz, rel=0.05)
    few, many = (timed(way, HALF, blocks=1, shape=(rows, 4096)).time_us for rows in (256, 512))
    assert TIMES.cycles(way) == pytest.approx((many - few) * 1e-6 * hz / (256 * 4096 / 64), rel=0.15)


@pytest.mark.parametrize(
    "way, dtype, shape, kind",
    [
        ("swiglu", HALF, (1, 11008), "launch"),
        ("swiglu", HALF, (4096, 11008), "hbm"),
        ("swiglu_backward", FLOAT, (4096, 11008), "hbm"),
        ("rms_norm", HALF, (4096, 4096), "vector"),
        ("rms_norm", FLOAT, (4096, 4096), "hbm"),
        ("rms_norm", HALF, (16, 4096), "launch"),
        ("rms_norm_backward", HALF, (4096, 4096), "hbm"),
        ("bias_gelu", HALF, (4096, 4096), "vector"),
        ("bias_gelu", FLOAT, (4096, 11008), "hbm"),
    ],
)
def test_what_bounds_it(way, dtype, shape, kind):
    record = timed(way, dtype, shape=shape)
    assert labkit.explain(record).bound.kind == kind
    pins.check(f"operators/{way} {name_of(dtype)} {shape[0]}x{shape[1]}", record)


@pytest.mark.parametrize(
    "name",
    half(MUTANTS, paths.kernels_dir() / "swiglu", paths.kernels_dir() / "rms_norm", paths.kernels_dir() / "bias_gelu"),
)
def test_a_wrong_kernel_is_noticed(name):
    mutant = MUTANTS[name]
    what = how(mutant)
    if mutant.noticed == "time":
        before, after = (
            timed(what["way"], what["dtype"], what["step"], text=text).time_us for text in (None, mutated(mutant))
        )
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(what["way"], build(**what, text=mutated(mutant), timeout=5), what["dtype"], until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


def test_each_operator_has_known_wrong_kernels():
    for name in ("swiglu", "rms_norm", "bias_gelu"):
        kinds = {m.noticed for key, m in MUTANTS.items() if key.startswith(f"{name}:")}
        assert {"numbers", "time"} <= kinds and len(kinds) >= 5, (name, kinds)


def test_the_table(capsys):
    (name, _, rows, width, times, blocks, us, kind, _), *others = TIMES.table(["rms_norm_wide"])
    assert (
        (name, len(times), blocks) == ("rms_norm_wide", 1, 48)
        and us == times[0]
        and kind
        and len(others) == 3
        and rows * width == 512 * 16384
    )
