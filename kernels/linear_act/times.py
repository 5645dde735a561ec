"""Modelled times of act(x W^T + bias + residual): one launch, our own chain of launches, the device's operators.

    python kernels/linear_act/times.py [--write]        writes data/linear_act.csv

Nothing is computed: the twin's clock alone takes part, on memory that is never filled, and the simulated device's cost
of an operator, from shapes. All times are modelled, of float16; each way begins with an empty L2, and what a launch
leaves there the next one of the same way finds. Our chain: the product on the cube, cut by the same rule, then bias,
residual and activation in one launch. The device's operators: linear, which adds the bias, then add, then the
activation; costed with their own constants, fitted on other measurements than the twin's.

chosen: whether lab::linear_act takes the one launch for this shape (else it takes our chain), and whether the rule of
labkit.fusion takes the operator: pays() below, with the adapter's constants.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "data" / "linear_act.csv"
FIELDS = (
    *("model", "act", "residual", "m", "h", "i", "chosen", "fused_us", "bound", "share", "least_us"),
    *("chain_us", "product_us", "behind_us", "device_us", "chain_over_fused", "device_over_fused"),
)
BERT, GPT, LLAMA, LSTM = "BERT base", "GPT-2, up", "LLaMA-7B, gate", "LSTM cell, 1024"
SHAPES = (
    *((GPT, "gelu", 0, m, 768, 3072) for m in (1, 32, 128, 512, 1024, 2048, 4096, 8192)),
    *((BERT + ", down", "none", 1, m, 3072, 768) for m in (512, 4096, 16384)),
    *((BERT + ", pooler", "tanh", 0, m, 768, 768) for m in (1, 32)),
    *((LSTM, "sigmoid", 1, m, 1024, 4096) for m in (1, 32, 256)),
    *((LLAMA, "silu", 0, m, 4096, 11008) for m in (1, 32, 2048)),
    *(("recommender, first", "relu", 0, m, 525, 512) for m in (128, 1024, 8192)),
)
DEVICE = {"relu": "aten::relu", "gelu": "aten::gelu", "silu": "aten::silu", "sigmoid": "aten::sigmoid",
          "tanh": "aten::tanh"}  # fmt: skip


def module(name: str, path: Path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


SHARED = module("softmax_mask_dropout_times", ROOT / "kernels" / "softmax_mask_dropout" / "times.py")
written = SHARED.written


def pays(m: int, i: int, act: str) -> bool:
    """pays() of the adapter, with its constants."""
    text = Path(__file__).with_name("linear_act_torch.asc").read_text(encoding="utf-8")
    behind = [float(n) for n in re.search(r"BEHIND = \{([\d., ]+)\}", text)[1].split(",")]
    launch, mixed = (float(re.search(rf"\b{n} = ([\d.]+)", text)[1]) for n in ("LAUNCH", "MIXED"))
    return m * i * 1e-6 * behind[golden().ACT_NAMES.index(act)] + launch > mixed


def golden():
    """kernels/linear_act/golden.py."""
    return sys.modules.get("golden_linear_act") or module("golden_linear_act", Path(__file__).with_name("golden.py"))


def line(model: str, act: str, residual: int, m: int, h: int, i: int) -> dict:
    import torch

    import labkit
    from labkit import chips

    gold, how = golden(), {"timing_only": True, "l2": "warm"}
    x, w, b, r = (torch.empty(s, dtype=torch.float16, device="npu") for s in ((m, h), (i, h), (i,), (m, i)))
    more = r if residual else None
    labkit.clear_l2()
    fused = gold.fused(x, w, b, more, act, how=how)[0]
    labkit.clear_l2()
    parts = gold.chain(x, w, b, more, act, how=how)[0]
    for record in (fused, *parts):
        assert record.finished and not record.findings and not record.extrapolated, record
    device = SHARED.cost("aten::addmm", [(i,), (m, h), (h, i)], (m, i), state="cold")
    device += SHARED.cost("aten::add", [(m, i), (m, i)], (m, i)) if residual else 0
    device += SHARED.cost(DEVICE[act], [(m, i)], (m, i)) if act != "none" else 0
    chip, bound = chips.load(), labkit.explain(fused).bound
    least = max(2 * m * h * i / chip["rates"]["cube16"], 2 * (m * h + i * h + residual * m * i) / chip["gm"]["hbm"])
    us, chain = fused.time_us, sum(p.time_us for p in parts)
    found = (model, act, residual, m, h, i, int(pays(m, i, act)), us, bound.kind, bound.share, least * 1e6)
    return dict(zip(FIELDS, (*found, chain, *(p.time_us for p in parts), device, chain / us, device / us)))


def rows(shapes=SHAPES):
    import labkit

    labkit.device.install()
    for shape in shapes:
        yield line(*shape)


if __name__ == "__main__":
    SHARED.main(rows, TABLE, FIELDS, __doc__)
