"""Layer norm, 512 x 768 fp16: an own warm-up until the level stands still, then events and an interval."""
import numpy as np
import torch
import torch.nn.functional as F
import labkit  # noqa: F401

ROWS, WIDTH, BLOCK = 512, 768, 25


def block(fn, count=BLOCK):
    """Device time of each of `count` calls in us, issued without a wait between them."""
    marks = [torch.npu.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        fn()
        mark.record()
    torch.npu.synchronize()
    return np.array([1e3 * a.elapsed_time(b) for a, b in zip(marks, marks[1:])])


def until_steady(fn, tolerance=0.02, in_row=3, most=40):
    """Blocks are thrown away until `in_row` medians in a row lie within the tolerance of each other."""
    medians = []
    for _ in range(most):
        medians.append(np.median(block(fn)))
        last = medians[-in_row:]
        if len(last) == in_row and max(last) <= (1 + tolerance) * min(last):
            return len(medians)
    raise SystemExit("never steady: no result")


def interval(samples, seed=0, draws=4000):
    rng = np.random.default_rng(seed)
    medians = np.median(samples[rng.integers(len(samples), size=(draws, len(samples)))], axis=1)
    return np.percentile(medians, [2.5, 97.5])


def main():
    x = torch.randn(ROWS, WIDTH).half().npu()
    w, b = torch.ones(WIDTH).half().npu(), torch.zeros(WIDTH).half().npu()

    def work():
        F.layer_norm(x, (WIDTH,), w, b)

    thrown = until_steady(work)
    us = np.concatenate([block(work) for _ in range(8)])
    low, high = interval(us)
    far = int((us > 2 * np.median(us)).sum())
    p10, p50, p90, p99 = np.percentile(us, [10, 50, 90, 99])
    print(f"warm-up: {thrown} blocks of {BLOCK} calls thrown away, until three medians agreed within 2 %")
    print(f"layer_norm {ROWS} x {WIDTH} fp16, x in the L2, calls back to back (an interval from event to event holds "
          f"what the host needs to issue where that is longer)")
    print(f"{len(us)} calls: median {p50:.2f} us [95 %: {low:.2f}, {high:.2f}], P10 {p10:.2f}, P90 {p90:.2f}, P99 {p99:.2f}, "
          f"largest {us.max():.1f}; {far} above twice the median, all kept")


if __name__ == "__main__":
    main()
