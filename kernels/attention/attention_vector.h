// Attention on cube and vector cores: the vector cores' part. See attention.asc.
#pragma once
#include "attention_steps.h"

// AIV: the softmax of its half of the rows, in bands, and the sum of O.
// A band of scores lies in UB as columns of 64: [column][row][64], so that one instruction goes over all of it. Each
// instruction costs 22 cycles more than its repeats, so a band is as tall as its buffer allows: 64 rows of 128 keys, 16
// of 512. What is one number a row (maximum, sum, factor) is done for all rows of the step at once.
template <typename T> class AttentionVector {
    static constexpr uint32_t HALF = TALL / 2, LAG = 2, TURNS = LAG + 1, O_EVENT = 2, MASK_EVENT = 4;
    static constexpr uint32_t TOP = 32;  // rows of O that are added at a time
    // Blocks of one number a row lie eight apart and begin behind eight: the row that is read with one is in the other
    // eight groups of banks.
    static constexpr uint32_t APART = 8, BLOCK = 8;
    using Local = AscendC::LocalTensor<float>;
    using Wide = AscendC::BinaryRepeatParams;
    const Attention& a;
    Slots slots;
    uint32_t block, side, room, bands = 0, sums = 0;
    AscendC::GlobalTensor<float> work, lseGm;
    AscendC::GlobalTensor<T> pGm, outGm, addedGm;
    AscendC::GlobalTensor<uint8_t> seenGm;
    GM_ADDR lengths;
    AscendC::LocalTensor<T> p[2], added;
    AscendC::LocalTensor<uint8_t> seen;
    Local s[2], o[2], t, acc, most[TURNS], sum[TURNS], alpha[TURNS], stat, fresh, blocks, stairs, wide;

public:
    __aicore__ inline AttentionVector(GM_ADDR mask, GM_ADDR lengths, GM_ADDR out, GM_ADDR lse, GM_ADDR workspace,
                                      const Attention& a)
            : a(a),
              lengths(lengths),
              slots{a.wide, CeilOf(a.dim, LANES) * LANES},
              block(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()),
              side(AscendC::GetSubBlockIdx())
    {
        using AscendC::TPosition;
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        outGm.SetGlobalBuffer((__gm__ T*)out);
        seenGm.SetGlobalBuffer((__gm__ uint8_t*)mask);
        addedGm.SetGlobalBuffer((__gm__ T*)mask);
        lseGm.SetGlobalBuffer((__gm__ float*)lse);
        room = a.masked ? MASKED : PLAIN;
        Room at;
        for (uint32_t i = 0; i < 2; i++) s[i] = at.Take<float>(TPosition::VECIN, room * LANES);
        acc = at.Take<float>(TPosition::VECCALC, HALF * slots.pitch);
        for (uint32_t i = 0; i < 2; i++) p[i] = at.Take<T>(TPosition::VECOUT, room * LANES);
        for (uint32_t i = 0; i < 2; i++) o[i] = i && a.causal ? o[0] : at.Take<float>(TPosition::VECIN, TOP * slots.pitch);
        t = at.Take<float>(TPosition::VECCALC, room * BLOCK);
        for (uint32_t i = 0; i < TURNS; i++) {
            most[i] = at.Take<float>(TPosition::VECCALC, HALF);
            sum[i] = at.Take<float>(TPosition::VECCALC, HALF);
            alpha[i] = at.Take<float>(TPosition::VECCALC, HALF);
        }
        stat = at.Take<float>(TPosition::VECCALC, HALF);
        fresh = at.Take<float>(TPosition::VECCALC, HALF);
        at.Apart();
        blocks = at.Take<float>(TPosition::VECCALC, HALF * APART * BLOCK);
        if (a.causal) stairs = at.Take<float>(TPosition::VECCALC, BAND * 2 * LANES);
        if (!a.masked) return;
        wide = at.Take<float>(TPosition::VECCALC, room * LANES);
        uint32_t here = at.at;  // one mask or the other
        added = at.Take<T>(TPosition::VECIN, room * LANES);
        seen = AscendC::LocalTensor<uint8_t>(TPosition::VECIN, here, room * LANES);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        // rows and columns that nobody brings are computed with, and thrown away
        for (uint32_t i = 0; i < 2; i++) Zero(s[i], room * LANES);
        for (uint32_t i = 0; i < 2; i++) Zero(o[i], TOP * slots.pitch);
        Duplicate(stat, 0.0f, HALF);
        Duplicate(fresh, 0.0f, HALF);
        for (uint32_t i = 0; i < TURNS; i++) Duplicate(most[i], FLOOR, HALF);
        for (uint32_t i = 0; i < TURNS; i++) Duplicate(sum[i], 0.0f, HALF);
        for (uint32_t i = 0; i < TURNS; i++) Duplicate(alpha[i], 0.0f, HALF);
        if (a.masked) Zero(added, room * LANES);
        if (a.causal) Build();
        for (uint32_t e = 0; e <= MASK_EVENT; e++) SetFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e < 2; e++) SetFlag<HardEvent::MTE3_V>(e);
        if (a.pageSize > 0) Clear();
        Steps now(a, lengths, block), before(a, lengths, block);
        uint32_t made = 0;
        while (now.Next()) {
            Softmax(now);
            if (++made > LAG && before.Next()) Collect(before);
        }
        while (before.Next()) Collect(before);
        for (uint32_t e = 0; e <= MASK_EVENT; e++) WaitFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e < 2; e++) WaitFlag<HardEvent::MTE3_V>(e);
    }

private:
    // Rows [first, end) of the task are this core's; whole bands for the first of the two.
    __aicore__ inline uint32_t First(const Steps& s)
    {
        return side == 0 ? 0 : LeastOf(s.high, CeilOf(s.high, 2 * BAND) * BAND);
    }
    __aicore__ inline uint32_t End(const Steps& s)
    {
        return side == 0 ? LeastOf(s.high, CeilOf(s.high, 2 * BAND) * BAND) : s.high;
    }

    // stairs[r][x] = x > r + 48 ? UNSEEN : 0. Where the diagonal passes a column of 64 that begins d keys before the
    // band's first row, it is what stands from 48 - d on.
    __aicore__ inline void Build()
    {
        using namespace AscendC;
        Duplicate(stairs, 0.0f, BAND * 2 * LANES);
        for (uint32_t r = 0; r < BAND; r++) {
            uint64_t lanes[2] = {r + 49 < LANES ? ~((uint64_t(1) << (r + 49)) - 1) : 0, 0};
            if (lanes[0] != 0) Duplicate(stairs[r * 2 * LANES], UNSEEN, lanes, 1, 1, 8);
            Duplicate(stairs[r * 2 * LANES + LANES], UNSEEN, static_cast<int32_t>(LANES));
        }
    }

    // Zeros for the tasks without keys, which have no steps.
    __aicore__ inline void Clear()
    {
        using namespace AscendC;
        Steps all(a, lengths, block);
        Zero(p[0], BAND * slots.pitch);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
        while (all.NextTask()) {
            for (uint32_t r = First(all); all.Empty() && r < End(all); r += BAND)
                Store(all, r, LeastOf(BAND, End(all) - r), 0, BAND);
        }
        SetFlag<HardEvent::MTE3_V>(0);
    }

    // Rows of the result, that lie in p as columns of 64 of `tall` rows.
    __aicore__ inline void Store(const Steps& step, uint32_t r, uint32_t high, uint32_t e, uint32_t tall)
    {
        uint64_t to = step.batch * a.out[0] + step.head * a.out[1] + (step.row + r) * a.out[2];
        for (uint32_t c = 0; c < a.dim; c += LANES) {
            StoreRows(outGm[to + c], p[e][c * tall], high, LeastOf(LANES, a.dim - c), static_cast<uint32_t>(a.out[2]),
                      LANES);
        }
    }

    __aicore__ inline void Softmax(const Steps& step)
    {
        using namespace AscendC;
        uint32_t first = First(step), end = End(step), columns = CeilOf(step.width, LANES), number = step.Number();
        uint32_t most = LeastOf(HALF, room / columns / BAND * BAND);  // rows of a band
        uint64_t from = slots.S(block, number), to = slots.P(block, number) * (sizeof(float) / sizeof(T));
        CrossCoreWaitFlag(S_READY);
        for (uint32_t r = first; r < end; r += most) {
            uint32_t e = bands++ % 2, high = LeastOf(most, end - r), tall = CeilOf(high, BAND) * BAND,
                     column = tall * LANES;
            int32_t n = static_cast<int32_t>(columns * column);
            WaitFlag<HardEvent::V_MTE2>(e);
            for (uint32_t c = 0; c < columns; c++) {
                LoadRows(s[e][c * column], work[from + r * a.wide + c * LANES], high,
                         LeastOf(LANES, step.width - c * LANES), a.wide, LANES);
            }
            SetFlag<HardEvent::MTE2_V>(e);
            if (a.masked) LoadMask(step, r, high, columns, column);
            WaitFlag<HardEvent::MTE2_V>(e);
            Muls(s[e], s[e], a.scale, n);
            if (a.masked) {
                WaitFlag<HardEvent::MTE3_V>(e);
                Mask(e, n);
            }
            Hide(s[e], step, r, columns, tall);
            Exponents(e, r - first, number, step.first, columns, tall);
            if (!a.masked) WaitFlag<HardEvent::MTE3_V>(e);
            // 64 numbers of a row go to four fractals: the cube finds its left matrix as it needs it
            Cast(p[e], s[e], RoundMode::CAST_RINT, static_cast<uint64_t>(LANES), static_cast<uint8_t>(columns * tall),
                 UnaryRepeatParams(columns * tall, 1, 1, 8));
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::V_MTE3>(e);
            WaitFlag<HardEvent::V_MTE3>(e);
            DataCopyPad(pGm[to + r * LINE], p[e],
                        DataCopyExtParams(columns * (LANES / LINE), tall * BLOCK_BYTES, 0, (TALL - tall) * BLOCK_BYTES, 0));
            SetFlag<HardEvent::MTE3_V>(e);
        }
        if (first < end) Totals(number, step.first);
        CrossCoreSetFlag<0x2, PIPE_MTE3>(P_READY);
    }

    // ---- masks

    template <typename M>
    __aicore__ inline void LoadMask(const AscendC::LocalTensor<M>& to, const AscendC::GlobalTensor<M>& gm,
                                    const Steps& step, uint32_t r, uint32_t high, uint32_t columns, uint32_t column)
    {
        uint64_t from = step.batch * a.mask[0] + step.head * a.mask[1] + (step.row + r) * a.mask[2] + step.key;
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t wide = LeastOf(LANES, step.width - c * LANES);
            if (a.mask[2] >= wide) {
                LoadRows(to[c * column], gm[from + c * LANES], high, wide, a.mask[2], LANES);
            } else {  // one row for all
                for (uint32_t i = 0; i < high; i++)
                    LoadRows(to[c * column + i * LANES], gm[from + i * a.mask[2] + c * LANES], 1, wide, wide, LANES);
            }
        }
    }
    __aicore__ inline void LoadMask(const Steps& step, uint32_t r, uint32_t high, uint32_t columns, uint32_t column)
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

    // What a row must not see: keys behind its own, where the mask is causal, and lanes behind the last key.
    __aicore__ inline void Hide(const Local& x, const Steps& step, uint32_t r, uint32_t columns, uint32_t tall)
    {
        using namespace AscendC;
        uint32_t column = tall * LANES;
        for (uint32_t g = 0; a.causal && g < tall; g += BAND) {
            for (uint32_t c = 0; c < columns; c++) {
                int32_t d = static_cast<int32_t>(step.row + r + g) - static_cast<int32_t>(step.key + c * LANES);
                Local here = x[c * column + g * LANES];
                if (d <= -static_cast<int32_t>(BAND)) {
                    Duplicate(here, UNSEEN, static_cast<int32_t>(BAND * LANES));
                } else if (d < static_cast<int32_t>(LANES)) {
                    Add(here, here, stairs[48 - d], static_cast<uint64_t>(LANES), BAND, Wide(1, 1, 1, 8, 8, 16));
                }
            }
        }
        if (step.width % LANES > 0) {
            uint64_t lanes[2] = {~((uint64_t(1) << step.width % LANES) - 1), 0};
            Duplicate(x[(columns - 1) * column], UNSEEN, lanes, tall, 1, 8);
        }
    }

    // ---- softmax of a band

    // The largest of each row, or the sum: eight lanes to one, then columns in halves, then the last eight.
    template <bool LARGEST> __aicore__ inline void Reduce(const Local& to, const Local& x, uint32_t columns, uint32_t tall)
    {
        using namespace AscendC;
        uint32_t eighth = tall * BLOCK;
        Eighths<LARGEST>(t, x, columns * tall);
        for (uint32_t left = columns; left > 1;) {
            uint32_t keep = CeilOf(left, 2);
            int32_t n = static_cast<int32_t>((left - keep) * eighth);
            if constexpr (LARGEST) {
                Max(t, t, t[keep * eighth], n);
            } else {
                Add(t, t, t[keep * eighth], n);
            }
            left = keep;
        }
        Eighths<LARGEST>(to, t, tall / 8);
    }
    template <bool LARGEST> __aicore__ inline void Eighths(const Local& to, const Local& x, uint32_t repeats)
    {
        if constexpr (LARGEST) {
            AscendC::BlockReduceMax<float>(to, x, repeats, LANES, 1, 1, 8);
        } else {
            AscendC::BlockReduceSum<float>(to, x, repeats, LANES, 1, 1, 8);
        }
    }

    // s -> exp(s - maximum) for the band from row r of this core on.
    __aicore__ inline void Exponents(uint32_t e, uint32_t r, uint32_t number, bool first, uint32_t columns,
                                     uint32_t tall)
    {
        using namespace AscendC;
        Local now = most[number % TURNS][r], before = most[(number + TURNS - 1) % TURNS][r];
        uint32_t column = tall * LANES;
        Reduce<true>(stat, s[e], columns, tall);
        if (first) {
            Maxs(now, stat, FLOOR, static_cast<int32_t>(tall));
        } else {
            Max(now, before, stat, static_cast<int32_t>(tall));
        }
        Spread(now, tall);
        for (uint32_t c = 0; c < columns; c++) {
            Local x = s[e][c * column];
            Sub(x, x, blocks, static_cast<uint64_t>(LANES), static_cast<uint8_t>(tall), Wide(1, 1, 0, 8, 8, APART));
        }
        Exp(s[e], s[e], static_cast<int32_t>(columns * column));
        Reduce<false>(fresh[r], s[e], columns, tall);
    }
    // A number a row to a block a row.
    __aicore__ inline void Spread(const Local& x, uint32_t tall)
    {
        AscendC::Brcb(blocks, x, static_cast<uint8_t>(tall / 8), AscendC::BrcbRepeatParams(APART, 8 * APART));
    }

    // How much what was summed up so far counts, and the sum of all shares, for each row of the step.
    __aicore__ inline void Totals(uint32_t number, bool first)
    {
        using namespace AscendC;
        uint32_t now = number % TURNS, before = (number + TURNS - 1) % TURNS;
        if (first) {
            Adds(sum[now], fresh, 0.0f, static_cast<int32_t>(HALF));
        } else {
            Sub(alpha[now], most[before], most[now], static_cast<int32_t>(HALF));
            Exp(alpha[now], alpha[now], static_cast<int32_t>(HALF));
            Mul(sum[now], sum[before], alpha[now], static_cast<int32_t>(HALF));
            Add(sum[now], sum[now], fresh, static_cast<int32_t>(HALF));
        }
    }

    // ---- acc = acc * alpha + O, and at the end of a task out = acc / sum

    __aicore__ inline void Collect(const Steps& step)
    {
        using namespace AscendC;
        uint32_t first = First(step), end = End(step), number = step.Number(), which = number % TURNS;
        uint64_t from = slots.O(block, number);
        CrossCoreWaitFlag(O_READY);
        for (uint32_t r = first; r < end; r += TOP) {
            // the stairs of a causal mask leave room for one buffer
            uint32_t i = a.causal ? 0 : sums++ % 2, high = LeastOf(TOP, end - r), tall = CeilOf(high, BAND) * BAND;
            int32_t n = static_cast<int32_t>(tall * LANES);
            WaitFlag<HardEvent::V_MTE2>(O_EVENT + i);
            for (uint32_t c = 0; c < a.dim; c += LANES) {
                LoadRows(o[i][c * TOP], work[from + r * slots.pitch + c], high, LeastOf(LANES, a.dim - c), slots.pitch,
                         LANES);
            }
            SetFlag<HardEvent::MTE2_V>(O_EVENT + i);
            WaitFlag<HardEvent::MTE2_V>(O_EVENT + i);
            if (!step.first) Spread(alpha[which][r - first], tall);
            for (uint32_t c = 0; c < a.dim; c += LANES) {
                Local mine = acc[c * HALF + (r - first) * LANES];
                if (step.first) {
                    Adds(mine, o[i][c * TOP], 0.0f, n);
                } else {
                    Mul(mine, mine, blocks, static_cast<uint64_t>(LANES), static_cast<uint8_t>(tall),
                        Wide(1, 1, 0, 8, 8, APART));
                    Add(mine, mine, o[i][c * TOP], n);
                }
            }
            SetFlag<HardEvent::V_MTE2>(O_EVENT + i);
        }
        if (step.last && first < end) Finish(step, first, end - first, which);
    }

    __aicore__ inline void Finish(const Steps& step, uint32_t first, uint32_t rows, uint32_t which)
    {
        using namespace AscendC;
        // a row that sees no key gives zeros
        Maxs(sum[which], sum[which], 1e-30f, static_cast<int32_t>(HALF));
        for (uint32_t r = 0; r < rows; r += TOP) {
            uint32_t e = bands++ % 2, high = LeastOf(TOP, rows - r), tall = CeilOf(high, BAND) * BAND;
            Spread(sum[which][r], tall);
            WaitFlag<HardEvent::MTE3_V>(e);
            for (uint32_t c = 0; c < a.dim; c += LANES) {
                Local mine = acc[c * HALF + r * LANES];
                Div(mine, mine, blocks, static_cast<uint64_t>(LANES), static_cast<uint8_t>(tall),
                    Wide(1, 1, 0, 8, 8, APART));
                Cast(p[e][c * tall], mine, RoundMode::CAST_RINT, static_cast<int32_t>(tall * LANES));
            }
            SetFlag<HardEvent::V_MTE3>(e);
            WaitFlag<HardEvent::V_MTE3>(e);
            Store(step, first + r, high, e, tall);
            SetFlag<HardEvent::MTE3_V>(e);
        }
        if (a.keepsLse) StoreLse(step, first, rows, which);
    }

    // The logarithm of the sum of exp(score) of each row, from which a backward pass makes the shares again.
    __aicore__ inline void StoreLse(const Steps& step, uint32_t first, uint32_t rows, uint32_t which)
    {
        using namespace AscendC;
        uint32_t e = bands++ % 2;
        Local to = p[e].template ReinterpretCast<float>();
        WaitFlag<HardEvent::MTE3_V>(e);
        Ln(to, sum[which], static_cast<int32_t>(HALF));
        Add(to, to, most[which], static_cast<int32_t>(HALF));
        SetFlag<HardEvent::V_MTE3>(e);
        WaitFlag<HardEvent::V_MTE3>(e);
        StoreRows(lseGm[(static_cast<uint64_t>(step.batch) * a.heads + step.head) * a.rows + step.row + first], to, 1,
                  rows, rows, rows);
        SetFlag<HardEvent::MTE3_V>(e);
    }
};
