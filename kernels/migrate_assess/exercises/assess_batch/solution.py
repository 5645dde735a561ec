"""How much fits a chip."""


def largest_batch(needs, batch):
    """The largest batch that fits the chip, from what a step of size `batch` needs. needs has weights, gradients,
    states, activations and hbm_bytes, in bytes. What does not grow with
    the batch does fit; the answer is 0 where not one sample fits besides."""
    # >>> exercise: the largest batch: what does not grow with it, and how many samples fit into what is left (2 lines) | 最大的批：先算不随它增长的部分，再算剩下的能放多少个样本（2 行）
    # stub: return batch
    fixed = needs.weights + needs.gradients + needs.states
    return (needs.hbm_bytes - fixed) * batch // needs.activations
    # <<<
