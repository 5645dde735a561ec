"""One step of REINFORCE."""


def step(scores, chances, drawn, us, mean, rate):
    """The new scores of all candidates, a list. scores: a list of numbers; chances: softmax(scores), a list too; drawn:
    the candidate that was launched and took `us`, counted from 0; mean: what the policy takes on the average, in us."""
    # >>> exercise: how many us faster than the mean, times the gradient of log(chance of the drawn one) (2 lines) | 比均值快多少 us，乘以 log(被抽中者概率) 的梯度（2 行）
    # stub: return scores
    faster = mean - us
    return [s + rate * faster * ((i == drawn) - c) for i, (s, c) in enumerate(zip(scores, chances))]
    # <<<
