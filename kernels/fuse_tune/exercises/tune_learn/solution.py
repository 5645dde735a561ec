"""One step of REINFORCE."""


def step(scores, chances, drawn, us, mean, rate):
    """The new scores of all candidates. chances: softmax(scores); drawn: the candidate that was launched and took `us`;
    mean: what the policy takes on the average."""
    # >>> exercise: how much faster than the mean, times the gradient of log(chance of the drawn one) (2 lines) | 比均值快多少，乘以 log(被抽中者概率) 的梯度（2 行）
    # stub: return scores
    faster = mean - us
    return [s + rate * faster * ((i == drawn) - c) for i, (s, c) in enumerate(zip(scores, chances))]
    # <<<
