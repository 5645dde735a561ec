import torch

import labkit

kernel = labkit.kernel("kernels/swiglu_small/swiglu_small.asc", entry="swiglu_small")
lib = torch.library.Library("mine", "FRAGMENT")
# >>> exercise: `schema` of an operator `swiglu_` that writes its result into gate and returns nothing | 算子 `swiglu_` 的 `schema`：结果写入 gate，不返回任何东西
# stub: schema = "swiglu_(Tensor gate, Tensor up) -> ()"
schema = "swiglu_(Tensor(a!) gate, Tensor up) -> ()"
# <<<
lib.define(schema)


@torch.library.impl(lib, "swiglu_", "PrivateUse1")
def on_npu(gate, up):
    kernel[8](gate, up, gate, gate.numel())


@torch.library.register_fake("mine::swiglu_", lib=lib)
def fake(gate, up):
    pass
