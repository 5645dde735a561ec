"""Start-up price of torch.compile: the first call and, apart from it, the calls after it."""
import statistics
import time

import labkit  # noqa: F401
import torch
import torch._dynamo
from torch import nn

TRIALS, AFTER = 8, 30


class PolicyNet(nn.Module):
    def __init__(self, obs=48, actions=6, hidden=128):
        super().__init__()
        self.pi = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh(),
                                nn.Linear(hidden, hidden), nn.Tanh(), nn.Linear(hidden, actions))

    def forward(self, obs):
        return torch.softmax(self.pi(obs), dim=-1)


def wall_ms(fn, *args):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn(*args)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e3


def line(what, values):
    q = statistics.quantiles(values, n=10, method="inclusive")
    print(f"{what}: median {statistics.median(values):.3f} ms, p10 {q[0]:.3f}, p90 {q[-1]:.3f}, "
          f"max {max(values):.3f} (n={len(values)})")


@torch.inference_mode()
def main():
    torch.manual_seed(0)
    model = PolicyNet().npu().eval()
    obs = [torch.randn(32, 48, device="npu") for _ in range(AFTER + 1)]
    for x in obs:
        model(x)
    torch._dynamo.reset()
    process_first = wall_ms(torch.compile(model, backend="eager"), obs[0])

    first, later = [], []
    for _ in range(TRIALS):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend="eager")
        first.append(wall_ms(compiled, obs[0]))
        later += [wall_ms(compiled, x) for x in obs[1:]]

    print("policy 48-128-128-6, batch 32, float32, backend='eager' (graph capture and guards only); "
          "kernels had been launched before, so the first call is tracing, not kernel loading")
    print(f"very first compilation of this process, one value by nature: {process_first:.1f} ms")
    line("first call after torch._dynamo.reset(), compilation INCLUDED", first)
    line("latency of a later call, each one waited for", later)
    print(f"a first call is worth {statistics.median(first) / statistics.median(later):.0f} later calls")


main()
