"""Targets for a dense loss: F.one_hot, or zeros + scatter_?  Every round begins with an empty L2."""
import statistics

import torch
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)

SETTINGS = [(1 << 19, 4), (1 << 19, 8), (1 << 18, 16)]  # labels, classes
ROUNDS = 9

evict = torch.zeros(56 * 2**20, device="npu")


def by_scatter(labels, classes):
    target = torch.zeros(labels.numel(), classes, dtype=torch.long, device="npu")
    return target.scatter_(1, labels.unsqueeze(1), 1)


def by_one_hot(labels, classes):
    return F.one_hot(labels, classes)


WAYS = {"zeros+scatter_": by_scatter, "F.one_hot": by_one_hot}


def measure(labels, classes):
    pairs = {name: [] for name in WAYS}
    for _ in range(ROUNDS):
        evict.add_(1)
        for name, way in WAYS.items():
            start, stop = (torch.npu.Event(enable_timing=True) for _ in range(2))
            start.record()
            way(labels, classes)
            stop.record()
            pairs[name].append((start, stop))
    torch.npu.synchronize()
    return {name: [a.elapsed_time(b) * 1e3 for a, b in both] for name, both in pairs.items()}


def main():
    line = "{:>8} {:>8}  {:<15} {:>10} {:>10} {:>10}"
    print(line.format("labels", "classes", "way", "median us", "min us", "max us"))
    verdicts = []
    for count, classes in SETTINGS:
        labels = torch.randint(0, classes, (count,)).to("npu")
        assert torch.equal(by_scatter(labels, classes), by_one_hot(labels, classes))
        measure(labels, classes)
        took = measure(labels, classes)
        middle = {name: statistics.median(us) for name, us in took.items()}
        for name, us in took.items():
            print(line.format(count, classes, name, *(f"{v:.1f}" for v in (middle[name], min(us), max(us)))))
        best = min(middle, key=middle.get)
        lead = max(middle.values()) / middle[best] - 1
        verdicts.append(f"{count} x {classes}: {best} is {lead:.1%} faster")
    print()
    print("\n".join(verdicts))


if __name__ == "__main__":
    main()
