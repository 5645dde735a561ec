import torch
import torch_npu
import statistics
from itertools import cycle, islice

MIB = 1 << 20
BYTES = 32 * MIB
CALLS = 12
ROUNDS = 5


def buffers(count):
    """count pairs of (source, destination), 32 MiB each."""
    return [(torch.full((BYTES // 4,), float(i)).npu(), torch.empty(BYTES // 4).npu()) for i in range(count)]


def rates(pairs):
    turn = cycle(pairs)
    for source, out in islice(turn, 2 * len(pairs) + 6):
        torch.add(source, 1.0, out=out)
    torch.npu.synchronize()
    for _ in range(ROUNDS):
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        for source, out in islice(turn, 1):
            torch.add(source, 1.0, out=out)
        begin.record()
        for source, out in islice(turn, CALLS):
            torch.add(source, 1.0, out=out)
        end.record()
        torch.npu.synchronize()
        yield 2 * BYTES * CALLS / (begin.elapsed_time(end) * 1e-3) / 1e9


def verify(pairs):
    for i, (_, out) in enumerate(pairs):
        assert torch.all(out.cpu() == i + 1.0)


def main():
    cases = {
        "one pair again and again, 64 MiB in all: rate of the L2, which holds it; not the memory's":
            buffers(1),
        "eight pairs in turn, 512 MiB in all, more than the L2's 192 MiB: rate of the HBM":
            buffers(8),
    }
    print("float32 add of a scalar, 32 MiB read and 32 MiB written a call, both counted")
    for words, pairs in cases.items():
        samples = list(rates(pairs))
        verify(pairs)
        print(f"  {words}")
        print(f"      median {statistics.median(samples):,.0f} GB/s, {min(samples):,.0f} to {max(samples):,.0f} "
              f"over {ROUNDS} rounds of {CALLS} calls")


if __name__ == "__main__":
    main()
