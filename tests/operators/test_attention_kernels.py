"""The attention kernels: right in every case and type, also when every copy comes as late as it may; each known-wrong
change to them noticed (kernels/attention/mutants.toml); their times on the modelled clock."""

from __future__ import annotations

import csv
import os

import pytest
from drawn import half

os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
torch = pytest.importorskip("torch")

from attention_cases import (  # noqa: E402
    BACKWARD,
    BF16,
    FILES,
    GOLD,
    HALF,
    HOME,
    PAGED,
    PROMPTS,
    SHORT,
    WAYS,
    build,
    entries,
    paged,
    wrong,
)
from device_lab import simulated  # noqa: E402
from faults import Fault, load  # noqa: E402
from ops_lab import module  # noqa: E402
from twin_launch import build_all  # noqa: E402

import labkit  # noqa: E402
import labkit.device as device  # noqa: E402
from labkit import paths  # noqa: E402
from labkit.launch.record import expect  # noqa: E402

pytestmark = simulated
MUTANTS = load(HOME / "mutants.toml")


def way_of(mutant: Fault) -> str:
    return mutant.way or mutant.file.stem


def mutated(mutant: Fault) -> str:
    """The kernel's wrong text, with what it includes from kernels/, so that a change can be anywhere."""
    text = mutant.file.read_text(encoding="utf-8")
    grad = ("attention_grad_cube.h", "attention_grad_vector.h", "attention_grad_steps.h")
    short = ("attention_short_cube.h", "attention_short_vector.h", "attention_short.h")
    for name in (
        *grad,
        *short,
        "attention_cube.h",
        "attention_vector.h",
        "attention_steps.h",
        "attention.h",
        "../rows.h",
    ):
        part = (HOME / name).read_text(encoding="utf-8").replace("#pragma once\n", "")
        text = text.replace(f'#include "{name}"\n', part, 1).replace(f'#include "{name}"\n', "")
    return mutant.text(text)


@pytest.fixture(scope="module", autouse=True)
def built():
    device.install()
    plain = [{"path": FILES[way], "entry": e} for way in WAYS for t in (HALF, BF16) for e in entries(way, t)]
    changed = [
        {"text": mutated(m), "filename": str(m.file), "entry": e}
        for m in MUTANTS.values() for e in entries(way_of(m))
    ]  # fmt: skip
    build_all([*plain, *changed])


@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("way", WAYS)
def test_right(way, dtype):
    assert wrong(way, build(way, dtype), dtype) == []


@pytest.mark.parametrize("way", WAYS)
def test_no_luck_is_needed(way):
    """Every transfer as late as the synchronisation allows."""
    assert wrong(way, build(way, schedule="worst")) == []


@pytest.mark.parametrize("blocks", [1, 2, 11, 48])
def test_any_cores_give_the_same(blocks):
    """How the keys are cut changes the order of the sums in float, and no more."""
    *shape, lengths, _ = PAGED[0]
    given = paged(*shape, lengths, HALF)
    record, out = GOLD.launch_paged(*(t.npu() for t in given), blocks=blocks)
    assert record.ok and not record.findings
    assert (out.cpu() == GOLD.paged_attention(*given).half()).double().mean() > 0.98


@pytest.mark.parametrize("name", half(MUTANTS, HOME))
def test_a_wrong_kernel_is_noticed(name):
    """With every transfer as late as it may come: a flag that is set too early shows in the numbers then."""
    mutant = MUTANTS[name]
    way = way_of(mutant)
    if mutant.noticed == "time":
        before, after = (modelled(way, text) for text in (None, mutated(mutant)))
        assert after > 1.02 * before, (after, before)
        return
    seen = expect("*")
    expect._open.append(seen)  # so that its findings are not shown
    try:
        found = wrong(way, build(way, text=mutated(mutant), timeout=5, schedule="worst"), until=mutant.noticed)
    finally:
        expect._open.remove(seen)
    assert mutant.noticed in found, found


def test_each_has_known_wrong_kernels():
    for way in ("paged_attention", "attention", "short_attention", "attention_grad"):
        kinds = [m.noticed for m in MUTANTS.values() if way_of(m) == way]
        assert len(kinds) >= 10 and {"numbers", "time"} <= set(kinds) and len(set(kinds)) >= 3, (way, kinds)
    assert len(PAGED) >= 4 and len(PROMPTS) >= 5 and len(SHORT) >= 6 and len(BACKWARD) >= 5


# ---- the clock


def modelled(way: str, text: str | None = None, **shape) -> float:
    """us of a launch on memory that is never filled."""
    kernel = build(way, text=text, timing_only=True, timeout=120)
    if way == "attention":
        return prompt_us(made=kernel, **shape)
    if way == "short_attention":
        return short_us(made=kernel, **shape)
    if way == "attention_grad":
        return backward_us(made=kernel, **shape)
    return decode_us(made=kernel, **shape)


def decode_us(batch=2, heads=32, kv_heads=32, keys=512, page=16, **how) -> float:
    pages = batch * keys // page
    k = torch.empty(pages, page, kv_heads, 128, dtype=HALF, device="npu")
    table = torch.arange(pages, dtype=torch.int32).view(batch, -1).npu()
    q, lengths = torch.empty(batch, heads, 128, dtype=HALF, device="npu"), torch.full((batch,), keys).int().npu()
    record, _ = GOLD.launch_paged(q, k, torch.empty_like(k), table, lengths, **how)
    assert record.finished and not record.findings, record
    return record.time_us


def prompt_us(heads=12, rows=1024, dim=64, causal=False, **how) -> float:
    q, k, v = (torch.empty(2, heads, rows, dim, dtype=HALF, device="npu") for _ in range(3))
    record, _ = GOLD.launch_attention(q, k, v, causal=causal, **how)
    assert record.finished and not record.findings, record
    return record.time_us


def short_us(sequences=8, heads=16, rows=197, keys=77, **how) -> float:
    q = torch.empty(sequences, heads, rows, 80, dtype=HALF, device="npu")
    k = torch.empty(sequences, heads, keys, 80, dtype=HALF, device="npu")
    record, _ = GOLD.launch_short(q, k, k, **how)
    assert record.finished and not record.findings, record
    return record.time_us


def backward_us(heads=12, rows=1024, dim=64, **how) -> float:
    q, k = (torch.empty(2, heads, rows, dim, dtype=HALF, device="npu") for _ in range(2))
    sums = torch.empty(2, heads, rows, device="npu")
    records, _ = GOLD.launch_backward(q, q, k, k, q, sums, **how)
    assert all(record.finished and not record.findings for record in records), records
    return sum(record.time_us for record in records)


def test_decoding_is_bound_by_memory():
    """Modelled: with a KV head for each head, long sequences take no more than 1.35 times what HBM needs for K and V."""
    hbm = labkit.chips.load("910B1")["gm"]["hbm"]
    us = modelled("paged_attention", batch=4, keys=1024)
    assert us < 1.35 * 2 * 4 * 32 * 1024 * 128 * 2 / hbm * 1e6 + 8, us


def test_a_causal_mask_saves_work():
    """Modelled: blocks that nobody sees are left out."""
    assert modelled("attention", causal=True) < 0.75 * modelled("attention")


def test_few_heads_are_spread_over_the_cores():
    """Modelled: two heads on 48 cores; a core for each head takes three times as long."""
    few = [modelled("paged_attention", batch=1, heads=2, kv_heads=2, keys=4096)]
    few.append(decode_us(1, 2, 2, 4096, blocks=2, made=build("paged_attention", timing_only=True)))
    assert few[1] > 3 * few[0], few


@pytest.mark.parametrize("rows, keys", [(77, 197), (197, 77)])
def test_cross_attention_is_three_times_the_chain(rows, keys):
    """Modelled: with no mask, out of an empty L2; the gain of 77 queries is the least of data/attention.csv."""
    parts = TIMES.others(8, 16, 16, rows, keys, 80, False)
    chain = sum(us for name, us in parts.items() if name != "sdpa_us")
    assert chain >= 3 * modelled("short_attention", rows=rows, keys=keys, l2="cold")


TIMES = module("attention_times", paths.repo_root() / "scripts" / "attention_times.py")


def test_the_table():
    """data/attention.csv, by scripts/attention_times.py: what is chosen gains at every shape and is never far from the
    better of the two ways; six rows come out as they stand."""
    with open(TIMES.TABLE, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    chosen = [r for r in rows if r["chosen"] == "1"]
    decoding = [r for r in chosen if r["queries"] == "1"]
    assert len(rows) == 48 and len(decoding) == 12
    assert all(float(r["chain_over_fused"]) > 1 for r in chosen if r["way"] != "attention_backward")
    shape = TIMES.FIELDS[1:9]
    for row in decoding:
        best = min(float(r["fused_us"]) for r in rows if all(r[name] == row[name] for name in shape))
        assert float(row["fused_us"]) < 1.1 * best, row
    cross = [float(r["chain_over_fused"]) for r in rows if r["way"] == "attention" and r["head_dim"] == "80"]
    assert len(cross) == 8 and min(cross) >= 3
    prompts = [r for r in rows if r["way"] == "attention" and r["keys"] == "2048" and r["causal"] == "0"]
    assert float(prompts[0]["least_us"]) > 0.5 * float(prompts[0]["fused_us"])  # half of the cube's peak
    assert all(float(r["sdpa_over_fused"]) > 1 for r in chosen if r["head_dim"] == "80")
    found = [*TIMES.rows([], [(1, 32, 32, 512, 128)], []), *TIMES.rows([], [], [(8, 197, 77)])]
    stand = [*rows[-24:-22], *[r for r in rows if (r["queries"], r["keys"]) == ("197", "77")]]
    assert [TIMES.written(row) for row in found] == [
        {k: int(v) if v.isdigit() else v for k, v in row.items()} for row in stand
    ]
