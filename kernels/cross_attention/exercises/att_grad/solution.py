"""The gradients of softmax(q k^T * scale) v, one head, from what the forward pass has kept."""

import torch


def gradients(q, k, v, grad, out, lse, scale):
    """(dq, dk, dv); no argument is changed. q, grad, out: [rows, dim]; k, v: [keys, dim]; lse: [rows], log(sum(exp(score))) of each row."""
    shares = torch.exp(q @ k.T * scale - lse[:, None])  # P, made again
    # >>> exercise: D, dS, and the three gradients | D、dS 和三个梯度
    # stub: dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    D = (grad * out).sum(1, keepdim=True)
    dS = shares * (grad @ v.T - D)
    dq = dS @ k * scale
    dk = dS.T @ q * scale
    dv = shares.T @ grad
    # <<<
    return dq, dk, dv
