"""relu against clamp(min=0), each round behind a sweep through a large buffer so that no round depends on the last."""
import numpy as np
import torch
import torch_npu  # noqa: F401

ROUNDS, CALLS = 12, 12
SHAPES = ((512, 1024), (768, 1024), (1024, 1024))


def relu(x):
    return torch.relu(x)


def clamp(x):
    return torch.clamp(x, min=0)


CANDIDATES = {"relu": relu, "clamp": clamp}


class Duel:
    def __init__(self, rows, cols):
        self.x = torch.randn(rows, cols, device="npu")
        self.sweep = torch.empty(64 * 2 ** 20, device="npu")
        self.marks = {name: [] for name in CANDIDATES}

    def one_round(self, keep=True):
        self.sweep.fill_(0.0)
        for name, call in CANDIDATES.items():
            start, stop = (torch.npu.Event(enable_timing=True) for _ in "ab")
            start.record()
            for _ in range(CALLS):
                call(self.x)
            stop.record()
            if keep:
                self.marks[name].append((start, stop))

    def run(self):
        for _ in range(2):
            self.one_round(keep=False)
        torch.npu.synchronize()
        for _ in range(ROUNDS):
            self.one_round()
        torch.npu.synchronize()
        return {name: np.array([1e3 * a.elapsed_time(b) / CALLS for a, b in marks]) for name, marks in self.marks.items()}


def main():
    torch.manual_seed(4)
    for rows, cols in SHAPES:
        us = Duel(rows, cols).run()
        ratio = us["relu"] / us["clamp"]
        low, mid, high = np.percentile(ratio, [5, 50, 95])
        text = ", ".join(f"{name} {np.median(v):.2f} us (std {v.std(ddof=1):.2f})" for name, v in us.items())
        print(f"{rows}x{cols}: {text}; relu / clamp = {mid:.3f} [{low:.3f}, {high:.3f}], {ROUNDS} rounds of {CALLS} calls")


if __name__ == "__main__":
    main()
