#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR z) {
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, COUNT * sizeof(int32_t));
    LocalTensor<int32_t> t = buffer.Get<int32_t>();
    GlobalTensor<int32_t> gx, gz;
    gx.SetGlobalBuffer((__gm__ int32_t*)x, COUNT);
    gz.SetGlobalBuffer((__gm__ int32_t*)z, COUNT);
    DataCopy(t, gx, COUNT);
    PipeBarrier<PIPE_ALL>();
    Muls(t, t, 2, COUNT);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, t, COUNT);
}

#ifndef ASCENDC_CPU_DEBUG
void twice_do(uint32_t blocks, void* stream, uint8_t* x, uint8_t* z) { twice<<<blocks, nullptr, stream>>>(x, z); }
#endif
