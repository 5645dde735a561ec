import statistics

import torch
import torch_npu


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1).npu()


class InPlace:
    """masked_fill_ changes its input, so each repetition begins with the scores as they were."""

    def __init__(self, heads, length):
        self.original = torch.randn(heads, length, length).half().npu()
        self.scores = torch.empty_like(self.original)
        self.mask = causal(length)

    def __call__(self):
        self.scores.copy_(self.original)
        self.scores.masked_fill_(self.mask, -60000.0)


def repetitions(work, n, inner=10):
    ticks = [torch.npu.Event(enable_timing=True) for _ in range(n + 1)]
    ticks[0].record()
    for tick in ticks[1:]:
        for _ in range(inner):
            work()
        tick.record()
    torch.npu.synchronize()
    for start, end in zip(ticks, ticks[1:]):
        yield start.elapsed_time(end) / inner * 1e3


def main():
    lines = []
    for heads, length in [(8, 256), (8, 512), (16, 512)]:
        work = InPlace(heads, length)
        for _ in range(12):
            work()
        assert work.scores[0, 0, 1].item() == -60000.0
        torch.npu.synchronize()
        us = list(repetitions(work, 15))
        lines.append(f"{heads:3d} x {length} x {length}: {statistics.median(us):7.2f} us  [{min(us):.2f}, {max(us):.2f}]")
    print("masked_fill_ on float16 attention scores, device time of the operator; median [range] of 15 x 10 calls, L2 warm")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
