// Attention on cube and vector cores: the vector cores' part. See attention.asc.
#pragma once
#include "attention_steps.h"

// AIV: the softmax of its half of the rows, in bands of BAND rows, and the sum of O.
// A band of scores lies in UB as columns of 64: [column][row][64], so that one instruction goes over all of it.
template <typename T> class AttentionVector {
    static constexpr uint32_t COLUMN = BAND * LANES, HALF = TALL / 2, O_EVENT = 2, MASK_EVENT = 4;
    using Local = AscendC::LocalTensor<float>;
    using Wide = AscendC::BinaryRepeatParams;
    const Attention& a;
    Slots slots;
    uint32_t block, side, row, upper, bands = 0, stores = 0, sums = 0;
    AscendC::GlobalTensor<float> work;
    AscendC::GlobalTensor<T> pGm, outGm, addedGm;
    AscendC::GlobalTensor<uint8_t> seenGm;
    GM_ADDR lengths;
    AscendC::LocalTensor<T> p[2], added;
    AscendC::LocalTensor<uint8_t> seen;
    Local s[2], o[2], t, acc, most[2], sum[2], alpha[2], stat, blocks, stairs;

public:
    __aicore__ inline AttentionVector(GM_ADDR mask, GM_ADDR lengths, GM_ADDR out, GM_ADDR workspace, const Attention& a)
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
        row = slots.pitch / 8;
        // 64 KB of scores, then what is made of them: an instruction that reads one bank of 64 KB and writes another is
        // faster
        Room room;
        for (uint32_t i = 0; i < 2; i++) s[i] = room.Take<float>(TPosition::VECIN, BAND * WIDE);
        for (uint32_t i = 0; i < 2; i++) {
            p[i] = room.Take<T>(TPosition::VECOUT, BAND * WIDE);
            o[i] = room.Take<float>(TPosition::VECIN, BAND * slots.pitch);
        }
        t = room.Take<float>(TPosition::VECCALC, BAND * WIDE / 2);
        acc = room.Take<float>(TPosition::VECCALC, HALF * slots.pitch);
        for (uint32_t i = 0; i < 2; i++) {
            most[i] = room.Take<float>(TPosition::VECCALC, HALF);
            sum[i] = room.Take<float>(TPosition::VECCALC, HALF);
            alpha[i] = room.Take<float>(TPosition::VECCALC, HALF);
        }
        stat = room.Take<float>(TPosition::VECCALC, BAND);
        blocks = room.Take<float>(TPosition::VECCALC, BAND * WIDE / 8);
        if (a.causal) stairs = room.Take<float>(TPosition::VECCALC, BAND * 2 * LANES);
        uint32_t here = room.at;  // one mask or the other
        added = room.Take<T>(TPosition::VECIN, BAND * WIDE);
        seen = AscendC::LocalTensor<uint8_t>(TPosition::VECIN, here, BAND * WIDE);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        for (uint32_t i = 0; i < 2; i++) {  // rows and columns that nobody brings are computed with, and thrown away
            Zero(s[i], BAND * WIDE);
            Zero(o[i], BAND * slots.pitch);
        }
        if (a.masked) Zero(added, BAND * WIDE);
        if (a.causal) Build();
        for (uint32_t e = 0; e <= MASK_EVENT; e++) SetFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e < 2; e++) SetFlag<HardEvent::MTE3_V>(e);
        if (a.pageSize > 0) Clear();
        Steps now(a, lengths, block), before(a, lengths, block);
        bool any = false;
        while (now.Next()) {
            Softmax(now);
            if (any) {
                before.Next();
                Collect(before);
            }
            any = true;
        }
        if (before.Next()) Collect(before);
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
                Store(all, r, LeastOf(BAND, End(all) - r), 0);
        }
        SetFlag<HardEvent::MTE3_V>(0);
    }

    __aicore__ inline void Store(const Steps& step, uint32_t r, uint32_t high, uint32_t e)
    {
        StoreRows(outGm[step.batch * a.out[0] + step.head * a.out[1] + (step.row + r) * a.out[2]], p[e], high, a.dim,
                  static_cast<uint32_t>(a.out[2]), slots.pitch);
    }

    __aicore__ inline void Softmax(const Steps& step)
    {
        using namespace AscendC;
        uint32_t first = First(step), end = End(step), columns = CeilOf(step.width, LANES), number = step.Number();
        uint64_t from = slots.S(block, number), to = slots.P(block, number) * (sizeof(float) / sizeof(T));
        CrossCoreWaitFlag(S_READY);
        for (uint32_t r = first; r < end; r += BAND) {
            uint32_t e = bands++ % 2, high = LeastOf(BAND, end - r);
            WaitFlag<HardEvent::V_MTE2>(e);
            for (uint32_t c = 0; c < columns; c++) {
                LoadRows(s[e][c * COLUMN], work[from + r * a.wide + c * LANES], high,
                         LeastOf(LANES, step.width - c * LANES), a.wide, LANES);
            }
            SetFlag<HardEvent::MTE2_V>(e);
            if (a.masked) LoadMask(step, r, high, columns);
            WaitFlag<HardEvent::MTE2_V>(e);
            WaitFlag<HardEvent::MTE3_V>(e);
            Muls(s[e], s[e], a.scale, static_cast<int32_t>(columns * COLUMN));
            if (a.masked) Mask(e, columns);
            Hide(s[e], step, r, columns);
            Exponents(e, r - first, number, step.first, columns);
            Cast(p[e], s[e], RoundMode::CAST_RINT, static_cast<int32_t>(columns * COLUMN));
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::V_MTE3>(e);
            WaitFlag<HardEvent::V_MTE3>(e);
            for (uint32_t c = 0; c < columns; c++) {
                StoreRows(pGm[to + r * a.wide + c * LANES], p[e][c * COLUMN], high,
                          LeastOf(LANES, step.width - c * LANES), a.wide, LANES);
            }
            SetFlag<HardEvent::MTE3_V>(e);
        }
        CrossCoreSetFlag<0x2, PIPE_MTE3>(P_READY);
    }

    // ---- masks

    template <typename M>
    __aicore__ inline void LoadMask(const AscendC::LocalTensor<M>& to, const AscendC::GlobalTensor<M>& gm,
                                    const Steps& step, uint32_t r, uint32_t high, uint32_t columns)
    {
        uint64_t from = step.batch * a.mask[0] + step.head * a.mask[1] + (step.row + r) * a.mask[2] + step.key;
        for (uint32_t c = 0; c < columns; c++) {
            uint32_t wide = LeastOf(LANES, step.width - c * LANES);
            if (a.mask[2] >= wide) {
                LoadRows(to[c * COLUMN], gm[from + c * LANES], high, wide, a.mask[2], LANES);
            } else {  // one row for all
                for (uint32_t i = 0; i < high; i++)
                    LoadRows(to[c * COLUMN + i * LANES], gm[from + i * a.mask[2] + c * LANES], 1, wide, wide, LANES);
            }
        }
    }
    __aicore__ inline void LoadMask(const Steps& step, uint32_t r, uint32_t high, uint32_t columns)
    {
        using namespace AscendC;
        WaitFlag<HardEvent::V_MTE2>(MASK_EVENT);
        if (a.masked == 1) {
            LoadMask(seen, seenGm, step, r, high, columns);
        } else {
            LoadMask(added, addedGm, step, r, high, columns);
        }
        SetFlag<HardEvent::MTE2_V>(MASK_EVENT);
    }

    __aicore__ inline void Mask(uint32_t e, uint32_t columns)
    {
        using namespace AscendC;
        LocalTensor<half> halves = p[e].template ReinterpretCast<half>();  // p is made later
        WaitFlag<HardEvent::MTE2_V>(MASK_EVENT);
        if (a.masked == 1) Cast(halves, seen, RoundMode::CAST_NONE, static_cast<int32_t>(columns * COLUMN));
        for (uint32_t c = 0; c < columns; c += WIDE / LANES / 2) {  // t has half of the columns
            int32_t n = static_cast<int32_t>(LeastOf(WIDE / LANES / 2, columns - c) * COLUMN);
            if (a.masked == 1) {
                Cast(t, halves[c * COLUMN], RoundMode::CAST_NONE, n);
                Adds(t, t, -1.0f, n);
                Muls(t, t, -UNSEEN, n);
            } else {
                Cast(t, added[c * COLUMN], RoundMode::CAST_NONE, n);
            }
            Add(s[e][c * COLUMN], s[e][c * COLUMN], t, n);
        }
        SetFlag<HardEvent::V_MTE2>(MASK_EVENT);
    }

    // What a row must not see: keys behind its own, where the mask is causal, and lanes behind the last key.
    __aicore__ inline void Hide(const Local& x, const Steps& step, uint32_t r, uint32_t columns)
    {
        using namespace AscendC;
        if (a.causal) {
            for (uint32_t c = 0; c < columns; c++) {
                int32_t d = static_cast<int32_t>(step.row + r) - static_cast<int32_t>(step.key + c * LANES);
                if (d <= -static_cast<int32_t>(BAND)) {
                    Duplicate(x[c * COLUMN], UNSEEN, static_cast<int32_t>((columns - c) * COLUMN));
                    break;
                }
                if (d < static_cast<int32_t>(LANES)) {
                    Add(x[c * COLUMN], x[c * COLUMN], stairs[48 - d], static_cast<uint64_t>(LANES), BAND,
                        Wide(1, 1, 1, 8, 8, 16));
                }
            }
        }
        if (step.width % LANES > 0) {
            uint64_t lanes[2] = {~((uint64_t(1) << step.width % LANES) - 1), 0};
            Duplicate(x[(columns - 1) * COLUMN], UNSEEN, lanes, BAND, 1, 8);
        }
    }

    // ---- softmax of a band

    // The largest of each row, or the sum: eight lanes to one, then columns in halves, then the last eight.
    template <bool LARGEST> __aicore__ inline void Reduce(const Local& to, const Local& x, uint32_t columns)
    {
        using namespace AscendC;
        constexpr uint32_t EIGHTH = COLUMN / 8;
        Eighths<LARGEST>(t, x, columns * BAND);
        for (uint32_t left = columns; left > 1;) {
            uint32_t keep = CeilOf(left, 2);
            int32_t n = static_cast<int32_t>((left - keep) * EIGHTH);
            if constexpr (LARGEST) {
                Max(t, t, t[keep * EIGHTH], n);
            } else {
                Add(t, t, t[keep * EIGHTH], n);
            }
            left = keep;
        }
        Eighths<LARGEST>(to, t, BAND / 8);
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
    __aicore__ inline void Exponents(uint32_t e, uint32_t r, uint32_t number, bool first, uint32_t columns)
    {
        using namespace AscendC;
        Local now = most[number % 2][r], total = sum[number % 2][r], factor = alpha[number % 2][r],
              before = most[(number + 1) % 2][r];
        Reduce<true>(stat, s[e], columns);
        if (first) {
            Maxs(now, stat, FLOOR, static_cast<int32_t>(BAND));
        } else {
            Max(now, before, stat, static_cast<int32_t>(BAND));
            Sub(factor, before, now, static_cast<int32_t>(BAND));
            Exp(factor, factor, static_cast<int32_t>(BAND));
        }
        Brcb(blocks, now, BAND / 8, BrcbRepeatParams(1, 8));
        Repeat(blocks, BAND * 8, columns);
        Sub(s[e], s[e], blocks, static_cast<uint64_t>(LANES), columns * BAND, Wide(1, 1, 0, 8, 8, 1));
        Exp(s[e], s[e], static_cast<int32_t>(columns * COLUMN));
        Reduce<false>(stat, s[e], columns);
        if (first) {
            Adds(total, stat, 0.0f, static_cast<int32_t>(BAND));
        } else {
            Mul(total, sum[(number + 1) % 2][r], factor, static_cast<int32_t>(BAND));
            Add(total, total, stat, static_cast<int32_t>(BAND));
        }
    }

    // ---- acc = acc * alpha + O, and at the end of a task out = acc / sum

    __aicore__ inline void Collect(const Steps& step)
    {
        using namespace AscendC;
        uint32_t first = First(step), end = End(step), number = step.Number(), which = number % 2;
        uint64_t from = slots.O(block, number);
        CrossCoreWaitFlag(O_READY);
        for (uint32_t r = first; r < end; r += BAND) {
            uint32_t i = sums++ % 2, high = LeastOf(BAND, end - r), n = BAND * slots.pitch;
            Local mine = acc[(r - first) * slots.pitch];
            WaitFlag<HardEvent::V_MTE2>(O_EVENT + i);
            LoadRows(o[i], work[from + r * slots.pitch], high, a.dim, slots.pitch, slots.pitch);
            SetFlag<HardEvent::MTE2_V>(O_EVENT + i);
            WaitFlag<HardEvent::MTE2_V>(O_EVENT + i);
            if (step.first) {
                Adds(mine, o[i], 0.0f, static_cast<int32_t>(n));
            } else {
                Brcb(blocks, alpha[which][r - first], BAND / 8, BrcbRepeatParams(1, 8));
                for (uint32_t c = 0; c < slots.pitch; c += LANES)
                    Mul(mine[c], mine[c], blocks, static_cast<uint64_t>(LANES), BAND, Wide(1, 1, 0, row, row, 1));
                Add(mine, mine, o[i], static_cast<int32_t>(n));
            }
            SetFlag<HardEvent::V_MTE2>(O_EVENT + i);
            if (step.last) Finish(step, r, r - first, high, which);
        }
    }

    __aicore__ inline void Finish(const Steps& step, uint32_t r, uint32_t own, uint32_t high, uint32_t which)
    {
        using namespace AscendC;
        uint32_t e = bands++ % 2;
        Local mine = acc[own * slots.pitch];
        // a row that sees no key gives zeros
        Maxs(sum[which][own], sum[which][own], 1e-30f, static_cast<int32_t>(BAND));
        Brcb(blocks, sum[which][own], BAND / 8, BrcbRepeatParams(1, 8));
        for (uint32_t c = 0; c < slots.pitch; c += LANES)
            Div(mine[c], mine[c], blocks, static_cast<uint64_t>(LANES), BAND, Wide(1, 1, 0, row, row, 1));
        WaitFlag<HardEvent::MTE3_V>(e);
        Cast(p[e], mine, RoundMode::CAST_RINT, static_cast<int32_t>(BAND * slots.pitch));
        SetFlag<HardEvent::V_MTE3>(e);
        WaitFlag<HardEvent::V_MTE3>(e);
        Store(step, r, high, e);
        SetFlag<HardEvent::MTE3_V>(e);
    }
};
