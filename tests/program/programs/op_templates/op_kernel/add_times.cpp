#include "add_times_key.h"
#include "kernel_operator.h"
using namespace AscendC;

template <typename T, int times, bool last>
__global__ __aicore__ void add_times(GM_ADDR x, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling) {
    GlobalTensor<T> gx, gz;
    gx.SetGlobalBuffer((__gm__ T*)x, 64);
    gz.SetGlobalBuffer((__gm__ T*)z, 64);
    TPipe pipe;
    TBuf<> room;
    pipe.InitBuffer(room, 256);
    LocalTensor<T> a = room.Get<T>();
    DataCopy(a, gx, 64);
    PipeBarrier<PIPE_ALL>();
    for (int i = 0; i < times; i++) Adds(a, a, T(1.0f), 64);
    PipeBarrier<PIPE_ALL>();
    DataCopy(gz, a, 64);
}
