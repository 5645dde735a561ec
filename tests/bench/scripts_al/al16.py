"""AdamW update in one compiled function, checked and timed in the manner of our test-suite (test_* with assertions)."""
import time

import numpy as np
import torch
import torch._dynamo
import torch_npu

LR, B1, B2, EPS, DECAY = 1e-3, 0.9, 0.999, 1e-8, 0.01
SHAPES = [(256, 128), (256, 192), (512, 256), (384, 1024), (1000, 512), (1024, 768), (2048, 512), (1536, 1024)]
CALLS = 10
torch._dynamo.config.cache_size_limit = 64


def update(p, g, m, v, c1, c2):
    p = p * (1 - LR * DECAY)
    m = m * B1 + g * (1 - B1)
    v = v * B2 + g * g * (1 - B2)
    p = p - LR * (m / c1) / ((v / c2).sqrt() + EPS)
    return p, m, v


fast = torch.compile(update, backend="npu", dynamic=False)


def state(shape):
    return [torch.randn(shape, device="npu"), torch.randn(shape, device="npu"),
            torch.zeros(shape, device="npu"), torch.zeros(shape, device="npu"),
            torch.tensor(1 - B1, device="npu"), torch.tensor(1 - B2, device="npu")]


def test_eager_matches_torch():
    for shape in SHAPES:
        args = state(shape)
        param = torch.nn.Parameter(args[0].clone())
        param.grad = args[1].clone()
        torch.optim.AdamW([param], lr=LR, betas=(B1, B2), eps=EPS, weight_decay=DECAY).step()
        torch.testing.assert_close(update(*args)[0], param.detach(), rtol=1e-4, atol=1e-5)


def test_update_is_fast():
    states = {shape: state(shape) for shape in SHAPES}
    for _ in range(10):
        fast(*states[SHAPES[0]])
    torch.npu.synchronize()

    for shape in SHAPES:
        samples = []
        for _ in range(CALLS):
            torch.npu.synchronize()
            begin = time.perf_counter()
            new = fast(*states[shape])
            torch.npu.synchronize()
            samples.append((time.perf_counter() - begin) * 1e6)
        torch.testing.assert_close(new[0], update(*states[shape])[0], rtol=1e-4, atol=1e-5)
        q = np.percentile(samples, [25, 50, 75])
        print(f"  {shape!s:>13}  mean {np.mean(samples):10.2f} us  quartiles {q[0]:.2f} / {q[1]:.2f} / {q[2]:.2f}"
              f"  min {min(samples):.2f}  max {max(samples):.2f}  n={len(samples)}")
        assert np.median(samples) < 5000


if __name__ == "__main__":
    test_eager_matches_torch()
    print("steady cost of the compiled AdamW update, fp32, state in L2 (same tensors again): us from call to result")
    test_update_is_fast()
    print("passed")
