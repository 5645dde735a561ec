"""Modelled times of a recommender's head: bags of all tables beside the dense features in one launch, then linear and
ReLU; beside a launch for each table.

    python kernels/embedding_bag_mlp/times.py [--write]        writes data/embedding_bag_mlp.csv

The bags' kernel runs, for which rows it reads depends on the ids: drawn by a Zipf law (exponent 1.05) over 20,000 rows
of each table, width 64, float16, 13 dense features. Everything begins with an empty L2. The chain is our own kernel,
once for each table, and the device's cat; the device's operators are _embedding_bag for each table and cat. Behind all
three come the same linear (512 columns) and ReLU: the operators of the device, in two launches, mlp_us. One launch of
vector and cube cores for all of it was not made: starting both kinds costs 7.4 us (modelled), the two launches that it
would save start in less. The device's operators are costed with their own constants, fitted on other measurements than
the twin's.

chosen: the one launch is taken everywhere. All times are modelled.
"""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "data" / "embedding_bag_mlp.csv"
FIELDS = (
    *("tables", "samples", "bag", "chosen", "bags_us", "bound", "share", "least_us", "mlp_us"),
    *("fused_us", "chain_us", "one_table_us", "cat_us", "device_us", "chain_over_fused", "device_over_fused"),
)
SHAPES = ((8, 128, 1), (8, 1024, 1), (8, 8192, 1), (8, 1024, 8), (26, 128, 1), (26, 1024, 1), (26, 8192, 1),
          (26, 1024, 4))  # fmt: skip
ROWS, WIDTH, DENSE, HIDDEN = 20_000, 64, 13, 512


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


SHARED = module("softmax_mask_dropout_times", ROOT / "kernels" / "softmax_mask_dropout" / "times.py")
written = SHARED.written


@lru_cache(maxsize=None)
def golden():
    """kernels/embedding_bag_mlp/golden.py."""
    return module("golden_embedding_bag_mlp", Path(__file__).with_name("golden.py"))


def zipf(shape: tuple[int, ...], rows: int, seed: int = 0, exponent: float = 1.05):
    """ids as users ask for them: the k-th most popular of `rows` with a share of 1 / k ** exponent; which is popular is
    drawn too, so that popular rows lie anywhere."""
    import torch

    made = torch.Generator().manual_seed(seed)
    shares = torch.arange(1, rows + 1, dtype=torch.float64) ** -exponent
    edges = shares.cumsum(0) / shares.sum()
    rank = torch.searchsorted(edges, torch.rand(shape, generator=made, dtype=torch.float64)).clamp(max=rows - 1)
    return torch.randperm(rows, generator=made)[rank].int()


def line(tables: int, samples: int, bag: int) -> dict:
    import torch

    import labkit
    from labkit import chips

    gold, how = golden(), {"checks": False, "l2": "warm"}
    weights = [torch.zeros(ROWS, WIDTH, dtype=torch.float16).npu() for _ in range(tables)]
    ids, dense = zipf((tables, samples, bag), ROWS).npu(), torch.zeros(samples, DENSE, dtype=torch.float16).npu()
    labkit.clear_l2()
    one = gold.launch(weights, ids, dense, **how)[0]
    alone = 0.0
    labkit.clear_l2()
    single = gold.launch(weights[:1], ids[:1].contiguous(), **how)[0]
    alone = single.time_us
    assert one.finished and single.finished and not one.findings
    width, cost = tables * WIDTH + DENSE, SHARED.cost
    cat = cost("aten::cat", [(samples, WIDTH)] * tables + [(samples, DENSE)], (samples, width), "dim=1")
    mlp = cost("aten::addmm", [(HIDDEN,), (samples, width), (width, HIDDEN)], (samples, HIDDEN))
    mlp += cost("aten::relu", [(samples, HIDDEN)], (samples, HIDDEN))
    shapes = [(ROWS, WIDTH), (samples, bag)]
    bags = cost("aten::_embedding_bag", shapes, (samples, WIDTH), state="cold", kinds=("half", "int32"))
    bound, hbm = labkit.explain(one).bound, chips.load()["gm"]["hbm"]
    distinct = sum(len(t.unique()) for t in ids.cpu())
    least = distinct * WIDTH * 2 / hbm * 1e6
    fused, chain, device = one.time_us + mlp, tables * alone + cat + mlp, tables * bags + cat + mlp
    found = (
        tables,
        samples,
        bag,
        1,
        one.time_us,
        bound.kind,
        bound.share,
        least,
        mlp,
        fused,
        chain,
        alone,
        cat,
        device,
    )
    return dict(zip(FIELDS, (*found, chain / fused, device / fused)))


def rows(shapes=SHAPES):
    import labkit

    labkit.device.install()
    for shape in shapes:
        yield line(*shape)


if __name__ == "__main__":
    SHARED.main(rows, TABLE, FIELDS, __doc__)
