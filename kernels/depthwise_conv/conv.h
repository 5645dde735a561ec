// A depthwise convolution: channel c of y is channel c of x, convolved with weight[c]. What its kernels share.
#pragma once
#include "../rows.h"

// y[ho, wo] = sum over kh, kw of weight[kh, kw] * x[(ho * strideH - padH + kh * dilationH) / upH, the same for w],
// where upH divides and the row is there. The convolution has up = 1. The gradient for its input has stride = 1, up =
// the convolution's stride, and flip.
struct Conv {
    uint32_t batch, channels, height, width;  // of x
    uint32_t outHeight, outWidth, kernelH, kernelW, strideH, strideW;
    // negative in a gradient whose convolution pads more than its kernel reaches
    int32_t padH, padW;
    uint32_t dilationH, dilationW, upH, upW;
    // 0 or 1: taps from the last to the first; a number for each channel is added
    uint32_t flip, bias;
};

__aicore__ inline uint32_t MostOf(uint32_t a, uint32_t b) { return a > b ? a : b; }
__aicore__ inline int32_t FloorOf(int32_t a, int32_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// Rows (or columns) of x that `count` of y from `first` on reach: from `origin`, `length` of them, of which [begin,
// end) are in the image.
struct Reach {
    int32_t origin, begin, end;
    uint32_t length;

    __aicore__ inline Reach() {}
    __aicore__ inline Reach(uint32_t first, uint32_t count, uint32_t stride, int32_t pad, uint32_t kernel,
                            uint32_t dilation, uint32_t up, uint32_t size)
    {
        int32_t low = static_cast<int32_t>(first * stride) - pad,
                high = low + static_cast<int32_t>((count - 1) * stride + (kernel - 1) * dilation);
        origin = FloorOf(low, up);
        length = FloorOf(high, up) - origin + 1;
        begin = origin < 0 ? 0 : origin;
        end = origin + static_cast<int32_t>(length);
        end = end > static_cast<int32_t>(size) ? size : end;
        end = end < begin ? begin : end;
    }
    __aicore__ inline bool operator==(const Reach& o) const
    {
        return begin - origin == o.begin - o.origin && end - begin == o.end - o.begin && length == o.length;
    }
};

// Part `index` of `parts` of `count` things, as equal as can be.
struct Share {
    uint32_t begin, end;
    __aicore__ inline Share(uint32_t count, uint32_t index, uint32_t parts)
    {
        begin = static_cast<uint64_t>(count) * index / parts;
        end = static_cast<uint64_t>(count) * (index + 1) / parts;
    }
};

// Flags from each pipe to the next; a slot is a set of buffers.
// one waits for the other, here and now
template <AscendC::HardEvent event> __aicore__ inline void Order(int32_t slot = 0)
{
    AscendC::SetFlag<event>(slot);
    AscendC::WaitFlag<event>(slot);
}
