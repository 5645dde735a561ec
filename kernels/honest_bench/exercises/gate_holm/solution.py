"""Many comparisons, one level."""


def significant(chances, level=0.01):
    """For each chance (p-value) whether it counts, so that all together raise a false alarm at most `level` often.
    A chance equal to its limit does not count."""
    n = len(chances)
    found = [False] * n
    # >>> exercise: Holm's steps, the smallest chance first | Holm 步骤，从最小的概率开始
    order = sorted(range(n), key=lambda i: chances[i])
    for k, i in enumerate(order):
        if chances[i] >= level / (n - k):
            break
        found[i] = True
    # <<<
    return found
