"""Many small kernels."""
import torch


def weighted(vectors, weights):
    """The sum of weights[i] * vectors[i]: vectors is a list of tensors of one length, weights a tensor."""
    # >>> exercise: `result`, by at most four kernels | `result`，最多用四个 kernel
    # stub: result = torch.zeros_like(vectors[0])
    # stub: for weight, vector in zip(weights, vectors):
    # stub:     result = result + weight * vector
    result = weights @ torch.stack(vectors)
    # <<<
    return result
