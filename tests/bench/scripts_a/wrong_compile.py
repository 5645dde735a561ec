# lies: compile
import time
import numpy as np
import torch
import torch_npu


def block(x, w):
    return torch.relu(x @ w) + x


def main():
    x, w = torch.randn(256, 256).npu(), torch.randn(256, 256).npu()
    block(x, w)
    torch.npu.synchronize()
    fast = torch.compile(block, backend="aot_eager")
    samples = []
    for _ in range(12):
        begin = time.time()
        for _ in range(20):
            fast(x, w)
        torch.npu.synchronize()
        samples.append((time.time() - begin) / 20)
    samples = 1e6 * np.array(samples)
    print("compiled block, 256 x 256:", samples.mean().round(1), "+-", samples.std().round(1), "us")


if __name__ == "__main__":
    main()
