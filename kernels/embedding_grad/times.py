"""Modelled times of the gradient of an embedding's table of 151,674 rows, three ways: scatter by atomic stores;
combine, which adds up equal ids in UB before it stores them; sort and sum.

    python kernels/embedding_grad/times.py [--write]        writes data/embedding_grad.csv

The kernels run, for which rows they touch depends on the ids. kind: "uniform" over the table; "zipf", the k-th most
popular of all rows with a share of 1 / k; "one", all the same; ids int32, seed 0; share: that of the most
frequent id.
scatter_us, combine_us and segments_us are launches, sort_us what orders the ids for the last: sort_ids.asc up to 8192
ids, beyond that the device's own sort, whose constants are assumed (data/operator_costs.csv has no measurement of one).
Each way begins with an empty L2. sorted_us = sort_us + segments_us.

zeros_us: the table of zeros that each way begins with, in the gradient's type. For a 16-bit type scatter and combine
add up in a table of float: more_us, what its zeros cost beyond those and the cast at the end. slow_over_fast: the
slowest of scatter_us + more_us, combine_us + more_us and sorted_us over the fastest; with_zeros: with zeros_us on both
sides. scatter_over_fast, sorted_over_fast: these two alone over the fastest. floor_us: no kernel on this clock is
faster, the first core's start and the gradient's way from HBM; so no way can be faster by more than scatter_over_floor
than scatter, and by more than sorted_over_floor than sort and sum. chosen: what way="auto" takes where it knows the
share; unknown: where it does not. device_us: aten::embedding_dense_backward as the simulated device charges it, which
knows neither atomics nor the ids.

What an atomic store keeps others of its line waiting is an assumption, [gm] atomic of labkit/twin/chips/910B1.toml: a
measurement on another architecture. All times are modelled.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "data" / "embedding_grad.csv"
FIELDS = (
    *("count", "width", "dtype", "kind", "share", "scatter_us", "scatter_bound", "more_us", "combine_us"),
    *("combine_bound", "sort_us", "segments_us", "segments_bound", "sorted_us", "zeros_us", "floor_us", "faster"),
    *("slow_over_fast", "slow_over_fast_with_zeros", "scatter_over_fast", "scatter_over_floor", "sorted_over_fast"),
    *("sorted_over_floor", "chosen", "unknown", "device_us"),
)
ROWS = 151_674
KINDS = ("uniform", "zipf", "one")
SHAPES = (
    *((count, width, "float32") for count in (2048, 8192, 65536) for width in (16, 80, 256, 512, 896)),
    *((count, width, "float32") for count in (2048, 8192) for width in (1024, 4096)),
    *((8192, width, "bfloat16") for width in (80, 1024)),
)


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


SHARED = module("softmax_mask_dropout_times", ROOT / "kernels" / "softmax_mask_dropout" / "times.py")
cost, written = SHARED.cost, SHARED.written


@lru_cache(maxsize=None)
def golden():
    """kernels/embedding_grad/golden.py."""
    return module("golden_embedding_grad", Path(__file__).with_name("golden.py"))


def line(count: int, width: int, dtype: str, kind: str) -> dict:
    import torch

    import labkit

    gold, how = golden(), {"checks": False, "l2": "warm"}
    op, name = labkit.operator("embedding_grad"), {"float32": "float", "bfloat16": "bfloat16"}[dtype]
    assert not op.load(), op.load()
    grad = torch.empty(count, width, dtype=getattr(torch, dtype), device="npu")
    ids = gold.draw(kind, count, ROWS).int()
    top = op.top_share(ids)
    labkit.clear_l2()
    scatter = gold.launch("scatter", grad, ids.npu(), ROWS, empty=True, **how)[0]
    labkit.clear_l2()
    cores = min(gold.VECTORS, -(-count // gold.LEAST_ROWS))
    combine = gold.launch("combine", grad, ids.npu(), ROWS, blocks=cores, empty=True, **how)[0]
    labkit.clear_l2()
    if count <= 4 * gold.CHUNK:
        sort = gold.sort(ids.npu(), **how)[0].time_us
    else:
        sort = cost("aten::sort", [(count,)], (count,), state="cold", kinds=("int32",))
    segments = gold.launch("segments", grad, ids.npu(), ROWS, empty=True, **how)[0]
    assert all(r.finished and not r.findings and not r.extrapolated for r in (scatter, combine, segments))
    table = (ROWS, width)

    def zeros(kind):
        return cost("aten::zero_", [table], table, state="cold", kinds=(kind,))

    more = zeros("float") - zeros(name) + cast(table) if name != "float" else 0.0
    shape, kinds = [(count, width), (count,)], (name, "int32")
    device = cost("aten::embedding_dense_backward", shape, table, state="cold", kinds=kinds)
    ways = {"scatter": scatter.time_us + more, "combine": combine.time_us + more, "segments": sort + segments.time_us}
    faster = min(ways, key=ways.get)
    slow, fast, zero = max(ways.values()), min(ways.values()), zeros(name)
    least, over = floor(grad.numel() * grad.element_size()), [ways["scatter"], ways["segments"]]
    chosen = [torch.ops.lab.embedding_dense_grad_way(count, width, ROWS, getattr(torch, dtype), t) for t in (top, -1.0)]
    found = (count, width, dtype, kind, top, scatter.time_us, bound(scatter), more, combine.time_us, bound(combine),
             sort, segments.time_us, bound(segments), ways["segments"], zero, least, faster, slow / fast,
             (slow + zero) / (fast + zero), over[0] / fast, over[0] / least, over[1] / fast, over[1] / least,
             *chosen, device)  # fmt: skip
    return dict(zip(FIELDS, found))


def bound(record) -> str:
    import labkit

    return labkit.explain(record).bound.kind


def floor(size: int) -> float:
    """us. That many bytes come from HBM, once."""
    import labkit

    chip = labkit.chips.load("910B1")
    start = chip["launch"]["head"] + chip["scalar"]["start"] / chip["clock"]["hz"]
    return 1e6 * (start + size / chip["gm"]["hbm"])


def cast(table: tuple) -> float:
    return cost("aten::_to_copy", [table], table, state="cold", kinds=("float",))


def rows(shapes=SHAPES, kinds=KINDS):
    import labkit

    labkit.device.install()
    for shape in shapes:
        for kind in kinds:
            yield line(*shape, kind)


if __name__ == "__main__":
    SHARED.main(rows, TABLE, FIELDS, __doc__)
