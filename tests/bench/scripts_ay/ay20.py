"""one_hot labels on the device: F.one_hot against a zeroed buffer with scatter_."""
from statistics import median

import torch
import torch.nn.functional as F
import torch_npu

CLASSES = 1000
TOKENS = (512, 2048)
LAPS, CALLS = 10, 6


def library(labels):
    return F.one_hot(labels, CLASSES)


def by_hand(labels):
    out = torch.zeros(labels.numel(), CLASSES, dtype=torch.int64, device=labels.device)
    return out.scatter_(1, labels.unsqueeze(1), 1)


def lap(fn, labels):
    on, off = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    on.record()
    for _ in range(CALLS):
        fn(labels)
    off.record()
    off.synchronize()
    return 1e3 * on.elapsed_time(off) / CALLS


def say(name, us):
    print(f"  {name} takes {median(us):.1f} us a call in the median of {len(us)} laps; "
          f"its fastest lap was {min(us):.1f} us and its slowest {max(us):.1f} us.")


def main():
    print(f"One-hot of int64 labels, {CLASSES} classes, int64 result, on {torch.npu.get_device_name(0)}.")
    print(f"A lap is {CALLS} calls between two events, allocation of the result included in both; the laps alternate, each from an empty queue.")
    for tokens in TOKENS:
        labels = torch.randint(0, CLASSES, (tokens,)).npu()
        assert torch.equal(library(labels).cpu(), by_hand(labels).cpu())
        for fn in (library, by_hand):
            lap(fn, labels)
        lib, hand = [], []
        for i in range(LAPS):
            if i % 2:
                hand.append(lap(by_hand, labels))
                lib.append(lap(library, labels))
            else:
                lib.append(lap(library, labels))
                hand.append(lap(by_hand, labels))
        print(f"{tokens} labels:")
        say("F.one_hot", lib)
        say("zeros + scatter_", hand)
        if max(lib) < min(hand):
            print("  Here F.one_hot was the faster one in each lap.")
        elif max(hand) < min(lib):
            print("  Here zeros + scatter_ was the faster one in each lap.")
        else:
            print("  The laps overlap, so we name no winner here.")


if __name__ == "__main__":
    main()
