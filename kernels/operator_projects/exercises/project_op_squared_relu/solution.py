import torch

import labkit

# >>> exercise: the operator mine::squared_relu, max(x, 0) squared, for float with any strides (the gradient's too), with kernels for the way there and back, Meta, and its gradient registered with autograd; the kernels compute, PyTorch at most copies, before them or after them, and adds up what they wrote | 算子 mine::squared_relu，即 max(x, 0) 的平方，float，x 和梯度的步长任意；正向和反向各一个核函数，带 Meta，并向 autograd 注册梯度；计算由核函数完成，PyTorch 最多只在它们之前或之后做复制，以及累加它们写出的结果
# stub: lib = torch.library.Library("mine", "FRAGMENT")
# stub: lib.define("squared_relu(Tensor x) -> Tensor")
# stub: lib.define("squared_relu_backward(Tensor grad, Tensor x) -> Tensor")
KERNEL = r"""
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t TILE = 4096;

template <bool BACK>  // forward: a is x; backward: a is x, b the gradient
__aicore__ inline void Work(GM_ADDR a, GM_ADDR b, GM_ADDR y, uint32_t n)
{
    GlobalTensor<float> aGm, bGm, yGm;
    aGm.SetGlobalBuffer((__gm__ float*)a, n);
    bGm.SetGlobalBuffer((__gm__ float*)b, n);
    yGm.SetGlobalBuffer((__gm__ float*)y, n);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queueA, queueB;
    TQue<TPosition::VECOUT, 1> queueY;
    pipe.InitBuffer(queueA, 2, TILE * sizeof(float));
    pipe.InitBuffer(queueB, 2, TILE * sizeof(float));
    pipe.InitBuffer(queueY, 2, TILE * sizeof(float));
    DataCopyPadExtParams<float> plain(false, 0, 0, 0);
    for (uint32_t at = GetBlockIdx() * TILE; at < n; at += GetBlockNum() * TILE) {
        uint32_t count = n - at < TILE ? n - at : TILE;
        DataCopyExtParams piece(1, static_cast<uint32_t>(count * sizeof(float)), 0, 0, 0);
        LocalTensor<float> as = queueA.AllocTensor<float>();
        DataCopyPad(as, aGm[at], piece, plain);
        queueA.EnQue(as);
        as = queueA.DeQue<float>();
        LocalTensor<float> ys = queueY.AllocTensor<float>();
        Relu(ys, as, count);
        if constexpr (BACK) {
            LocalTensor<float> bs = queueB.AllocTensor<float>();
            DataCopyPad(bs, bGm[at], piece, plain);
            queueB.EnQue(bs);
            bs = queueB.DeQue<float>();
            Mul(ys, ys, bs, count);
            Muls(ys, ys, 2.0f, count);
            queueB.FreeTensor(bs);
        } else {
            Mul(ys, ys, ys, count);
        }
        queueA.FreeTensor(as);
        queueY.EnQue(ys);
        ys = queueY.DeQue<float>();
        DataCopyPad(yGm[at], ys, piece);
        queueY.FreeTensor(ys);
    }
}

extern "C" __global__ __vector__ void squared_relu(GM_ADDR x, GM_ADDR y, uint32_t n)
{
    Work<false>(x, x, y, n);
}

extern "C" __global__ __vector__ void squared_relu_backward(GM_ADDR x, GM_ADDR grad, GM_ADDR dx, uint32_t n)
{
    Work<true>(x, grad, dx, n);
}
"""
forward = labkit.kernel(text=KERNEL, filename="squared_relu.asc", entry="squared_relu")
reverse = labkit.kernel(text=KERNEL, filename="squared_relu.asc", entry="squared_relu_backward")
lib = torch.library.Library("mine", "FRAGMENT")
lib.define("squared_relu(Tensor x) -> Tensor")
lib.define("squared_relu_backward(Tensor grad, Tensor x) -> Tensor")


@torch.library.impl(lib, "squared_relu", "PrivateUse1")
def on_npu(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    forward[8](x, y, y.numel())
    return y


@torch.library.impl(lib, "squared_relu_backward", "PrivateUse1")
def backward_on_npu(grad, x):
    grad, x = grad.contiguous(), x.contiguous()
    dx = torch.empty_like(x)
    reverse[8](x, grad, dx, dx.numel())
    return dx


@torch.library.register_fake("mine::squared_relu", lib=lib)
def shape(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("mine::squared_relu_backward", lib=lib)
def shape_back(grad, x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def keep(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, grad):
    (x,) = ctx.saved_tensors
    return torch.ops.mine.squared_relu_backward(grad, x)


torch.library.register_autograd("mine::squared_relu", backward, setup_context=keep, lib=lib)
# <<<
