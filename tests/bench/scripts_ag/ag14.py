import labkit
from contextlib import contextmanager

import numpy as np
import torch
import torch.nn.functional as F


class Log:
    """Collects pairs of events; they are read once, after a single wait."""

    def __init__(self):
        self.pairs = []

    @contextmanager
    def lap(self):
        start = torch.npu.Event(enable_timing=True)
        stop = torch.npu.Event(enable_timing=True)
        start.record()
        yield
        stop.record()
        self.pairs.append((start, stop))

    def us(self):
        torch.npu.synchronize()
        return np.array([start.elapsed_time(stop) for start, stop in self.pairs]) * 1e3


def bench(tokens, vocabulary, laps=40, warm=6):
    batches = [(torch.randn(tokens, vocabulary, device="npu"),
                torch.randint(0, vocabulary, (tokens,), device="npu")) for _ in range(2)]
    warming, log = Log(), Log()
    for record, count in ((warming, warm), (log, laps)):
        for i in range(count):
            logits, target = batches[i % 2]
            with record.lap():
                loss = F.cross_entropy(logits, target)
    us = log.us()
    logits, target = batches[(laps - 1) % 2]
    by_hand = (torch.logsumexp(logits.cpu(), 1) - logits.cpu()[torch.arange(tokens), target.cpu()]).mean()
    assert abs(loss.item() - by_hand.item()) < 1e-3
    return us


print("Forward of F.cross_entropy, float32 logits, mean reduction; time on the device between two events")
for tokens, vocabulary in ((64, 32000), (128, 32000), (128, 50304)):
    us = bench(tokens, vocabulary)
    low, middle, high = np.percentile(us, [25, 50, 75])
    print(f"  {tokens} tokens, vocabulary of {vocabulary}: {middle:.1f} us median, {low:.1f} to {high:.1f} us the middle half "
          f"(n = {us.size}, none left out; longest {us.max():.1f} us)")
print("Two batches alternate and both fit into the L2, as logits do that the layer before has just written.")
print("The backward pass was not timed.")
