import torch
import torch_npu  # noqa: F401


def lap(fn, calls=10):
    a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a.record()
    for _ in range(calls):
        fn()
    b.record()
    b.synchronize()
    return a.elapsed_time(b) * 1e3 / calls


for shape in ((48, 96), (192, 384), (768, 512)):
    x = torch.ones(shape, dtype=torch.float16, device="npu")
    ways = {"pow": lambda x=x: torch.pow(x, 2), "mul": lambda x=x: torch.mul(x, x)}
    assert torch.equal(ways["pow"]().cpu(), ways["mul"]().cpu())
    total = dict.fromkeys(ways, 0.0)
    for fn in ways.values():
        lap(fn)
    rounds = 10
    for i in range(rounds):
        for name in sorted(ways, reverse=i % 2 == 0):  # 交替先后
            total[name] += lap(ways[name])
    mean = {name: t / rounds for name, t in total.items()}
    best = min(mean, key=mean.get)
    print(f"square, fp16 {shape}, L2 warm: pow {mean['pow']:.2f} us, mul {mean['mul']:.2f} us -> use {best}")
