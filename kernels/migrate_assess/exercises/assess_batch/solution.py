"""How much fits a chip."""


def largest_batch(needs, batch):
    """The largest batch that fits the chip, from what a step of size `batch` needs. needs has weights, gradients,
    states, activations and hbm_bytes, in bytes."""
    # >>> exercise: what does not grow, and what is left for activations (2 lines) | 不随批大小增长的部分，以及留给激活的部分（2 行）
    # stub: return batch
    fixed = needs.weights + needs.gradients + needs.states
    return (needs.hbm_bytes - fixed) * batch // needs.activations
    # <<<
