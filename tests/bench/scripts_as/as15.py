"""Decode-sized projections: which call for a weight that is kept as [in, out], matmul or F.linear?"""
import json
import statistics

import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

DEV = "npu"
ROUNDS = 7
TOKENS, D_IN, D_OUT = 4, 2048, 2048


def flush(buf):
    """Pushes the weights out of the L2, as the rest of the model would."""
    buf.add_(1)


def device_us(fn):
    e = [torch.npu.Event(enable_timing=True) for _ in range(2)]
    e[0].record()
    fn()
    e[1].record()
    return e


def main():
    torch.manual_seed(0)
    x = torch.randn(TOKENS, D_IN, device=DEV, dtype=torch.float16)
    w = torch.randn(D_IN, D_OUT, device=DEV, dtype=torch.float16) / D_IN ** 0.5
    buf = torch.zeros(224 << 20, dtype=torch.int8, device=DEV)

    plain = lambda: torch.matmul(x, w)        # noqa: E731
    linear = lambda: F.linear(x, w.t())       # noqa: E731
    torch.testing.assert_close(plain(), linear(), rtol=1e-2, atol=1e-2)
    for _ in range(3):
        plain(), linear()

    pairs = []
    for _ in range(ROUNDS):
        flush(buf)
        pairs.append((device_us(plain), device_us(linear)))
    torch.npu.synchronize()

    us = {"torch.matmul": [], "F.linear": []}
    for a, b in pairs:
        us["torch.matmul"].append(a[0].elapsed_time(a[1]) * 1e3)
        us["F.linear"].append(b[0].elapsed_time(b[1]) * 1e3)
    med = {k: statistics.median(v) for k, v in us.items()}
    print(json.dumps({
        "device": torch.npu.get_device_name(),
        "shape": {"tokens": TOKENS, "in": D_IN, "out": D_OUT, "dtype": "float16"},
        "rounds": ROUNDS,
        "l2": "flushed every round",
        "device_us": {k: {"median": round(med[k], 2), "min": round(min(v), 2), "max": round(max(v), 2)}
                      for k, v in us.items()},
        "linear_speedup": round(med["torch.matmul"] / med["F.linear"], 2),
    }, indent=2))


if __name__ == "__main__":
    main()
