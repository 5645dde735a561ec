import torch

import labkit

# >>> exercise: the operator mine::rms_norm: x / sqrt(mean(x * x) + eps) * weight over the last dimension, float with any strides, up to 4096 wide; kernels for the way there and back, Meta, and both gradients; the kernels compute, PyTorch at most copies, before them or after them, and adds up what they wrote; no second derivative is asked for, and nothing has to be refused | 算子 mine::rms_norm：沿最后一维 x / sqrt(mean(x * x) + eps) * weight，float，步长任意，宽度不超过 4096；正向和反向核函数，Meta，以及两个梯度；计算由核函数完成，PyTorch 最多只在它们之前或之后做复制，以及累加它们写出的结果；不要求二阶导数，也不必拒绝任何输入
# stub: lib = torch.library.Library("mine", "FRAGMENT")
# stub: lib.define("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor")
# stub: lib.define("rms_norm_backward(Tensor grad, Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)")
KERNEL = r"""
#include "kernel_operator.h"
using namespace AscendC;

__aicore__ inline float Fetch(const LocalTensor<float>& from)  // the scalar unit waits for V, then reads
{
    event_t ready = static_cast<event_t>(GetTPipePtr()->FetchEventID(HardEvent::V_S));
    SetFlag<HardEvent::V_S>(ready);
    WaitFlag<HardEvent::V_S>(ready);
    return from.GetValue(0);
}

class Rows {
public:
    __aicore__ inline Rows(GM_ADDR grad, GM_ADDR x, GM_ADDR weight, GM_ADDR y, GM_ADDR part, uint32_t rows, uint32_t width, float eps)
        : rows(rows), width(width), room((width + 7) / 8 * 8), count(static_cast<int32_t>(width)), eps(eps),
          piece(1, static_cast<uint32_t>(width * sizeof(float)), 0, 0, 0), plain(false, 0, 0, 0)
    {
        gradGm.SetGlobalBuffer((__gm__ float*)grad, rows * width);
        xGm.SetGlobalBuffer((__gm__ float*)x, rows * width);
        weightGm.SetGlobalBuffer((__gm__ float*)weight, width);
        yGm.SetGlobalBuffer((__gm__ float*)y, rows * width);
        partGm.SetGlobalBuffer((__gm__ float*)part, GetBlockNum() * width);
        uint32_t bytes = room * sizeof(float);
        pipe.InitBuffer(queueX, 1, bytes);
        pipe.InitBuffer(queueGrad, 1, bytes);
        pipe.InitBuffer(queueWeight, 1, bytes);
        pipe.InitBuffer(queueY, 1, bytes);
        pipe.InitBuffer(queuePart, 1, bytes);
        pipe.InitBuffer(squareBuf, bytes);
        pipe.InitBuffer(workBuf, bytes);
        pipe.InitBuffer(oneBuf, 32);
    }

    template <bool BACK>
    __aicore__ inline void Process()
    {
        LocalTensor<float> weight = Load(queueWeight, weightGm), sum;
        LocalTensor<float> square = squareBuf.Get<float>();
        if constexpr (BACK) {
            sum = queuePart.AllocTensor<float>();
            Duplicate(sum, 0.0f, count);
        }
        for (uint32_t row = GetBlockIdx(); row < rows; row += GetBlockNum()) {
            LocalTensor<float> x = Load(queueX, xGm[row * width]);
            Mul(square, x, x, count);
            float root = Mean(square, eps);  // of the mean square
            Muls(x, x, 1.0f / root, count);  // x becomes the normalised row
            LocalTensor<float> y = queueY.AllocTensor<float>();
            if constexpr (BACK) {
                LocalTensor<float> grad = Load(queueGrad, gradGm[row * width]);
                Mul(square, grad, x, count);
                Add(sum, sum, square, count);
                Mul(y, grad, weight, count);
                Mul(square, y, x, count);
                ReduceSum(oneBuf.Get<float>(), square, workBuf.Get<float>(), count);
                float dot = Fetch(oneBuf.Get<float>()) / static_cast<float>(width);
                Muls(square, x, -dot, count);
                Add(y, y, square, count);
                Muls(y, y, 1.0f / root, count);
                queueGrad.FreeTensor(grad);
            } else {
                Mul(y, x, weight, count);
            }
            queueX.FreeTensor(x);
            queueY.EnQue(y);
            y = queueY.DeQue<float>();
            DataCopyPad(yGm[row * width], y, piece);
            queueY.FreeTensor(y);
        }
        queueWeight.FreeTensor(weight);
        if constexpr (BACK) {
            queuePart.EnQue(sum);
            sum = queuePart.DeQue<float>();
            DataCopyPad(partGm[GetBlockIdx() * width], sum, piece);
            queuePart.FreeTensor(sum);
        }
    }

private:
    __aicore__ inline LocalTensor<float> Load(TQue<TPosition::VECIN, 1>& queue, const GlobalTensor<float>& from)
    {
        LocalTensor<float> in = queue.AllocTensor<float>();
        DataCopyPad(in, from, piece, plain);
        queue.EnQue(in);
        return queue.DeQue<float>();
    }

    __aicore__ inline float Mean(const LocalTensor<float>& square, float eps)
    {
        LocalTensor<float> one = oneBuf.Get<float>();
        ReduceSum(one, square, workBuf.Get<float>(), count);
        Muls(one, one, 1.0f / static_cast<float>(width), 1);
        Adds(one, one, eps, 1);
        Sqrt(one, one, 1);
        return Fetch(one);
    }

    uint32_t rows, width, room;
    int32_t count;
    float eps;
    DataCopyExtParams piece;
    DataCopyPadExtParams<float> plain;
    GlobalTensor<float> gradGm, xGm, weightGm, yGm, partGm;
    TPipe pipe;
    TQue<TPosition::VECIN, 1> queueX, queueGrad, queueWeight;
    TQue<TPosition::VECOUT, 1> queueY, queuePart;
    TBuf<TPosition::VECCALC> squareBuf, workBuf, oneBuf;
};

extern "C" __global__ __vector__ void rms_norm(GM_ADDR x, GM_ADDR weight, GM_ADDR y, uint32_t rows, uint32_t width, float eps)
{
    Rows(x, x, weight, y, y, rows, width, eps).Process<false>();
}

extern "C" __global__ __vector__ void rms_norm_backward(GM_ADDR grad, GM_ADDR x, GM_ADDR weight, GM_ADDR dx, GM_ADDR part, uint32_t rows, uint32_t width, float eps)
{
    Rows(grad, x, weight, dx, part, rows, width, eps).Process<true>();
}
"""
BLOCKS = 8
forward = labkit.kernel(text=KERNEL, filename="rms_norm.asc", entry="rms_norm")
reverse = labkit.kernel(text=KERNEL, filename="rms_norm.asc", entry="rms_norm_backward")
lib = torch.library.Library("mine", "FRAGMENT")
lib.define("rms_norm(Tensor x, Tensor weight, float eps) -> Tensor")
lib.define("rms_norm_backward(Tensor grad, Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)")


@torch.library.impl(lib, "rms_norm", "PrivateUse1")
def on_npu(x, weight, eps):
    x, weight = x.contiguous(), weight.contiguous()
    y = torch.empty_like(x)
    forward[BLOCKS](x, weight, y, x.numel() // weight.numel(), weight.numel(), eps)
    return y


@torch.library.impl(lib, "rms_norm_backward", "PrivateUse1")
def backward_on_npu(grad, x, weight, eps):
    grad, x, weight = grad.contiguous(), x.contiguous(), weight.contiguous()
    dx, part = torch.empty_like(x), x.new_empty(BLOCKS, weight.numel())
    reverse[BLOCKS](grad, x, weight, dx, part, x.numel() // weight.numel(), weight.numel(), eps)
    return dx, part.sum(0)


@torch.library.register_fake("mine::rms_norm", lib=lib)
def shape(x, weight, eps):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("mine::rms_norm_backward", lib=lib)
def shapes_back(grad, x, weight, eps):
    return torch.empty_like(x, memory_format=torch.contiguous_format), weight.new_empty(weight.shape)


def keep(ctx, inputs, output):
    x, weight, ctx.eps = inputs
    ctx.save_for_backward(x, weight)


def backward(ctx, grad):
    return *torch.ops.mine.rms_norm_backward(grad, *ctx.saved_tensors, ctx.eps), None


torch.library.register_autograd("mine::rms_norm", backward, setup_context=keep, lib=lib)
# <<<
