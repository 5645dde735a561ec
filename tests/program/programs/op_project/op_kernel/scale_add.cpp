#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void scale_add(GM_ADDR x, GM_ADDR y, GM_ADDR bias, GM_ADDR z, GM_ADDR workspace,
                                                GM_ADDR tiling) {
    GET_TILING_DATA(t, tiling);
    uint32_t at = GetBlockIdx() * t.share;
    if (at >= t.total || t.first != 7 || t.part.rows != 3 || t.part.marks[1] != 22 || t.part.marks[2] != 2) return;
    uint32_t n = t.total - at < t.share ? t.total - at : t.share;
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, 3 * 32768);
    LocalTensor<DTYPE_X> a = buffer.Get<DTYPE_X>(), b = a[32768 / sizeof(DTYPE_X)];
    GlobalTensor<DTYPE_X> gx, gy, gz;
    gx.SetGlobalBuffer((__gm__ DTYPE_X*)x + at, n);
    gy.SetGlobalBuffer((__gm__ DTYPE_X*)y + at, n);
    gz.SetGlobalBuffer((__gm__ DTYPE_X*)z + at, n);
    DataCopyExtParams whole{1, uint32_t(n * sizeof(DTYPE_X)), 0, 0, 0};
    DataCopyPadExtParams<DTYPE_X> pad{false, 0, 0, 0};
    DataCopyPad(a, gx, whole, pad);
    DataCopyPad(b, gy, whole, pad);
    PipeBarrier<PIPE_ALL>();
    Muls(b, b, DTYPE_X(t.alpha), n);
    PipeBarrier<PIPE_V>();
    Add(a, a, b, n);
    PipeBarrier<PIPE_ALL>();
    DataCopyPad(gz, a, whole);
}
