"""Do two independent chains gain from two streams? Copies to the card on the one, products on the other."""
import statistics
from contextlib import ExitStack

import torch
import torch_npu

PIECES = 4


class Pipeline:
    def __init__(self, side, kib):
        self.weights = torch.randn(side, side).half().npu()
        self.host = [torch.randn(kib * 256).pin_memory() for _ in range(PIECES)]
        self.there = [torch.empty(kib * 256, device="npu") for _ in range(PIECES)]
        self.copies = torch.npu.Stream()

    def run(self, overlapped):
        result = self.weights
        for source, target in zip(self.host, self.there):
            with ExitStack() as stack:
                if overlapped:
                    stack.enter_context(torch.npu.stream(self.copies))
                target.copy_(source, non_blocking=True)
            for _ in range(3):
                result = torch.mm(self.weights, self.weights)
        return result

    def seconds(self, overlapped):
        main, (begin, end) = torch.npu.current_stream(), (torch.npu.Event(enable_timing=True) for _ in range(2))
        torch.npu.synchronize()
        begin.record()
        self.copies.wait_event(begin)
        self.run(overlapped)
        main.wait_stream(self.copies)  # the second event comes after both
        end.record()
        torch.npu.synchronize()
        return begin.elapsed_time(end) / 1e3


def main(rounds=4):
    for side, kib in (128, 16), (256, 64), (256, 512):
        pipeline = Pipeline(side, kib)
        for overlapped in (False, True) * 3:
            pipeline.run(overlapped)
        torch.npu.synchronize()
        one, two = [], []
        for _ in range(rounds):
            a, b = pipeline.seconds(False), pipeline.seconds(True)
            c, d = pipeline.seconds(True), pipeline.seconds(False)
            one.append((a + d) / 2)
            two.append((b + c) / 2)
        gain = [x / y for x, y in zip(one, two)]
        print(f"{PIECES} copies of {kib} KiB and {3 * PIECES} float16 products of {side} x {side}: one stream {1e6 * statistics.median(one):.0f} us, "
              f"two {1e6 * statistics.median(two):.0f} us; ratio {statistics.median(gain):.2f}, {min(gain):.2f} to {max(gain):.2f} in {rounds} rounds (each A B B A)")


if __name__ == "__main__":
    main()
