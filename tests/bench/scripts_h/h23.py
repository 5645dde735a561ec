"""What a training step takes: forward, backward and AdamW, for three batch sizes of a perceptron 128-256-10."""
import statistics
import torch
import torch_npu

for batch in (16, 128, 1024):
    net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 10)).npu()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    x, y = torch.ones(batch, 128).npu(), torch.zeros(batch, dtype=torch.long).npu()

    def step():
        opt.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(net(x), y).backward()
        opt.step()

    marks = [torch.npu.Event(enable_timing=True) for _ in range(46)]
    for mark in marks:
        mark.record()
        step()
    torch.npu.synchronize()
    ms = [a.elapsed_time(b) for a, b in zip(marks[10:-1], marks[11:])]
    q = statistics.quantiles(ms, n=20)
    print(f"batch {batch:5}: step median {q[9]:.3f} ms, 5 % {q[0]:.3f}, 95 % {q[-1]:.3f} ({len(ms)} steps, warm)")
