# Training step of a two-layer perceptron with GELU. Small enough to live in the L2, and that is the point.
import time
import torch
import torch_npu
from torch import nn

torch.manual_seed(7)
net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)).to("npu")
sgd = torch.optim.SGD(net.parameters(), lr=0.05)
data = torch.randn(64, 128, device="npu")
goal = torch.tanh(data.roll(1, 1))


def training_step():
    sgd.zero_grad(set_to_none=True)
    loss = nn.functional.mse_loss(net(data), goal)
    loss.backward()
    sgd.step()
    return loss


def stopwatch():
    torch.npu.synchronize()
    t = time.perf_counter()
    loss = training_step()
    torch.npu.synchronize()
    return time.perf_counter() - t, loss


reference = nn.functional.gelu(data.cpu().double())
gelu_error = (nn.functional.gelu(data).cpu().double() - reference).abs().max().item()

opening, losses = [], []
for _ in range(8):
    s, loss = stopwatch()
    opening.append(s * 1e3)
    losses.append(loss.detach())
steps = []
for _ in range(100):
    s, loss = stopwatch()
    steps.append(s * 1e3)
    losses.append(loss.detach())

curve = [l.item() for l in losses]           # read back only now, outside of every measured step
ordered = sorted(steps)
at = lambda f: ordered[int(f * (len(ordered) - 1))]
weights = sum(p.nbytes for p in net.parameters())
touched = (2 * weights + data.nbytes + goal.nbytes) / 1e6
print("GELU perceptron 128-256-128, batch of 64, fp32, SGD: zero_grad + forward + backward + update")
print(f"deliberately L2-warm: weights, gradients and the one reused batch are about {touched:.2f} MB, far below 192 MB")
print("(a real loader would bring a new batch each time; its cost is absent here)")
print(f"steps 1-8, reported apart since compilation falls into them: {', '.join(f'{m:.2f}' for m in opening)} ms")
print(f"steps 9-108: median {at(.5):.3f} ms, middle 80 % between {at(.1):.3f} and {at(.9):.3f}, slowest {ordered[-1]:.3f}, fastest {ordered[0]:.3f}")
print("each step is waited for before its time is taken, so host and device do not overlap across steps")
print(f"sanity: loss {curve[0]:.4f} -> {curve[-1]:.4f}; GELU alone is within {gelu_error:.1e} of float64")
