import time
from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median

import torch
import torch_npu


@dataclass
class Stopwatch:
    clock: Callable[[], float] = time.process_time
    laps: list[float] = field(default_factory=list)

    def __enter__(self):
        torch.npu.synchronize()
        self._begin = self.clock()
        return self

    def __exit__(self, *error):
        torch.npu.synchronize()
        self.laps.append(self.clock() - self._begin)


def shortlist(rows, vocabulary, k):
    logits = torch.randn(rows, vocabulary).npu()
    values, ids = logits.topk(k, dim=-1)
    assert torch.equal(values.cpu(), logits.cpu().topk(k, dim=-1).values)
    return lambda: logits.topk(k, dim=-1)


def main(calls=20, rounds=7):
    print(f"topk of float32 logits: time per call, one behind the other, {rounds} rounds of {calls} calls, logits in the L2")
    for rows, vocabulary, k in (32, 8000, 20), (64, 4000, 50), (64, 16000, 50):
        select = shortlist(rows, vocabulary, k)
        for _ in range(5):
            select()
        watch = Stopwatch()
        for _ in range(rounds):
            with watch:
                for _ in range(calls):
                    select()
        each = [lap / calls * 1e6 for lap in watch.laps]
        print(f"  {rows:4d} x {vocabulary:5d}, k = {k}: median {median(each):9.1f} us, from {min(each):.1f} to {max(each):.1f}")


main()
