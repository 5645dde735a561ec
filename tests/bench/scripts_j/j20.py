# 编译版与 eager 版的比较。编译在计时之前完成，结果先核对，然后成对、随机顺序地测量。
import argparse
import random
import time

import numpy as np
import torch
import torch_npu  # noqa: F401


def smooth_l1(x, y):
    d = (x - y).abs()
    return torch.where(d < 1.0, 0.5 * d * d, d - 0.5)


def paired_blocks(fns, args, rounds, calls, seed):
    """逐轮产生 {名字: 每次调用的微秒数}。"""
    dice = random.Random(seed)
    for _ in range(rounds):
        names = list(fns)
        dice.shuffle(names)
        row = {}
        for name in names:
            begin = time.perf_counter()
            for _ in range(calls):
                fns[name](*args)
            torch.npu.synchronize()
            row[name] = (time.perf_counter() - begin) / calls * 1e6
        yield row


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rounds", type=int, default=30)
    p.add_argument("--calls", type=int, default=20)
    p.add_argument("--seed", type=int, default=404)
    a = p.parse_args()
    fns = {"eager": smooth_l1, "compiled": torch.compile(smooth_l1, backend="aot_eager", dynamic=False)}
    print(f"smooth_l1 float32，热缓存，{a.rounds} 轮，每轮每个 {a.calls} 次调用，顺序种子 {a.seed}")
    for shape in ((128, 512), (512, 1024)):
        x = (torch.arange(shape[0] * shape[1]) % 21 / 8).reshape(shape).npu()
        y = torch.ones(shape).npu()
        out = [fn(x, y).cpu() for fn in fns.values()]  # 每个形状在这里编译
        assert torch.equal(*out)
        for _ in paired_blocks(fns, (x, y), 3, a.calls, a.seed):
            pass
        rows = list(paired_blocks(fns, (x, y), a.rounds, a.calls, a.seed))
        for name in fns:
            us = [row[name] for row in rows]
            print(
                f"  {shape} {name:8} P10/P50/P90 = " + " / ".join(f"{v:.2f}" for v in np.percentile(us, (10, 50, 90)))
            )
        ratio = np.percentile([row["compiled"] / row["eager"] for row in rows], (25, 50, 75))
        print(f"  {shape} 同一轮内 compiled/eager 四分位: " + " / ".join(f"{v:.3f}" for v in ratio))


if __name__ == "__main__":
    main()
