"""A template for an entry. Copy it, fill in the lines marked FILL, and hand it in:

    from labkit.migrate import capstone
    print(capstone.judge(open("my_operator.py").read()))

The judge takes it as it stands, and finds it wrong.
"""

NAME = "FILL: a name for the leaderboard"
TASK = "scaled_residual"  # or residual_rms_norm: labkit.migrate.capstone_tasks.TASKS
KERNEL = r"""
#include "kernel_operator.h"
using namespace AscendC;

constexpr uint32_t TILE = 8192;  // elements of half: six of them and a row fit UB

extern "C" __global__ __aicore__ void scaled_residual(GM_ADDR x, GM_ADDR residual, GM_ADDR scale, GM_ADDR y,
                                                      uint32_t rows, uint32_t width)
{
    uint32_t pitch = (width + 15) / 16 * 16;  // a row in UB begins at a multiple of 32 bytes
    uint32_t tall = TILE / pitch, share = (rows + GetBlockNum() - 1) / GetBlockNum();
    tall = tall < share ? tall : share;
    GlobalTensor<half> xGm, rGm, sGm, yGm;
    xGm.SetGlobalBuffer((__gm__ half*)x, rows * width);
    rGm.SetGlobalBuffer((__gm__ half*)residual, rows * width);
    sGm.SetGlobalBuffer((__gm__ half*)scale, width);
    yGm.SetGlobalBuffer((__gm__ half*)y, rows * width);
    TPipe pipe;
    TQue<TPosition::VECIN, 2> inX, inR;
    TQue<TPosition::VECIN, 1> inS;
    TQue<TPosition::VECOUT, 2> outY;
    pipe.InitBuffer(inX, 2, TILE * sizeof(half));
    pipe.InitBuffer(inR, 2, TILE * sizeof(half));
    pipe.InitBuffer(outY, 2, TILE * sizeof(half));
    pipe.InitBuffer(inS, 1, pitch * sizeof(half));
    DataCopyPadExtParams<half> zeros(true, 0, static_cast<uint8_t>(pitch - width), static_cast<half>(0));

    LocalTensor<half> scales = inS.AllocTensor<half>();
    DataCopyPad(scales, sGm, DataCopyExtParams(1, width * sizeof(half), 0, 0, 0), zeros);
    inS.EnQue(scales);
    scales = inS.DeQue<half>();
    for (uint32_t row = GetBlockIdx() * tall; row < rows; row += GetBlockNum() * tall) {
        uint32_t here = rows - row < tall ? rows - row : tall;
        DataCopyExtParams tile(static_cast<uint16_t>(here), width * sizeof(half), 0, 0, 0);
        LocalTensor<half> xs = inX.AllocTensor<half>(), rs = inR.AllocTensor<half>();
        DataCopyPad(xs, xGm[row * width], tile, zeros);
        DataCopyPad(rs, rGm[row * width], tile, zeros);
        inX.EnQue(xs);
        inR.EnQue(rs);
        xs = inX.DeQue<half>();
        rs = inR.DeQue<half>();
        LocalTensor<half> ys = outY.AllocTensor<half>();
        // FILL: ys = residual + scale * x. The rest may be changed as well: tiles, queues, cores, one copy less.
        inX.FreeTensor(xs);
        inR.FreeTensor(rs);
        outY.EnQue(ys);
        ys = outY.DeQue<half>();
        DataCopyPad(yGm[row * width], ys, tile);
        outY.FreeTensor(ys);
    }
    inS.FreeTensor(scales);
}
"""


def launch(rows, width):
    return {"blocks": 1, "scalars": [rows, width]}  # FILL: cores; scalars are what follows the tensors


REPORT = """
## What it does, and for whom
FILL

## Numbers
Modelled, at the last shape of TASKS["scaled_residual"].shown; the network's are of one forward pass.
- operator_us: FILL
- chain_us: FILL
- network_us: FILL
- network_chain_us: FILL
- bound_by: FILL

## What was tried and did not help
FILL

## Where it is slow, and what it cannot do
FILL
"""
