"""The two products of an LSTM cell as one."""
import torch


def one_product(of_x, x_bias, of_h, h_bias):
    """Weight and bias of one linear layer on cat([x, h], -1) that gives linear(x, of_x, x_bias) + linear(h, of_h, h_bias).

    of_x: [4 * width, inputs]; of_h: [4 * width, width]; both biases: [4 * width].
    All four stay as they are.
    """
    # >>> exercise: `weight` and `bias` (2 lines) | `weight` 和 `bias`（2 行）
    # stub: weight, bias = torch.cat([of_x, 0 * of_h], 1), x_bias
    weight = torch.cat([of_x, of_h], 1)
    bias = x_bias + h_bias
    # <<<
    return weight, bias
