"""How long does a fresh worker make its first caller wait?  Time to the first result, torch.compile included."""
import statistics
import time
from dataclasses import dataclass, field

import torch
import torch._dynamo
import torch_npu  # noqa: F401

FRESH = 5
STEADY = 20


def block(x, w, b):
    h = torch.nn.functional.gelu(x @ w + b)
    return h - h.mean(dim=-1, keepdim=True)


@dataclass
class Startup:
    rows: int
    first_ms: list = field(default_factory=list)
    later_ms: list = field(default_factory=list)

    def once(self, x, w, b):
        torch._dynamo.reset()
        compiled = torch.compile(block, backend="aot_eager")
        torch.npu.synchronize()
        begin = time.perf_counter()
        compiled(x, w, b)
        torch.npu.synchronize()
        self.first_ms.append((time.perf_counter() - begin) * 1e3)
        for _ in range(STEADY // FRESH):
            begin = time.perf_counter()
            compiled(x, w, b)
            torch.npu.synchronize()
            self.later_ms.append((time.perf_counter() - begin) * 1e3)


def show(label, values):
    return (f"{label} median {statistics.median(values):.2f} ms "
            f"(min {min(values):.2f}, max {max(values):.2f}, n={len(values)})")


def main():
    torch.manual_seed(0)
    w, b = torch.randn(128, 128, device="npu"), torch.randn(128, device="npu")
    for rows in (16, 512):
        x = torch.randn(rows, 128, device="npu")
        block(x, w, b)  # operators loaded eagerly: the process is old, only the graph is new
        Startup(rows).once(x, w, b)
        run = Startup(rows)
        for _ in range(FRESH):
            run.once(x, w, b)
        print(f"{rows:4d} x 128, request latency on the host clock, wait included")
        print("   first call, tracing and compilation are part of it:", show("", run.first_ms))
        print("   later calls of the same graph:                      ", show("", run.later_ms))


if __name__ == "__main__":
    main()
