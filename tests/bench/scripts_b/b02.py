# lies: sync_loop, spread
import time
import torch


@torch.inference_mode()
def benchmark(forward_fn, warmup=3, n_iter=100):
    for _ in range(warmup):
        forward_fn()
        torch.cuda.synchronize()
    start = time.time()
    for _ in range(n_iter):
        forward_fn()
        torch.cuda.synchronize()
    end = time.time()
    return (end - start) / n_iter


net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU()).cuda()
for batch in (1, 16, 64):
    x = torch.randn(batch, 64, device="cuda")
    print(f"batch {batch} x 64: {benchmark(lambda: net(x)) * 1e6:.1f} us")
