"""Types that change in every layer."""
from torch.nn import functional as F


def forward(layers, x):
    """relu(layer(x)) for each layer: x is float32 and so is the result, the layers are in half precision."""
    # >>> exercise: the same with at most two casts on the device, those of weights counted too | 同样的计算，设备上最多两次 Cast，权重的 Cast 也算在内
    # stub: for layer in layers:
    # stub:     x = F.relu(layer(x.half()).float())
    x = x.half()
    for layer in layers:
        x = F.relu(layer(x))
    x = x.float()
    # <<<
    return x
