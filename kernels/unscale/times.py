"""Modelled times of unscale-and-check over a list of gradients: one launch, and the chain that it replaces.

    python kernels/unscale/times.py [--write]        writes data/unscale.csv

Nothing is computed: the clocks alone take part. The chain is the device's own operators for each tensor: isfinite, all,
logical_or of the flag, and mul in place; device_us is the device's one foreach operator,
_amp_foreach_non_finite_check_and_unscale_. Each way begins with an empty L2; in the chain mul finds what isfinite left
there. The device's operators are costed with their own constants, fitted on other measurements than the twin's.
least_us: every byte read once at HBM's rate (what is written stays in the L2, as long as it fits); share: least_us /
fused_us.

The lists: a LLaMA-like block (7 matrices, 2 norms), 8 small vision-language blocks (attention and MLP of width 512 with
their biases), one large table, 128 vectors. All times are modelled.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "data" / "unscale.csv"
FIELDS = ("list", "dtype", "tensors", "elements", "blocks", "fused_us", "bound", "least_us", "share", "chain_us",
          "device_us", "chain_over_fused", "device_over_fused")  # fmt: skip
_BLOCK = [(1536, 512), (1536,), (512, 512), (512,), (2048, 512), (2048,), (512, 2048), (512,), (512,), (512,)]
SHAPES = {
    "128 vectors": [(512,)] * 128,
    "LLaMA-like block": [(1024, 1024)] * 4 + [(2816, 1024)] * 2 + [(1024, 2816)] + [(1024,)] * 2,
    "8 small blocks": _BLOCK * 8,
    "one table": [(32000, 1024)],
}
LISTS = tuple((name, dtype) for name in SHAPES for dtype in ("float32", "float16"))


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


SHARED = module("softmax_mask_dropout_times", ROOT / "kernels" / "softmax_mask_dropout" / "times.py")
written = SHARED.written


@lru_cache(maxsize=None)
def registered():
    import labkit

    return labkit.register(ROOT / "kernels" / "unscale" / "unscale_torch.asc")


def line(name: str, dtype: str) -> dict:
    import torch

    import labkit
    from labkit import chips

    op, shapes = labkit.operator("unscale"), SHAPES[name]
    grads = [torch.zeros(s, dtype=getattr(torch, dtype), device="npu") for s in shapes]
    scale, found = torch.ones(1, device="npu"), torch.zeros(1, device="npu")
    adapter = registered()
    labkit.clear_l2()
    op.unscale_(grads, scale, found)
    record = adapter.record
    assert record.finished and not record.findings and not record.extrapolated, record

    flag = torch.zeros(1, dtype=torch.bool, device="npu")

    def chain():
        for g in grads:
            flag.logical_or_(g.isfinite().all())
            g.mul_(scale)

    fused, us = record.time_us, [device_us(chain)]
    us.append(device_us(lambda: torch._amp_foreach_non_finite_check_and_unscale_(grads, found, scale)))
    elements = sum(g.numel() for g in grads)
    least = elements * grads[0].element_size() / chips.load()["gm"]["hbm"] * 1e6
    found_ = (name, dtype, len(shapes), elements, record.blocks, fused, labkit.explain(record).bound.kind, least)
    return dict(zip(FIELDS, (*found_, least / fused, *us, us[0] / fused, us[1] / fused)))


def device_us(way) -> float:
    """Modelled us that the device's own operators take for `way`, one after the other, from an empty L2."""
    import torch

    import labkit

    labkit.clear_l2()
    before = labkit.device.clock().launches
    way()
    torch.npu.synchronize()
    return sum(span.end_us - span.start_us for span in labkit.device.timeline_since(before))


def rows(lists=LISTS):
    import labkit

    labkit.device.install()
    for one in lists:
        yield line(*one)


if __name__ == "__main__":
    SHARED.main(rows, TABLE, FIELDS, __doc__)
