// C = A B by hand: blocks of C tileM x tileN on the cube cores, K in chunks of L1 that are cut into pieces of L0, two
// buffers at each level. A lies in rows; B in rows [K][N], turned [N][K], or as fractals of the turned matrix.
#pragma once
#include "kernel_operator.h"
using namespace AscendC;

enum Lies { ROWS, TURNED, FRACTALS };

// What happens around a block of C: where in GM it goes, how far its rows lie apart there, and who hears of it.
struct Whole {
    uint32_t n;
    __aicore__ inline uint64_t Begin(uint32_t row, uint32_t column) { return uint64_t(row) * n + column; }
    __aicore__ inline uint32_t Line() { return n; }
    __aicore__ inline void End() {}
};

// unit: FIXPIPE follows the cube by unit flags and not by events, as asc-devkit's samples do.
template <typename T, typename C, typename O, uint32_t BM, uint32_t BN, uint32_t CHUNK, uint32_t BK, Lies lies,
          bool unit = false>
class Cube {
public:
    static constexpr uint32_t C0 = 32 / sizeof(T);
    static constexpr uint32_t A1 = BM * CHUNK, B1 = CHUNK * BN, L0 = 32 * 1024;
    static_assert((A1 + B1) * sizeof(T) * 2 <= 512 * 1024 && BM * BK * sizeof(T) <= L0 && BK * BN * sizeof(T) <= L0 &&
                      BM * BN * 4 <= 128 * 1024,
                  "a tile does not fit");

    // given: m, n, k of the whole; singleM, singleN of a task, tasks go round the cores, down the rows first; splitK:
    // parts of K on cores of their own, added up in GM.
    template <typename Sizes> __aicore__ inline Cube(GM_ADDR a, GM_ADDR b, GM_ADDR c, const Sizes& given) {
        p.m = given.m;
        p.n = given.n;
        p.k = given.k;
        p.singleM = given.singleM;
        p.singleN = given.singleN;
        p.splitK = given.splitK;
        ga.SetGlobalBuffer((__gm__ T*)a);
        gb.SetGlobalBuffer((__gm__ T*)b);
        gc.SetGlobalBuffer((__gm__ O*)c);
    }

    template <typename Place> __aicore__ inline void Run(Place& place) {
        for (int32_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::MTE1_MTE2>(e);
            SetFlag<HardEvent::M_MTE1>(e);
        }
        if constexpr (!unit) {
            SetFlag<HardEvent::FIX_M>(0);
        }
        uint32_t rows = (p.m + p.singleM - 1) / p.singleM,
                 tasks = rows * ((p.n + p.singleN - 1) / p.singleN) * p.splitK;
        for (uint32_t t = GetBlockIdx(); t < tasks; t += GetBlockNum()) {
            uint32_t block = t / p.splitK, part = t % p.splitK, each = p.k / p.splitK;
            uint32_t m0 = block % rows * p.singleM, n0 = block / rows * p.singleN;
            for (uint32_t n = n0; n < n0 + p.singleN && n < p.n; n += BN) {
                for (uint32_t m = m0; m < m0 + p.singleM && m < p.m; m += BM) {
                    Block(m, n, part * each, (part + 1) * each, place);
                }
            }
        }
        for (int32_t e = 0; e < 2; e++) {
            WaitFlag<HardEvent::MTE1_MTE2>(e);
            WaitFlag<HardEvent::M_MTE1>(e);
        }
        if constexpr (!unit) {
            WaitFlag<HardEvent::FIX_M>(0);
        }
    }

private:
    // Rows of a matrix in GM into columns of fractals in L1, `high` of them to a column.
    __aicore__ inline void ToL1(const LocalTensor<T>& l1, const GlobalTensor<T>& from, uint32_t rows, uint32_t width,
                                uint32_t line, uint32_t high) {
        Nd2NzParams nz;
        nz.ndNum = 1;
        nz.nValue = rows;
        nz.dValue = width;
        nz.srcNdMatrixStride = 0;
        nz.srcDValue = line;
        nz.dstNzC0Stride = high;
        nz.dstNzNStride = 1;
        nz.dstNzMatrixStride = 0;
        DataCopy(l1, from, nz);
    }

    __aicore__ inline void Load(int32_t e, uint32_t m, uint32_t n, uint32_t k, uint32_t depth) {
        WaitFlag<HardEvent::MTE1_MTE2>(e);
        LocalTensor<T> a1(TPosition::A1, e * A1 * sizeof(T), A1), b1(TPosition::B1, (2 * A1 + e * B1) * sizeof(T), B1);
        uint32_t rows = p.m - m < BM ? p.m - m : BM, cols = p.n - n < BN ? p.n - n : BN;
        ToL1(a1, ga[uint64_t(m) * p.k + k], rows, depth, p.k, BM);
        if constexpr (lies == ROWS) {
            ToL1(b1, gb[uint64_t(k) * p.n + n], depth, cols, p.n, CHUNK);
        } else if constexpr (lies == TURNED) {
            ToL1(b1, gb[uint64_t(n) * p.k + k], cols, depth, p.k, BN);
        } else {  // columns of fractals, each p.n high
            DataCopy(b1, gb[(uint64_t(k) / C0 * p.n + n) * C0],
                     DataCopyParams(depth / C0, cols, p.n - cols, BN - cols));
        }
        SetFlag<HardEvent::MTE2_MTE1>(e);
    }

    template <typename Place>
    __aicore__ inline void Block(uint32_t m, uint32_t n, uint32_t from, uint32_t to, Place& place) {
        uint32_t rows = p.m - m < BM ? p.m - m : BM, cols = p.n - n < BN ? p.n - n : BN, high = (rows + 15) / 16 * 16;
        LocalTensor<C> c0(TPosition::CO1, 0, BM * BN);
        int32_t chunk = 0, piece = 0;
        Load(0, m, n, from, to - from < CHUNK ? to - from : CHUNK);
        for (uint32_t k = from; k < to; k += CHUNK, chunk ^= 1) {
            uint32_t depth = to - k < CHUNK ? to - k : CHUNK;
            if (k + CHUNK < to) {
                Load(chunk ^ 1, m, n, k + CHUNK, to - k - CHUNK < CHUNK ? to - k - CHUNK : CHUNK);
            }
            WaitFlag<HardEvent::MTE2_MTE1>(chunk);
            LocalTensor<T> a1(TPosition::A1, chunk * A1 * sizeof(T), A1),
                b1(TPosition::B1, (2 * A1 + chunk * B1) * sizeof(T), B1);
            for (uint32_t inner = 0; inner < depth; inner += BK, piece ^= 1) {
                WaitFlag<HardEvent::M_MTE1>(piece);
                LocalTensor<T> a2(TPosition::A2, piece * L0, BM * BK), b2(TPosition::B2, piece * L0, BK * BN);
                for (uint32_t i = 0; i < high / 16; i++) {
                    LoadData(a2[i * 16 * BK], a1[(inner * BM) + i * 16 * C0],
                             LoadData2DParams(0, BK / C0, BM / 16, 0, 0, false, 0));
                }
                if constexpr (lies == ROWS) {
                    for (uint32_t i = 0; i < BK / 16; i++) {
                        LoadData(b2[i * 16 * BN], b1[inner * C0 + i * 16 * C0],
                                 LoadData2DParams(0, BN / 16, CHUNK / 16, 0, 0, true, 0));
                    }
                } else {
                    LoadData(b2, b1[inner * BN], LoadData2DParams(0, BK / C0 * (BN / 16), 1, 0, 0, false, 0));
                }
                SetFlag<HardEvent::MTE1_M>(piece);
                WaitFlag<HardEvent::MTE1_M>(piece);
                if (!unit && k == from && inner == 0) {
                    WaitFlag<HardEvent::FIX_M>(0);
                }
                MmadParams mmad;
                mmad.m = high;
                mmad.n = BN;
                mmad.k = BK;
                mmad.cmatrixInitVal = k == from && inner == 0;
                if (!mmad.cmatrixInitVal && high / 16 * (BN / 16) < 10) {
                    PipeBarrier<PIPE_M>();  // M does not wait by itself for the sums of so small a tile
                }
                mmad.unitFlag = !unit ? 0 : k + inner + BK < to ? 2 : 3;
                Mmad(c0, a2, b2, mmad);
                SetFlag<HardEvent::M_MTE1>(piece);
            }
            SetFlag<HardEvent::MTE1_MTE2>(chunk);
        }
        if constexpr (!unit) {
            SetFlag<HardEvent::M_FIX>(0);
            WaitFlag<HardEvent::M_FIX>(0);
        }
        FixpipeParamsV220 fix;
        fix.nSize = cols;
        fix.mSize = rows;
        fix.srcStride = high;
        fix.dstStride = place.Line();
        fix.ndNum = 1;
        fix.srcNdStride = 0;
        fix.dstNdStride = 0;
        fix.unitFlag = unit ? 3 : 0;
        fix.quantPre = IsSameType<C, O>::value ? QuantMode_t::NoQuant : QuantMode_t::F322F16;
        if (p.splitK > 1) {
            SetAtomicAdd<O>();
        }
        Fixpipe(gc[place.Begin(m, n)], c0, fix);
        if (p.splitK > 1) {
            SetAtomicNone();
        }
        place.End();
        if constexpr (!unit) {
            SetFlag<HardEvent::FIX_M>(0);
        }
    }

    struct { uint32_t m, n, k, singleM, singleN, splitK; } p;
    GlobalTensor<T> ga, gb;
    GlobalTensor<O> gc;
};
