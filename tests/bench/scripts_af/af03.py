import labkit
import functools
import statistics

import torch
import torch.nn.functional as F


def timed(samples, warm):
    """The decorated function, called with each input set in turn, gives its device times in us."""

    def decorate(function):
        @functools.wraps(function)
        def run(sets):
            for i in range(warm):
                function(*sets[i % len(sets)])
            marks = []
            for i in range(samples):
                begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
                begin.record()
                function(*sets[i % len(sets)])
                end.record()
                marks.append((begin, end))
            torch.npu.synchronize()
            return [1e3 * begin.elapsed_time(end) for begin, end in marks]

        return run

    return decorate


@timed(samples=240, warm=48)
def loss_of_a_batch(logits, targets):
    return F.cross_entropy(logits, targets)


def make_sets(tokens, vocabulary, count):
    torch.manual_seed(tokens)
    return [
        (torch.randn(tokens, vocabulary, device="npu"), torch.randint(0, vocabulary, (tokens,), device="npu"))
        for _ in range(count)
    ]


print("cross_entropy, forward, float32 logits, int64 targets, mean over tokens")
print("device time by events, one wait behind all samples; four input sets in turn, which stay in the L2 (warm)")
for tokens, vocabulary in (128, 2048), (512, 2048), (512, 4096):
    sets = make_sets(tokens, vocabulary, 4)

    logits, targets = sets[0]
    expected = F.cross_entropy(logits.cpu().double(), targets.cpu())
    assert abs(F.cross_entropy(logits, targets).item() - expected.item()) < 1e-4

    us = loss_of_a_batch(sets)
    low, mid, high = statistics.quantiles(us, n=4)
    early, late = statistics.median(us[: len(us) // 2]), statistics.median(us[len(us) // 2 :])
    print(
        f"{tokens:4} tokens x {vocabulary:4} classes: median {mid:.2f} us, quartiles {low:.2f} to {high:.2f} us "
        f"({len(us)} samples; halves {early:.2f} and {late:.2f}), {1e3 * mid / tokens:.1f} ns a token"
    )
