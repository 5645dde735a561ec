NAME = "the lab's residual + RMSNorm"
TASK = "residual_rms_norm"
KERNEL = r"""
#include "../residual_rms_norm/residual_rms_norm.asc"

extern "C" __global__ __aicore__ void entry(GM_ADDR x, GM_ADDR residual, GM_ADDR weight, GM_ADDR y, GM_ADDR sum, GM_ADDR rstd, uint32_t rows, uint32_t width)
{
    ResidualNorm<half> op(x, residual, weight, y, sum, rstd, rows, width, width, width, 1e-6f);
    op.Run();
}
"""


def launch(rows, width):
    cores = min(48, int((rows * width * 13 / 64 / 50) ** 0.5))  # each further core begins 50 cycles later
    return {"blocks": max(1, min(rows, cores)), "scalars": [rows, width]}


REPORT = """
operator_us: 10.47
chain_us: 27.7
network_us: 1
network_chain_us: 1
bound_by: MTE2
"""
