// matmul_tiling: converts the host's description of a product into a TCubeTiling.
#include "twin/tiling/matmul.h"

#include <algorithm>

#include "matmul/cut.h"

namespace matmul_tiling {

using AscendC::tiling::TCubeTiling;

namespace {

int bits_of(DataType t) {
    switch (t) {
    case DataType::DT_FLOAT:
    case DataType::DT_INT32:
    case DataType::DT_UINT32: return 32;
    case DataType::DT_INT8:
    case DataType::DT_UINT8: return 8;
    case DataType::DT_INT4: return 4;
    default: return 16;
    }
}
bool in_ub(TPosition p) { return p == TPosition::VECIN || p == TPosition::VECOUT || p == TPosition::VECCALC; }
bool in_l1(TPosition p) {
    return p == TPosition::TSCM || p == TPosition::A1 || p == TPosition::B1 || p == TPosition::C1;
}

// Fields by name, from the plain struct to the host's class and back.
void copy(const TCubeTiling& from, optiling::TCubeTiling& to) {
#define X(type, name) to.set_##name(from.name);
    TWIN_FIELDS_TCubeTiling(X)
#undef X
}
TCubeTiling plain(const optiling::TCubeTiling& from) {
    TCubeTiling to;
#define X(type, name) to.name = from.get_##name();
    TWIN_FIELDS_TCubeTiling(X)
#undef X
        return to;
}

}  // namespace

// Fills the cutter's task from the setters, and TCubeTiling from its answer.
struct Cutter {
    MatmulApiTilingBase& o;
    twin::CutTask task;

    explicit Cutter(MatmulApiTilingBase& owner, int cores) : o(owner) {
        const int32_t org[3] = {o.org_[0], o.org_[1], std::min(o.org_[2], o.org_[3])};
        task.m = o.shape_[0] > 0 ? o.shape_[0] : org[0];
        task.n = o.shape_[1] > 0 ? o.shape_[1] : org[1];
        task.k = o.shape_[2] > 0 ? o.shape_[2] : org[2];
        task.a_bits = bits_of(o.a_.dataType);
        task.b_bits = bits_of(o.b_.dataType);
        task.c_bytes = bits_of(o.c_.dataType) / 8;
        task.bias_bytes = o.is_bias_ ? 4 : 0;  // half bias is widened on its way to the bias table
        task.a_trans = o.a_.isTrans;
        task.b_trans = o.b_.isTrans;
        task.a_l1 = in_l1(o.a_.pos);
        task.b_l1 = in_l1(o.b_.pos);
        task.c_room = in_ub(o.c_.pos) ? o.ub_ * 3 / 8 : 0;  // the kernel keeps as much data of its own in UB, and more
        task.l1 = o.l1_;
        task.l0a = o.l0a_;
        task.l0b = o.l0b_;
        task.l0c = o.l0c_;
        task.bt = o.bt_;
        task.cores = cores;
        task.split_k = o.split_k_;
        task.three_buffers = o.config_.scheduleType == ScheduleType::N_BUFFER_33;
        for (int i = 0; i < 3; i++) {
            task.fixed_single[i] = o.single_[i];
            task.single_max[i] = o.single_range_[i].max;
            task.single_min[i] = o.single_range_[i].min;
            task.single_align[i] = std::max(1, o.align_[i]);
            task.base_max[i] = o.base_range_[i].max;
            task.base_min[i] = o.base_range_[i].min;
        }
        for (int i = 0; i < 2; i++) task.fixed_base[i] = o.fix_[i];
    }

    bool run() {
        twin::Cut c;
        if (!twin::cut(task, c)) return false;
        TCubeTiling& t = o.t_;
        t.usedCoreNum = std::min(c.cores(), task.cores);
        t.M = o.org_[0] > 0 ? o.org_[0] : int32_t(task.m);
        t.N = o.org_[1] > 0 ? o.org_[1] : int32_t(task.n);
        t.Ka = o.org_[2] > 0 ? o.org_[2] : int32_t(task.k);
        t.Kb = o.org_[3] > 0 ? o.org_[3] : int32_t(task.k);
        t.singleCoreM = int32_t(c.single[0]);
        t.singleCoreN = int32_t(c.single[1]);
        t.singleCoreK = int32_t(c.single[2]);
        t.baseM = int32_t(c.base[0]);
        t.baseN = int32_t(c.base[1]);
        t.baseK = int32_t(c.base[2]);
        t.depthA1 = int32_t(c.depth_a);
        t.depthB1 = int32_t(c.depth_b);
        t.stepM = int32_t(c.step_m);
        t.stepN = int32_t(c.step_n);
        t.stepKa = int32_t(c.step_ka);
        t.stepKb = int32_t(c.step_kb);
        t.isBias = o.is_bias_;
        t.iterateOrder = o.traverse_ == MatrixTraverse::FIRSTN || o.config_.traverse == MatrixTraverse::FIRSTN ? 1 : 0;
        if (o.config_.scheduleType == ScheduleType::OUTER_PRODUCT) widen_step(c);
        t.dbL0A = c.db_l0a;
        t.dbL0B = c.db_l0b;
        t.dbL0C = c.db_l0c;
        int64_t a1 = c.base[0] * c.base[2] * task.a_bits / 8, b1 = c.base[1] * c.base[2] * task.b_bits / 8,
                bias = c.base[1] * task.bias_bytes;
        t.transLength = int32_t(std::max({a1, b1, c.base[0] * c.base[1] * task.c_bytes, bias}));
        t.shareMode = 0;
        t.shareL1Size = int32_t((task.a_l1 ? 0 : t.depthA1 * a1) + (task.b_l1 ? 0 : t.depthB1 * b1) + bias);
        t.shareL0CSize = int32_t(c.base[0] * c.base[1] * 4);
        t.shareUbSize = 0;
        t.batchM = t.batchN = t.singleBatchM = t.singleBatchN = 1;
        t.depthAL1CacheUB = t.depthBL1CacheUB = 0;
        o.dims_[0] = c.dims[0];
        o.dims_[1] = c.dims[1];
        return true;
    }

    // The outer product keeps two bases side by side along the axis that does not run first.
    void widen_step(const twin::Cut& c) {
        TCubeTiling& t = o.t_;
        bool along_n = t.iterateOrder == 0;
        int64_t other = along_n ? c.base[0] * task.a_bits / 8 : c.base[1] * task.b_bits / 8,
                own = along_n ? c.base[1] * task.b_bits / 8 : c.base[0] * task.a_bits / 8;
        bool several = along_n ? c.single[1] > c.base[1] : c.single[0] > c.base[0];
        int64_t step = std::min(c.step_ka, c.step_kb), steps = c.single[2] <= c.base[2] * step ? step : 0;  // only with
                                                                                                            // all of K
                                                                                                            // in L1
        if (!several || !steps || 2 * c.base[2] * steps * (other + 2 * own) + c.base[1] * task.bias_bytes > task.l1)
            return;
        (along_n ? t.stepN : t.stepM) = 2;
        (along_n ? t.depthB1 : t.depthA1) *= 2;
    }
};

MatmulApiTilingBase::MatmulApiTilingBase()
    : MatmulApiTilingBase(*platform_ascendc::PlatformAscendCManager::GetInstance()) {}
MatmulApiTilingBase::MatmulApiTilingBase(const platform_ascendc::PlatformAscendC& p) {
    using platform_ascendc::CoreMemType;
    auto size = [&](CoreMemType m) {
        uint64_t bytes = 0;
        p.GetCoreMemSize(m, bytes);
        return int64_t(bytes);
    };
    l1_ = size(CoreMemType::L1);
    l0c_ = size(CoreMemType::L0_C);
    ub_ = size(CoreMemType::UB);
    bt_ = size(CoreMemType::BT);
    l0a_ = size(CoreMemType::L0_A);
    l0b_ = size(CoreMemType::L0_B);
    const int64_t all[4] = {l1_, l0c_, ub_, bt_};
    std::copy(all, all + 4, all_);
}
MatmulApiTilingBase::MatmulApiTilingBase(const PlatformInfo& p) : MatmulApiTilingBase() {
    l1_ = int64_t(p.l1Size);
    l0c_ = int64_t(p.l0CSize);
    ub_ = int64_t(p.ubSize);
    l0a_ = int64_t(p.l0ASize);
    l0b_ = int64_t(p.l0BSize);
    const int64_t all[4] = {l1_, l0c_, ub_, bt_};
    std::copy(all, all + 4, all_);
}
MatmulApiTilingBase::~MatmulApiTilingBase() = default;

int32_t MatmulApiTilingBase::SetAType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans) {
    return a_ = {pos, type, dataType, isTrans}, 0;
}
int32_t MatmulApiTilingBase::SetBType(TPosition pos, CubeFormat type, DataType dataType, bool isTrans) {
    return b_ = {pos, type, dataType, isTrans}, 0;
}
int32_t MatmulApiTilingBase::SetCType(TPosition pos, CubeFormat type, DataType dataType) {
    return c_ = {pos, type, dataType, false}, 0;
}
int32_t MatmulApiTilingBase::SetBiasType(TPosition pos, CubeFormat type, DataType dataType) {
    return bias_ = {pos, type, dataType, false}, 0;
}
int32_t MatmulApiTilingBase::SetDequantType(DequantType d) { return dequant_vector_ = d == DequantType::TENSOR, 0; }
int32_t MatmulApiTilingBase::SetShape(int32_t m, int32_t n, int32_t k) {
    shape_[0] = m;
    shape_[1] = n;
    shape_[2] = k;
    return 0;
}
int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t k) { return SetOrgShape(m, n, k, k); }
int32_t MatmulApiTilingBase::SetOrgShape(int32_t m, int32_t n, int32_t ka, int32_t kb) {
    if (m <= 0 || n <= 0 || ka <= 0 || kb <= 0) return -1;
    const int32_t org[4] = {m, n, ka, kb};
    std::copy(org, org + 4, org_);
    return 0;
}
int32_t MatmulApiTilingBase::SetALayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    t_.ALayoutInfoB = b, t_.ALayoutInfoS = s, t_.ALayoutInfoN = n, t_.ALayoutInfoG = g, t_.ALayoutInfoD = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetBLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    t_.BLayoutInfoB = b, t_.BLayoutInfoS = s, t_.BLayoutInfoN = n, t_.BLayoutInfoG = g, t_.BLayoutInfoD = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetCLayout(int32_t b, int32_t s, int32_t n, int32_t g, int32_t d) {
    t_.CLayoutInfoB = b, t_.CLayoutInfoS1 = s, t_.CLayoutInfoN = n, t_.CLayoutInfoG = g, t_.CLayoutInfoS2 = d;
    return 0;
}
int32_t MatmulApiTilingBase::SetBatchInfoForNormal(int32_t batchA, int32_t batchB, int32_t m, int32_t n, int32_t k) {
    SetALayout(batchA, m, 1, 1, k);
    SetBLayout(batchB, n, 1, 1, k);
    SetCLayout(std::max(batchA, batchB), m, 1, 1, n);
    return 0;
}
int32_t MatmulApiTilingBase::SetBatchNum(int32_t batch) { return t_.BatchNum = batch, 0; }
int32_t MatmulApiTilingBase::EnableBias(bool on) { return is_bias_ = on, 0; }
int32_t MatmulApiTilingBase::SetBias(bool on) { return is_bias_ = on, 0; }
int32_t MatmulApiTilingBase::SetFixSplit(int32_t m, int32_t n, int32_t k) {
    for (int32_t base : {m, n, k})
        if (base == 0 || (base > 0 && base % 16)) return -1;
    fix_[0] = m;
    fix_[1] = n;
    if (k > 0) base_range_[2] = {k, k};
    return 0;
}
int32_t MatmulApiTilingBase::SetBufferSpace(int32_t l1, int32_t l0c, int32_t ub, int32_t bt) {
    const int32_t asked[4] = {l1, l0c, ub, bt};
    int64_t* mine[4] = {&l1_, &l0c_, &ub_, &bt_};
    for (int i = 0; i < 4; i++) *mine[i] = asked[i] < 0 ? all_[i] : asked[i];
    return 0;
}
int32_t MatmulApiTilingBase::SetTraverse(MatrixTraverse t) { return traverse_ = t, 0; }
int32_t MatmulApiTilingBase::SetMadType(MatrixMadType) { return 0; }
int32_t MatmulApiTilingBase::SetSplitRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t minM, int32_t minN,
                                           int32_t minK) {
    base_range_[0] = {maxM, minM};
    base_range_[1] = {maxN, minN};
    base_range_[2] = {maxK, minK};
    return 0;
}
int32_t MatmulApiTilingBase::SetDoubleBuffer(bool, bool, bool, bool, bool, bool) {
    return 0;
}  // always double buffered where it fits
void MatmulApiTilingBase::SetMatmulConfigParams(int32_t type, bool cacheUb, ScheduleType schedule,
                                                MatrixTraverse traverse, bool vecNd2nz) {
    config_ = MatmulConfigParams(type, cacheUb, schedule, traverse, vecNd2nz);
}
void MatmulApiTilingBase::SetMatmulConfigParams(const MatmulConfigParams& p) { config_ = p; }
int32_t MatmulApiTilingBase::SetSparse(bool on) { return sparse_ = on, 0; }

int64_t MatmulApiTilingBase::GetTiling(TCubeTiling& tiling) {
    if (!Compute()) return -1;
    tiling = t_;
    return 0;
}
int64_t MatmulApiTilingBase::GetTiling(optiling::TCubeTiling& tiling) {
    if (!Compute()) return -1;
    copy(t_, tiling);
    return 0;
}

bool MatmulApiTiling::Compute() { return Cutter(*this, 1).run(); }
bool MultiCoreMatmulTiling::Compute() { return Cutter(*this, cores_).run(); }
bool BatchMatmulTiling::Compute() { return Cutter(*this, 1).run(); }

int32_t MultiCoreMatmulTiling::SetDim(int32_t dim) { return dim <= 0 ? -1 : (cores_ = dim, 0); }
int32_t MultiCoreMatmulTiling::SetSingleShape(int32_t m, int32_t n, int32_t k) {
    single_[0] = m;
    single_[1] = n;
    single_[2] = k;
    return 0;
}
int32_t MultiCoreMatmulTiling::SetSingleRange(int32_t maxM, int32_t maxN, int32_t maxK, int32_t minM, int32_t minN,
                                              int32_t minK) {
    single_range_[0] = {maxM, minM};
    single_range_[1] = {maxN, minN};
    single_range_[2] = {maxK, minK};
    return 0;
}
int32_t MultiCoreMatmulTiling::SetAlignSplit(int32_t m, int32_t n, int32_t k) {
    const int32_t asked[3] = {m, n, k};
    for (int i = 0; i < 3; i++) align_[i] = std::max(1, asked[i]);
    return 0;
}
int32_t MultiCoreMatmulTiling::GetSingleShape(int32_t& m, int32_t& n, int32_t& k) {
    m = t_.singleCoreM;
    n = t_.singleCoreN;
    k = t_.singleCoreK;
    return 0;
}
int32_t MultiCoreMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim) {
    dim = t_.usedCoreNum;
    mDim = dims_[0];
    nDim = dims_[1];
    return dim > 0 ? 0 : -1;
}
int32_t BatchMatmulTiling::GetCoreNum(int32_t& dim, int32_t& mDim, int32_t& nDim, int32_t& batchCoreM,
                                      int32_t& batchCoreN) {
    dim = mDim = nDim = batchCoreM = batchCoreN = 1;
    return 0;
}

}  // namespace matmul_tiling

// On A2 the conversions between formats happen on the way, so that no unified buffer is needed.
static int32_t sizes_of(const AscendC::tiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& size) {
    size.ubSize = 0;
    size.l1Size = t.shareL1Size;
    size.l0cSize = t.shareL0CSize;
    return t.baseM > 0 && t.baseN > 0 && t.baseK > 0 ? 0 : -1;
}
extern "C" {
int32_t MatmulGetTmpBufSize(optiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(matmul_tiling::plain(t), s);
}
int32_t MatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(t, s);
}
int32_t MultiCoreMatmulGetTmpBufSize(optiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(matmul_tiling::plain(t), s);
}
int32_t MultiCoreMatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(t, s);
}
int32_t BatchMatmulGetTmpBufSize(optiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(matmul_tiling::plain(t), s);
}
int32_t BatchMatmulGetTmpBufSizeV2(AscendC::tiling::TCubeTiling& t, matmul_tiling::SysTilingTempBufSize& s) {
    return sizes_of(t, s);
}
}
