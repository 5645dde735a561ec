// The backward of attention on cube and vector cores: the vector cores' part. See attention_grad.asc.
#pragma once
#include "attention_grad_steps.h"

// AIV: the shares and the gradient of the scores for its half of the rows, in bands that lie in UB as columns of 64, as
// in the forward pass; and the sums, rounded.
template <typename T, bool KEYS> class AttentionGradVector {
    static constexpr uint32_t ROOM = 64, HALF = TALL / 2, LAG = 2, TOP = 32, BLOCK = 8, APART = 8;
    static constexpr uint32_t ROW_EVENT = 2, SUM_EVENT = 4, MASK_EVENT = 5, DELTA_EVENT = 6;
    using Local = AscendC::LocalTensor<float>;
    using Wide = AscendC::BinaryRepeatParams;
    const AttentionGrad& a;
    GradSlots slots;
    uint32_t block, side, bands = 0, turns = 0, turn = 0;
    AscendC::GlobalTensor<float> work, lseGm, deltaGm;
    AscendC::GlobalTensor<T> pGm, addedGm, gradGm, outGm, toGm[2];
    AscendC::GlobalTensor<uint8_t> seenGm;
    AscendC::LocalTensor<T> p[2], ds[2], added, rounded;
    AscendC::LocalTensor<uint8_t> seen;
    Local s[2], d[2], lse[2], delta[2], o, t, blocks, stairs, wide;

public:
    // out: the forward pass' result, by which that for q makes delta, a number a row, for that of k and v to read.
    __aicore__ inline AttentionGradVector(GM_ADDR grad, GM_ADDR out, GM_ADDR lse_, GM_ADDR delta_, GM_ADDR mask,
                                          GM_ADDR to1, GM_ADDR to2, GM_ADDR workspace, const AttentionGrad& a)
            : a(a),
              slots{a.wide, CeilOf(a.dim, LANES) * LANES},
              block(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()),
              side(AscendC::GetSubBlockIdx())
    {
        using AscendC::TPosition;
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        gradGm.SetGlobalBuffer((__gm__ T*)grad);
        outGm.SetGlobalBuffer((__gm__ T*)out);
        lseGm.SetGlobalBuffer((__gm__ float*)lse_);
        deltaGm.SetGlobalBuffer((__gm__ float*)delta_);
        toGm[0].SetGlobalBuffer((__gm__ T*)to1);
        toGm[1].SetGlobalBuffer((__gm__ T*)to2);
        seenGm.SetGlobalBuffer((__gm__ uint8_t*)mask);
        addedGm.SetGlobalBuffer((__gm__ T*)mask);
        Room at;
        for (uint32_t i = 0; i < 2; i++) s[i] = at.Take<float>(TPosition::VECIN, ROOM * LANES);
        for (uint32_t i = 0; i < 2; i++) d[i] = at.Take<float>(TPosition::VECIN, ROOM * LANES);
        for (uint32_t i = 0; i < 2; i++) p[i] = at.Take<T>(TPosition::VECOUT, ROOM * LANES);
        for (uint32_t i = 0; i < 2; i++) ds[i] = at.Take<T>(TPosition::VECOUT, ROOM * LANES);
        o = at.Take<float>(TPosition::VECIN, TOP * slots.pitch);
        rounded = at.Take<T>(TPosition::VECOUT, TOP * slots.pitch);
        t = at.Take<float>(TPosition::VECCALC, ROOM * BLOCK);
        for (uint32_t i = 0; i < 2; i++) {
            lse[i] = at.Take<float>(TPosition::VECIN, GRAD_WIDE);
            delta[i] = at.Take<float>(TPosition::VECIN, GRAD_WIDE);
        }
        at.Apart();
        blocks = at.Take<float>(TPosition::VECCALC, HALF * APART * BLOCK);
        if (a.causal) stairs = at.Take<float>(TPosition::VECCALC, BAND * 2 * LANES);
        if (!a.masked) return;
        wide = at.Take<float>(TPosition::VECCALC, ROOM * LANES);
        uint32_t here = at.at;  // one mask or the other
        added = at.Take<T>(TPosition::VECIN, ROOM * LANES);
        seen = AscendC::LocalTensor<uint8_t>(TPosition::VECIN, here, ROOM * LANES);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        for (uint32_t i = 0; i < 2; i++) {  // rows and columns that nobody brings are computed with, and thrown away
            Zero(s[i], ROOM * LANES);
            Zero(d[i], ROOM * LANES);
            Zero(p[i], ROOM * LANES);
            Zero(ds[i], ROOM * LANES);
            Zero(lse[i], GRAD_WIDE);
            Zero(delta[i], GRAD_WIDE);
        }
        Zero(o, TOP * slots.pitch);
        if (a.masked) Zero(added, ROOM * LANES);
        if (a.causal) Build();
        for (uint32_t e = 0; e <= MASK_EVENT; e++) SetFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e < 3; e++) SetFlag<HardEvent::MTE3_V>(e);
        if (KEYS && a.causal) Clear();
        GradSteps<KEYS> now(a, block), before(a, block);
        uint32_t made = 0;
        while (now.Next()) {
            Scores(now);
            if (++made > LAG && before.Next() && before.last) Finish(before);
        }
        while (before.Next()) {
            if (before.last) Finish(before);
        }
        for (uint32_t e = 0; e <= MASK_EVENT; e++) WaitFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e < 3; e++) WaitFlag<HardEvent::MTE3_V>(e);
    }

private:
    // Rows [First, End) of the task are this core's; whole bands for the first of the two.
    __aicore__ inline uint32_t First(const GradSteps<KEYS>& step)
    {
        return side == 0 ? 0 : LeastOf(step.high, CeilOf(step.high, 2 * BAND) * BAND);
    }
    __aicore__ inline uint32_t End(const GradSteps<KEYS>& step)
    {
        return side == 0 ? LeastOf(step.high, CeilOf(step.high, 2 * BAND) * BAND) : step.high;
    }

    // Of queries: stairs[r][x] = x > r + 48 ? UNSEEN : 0, as in the forward pass; of keys x < r + 64.
    __aicore__ inline void Build()
    {
        using namespace AscendC;
        Duplicate(stairs, 0.0f, BAND * 2 * LANES);
        for (uint32_t r = 0; r < BAND; r++) {
            Local row = stairs[r * 2 * LANES];
            uint64_t lanes[2] = {KEYS ? (uint64_t(1) << r) - 1 : r + 49 < LANES ? ~((uint64_t(1) << (r + 49)) - 1) : 0, 0};
            if (lanes[0] != 0) Duplicate(row[KEYS ? LANES : 0], UNSEEN, lanes, 1, 1, 8);
            Duplicate(row[KEYS ? 0 : LANES], UNSEEN, static_cast<int32_t>(LANES));
        }
    }

    // Zeros for keys that no query sees.
    __aicore__ inline void Clear()
    {
        using namespace AscendC;
        GradSteps<KEYS> all(a, block);
        WaitFlag<HardEvent::MTE3_V>(2);
        Zero(rounded, TOP * slots.pitch);
        SetFlag<HardEvent::V_MTE3>(2);
        WaitFlag<HardEvent::V_MTE3>(2);
        while (all.NextTask()) {
            for (uint32_t r = First(all); all.Empty() && r < End(all); r += TOP) {
                for (uint32_t which = 0; which < 1 + KEYS; which++) Store(which, all, r, LeastOf(TOP, End(all) - r));
            }
        }
        SetFlag<HardEvent::MTE3_V>(2);
    }
    __aicore__ inline void Store(uint32_t which, const GradSteps<KEYS>& step, uint32_t r, uint32_t high)
    {
        const uint64_t(&far)[3] = which == 0 ? a.to1 : a.to2;
        uint64_t to = step.batch * far[0] + step.head * far[1] + (step.row + r) * far[2];
        for (uint32_t c = 0; c < a.dim; c += LANES) {
            StoreRows(toGm[which][to + c], rounded[c * TOP], high, LeastOf(LANES, a.dim - c),
                      static_cast<uint32_t>(far[2]), LANES);
        }
    }

    // A number a row to a block a row.
    __aicore__ inline void Spread(const Local& x, uint32_t tall)
    {
        AscendC::Brcb(blocks, x, static_cast<uint8_t>(tall / 8), AscendC::BrcbRepeatParams(APART, 8 * APART));
    }
    // Columns of 64 less a number a row or, where rows are keys, a number a column.
    __aicore__ inline void Less(const Local& x, const Local& numbers, uint32_t r, uint32_t columns, uint32_t tall)
    {
        if constexpr (!KEYS) Spread(numbers[r], tall);
        for (uint32_t c = 0; c < columns; c++) {
            Local here = x[c * tall * LANES];
            if constexpr (KEYS) {
                AscendC::Sub(here, here, numbers[c * LANES], static_cast<uint64_t>(LANES), static_cast<uint8_t>(tall),
                             Wide(1, 1, 1, 8, 8, 0));
            } else {
                AscendC::Sub(here, here, blocks, static_cast<uint64_t>(LANES), static_cast<uint8_t>(tall),
                             Wide(1, 1, 0, 8, 8, APART));
            }
        }
    }

    // Where the numbers of queries stand, of lse and delta.
    __aicore__ inline uint64_t Number(const GradSteps<KEYS>& step, uint32_t r)
    {
        uint64_t heads = KEYS ? a.heads * a.loops : a.heads, rows = KEYS ? a.others : a.rows;
        return (step.batch * heads + step.Queries()) * rows + r;
    }

    // lse and delta: of the step's queries, or of the task's rows.
    __aicore__ inline void Begin(const GradSteps<KEYS>& step)
    {
        using namespace AscendC;
        if (!KEYS && !step.first) return;
        uint32_t first = First(step), rows = KEYS ? step.width : End(step) - first;
        uint64_t from = Number(step, KEYS ? step.key : step.row + first);
        turn = turns++ % 2;
        WaitFlag<HardEvent::V_MTE2>(ROW_EVENT + turn);
        if (rows > 0) LoadRows(lse[turn], lseGm[from], 1, rows, rows, rows);
        if (KEYS) LoadRows(delta[turn], deltaGm[from], 1, rows, rows, rows);
        SetFlag<HardEvent::MTE2_V>(ROW_EVENT + turn);
        WaitFlag<HardEvent::MTE2_V>(ROW_EVENT + turn);
        if (!KEYS && rows > 0) Delta(step, first, rows, from);
    }

    // delta: the sum of grad * out of each row
    __aicore__ inline void Delta(const GradSteps<KEYS>& step, uint32_t first, uint32_t rows, uint64_t to)
    {
        using namespace AscendC;
        uint32_t columns = CeilOf(a.dim, LANES);
        for (uint32_t r = 0; r < rows; r += TOP) {
            uint32_t e = bands++ % 2, high = LeastOf(TOP, rows - r), tall = CeilOf(high, BAND) * BAND, column = tall * LANES;
            int32_t n = static_cast<int32_t>(columns * column);
            uint64_t row = step.row + first + r;
            WaitFlag<HardEvent::V_MTE2>(e);
            WaitFlag<HardEvent::MTE3_V>(e);
            if (a.dim % LANES > 0) {  // lanes behind the last number
                Zero(p[e], n);
                Zero(ds[e], n);
            }
            SetFlag<HardEvent::V_MTE2>(DELTA_EVENT);
            WaitFlag<HardEvent::V_MTE2>(DELTA_EVENT);
            for (uint32_t c = 0; c < columns; c++) {
                uint32_t numbers = LeastOf(LANES, a.dim - c * LANES);
                LoadRows(p[e][c * column], gradGm[step.batch * a.mine2[0] + step.head * a.mine2[1] + row * a.mine2[2] +
                                                  c * LANES], high, numbers, a.mine2[2], LANES);
                LoadRows(ds[e][c * column], outGm[step.batch * a.out[0] + step.head * a.out[1] + row * a.out[2] +
                                                  c * LANES], high, numbers, a.out[2], LANES);
            }
            SetFlag<HardEvent::MTE2_V>(e);
            WaitFlag<HardEvent::MTE2_V>(e);
            Cast(s[e], p[e], RoundMode::CAST_NONE, n);
            Cast(d[e], ds[e], RoundMode::CAST_NONE, n);
            Mul(s[e], s[e], d[e], n);
            BlockReduceSum<float>(t, s[e], columns * tall, LANES, 1, 1, 8);
            if (columns == 2) Add(t, t, t[tall * BLOCK], static_cast<int32_t>(tall * BLOCK));
            BlockReduceSum<float>(delta[turn][r], t, tall / 8, LANES, 1, 1, 8);
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::MTE3_V>(e);
        }
        uint32_t e = bands++ % 2;  // the same turns for s and p
        WaitFlag<HardEvent::V_MTE2>(e);
        WaitFlag<HardEvent::MTE3_V>(e);
        Local out = p[e].template ReinterpretCast<float>();
        Adds(out, delta[turn], 0.0f, static_cast<int32_t>(HALF));
        SetFlag<HardEvent::V_MTE2>(e);
        SetFlag<HardEvent::V_MTE3>(e);
        WaitFlag<HardEvent::V_MTE3>(e);
        StoreRows(deltaGm[to], out, 1, rows, rows, rows);
        SetFlag<HardEvent::MTE3_V>(e);
    }

    __aicore__ inline void Scores(const GradSteps<KEYS>& step)
    {
        using namespace AscendC;
        uint32_t first = First(step), end = End(step), columns = CeilOf(step.width, LANES), number = step.Number();
        uint32_t most = LeastOf(HALF, ROOM / columns / BAND * BAND);  // rows of a band
        Begin(step);
        CrossCoreWaitFlag(S_READY);
        for (uint32_t r = first; r < end; r += most) {
            uint32_t e = bands++ % 2, high = LeastOf(most, end - r), tall = CeilOf(high, BAND) * BAND, column = tall * LANES;
            int32_t n = static_cast<int32_t>(columns * column);
            WaitFlag<HardEvent::V_MTE2>(e);
            Load(s[e], slots.S(0, block, number) + r * a.wide, high, step.width, column);
            Load(d[e], slots.S(1, block, number) + r * a.wide, high, step.width, column);
            SetFlag<HardEvent::MTE2_V>(e);
            if (a.masked) LoadMask(step, r, high, columns, column);
            WaitFlag<HardEvent::MTE2_V>(e);
            WaitFlag<HardEvent::MTE3_V>(e);
            Muls(s[e], s[e], a.scale, n);
            if (a.masked) Mask(e, n);
            Hide(s[e], step, r, columns, tall);
            Less(s[e], lse[turn], r - first, columns, tall);
            Exp(s[e], s[e], n);
            Less(d[e], delta[turn], r - first, columns, tall);
            Mul(d[e], d[e], s[e], n);
            Made(0, ds[e], d[e], r, number, columns, tall);
            if constexpr (KEYS) Made(1, p[e], s[e], r, number, columns, tall);
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::MTE3_V>(e);
        }
        if (KEYS || step.last) SetFlag<HardEvent::V_MTE2>(ROW_EVENT + turn);
        CrossCoreSetFlag<0x2, PIPE_MTE3>(P_READY);
    }
    __aicore__ inline void Load(const Local& to, uint64_t from, uint32_t high, uint32_t width, uint32_t column)
    {
        for (uint32_t c = 0; c < width; c += LANES)
            LoadRows(to[c / LANES * column], work[from + c], high, LeastOf(LANES, width - c), a.wide, LANES);
    }
    // To the cube core, in fractals, as in the forward pass.
    __aicore__ inline void Made(uint32_t which, const AscendC::LocalTensor<T>& to, const Local& from, uint32_t r,
                                uint32_t number, uint32_t columns, uint32_t tall)
    {
        using namespace AscendC;
        Cast(to, from, RoundMode::CAST_RINT, static_cast<uint64_t>(LANES), static_cast<uint8_t>(columns * tall),
             UnaryRepeatParams(columns * tall, 1, 1, 8));
        SetFlag<HardEvent::V_MTE3>(which);
        WaitFlag<HardEvent::V_MTE3>(which);
        DataCopyPad(pGm[slots.P(which, block, number) * (sizeof(float) / sizeof(T)) + r * LINE], to,
                    DataCopyExtParams(columns * (LANES / LINE), tall * BLOCK_BYTES, 0, (TALL - tall) * BLOCK_BYTES, 0));
    }

    // ---- masks, as in the forward pass; of keys their rows are keys

    template <typename M>
    __aicore__ inline void LoadMask(const AscendC::LocalTensor<M>& to, const AscendC::GlobalTensor<M>& gm,
                                    const GradSteps<KEYS>& step, uint32_t r, uint32_t high, uint32_t columns,
                                    uint32_t column)
    {
        uint64_t from = step.batch * a.mask[0] + step.Queries() * a.mask[1] + (step.row + r) * a.mask[2] + step.key;
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t width = LeastOf(LANES, step.width - c * LANES);
            if (a.mask[2] >= width) {
                LoadRows(to[c * column], gm[from + c * LANES], high, width, a.mask[2], LANES);
            } else {  // one row for all
                for (uint32_t i = 0; i < high; i++)
                    LoadRows(to[c * column + i * LANES], gm[from + i * a.mask[2] + c * LANES], 1, width, width, LANES);
            }
        }
    }
    __aicore__ inline void LoadMask(const GradSteps<KEYS>& step, uint32_t r, uint32_t high, uint32_t columns,
                                    uint32_t column)
    {
        using namespace AscendC;
        WaitFlag<HardEvent::V_MTE2>(MASK_EVENT);
        if (a.masked == 1) {
            LoadMask(seen, seenGm, step, r, high, columns, column);
        } else {
            LoadMask(added, addedGm, step, r, high, columns, column);
        }
        SetFlag<HardEvent::MTE2_V>(MASK_EVENT);
    }
    __aicore__ inline void Mask(uint32_t e, int32_t n)
    {
        using namespace AscendC;
        WaitFlag<HardEvent::MTE2_V>(MASK_EVENT);
        if (a.masked == 1) {
            LocalTensor<half> halves = p[e].template ReinterpretCast<half>();  // p is made later
            Cast(halves, seen, RoundMode::CAST_NONE, n);
            Cast(wide, halves, RoundMode::CAST_NONE, n);
            Adds(wide, wide, -1.0f, n);
            Muls(wide, wide, -UNSEEN, n);
        } else {
            Cast(wide, added, RoundMode::CAST_NONE, n);
        }
        SetFlag<HardEvent::V_MTE2>(MASK_EVENT);
        Add(s[e], s[e], wide, n);
    }
    // Keys behind a query, where the mask is causal. Lanes behind the last need nothing: the products leave them out.
    __aicore__ inline void Hide(const Local& x, const GradSteps<KEYS>& step, uint32_t r, uint32_t columns, uint32_t tall)
    {
        using namespace AscendC;
        for (uint32_t g = 0; a.causal && g < tall; g += BAND) {
            for (uint32_t c = 0; c < columns; c++) {
                int32_t far = static_cast<int32_t>(step.row + r + g) - static_cast<int32_t>(step.key + c * LANES);
                int32_t lanes = static_cast<int32_t>(LANES), band = static_cast<int32_t>(BAND);
                Local here = x[(c * tall + g) * LANES];
                if (KEYS ? far >= lanes : far <= -band) {
                    Duplicate(here, UNSEEN, band * lanes);
                } else if (KEYS ? far > -band : far < lanes) {
                    Add(here, here, stairs[KEYS ? lanes - far : 48 - far], static_cast<uint64_t>(LANES), BAND,
                        Wide(1, 1, 1, 8, 8, 16));
                }
            }
        }
    }

    // The sums of a task, rounded.
    __aicore__ inline void Finish(const GradSteps<KEYS>& step)
    {
        using namespace AscendC;
        CrossCoreWaitFlag(O_READY);
        for (uint32_t which = 0; which < 1 + KEYS; which++) {
            for (uint32_t r = First(step); r < End(step); r += TOP) {
                uint32_t high = LeastOf(TOP, End(step) - r);
                uint64_t from = slots.Sum(which, block, step.Task()) + r * slots.pitch;
                WaitFlag<HardEvent::V_MTE2>(SUM_EVENT);
                for (uint32_t c = 0; c < a.dim; c += LANES) {
                    LoadRows(o[c * TOP], work[from + c], high, LeastOf(LANES, a.dim - c), slots.pitch, LANES);
                }
                SetFlag<HardEvent::MTE2_V>(SUM_EVENT);
                WaitFlag<HardEvent::MTE2_V>(SUM_EVENT);
                if (which == 0) Muls(o, o, a.scale, static_cast<int32_t>(TOP * slots.pitch));
                WaitFlag<HardEvent::MTE3_V>(2);
                Cast(rounded, o, RoundMode::CAST_RINT, static_cast<int32_t>(TOP * slots.pitch));
                SetFlag<HardEvent::V_MTE2>(SUM_EVENT);
                SetFlag<HardEvent::V_MTE3>(2);
                WaitFlag<HardEvent::V_MTE3>(2);
                Store(which, step, r, high);
                SetFlag<HardEvent::MTE3_V>(2);
            }
        }
    }
};
