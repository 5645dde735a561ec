// matmul_tiling for ctypes: one call that sets everything and returns TCubeTiling.
#include "twin/tiling/matmul.h"

using namespace matmul_tiling;

struct Asked {
    int32_t m, n, k, cores, dtype, trans_a, trans_b, bias, base_m, base_n, single[3], split_k, schedule, l1, max_base,
        align, traverse, in_l1, range[6];
};

extern "C" long cut_matmul(const Asked* q, TCubeTiling* out, int32_t* dims, int host_class) {
    MultiCoreMatmulTiling t(*platform_ascendc::PlatformAscendCManager::GetInstance("Ascend910B1"));
    auto type = DataType(q->dtype);
    t.SetDim(q->cores);
    auto place = q->in_l1 ? TPosition::TSCM : TPosition::GM;
    t.SetAType(place, CubeFormat::ND, type, q->trans_a);
    t.SetBType(place, CubeFormat::ND, type, q->trans_b);
    t.SetCType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
    t.SetBiasType(TPosition::GM, CubeFormat::ND, DataType::DT_FLOAT);
    t.SetOrgShape(q->m, q->n, q->k);
    t.SetShape(-1, q->n, q->k);
    t.EnableBias(q->bias);
    t.SetFixSplit(q->base_m, q->base_n, -1);
    t.SetSingleShape(q->single[0], q->single[1], q->single[2]);
    t.SetSingleRange(q->range[0], q->range[1], q->range[2], q->range[3], q->range[4], q->range[5]);
    t.EnableMultiCoreSplitK(q->split_k);
    t.SetMatmulConfigParams({1, false, ScheduleType(q->schedule), MatrixTraverse(q->traverse), false});
    t.SetBufferSpace(q->l1, -1, -1);
    t.SetSplitRange(q->max_base, q->max_base);
    t.SetAlignSplit(q->align, q->align, -1);
    long r;
    if (host_class) {
        optiling::TCubeTiling h;
        r = t.GetTiling(h);
        h.SaveToBuffer(out, h.GetDataSize());
    } else {
        r = t.GetTiling(*out);
    }
    t.GetCoreNum(dims[0], dims[1], dims[2]);
    return r;
}
