"""Types that change in every layer."""
from torch.nn import functional as F


def forward(layers, x):
    """relu(layer(x)) for each layer: x is float32 and so is the result, the layers are in half precision."""
    # >>> exercise: the same with at most two casts | 同样的计算，最多两次 Cast
    # stub: for layer in layers:
    # stub:     x = F.relu(layer(x.half()).float())
    x = x.half()
    for layer in layers:
        x = F.relu(layer(x))
    x = x.float()
    # <<<
    return x
