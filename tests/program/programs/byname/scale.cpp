#include "scale.h"
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void scale(GM_ADDR x, float factor, ScaleTiling tiling, uint16_t one) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 1024);
    LocalTensor<float> t = buffer.Get<float>();
    GlobalTensor<float> g;
    g.SetGlobalBuffer((__gm__ float*)x, tiling.length);
    DataCopy(t, g, tiling.length);
    PipeBarrier<PIPE_ALL>();
    Muls(t, t, factor * float(one), tiling.length);
    PipeBarrier<PIPE_V>();
    Adds(t, t, tiling.offset, tiling.length);
    PipeBarrier<PIPE_ALL>();
    DataCopy(g, t, tiling.length);
}
