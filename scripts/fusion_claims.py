"""The claims audit of stage 04: published gains of fusion against what the chip's model gives, shape by shape.

    python scripts/fusion_claims.py [--write]        writes data/fusion_claims.csv

The published figures are those of issue 14 of this project ("Claims audit"); it names no publisher, no shapes and no
chip. "210 %" is read as "2.1 times as fast", the reading that favours the claim. Models have random weights, fp16, and
the published sizes; nothing is computed, all times are modelled.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from torch import nn
from torch.nn import functional as F

import labkit.device as device
from labkit import paths
from labkit.device import rates
from labkit.fusion import analyze
from labkit.fusion.models import Focus, LSTMCell, Recommender, yolov5_backbone
from labkit.fusion.opportunities import Opportunity, Report

COLUMNS = (
    "id", "claim", "published", "model", "shape", "part", "groups", "launches before", "launches after",
    "traffic saved", "before (us)", "after (us)", "gain", "limit", "bound after", "holds",
)  # fmt: skip


class LayerNormGelu(nn.Module):
    def __init__(self, width: int = 768):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        return F.gelu(self.norm(x))


class Head(nn.Module):
    """BERT's prediction head, the one place where GELU and LayerNorm touch: dense, GELU, LayerNorm."""

    def __init__(self, width: int = 768):
        super().__init__()
        self.dense, self.norm = nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        return self.norm(F.gelu(self.dense(x)))


class Last(nn.Module):
    """A model of transformers that gives its tensor."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)[0]


def resnet50() -> nn.Module:
    from transformers import ResNetConfig, ResNetModel

    return Last(ResNetModel(ResNetConfig()))  # its defaults are ResNet-50


def bert() -> nn.Module:
    from transformers import BertConfig, BertModel

    return Last(BertModel(BertConfig(), add_pooling_layer=False))  # its defaults are BERT-base


def image(batch: int, side: int) -> tuple:
    return (torch.empty(batch, 3, side, side, dtype=torch.half, device="npu"),)


def rows(*shape: int) -> tuple:
    return (torch.empty(shape, dtype=torch.half, device="npu"),)


def ids(batch: int, length: int) -> tuple:
    return (torch.zeros(batch, length, dtype=torch.long, device="npu"),)


def made(model: Callable[[], nn.Module], *inputs) -> Report:
    with device.shapes_only(), torch.device("npu"):
        there = model().half().eval()
    return analyze(there, *inputs, threshold=None)


def limit(groups: list[Opportunity], report: Report) -> float:
    """The most that any fusion of these groups could give: their products take their time on the cube, and what comes
    in and goes out passes the L2, as if launches and all else were free."""
    r = rates.rates(device.chip())
    left = 0.0
    for g in groups:
        cube = sum(p.busy_us for n in g.group.nodes for p in report.before.of.get(n, []) if p.engine != "vector")
        left += max(cube, g.after.bytes / max(r["l2_read"], r["l2_write"]) / 1e3)
    return sum(g.before.us for g in groups) / left if left else float("nan")


def lines(
    claim: str, published: float, name: str, shape: str, report: Report, kinds: tuple[str, ...]
) -> Iterator[dict]:
    """A row for the groups that the claim is about, together; one for the best of them where there are several shapes;
    one for the model from end to end, with all that pays fused."""
    about = [g for g in report.groups if g.kind.startswith(kinds)]
    parts = [(" / ".join(sorted({g.kind for g in about})), about)] if about else []
    if len(about) > 1:
        parts.append(("the best of them", [max(about, key=lambda g: g.speedup)]))
    for part, groups in parts:
        before, after = sum(g.before.us for g in groups), sum(g.after.us for g in groups)
        moved = sum(g.after.bytes for g in groups) / sum(g.before.bytes for g in groups)
        slowest = max(groups, key=lambda g: g.after.us)
        yield row(claim, published, name, shape, part, len(groups), sum(g.before.launches for g in groups),
                  sum(g.after.launches for g in groups), 1 - moved, before, after, limit(groups, report),
                  slowest.after.bound)  # fmt: skip
    was, now = report.before, report.after
    moved = sum(p.bytes for p in now.pieces) / sum(p.bytes for p in was.pieces)
    bound = "host" if now.busy_us < 0.9 * now.span_us else "device"
    yield row(claim, published, name, shape, "end to end", len(report.recommended), len(was.pieces), len(now.pieces),
              1 - moved, was.span_us, now.span_us, None, bound)  # fmt: skip


def row(claim, published, name, shape, part, groups, launches, fewer, saved, before, after, most, bound) -> dict:
    gain = before / after
    most, holds = "" if most is None else f"{most:.3g}", "yes" if gain >= published else "no"
    times = (f"{saved:.2f}", f"{before:.4g}", f"{after:.4g}", f"{gain:.2f}", most)
    return dict(zip(COLUMNS, ("", claim, published, name, shape, part, groups, launches, fewer, *times, bound, holds)))


def memory(name, shape, part, groups, before, after) -> dict:
    saved = 1 - after / before
    holds = "yes" if saved >= 0.45 else "no"
    values = ("", "recommender 45 % memory", 0.45, name, shape, part, groups, *[""] * 5, f"{saved:.2f}", "", "", holds)
    return dict(zip(COLUMNS, values))


def audit() -> Iterator[dict]:
    what = ("ResNet-50 Conv+BN+ReLU 210 %", 2.1, "ResNet-50")
    for batch in (1, 8, 32, 128):
        yield from lines(*what, f"{batch} x 3 x 224 x 224", made(resnet50, *image(batch, 224)), ("conv+bn",))
    what = ("BERT LayerNorm+GELU 180 %", 1.8)
    for tokens in (128, 4096, 16384, 65536):
        report = made(LayerNormGelu, *rows(tokens, 768))
        yield from lines(*what, "LayerNorm, GELU", f"{tokens} x 768", report, ("norm+gelu",))
    for tokens in (128, 4096):
        yield from lines(
            *what,
            "BERT's prediction head",
            f"{tokens} x 768",
            made(Head, *rows(tokens, 768)),
            ("linear+act", "residual"),
        )
    for batch, length in ((1, 128), (8, 512), (32, 512)):
        report = made(bert, *ids(batch, length))
        yield from lines(*what, "BERT-base", f"{batch} x {length}", report, ("residual+norm", "linear+act"))
    what = ("YOLOv5 Focus+Conv 250 %", 2.5)
    for batch in (1, 8, 32):
        shape = f"{batch} x 3 x 640 x 640"
        report = made(lambda: Focus(3, 32), *image(batch, 640))
        yield from lines(*what, "Focus of YOLOv5s", shape, report, ("focus",))
        report = made(yolov5_backbone, *image(batch, 640))
        yield from lines(*what, "YOLOv5s backbone", shape, report, ("focus",))
    what = ("LSTM MatMul+Add+activation 160 %", 1.6, "LSTM cell")
    for batch, width in ((1, 256), (32, 512), (128, 1024), (512, 1024), (2048, 2048), (16384, 2048)):
        report = made(lambda: LSTMCell(width), *(rows(batch, width)[0] for _ in range(3)))
        yield from lines(*what, f"{batch} x {width}", report, ("linear",))
    what = ("recommender 2.8x latency", 2.8, "8 tables of 1,000,000 x 64, MLP 512, 256")
    for batch in (1, 128, 1024, 8192, 65536):
        inputs = (torch.zeros(8, batch, 20, dtype=torch.long, device="npu"), *rows(batch, 13))
        report = made(Recommender, *inputs)
        found = list(lines(*what, f"{batch} x 20 ids", report, ("embedding",)))
        yield from found
        was, now = report.before, report.after
        # many requests behind one another: the slower of host and device sets the pace
        name, shape, n = what[2], f"{batch} x 20 ids", len(report.recommended)
        bound = "host" if host(now) > now.busy_us else "device"
        yield row("recommender 3.1x throughput", 3.1, name, shape, "requests behind one another", n, len(was.pieces),
                  len(now.pieces), float(found[-1]["traffic saved"]), pace(was), pace(now), None, bound)  # fmt: skip
        for part, base in (("results of operators", 0), ("with the tables", tables(report))):
            yield memory(name, shape, part, n, was.peak + base, now.peak + base)


def host(run) -> float:
    from labkit import chips

    return len(run.pieces) * chips.flat(device.chip())["host.dispatch"] * 1e6


def pace(run) -> float:
    return max(run.busy_us, host(run))


def tables(report: Report) -> float:
    """Bytes of the model's parameters."""
    return sum(p.numel() * p.element_size() for p in report.parameters)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--write", action="store_true", help="write data/fusion_claims.csv")
    chosen = options.parse_args()
    found = []
    for i, line in enumerate(audit(), 1):
        found.append(line | {"id": i})
        print("  ".join(str(v) for v in found[-1].values()), flush=True)
    if chosen.write:
        with open(paths.data_dir() / "fusion_claims.csv", "w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            out.writeheader()
            out.writerows(found)


if __name__ == "__main__":
    main()
