"""Table of single operators at two sizes; no one is held against another."""
import timeit
import numpy as np
import torch
import torch_npu

def block(f, x, calls=25):
    def run():
        for _ in range(calls):
            f(x)
        torch.npu.synchronize()
    run()
    return np.array(timeit.repeat(run, number=1, repeat=21)) / calls * 1e6

print(f"{'operator':12}{'shape':>12}{'P25':>9}{'P50':>9}{'P75':>9}   us a call; blocks of 25 calls, L2 warm")
for n in (256, 2048):
    x = torch.full((n, 512), 0.5).npu()
    for f in (torch.erf, torch.sqrt, torch.cos):
        q = np.percentile(block(f, x), [25, 50, 75])
        print(f"{f.__name__:12}{f'{n}x512':>12}{q[0]:9.2f}{q[1]:9.2f}{q[2]:9.2f}")
