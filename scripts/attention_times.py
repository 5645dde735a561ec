"""Modelled times of the attention kernels in kernels/attention: fused, as a chain of launches, and as the device's own.

    python scripts/attention_times.py [--write]        writes data/attention.csv

Nothing is computed: the twin's clock alone takes part, on memory that is never filled, and the simulated device's cost
of an operator, from shapes. All times are modelled, of float16, and begin with an empty L2.

Scores are 0 there. Attention of up to 256 keys takes longer where the largest score of a row is beyond 60 in size: 0.2
to 1.4 us (kernels/README.md).

The columns: way, the kernel that is launched, and the shape; masked, 1 where a bool mask is read; chosen, whether the
operator takes it for this shape; fused_us with what bounds it and the share of the time; least_us, what the cube's peak
or HBM needs at least, whichever is more; chain_us, the launches matmul, scale (and mask), softmax, matmul one after the
other, and each of them; sdpa_us, the device's own scaled_dot_product_attention. attention_backward is two launches, for
dq and for dk and dv: fused_us is their sum, bound and share are those of the longer one. Its chain has the shares from
the forward pass: qk_us is grad v^T, softmax_us the softmax' backward, scale_us the scale, pv_us the three products that
give dq, dk and dv; and least_us counts five products, as if the shares were made again once. attention_backward_tiled
is the same without the cube core ahead of the vector cores. Decoding: the fused launch's cache has pages of 16 keys in
any order; the chain and the device's own operator read keys and values that lie in one piece, as a paged cache does
not, and are not charged for gathering them. The device's own operators are costed with their own constants, fitted on
other measurements than the twin's: HBM gives them 1.53 TB/s, a kernel on the twin 1.41.
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "data" / "attention.csv"
FIELDS = (
    *("way", "batch", "heads", "kv_heads", "queries", "keys", "head_dim", "causal", "masked"),
    *("chosen", "fused_us", "bound", "share", "least_us"),
    *("chain_us", "qk_us", "scale_us", "mask_us", "softmax_us", "pv_us", "sdpa_us"),
    *("chain_over_fused", "sdpa_over_fused"),
)
PROMPTS = [(1, 32, 32, 2048, 128), (8, 12, 12, 512, 64)]  # LLaMA-7B; BERT base
# cross attention of 197 image tokens and a text: sequences, queries, keys; 16 heads of 80 numbers
CROSS = [(8, *n) for n in ((197, 77), (77, 197), (197, 256), (256, 197))]
DECODING = [(batch, 32, kv, keys, 128) for kv in (32, 8) for batch in (1, 8, 32) for keys in (512, 2048)]
PAGE = 16


def golden():
    """kernels/attention/golden.py."""
    spec = importlib.util.spec_from_file_location("golden_attention", ROOT / "kernels" / "attention" / "golden.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def tensors(batch, heads, kv_heads, rows, keys, dim, masked):
    """(q, k, v, mask)"""
    import torch

    sizes = ((heads, rows), (kv_heads, keys), (kv_heads, keys))
    q, k, v = (torch.empty(batch, *n, dim, dtype=torch.float16, device="npu") for n in sizes)
    return q, k, v, torch.ones(batch, 1, rows, keys, dtype=torch.bool, device="npu") if masked else None


def prompt(batch, heads, kv_heads, rows, keys, dim, causal, masked):
    """The record of the launch for a prompt."""
    given = tensors(batch, heads, kv_heads, rows, keys, dim, masked)
    return golden().launch_prompt(*given, causal=causal, timing_only=True, l2="cold")[0]


def backward(batch, heads, kv_heads, rows, keys, dim, causal, masked, ahead=2):
    """The records of its two launches."""
    import torch

    q, k, v, mask = tensors(batch, heads, kv_heads, rows, keys, dim, masked)
    sums = torch.empty(batch, heads, rows, device="npu")
    return golden().launch_backward(q, q, k, v, q, sums, mask, causal, ahead=ahead, timing_only=True, l2="cold")[0]


def decoding(batch, heads, kv_heads, keys, dim, cube: bool):
    """The record of the launch for a step of decoding, on the cube or on vector cores alone."""
    import torch

    gold, pages = golden(), batch * keys // PAGE
    q = torch.empty(batch, heads, dim, dtype=torch.float16, device="npu")
    caches = [torch.empty(pages, PAGE, kv_heads, dim, dtype=torch.float16, device="npu") for _ in range(2)]
    table = torch.randperm(pages, generator=torch.Generator().manual_seed(0)).view(batch, -1).int().npu()
    launch = gold.launch_grouped if cube else gold.launch_paged
    lengths = torch.full((batch,), keys, dtype=torch.int32).npu()
    return launch(q, *caches, table, lengths, timing_only=True, l2="cold")[0]


def cost(operator: str, inputs: list[tuple], output: tuple, how: str = "", state: str = "warm") -> float:
    """us of one of the device's own operators; tensors of halves, by their shapes."""
    from labkit.calibration.operators import row

    def said(shapes):
        return ";".join(f"half[{'x'.join(map(str, s))}]" for s in shapes)

    return row(operator, said(inputs), said([output]), how, state).modelled()


def others(batch, heads, kv_heads, rows, keys, dim, causal, masked=False) -> dict[str, float]:
    """The chain's launches and the device's own operator. Queries that share a KV head are rows of one product."""
    many, tall = batch * kv_heads, rows * heads // kv_heads
    q, k, scores, out = (many, tall, dim), (many, dim, keys), (many, tall, keys), (many, tall, dim)
    return {
        "qk_us": cost("aten::bmm", [q, k], scores, state="cold"),
        "scale_us": cost("aten::mul", [scores], scores),
        "mask_us": cost("aten::add", [scores, (1, rows, keys)], scores) if causal or masked else 0.0,
        "softmax_us": cost("aten::_softmax", [scores], scores, "dim=-1"),
        # decoding: nobody has read V yet; of a prompt the scores are the larger part
        "pv_us": cost("aten::bmm", [scores, (many, keys, dim)], out, state="cold" if rows == 1 else "warm"),
        "sdpa_us": cost(
            "aten::scaled_dot_product_attention",
            [(batch, heads, rows, dim), *[(batch, kv_heads, keys, dim)] * 2],
            (batch, heads, rows, dim),
            "causal" if causal else "",
            "cold",
        ),
    }


def others_backward(batch, heads, kv_heads, rows, keys, dim, causal, masked=False) -> dict[str, float]:
    """The same of the backward, whose shares the forward pass has kept."""
    many, tall = batch * kv_heads, rows * heads // kv_heads
    q, k, scores = (many, tall, dim), (many, keys, dim), (many, tall, keys)
    here, there = (batch, heads, rows, dim), (batch, kv_heads, keys, dim)
    own = "aten::_scaled_dot_product_fused_attention_overrideable_backward"
    return {
        "qk_us": cost("aten::bmm", [q, (many, dim, keys)], scores, state="cold"),
        "scale_us": cost("aten::mul", [scores], scores),
        "mask_us": 0.0,
        "softmax_us": cost("aten::_softmax_backward_data", [scores, scores], scores, "dim=-1"),
        "pv_us": cost("aten::bmm", [scores, k], q) + 2 * cost("aten::bmm", [(many, keys, tall), q], k),
        "sdpa_us": cost(own, [here, here, there, there], here, "causal" if causal else "", "cold"),
    }


def least(batch, heads, kv_heads, rows, keys, dim, causal, masked=False, products=2) -> float:
    from labkit import chips

    chip = chips.load()
    flops = 2 * products * batch * heads * rows * keys * dim * (0.5 if causal else 1.0)
    moved = 2 * (2 * batch * heads * rows * dim + 2 * batch * kv_heads * keys * dim)
    return max(flops / chip["rates"]["cube16"], moved / chip["gm"]["hbm"]) * 1e6


def on_cube(batch, heads, kv_heads, keys) -> bool:
    """Which of the two kernels lab::paged_attention takes: on_cube() of its adapter, with its constants."""
    text = (ROOT / "kernels" / "attention" / "paged_attention_torch.asc").read_text(encoding="utf-8")
    names = ("KEY_ON_VECTOR", "QUERY_ON_VECTOR", "LEAST_ON_VECTOR", "KEY_ON_CUBE", "MORE_ON_CUBE")
    key, query, at_least, cube, more = (float(re.search(rf"\b{n} = ([\d.]+)", text)[1]) for n in names)
    units = batch * kv_heads
    vector = units * keys / 48 * max(at_least, key + query * heads / kv_heads)
    return -(-units // 24) * keys * cube + more < vector


def line(way: str, records, batch, heads, kv_heads, rows, keys, dim, causal, masked=False) -> dict:
    import labkit

    records = records if isinstance(records, tuple) else (records,)
    assert all(r.finished and not r.findings and not r.extrapolated for r in records), records
    longest, time_us = max(records, key=lambda r: r.time_us), sum(r.time_us for r in records)
    bound, shape = labkit.explain(longest).bound, (batch, heads, kv_heads, rows, keys, dim, causal, masked)
    back = way.startswith("attention_backward")
    parts = (others_backward if back else others)(*shape)
    chain = sum(us for name, us in parts.items() if name != "sdpa_us")
    chosen = int(rows > 1 or (way == "grouped_attention") == on_cube(batch, heads, kv_heads, keys))
    chosen = int(chosen and not way.endswith("tiled"))
    fused = (chosen, time_us, bound.kind, bound.share, least(*shape, products=5 if back else 2))
    found = dict(zip(FIELDS, (way, *shape[:-2], int(causal), int(masked), *fused)))
    return {
        **found, "chain_us": chain, **parts,
        "chain_over_fused": chain / time_us, "sdpa_over_fused": parts["sdpa_us"] / time_us,
    }  # fmt: skip


def rows(prompts=PROMPTS, steps=DECODING, cross=CROSS):
    """The table, a dict a row. Decoding has a row for each of the two ways."""
    import labkit

    labkit.device.install()
    for batch, heads, kv_heads, length, dim in prompts:
        for causal in (False, True):
            shape = (batch, heads, kv_heads, length, length, dim, causal, False)
            yield line("attention", prompt(*shape), *shape)
            if not causal:
                yield line("attention_backward", backward(*shape), *shape)
                yield line("attention_backward_tiled", backward(*shape, ahead=0), *shape)
    for batch, queries, keys in cross:
        for masked in (False, True):
            shape = (batch, 16, 16, queries, keys, 80, False, masked)
            yield line("attention", prompt(*shape), *shape)
            yield line("attention_backward", backward(*shape), *shape)
    for batch, heads, kv_heads, keys, dim in steps:
        for cube in (False, True):
            record = decoding(batch, heads, kv_heads, keys, dim, cube)
            way = "grouped_attention" if cube else "paged_attention"
            yield line(way, record, batch, heads, kv_heads, 1, keys, dim, False)


def written(row: dict) -> dict:
    def said(name, value):
        return f"{value:.{2 if name == 'share' or '_over_' in name else 1}f}" if isinstance(value, float) else value

    return {name: said(name, value) for name, value in row.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    given, found = parser.parse_args(), []
    for row in rows():
        found.append(written(row))
        print(*found[-1].values(), sep=",", flush=True)
    if given.write:
        with open(TABLE, "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, FIELDS, lineterminator="\n")
            out.writeheader()
            out.writerows(found)


if __name__ == "__main__":
    main()
