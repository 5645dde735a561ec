"""SwiGLU gate: silu(g) * u with fresh results, and with the product written back into the first one."""
import json
import statistics
import time

import torch
import torch_npu
import torch.nn.functional as F

TOKENS, HIDDEN = 256, 1024
ROUNDS, CALLS = 12, 6


def fresh(g, u):
    return F.silu(g) * u


def reuse(g, u):
    s = F.silu(g)
    return s.mul_(u)


def block(fn, g, u):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(CALLS):
        fn(g, u)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / CALLS * 1e6


def summary(us):
    q = statistics.quantiles(us, n=4)
    return {"median_us": round(q[1], 1), "q1_us": round(q[0], 1), "q3_us": round(q[2], 1), "blocks": len(us)}


def main():
    torch.manual_seed(0)
    g = torch.randn(TOKENS, HIDDEN, device="npu")
    u = torch.randn(TOKENS, HIDDEN, device="npu")
    torch.testing.assert_close(fresh(g, u), reuse(g, u))

    for fn in (fresh, reuse, fresh, reuse):
        block(fn, g, u)

    times = {"fresh": [], "reuse": []}
    for r in range(ROUNDS):
        pair = (fresh, reuse) if r % 2 == 0 else (reuse, fresh)
        for fn in pair:
            times[fn.__name__].append(block(fn, g, u))

    result = {name: summary(us) for name, us in times.items()}
    a, b = result["fresh"], result["reuse"]
    apart = a["q1_us"] > b["q3_us"] or b["q1_us"] > a["q3_us"]
    print(json.dumps({
        "subject": "silu(g) * u",
        "shape": [TOKENS, HIDDEN],
        "dtype": "float32",
        "what": f"wall time per call, {CALLS} calls and one wait per block, sides take turns at going first",
        "cache": "inputs are 1 MiB each and stay in L2",
        "results": result,
        "quartile_ranges_apart": apart,
        "verdict": "see medians" if apart else "no difference can be claimed from this run",
    }, indent=2))


if __name__ == "__main__":
    main()
