import torch

import labkit

source = "kernels/swiglu_small/swiglu_small.asc"
forward = labkit.kernel(source, entry="swiglu_small")
reverse = labkit.kernel(source, entry="swiglu_small_backward")
lib = torch.library.Library("mine", "FRAGMENT")
lib.define("swiglu(Tensor gate, Tensor up) -> Tensor")


@torch.library.impl(lib, "swiglu", "PrivateUse1")
def on_npu(gate, up):
    if gate.dtype != torch.float32 or up.dtype != torch.float32:
        raise RuntimeError("swiglu: the kernel takes float32")
    y = torch.empty_like(gate)
    forward[8](gate, up, y, y.numel())
    return y


def backward(ctx, grad):
    gate, up = ctx.saved_tensors
    dgate, dup = torch.empty_like(gate), torch.empty_like(up)
    reverse[8](grad.contiguous(), gate, up, dgate, dup, gate.numel())
    return dgate, dup


torch.library.register_autograd("mine::swiglu", backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), lib=lib)
autocast = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)


@torch.library.impl(lib, "swiglu", "AutocastPrivateUse1")
def under_autocast(gate, up):
    # >>> exercise: call the operator below autocast, with both tensors in float32, whatever floating-point type they have | 在 autocast 之下调用算子，两个张量都为 float32，不论原来是哪种浮点类型
    # stub: return gate * up
    with torch._C._ExcludeDispatchKeyGuard(autocast):
        return torch.ops.mine.swiglu(gate.float(), up.float())
    # <<<
