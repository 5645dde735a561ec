# How much host time goes into queueing a cumsum: default stream, or a round-robin over two side streams?
import random
import time
import torch
import torch_npu

CALLS, ROUNDS = 12, 60
torch.manual_seed(18)
random.seed(18)
data = [torch.randn(64, 256, device="npu") for _ in range(CALLS)]
lanes = [torch.npu.Stream(), torch.npu.Stream()]
torch.npu.synchronize()                      # data complete before any side stream reads them


def plain():
    return [torch.cumsum(x, -1) for x in data]


def alternating():
    out = []
    for i, x in enumerate(data):
        with torch.npu.stream(lanes[i & 1]):
            out.append(torch.cumsum(x, -1))
    return out


def verify(results):
    torch.npu.synchronize()
    for x, y in zip(data, results):
        assert torch.allclose(y.cpu().double(), x.cpu().double().cumsum(-1), atol=1e-4)


def issue_time(queueing):
    torch.npu.synchronize()                  # start with nothing queued
    begin = time.perf_counter_ns()
    kept = queueing()
    stop = time.perf_counter_ns()            # deliberately no wait here: issue time is what is asked for
    torch.npu.synchronize()                  # finish before `kept` is released and before the next round
    del kept
    return (stop - begin) / CALLS / 1e3


ways = {"default stream": plain, "two streams, switched per call": alternating}
for f in ways.values():
    verify(f())
    for _ in range(5):
        issue_time(f)

table = {w: [] for w in ways}
for _ in range(ROUNDS):
    for w in random.sample(list(ways), len(ways)):
        table[w].append(issue_time(ways[w]))

print(f"HOST-side issue cost of torch.cumsum on 64x256 fp32, us per call (mean over {CALLS} calls of a round; {ROUNDS} rounds, random order)")
for w, v in table.items():
    o = sorted(v)
    print(f"  {w:32s} median {o[ROUNDS // 2]:7.2f}   IQR {o[ROUNDS // 4]:.2f} to {o[3 * ROUNDS // 4]:.2f}   extremes {o[0]:.2f} / {o[-1]:.2f}")
gap = sorted(b - a for a, b in zip(*table.values()))
print(f"  two streams minus default, per round: median {gap[ROUNDS // 2]:+.2f} us, middle half {gap[ROUNDS // 4]:+.2f} to {gap[3 * ROUNDS // 4]:+.2f}")
print("The clock stops when the calls have returned; execution on the device goes on after that and is no part of this.")
print("Collecting the outputs in a list costs both lines alike; entering and leaving the stream context is in the second. Whether two streams")
print("make the DEVICE finish earlier is another question. First calls were done before; results of both ways match float64.")
