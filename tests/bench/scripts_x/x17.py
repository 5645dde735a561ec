import torch
import torch_npu

import numpy as np
from torch.utils import benchmark

CALLS, REPEATS = 10, 9


def issue(function, x):
    for _ in range(CALLS):
        function(x)
    torch.npu.synchronize()


def timed(label, function, x):
    timer = benchmark.Timer(
        stmt="issue(function, x)",
        globals={"issue": issue, "function": function, "x": x},
        label=label,
        num_threads=torch.get_num_threads(),
    )
    issue(function, x)
    issue(function, x)
    return np.array([timer.timeit(1).times[0] / CALLS * 1e6 for _ in range(REPEATS)])


def main():
    torch.manual_seed(6)
    print(f"{REPEATS} repeats of {CALLS} calls and one wait, host clock of torch.utils.benchmark; all repeats are in the figures")
    for shape in ((2048, 1024), (3072, 1024), (4096, 1024)):
        x = torch.randn(*shape).npu()
        torch.testing.assert_close(torch.relu(x).cpu(), torch.relu(x.cpu()))
        us = timed("relu", torch.relu, x)
        q25, q50, q75 = np.percentile(us, [25, 50, 75])
        print(f"  relu float32 {shape[0]} x {shape[1]}: typical (median) {q50:.1f} us a call, quartiles {q25:.1f} and {q75:.1f} us, "
              f"slowest repeat {us.max():.1f} us")
        print(f"      best repeat {us.min():.1f} us: a lower bound for a quiet machine, not what a user should expect")


if __name__ == "__main__":
    main()
