// z = x + alpha * y, in tiles; any length.
#include "add_scaled_tiling.h"
#include "kernel_operator.h"
using namespace AscendC;

extern "C" __global__ __aicore__ void add_scaled(GM_ADDR x, GM_ADDR y, GM_ADDR z, GM_ADDR workspace, GM_ADDR tiling)
{
    REGISTER_TILING_DEFAULT(AddScaledTiling);
    GET_TILING_DATA(t, tiling);
    uint32_t begin = GetBlockIdx() * t.share;
    uint32_t mine = t.total - begin < t.share ? t.total - begin : t.share;
    GlobalTensor<DTYPE_X> xGm, yGm, zGm;
    xGm.SetGlobalBuffer((__gm__ DTYPE_X*)x + begin, mine);
    yGm.SetGlobalBuffer((__gm__ DTYPE_X*)y + begin, mine);
    zGm.SetGlobalBuffer((__gm__ DTYPE_X*)z + begin, mine);
    TPipe pipe;
    TQue<TPosition::VECIN, 1> inX, inY;
    TQue<TPosition::VECOUT, 1> outZ;
    pipe.InitBuffer(inX, 2, t.tile * sizeof(DTYPE_X));
    pipe.InitBuffer(inY, 2, t.tile * sizeof(DTYPE_X));
    pipe.InitBuffer(outZ, 2, t.tile * sizeof(DTYPE_X));

    for (uint32_t at = 0; at < mine; at += t.tile) {
        uint32_t n = mine - at < t.tile ? mine - at : t.tile;
        DataCopyExtParams part{1, static_cast<uint32_t>(n * sizeof(DTYPE_X)), 0, 0, 0};
        DataCopyPadExtParams<DTYPE_X> pad{false, 0, 0, 0};
        LocalTensor<DTYPE_X> a = inX.AllocTensor<DTYPE_X>();
        LocalTensor<DTYPE_X> b = inY.AllocTensor<DTYPE_X>();
        DataCopyPad(a, xGm[at], part, pad);
        DataCopyPad(b, yGm[at], part, pad);
        inX.EnQue(a);
        inY.EnQue(b);
        a = inX.DeQue<DTYPE_X>();
        b = inY.DeQue<DTYPE_X>();
        LocalTensor<DTYPE_X> c = outZ.AllocTensor<DTYPE_X>();
        Muls(c, b, static_cast<DTYPE_X>(t.alpha), n);
        Add(c, c, a, n);
        inX.FreeTensor(a);
        inY.FreeTensor(b);
        outZ.EnQue(c);
        c = outZ.DeQue<DTYPE_X>();
        DataCopyPad(zGm[at], c, part);
        outZ.FreeTensor(c);
    }
}
