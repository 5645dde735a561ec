"""What the kernel can compute."""
import torch


def takes(gate, up):
    """Whether lab::swiglu can compute with tensors of which device, dtype and shape are known. device: a text without a
    number, such as "npu"."""
    # >>> exercise: both on npu, one shape, one type, and that is one of float16, bfloat16, float32 (3 lines) | 都在 npu 上，形状相同，类型相同，且为 float16、bfloat16、float32 之一（3 行）
    # stub: return True
    if gate.device != "npu" or up.device != "npu" or gate.shape != up.shape:
        return False
    return gate.dtype == up.dtype and gate.dtype in (torch.float16, torch.bfloat16, torch.float32)
    # <<<
