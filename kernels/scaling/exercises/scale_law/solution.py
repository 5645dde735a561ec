"""The Universal Scalability Law."""


def speedup(n: int, contention: float, coherence: float) -> float:
    """How many times as much n workers get done as one. contention: the share of the work that queues for something
    there is one of, so that each worker waits for n - 1 others. coherence: what each of the n * (n - 1) ways from one
    worker to another costs. Both are added to the 1 that a worker takes alone."""
    # >>> exercise: `times` (1 line) | `times`（1 行）
    # stub: times = n
    times = n / (1 + contention * (n - 1) + coherence * n * (n - 1))
    # <<<
    return times
