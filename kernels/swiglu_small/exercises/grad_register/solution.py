import torch

import labkit

source = "kernels/swiglu_small/swiglu_small.asc"
forward = labkit.kernel(source, entry="swiglu_small")
reverse = labkit.kernel(source, entry="swiglu_small_backward")
lib = torch.library.Library("mine", "FRAGMENT")
lib.define("swiglu(Tensor gate, Tensor up) -> Tensor")
lib.define("swiglu_backward(Tensor grad, Tensor gate, Tensor up) -> (Tensor, Tensor)")


@torch.library.impl(lib, "swiglu", "PrivateUse1")
def on_npu(gate, up):
    y = torch.empty_like(gate)
    forward[8](gate, up, y, y.numel())
    return y


@torch.library.impl(lib, "swiglu_backward", "PrivateUse1")
def backward_on_npu(grad, gate, up):
    if not grad.is_contiguous():
        raise RuntimeError("swiglu_backward: grad must be contiguous")
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    reverse[8](grad, gate, up, dgate, dup, gate.numel())
    return dgate, dup


def setup_context(ctx, inputs, output):
    # >>> exercise: keep what the backward needs, so that autograd notices if it is written in between; `inputs` are gate and up | 保存反向所需的内容，并让 autograd 能发现其间对它的写入；`inputs` 是 gate 和 up
    # stub: pass
    ctx.save_for_backward(*inputs)
    # <<<


def backward(ctx, grad):
    # >>> exercise: return the gradients of gate and up, by torch.ops.mine.swiglu_backward | 用 torch.ops.mine.swiglu_backward 返回 gate 和 up 的梯度
    # stub: return grad, grad
    gate, up = ctx.saved_tensors
    return torch.ops.mine.swiglu_backward(grad.contiguous(), gate, up)
    # <<<


torch.library.register_autograd("mine::swiglu", backward, setup_context=setup_context, lib=lib)
