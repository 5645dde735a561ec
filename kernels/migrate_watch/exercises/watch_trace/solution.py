"""The curvature of a loss from gradients alone."""


def trace(gradient, weights, vectors, step):
    """The mean over `vectors` of v . (H v), H being the loss's second derivatives; H v is how fast the gradient changes
    along v, from two gradients: `step` to either side of the weights. gradient: of a list of weights, a list; weights and
    vectors are lists of numbers."""
    found = []
    for v in vectors:
        # >>> exercise: the gradient on either side, and v times its change (3 lines) | 两侧的梯度，以及 v 乘梯度的变化率（3 行）
        # stub: found.append(0.0)
        above = gradient([w + step * s for w, s in zip(weights, v)])
        below = gradient([w - step * s for w, s in zip(weights, v)])
        found.append(sum(s * (a - b) for s, a, b in zip(v, above, below)) / (2 * step))
        # <<<
    return sum(found) / len(found)
