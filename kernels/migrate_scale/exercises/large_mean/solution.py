"""The loss of a batch from its parts."""


def whole_loss(sums, counts):
    """The mean loss over all words of a batch. sums: of each part, the sum of its words' losses; counts: its words."""
    # >>> exercise: one sum over another (1 line) | 一个和除以另一个和（1 行）
    # stub: return sum(sums) / len(sums)
    return sum(sums) / sum(counts)
    # <<<
