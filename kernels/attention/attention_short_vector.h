// Attention whose keys all fit one block: the vector cores' part. See attention.asc.
#pragma once
#include "attention_short.h"

// The softmax of its half of a step's rows at once. Scores lie in UB as the cube leaves them and takes the shares: in
// columns of 16 keys, [column][row][16], without the lanes that rows of 64 would waste. A column is one row taller than
// it need be: the columns' blocks of a row then lie in different groups of banks.
template <typename T> class ShortVector {
    static constexpr uint32_t LSE = 2, MASK = 2;  // events behind those of the two turns
    using Local = AscendC::LocalTensor<float>;
    using Wide = AscendC::BinaryRepeatParams;
    const ShortAttention& a;
    ShortSlots slots;
    uint32_t block, side;
    AscendC::GlobalTensor<float> work, lseGm;
    AscendC::GlobalTensor<T> pGm, addedGm;
    AscendC::GlobalTensor<uint8_t> seenGm;
    AscendC::LocalTensor<T> p[2], added, rawAdded;
    AscendC::LocalTensor<half> seen;
    AscendC::LocalTensor<uint8_t> rawSeen;
    Local s[2], pairs, most, sum, inverse, ones, log, blocks;
    uint64_t shown = ~uint64_t(0);  // whose mask lies there
    bool anew = false;

public:
    __aicore__ inline ShortVector(GM_ADDR mask, GM_ADDR lse, GM_ADDR workspace, const ShortAttention& a)
            : a(a),
              slots{CeilOf(a.keys, SIDE), a.most},
              block(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()),
              side(AscendC::GetSubBlockIdx())
    {
        using AscendC::TPosition;
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        seenGm.SetGlobalBuffer((__gm__ uint8_t*)mask);
        addedGm.SetGlobalBuffer((__gm__ T*)mask);
        lseGm.SetGlobalBuffer((__gm__ float*)lse);
        uint32_t tall = a.most / 2, size = slots.columns * (tall + 1) * SIDE;
        Room at;
        for (uint32_t i = 0; i < 2; i++) {
            at.Whole();
            s[i] = at.Take<float>(TPosition::VECIN, size);
        }
        for (uint32_t i = 0; i < 2; i++) {
            at.Whole();
            p[i] = at.Take<T>(TPosition::VECOUT, slots.columns > 1 ? size : 2 * size);  // also a column of float
        }
        pairs = at.Take<float>(TPosition::VECCALC, tall * EIGHT);
        most = at.Take<float>(TPosition::VECCALC, tall);
        sum = at.Take<float>(TPosition::VECCALC, tall);
        inverse = at.Take<float>(TPosition::VECCALC, tall);
        ones = at.Take<float>(TPosition::VECCALC, tall);
        log = at.Take<float>(TPosition::VECOUT, tall);
        at.Whole();
        at.at += BLOCK_BYTES;  // in another half of the groups than the scores' block that it meets
        blocks = at.Take<float>(TPosition::VECCALC, tall * 2 * EIGHT);
        if (!a.masked) return;
        at.Whole();
        uint32_t here = at.at;  // one mask or the other
        added = at.Take<T>(TPosition::VECCALC, size);
        seen = AscendC::LocalTensor<half>(TPosition::VECCALC, here, size);
        here = at.at;
        rawAdded = AscendC::LocalTensor<T>(TPosition::VECIN, here, tall * Pitch<T>());
        rawSeen = AscendC::LocalTensor<uint8_t>(TPosition::VECIN, here, tall * Pitch<uint8_t>());
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        // rows that nobody brings are computed with, and thrown away
        for (uint32_t i = 0; i < 2; i++) Zero(s[i], static_cast<int32_t>(s[i].GetSize()));
        Duplicate(ones, 1.0f, static_cast<int32_t>(a.most / 2));
        if (a.masked) {
            if (a.masked == 1) Zero(rawSeen.template ReinterpretCast<int16_t>(), static_cast<int32_t>(a.most / 2 * Pitch<uint8_t>() / 2));
            if (a.masked == 2) Zero(rawAdded, static_cast<int32_t>(a.most / 2 * Pitch<T>()));
            Zero(seen.template ReinterpretCast<int16_t>(), static_cast<int32_t>(seen.GetSize()));
        }
        for (uint32_t e = 0; e <= MASK; e++) SetFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e <= LSE; e++) SetFlag<HardEvent::MTE3_V>(e);
        ShortSteps next(a, block);
        bool more = next.Next();
        if (more) Load(next);
        while (more) {
            ShortSteps now = next;
            Softmax(now);
            more = next.Next();
            if (more) Load(next);
        }
        for (uint32_t e = 0; e <= MASK; e++) WaitFlag<HardEvent::V_MTE2>(e);
        for (uint32_t e = 0; e <= LSE; e++) WaitFlag<HardEvent::MTE3_V>(e);
    }

private:
    // Rows [First, First + Mine) of the step are this core's.
    __aicore__ inline uint32_t Half(const ShortSteps& step) { return LeastOf(step.high, CeilOf(step.high, 2 * EIGHT) * EIGHT); }
    __aicore__ inline uint32_t First(const ShortSteps& step) { return side == 0 ? 0 : Half(step); }
    __aicore__ inline uint32_t Mine(const ShortSteps& step) { return side == 0 ? Half(step) : step.high - Half(step); }

    __aicore__ inline void Load(const ShortSteps& step)
    {
        using namespace AscendC;
        uint32_t e = step.Number() % 2, mine = Mine(step), tall = CeilOf(mine, EIGHT) * EIGHT;
        if (a.masked && mine > 0) LoadMask(step, mine);
        CrossCoreWaitFlag(SCORES_READY);
        if (mine == 0) return;
        WaitFlag<HardEvent::V_MTE2>(e);
        DataCopy(s[e], work[slots.Scores(block, step.Number()) + First(step) * SIDE],
                 DataCopyParams(slots.columns, mine * 2, (a.most - mine) * 2, (tall + 1 - mine) * 2));
        SetFlag<HardEvent::MTE2_V>(e);
    }

    __aicore__ inline void Softmax(const ShortSteps& step)
    {
        using namespace AscendC;
        uint32_t e = step.Number() % 2, mine = Mine(step), tall = CeilOf(mine, EIGHT) * EIGHT, size = (tall + 1) * SIDE;
        if (mine > 0) {
            int32_t n = static_cast<int32_t>(slots.columns * size);
            Local x = s[e], t = p[e].template ReinterpretCast<float>();
            WaitFlag<HardEvent::MTE2_V>(e);
            Muls(x, x, a.scale, n);
            WaitFlag<HardEvent::MTE3_V>(e);
            if (a.masked) Mask(x, t, tall);
            if (a.keys % SIDE > 0) {  // lanes behind the last key
                uint64_t lane = (uint64_t(1) << SIDE) - (uint64_t(1) << a.keys % SIDE), lanes[2] = {lane * 0x1000100010001, 0};
                Duplicate(x[(slots.columns - 1) * size], UNSEEN, lanes, tall / 4, 1, 8);
            }
            Fold<true>(most, x, t, tall);
            if (a.masked) Maxs(most, most, FLOOR, static_cast<int32_t>(tall));
            Spread(most, tall);
            for (uint32_t c = 0; c < slots.columns; c += EIGHT) {
                Sub(x[c * size], x[c * size], blocks, Lanes(c), 2 * tall, Rows(tall));
            }
            Exp(x, x, n);
            Fold<false>(sum, x, t, tall);
            if (a.masked) Maxs(sum, sum, 1e-30f, static_cast<int32_t>(tall));  // a row that sees no key gives zeros
            Div(inverse, ones, sum, static_cast<int32_t>(tall));
            Spread(inverse, tall);
            for (uint32_t c = 0; c < slots.columns; c += EIGHT) {
                Mul(x[c * size], x[c * size], blocks, Lanes(c), 2 * tall, Rows(tall));
            }
            Cast(p[e], x, RoundMode::CAST_RINT, n);
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::V_MTE3>(e);
            WaitFlag<HardEvent::V_MTE3>(e);
            DataCopy(pGm[slots.Shares(block, step.Number()) + First(step) * SIDE], p[e],
                     DataCopyParams(slots.columns, mine, tall + 1 - mine, a.most - mine));
            SetFlag<HardEvent::MTE3_V>(e);
        }
        CrossCoreSetFlag<0x2, PIPE_MTE3>(SHARES_READY);
        if (a.keepsLse && mine > 0) StoreLse(step, mine, tall);
    }

    // The logarithm of the sum of exp(score) of each row, from which a backward pass makes the shares again.
    __aicore__ inline void StoreLse(const ShortSteps& step, uint32_t mine, uint32_t tall)
    {
        using namespace AscendC;
        WaitFlag<HardEvent::MTE3_V>(LSE);
        Ln(log, sum, static_cast<int32_t>(tall));
        Add(log, log, most, static_cast<int32_t>(tall));
        SetFlag<HardEvent::V_MTE3>(LSE);
        WaitFlag<HardEvent::V_MTE3>(LSE);
        StoreRows(lseGm[(static_cast<uint64_t>(step.batch) * a.heads + step.head) * a.rows + step.row + First(step)], log, 1,
                  mine, mine, mine);
        SetFlag<HardEvent::MTE3_V>(LSE);
    }

    // ---- rows and columns

    template <bool LARGEST> __aicore__ inline void Either(const Local& to, const Local& x, const Local& y, uint32_t n)
    {
        if constexpr (LARGEST) {
            AscendC::Max(to, x, y, static_cast<int32_t>(n));
        } else {
            AscendC::Add(to, x, y, static_cast<int32_t>(n));
        }
    }

    // The largest of each row, or the sum: columns in halves, then a row's two blocks, then the lanes of one.
    template <bool LARGEST>
    __aicore__ inline void Fold(const Local& to, const Local& x, const Local& t, uint32_t tall)
    {
        using namespace AscendC;
        uint32_t columns = slots.columns, size = (tall + 1) * SIDE, left = columns / 2;
        if (left > 0) Either<LARGEST>(t, x, x[left * size], left * size);
        while (left > 1) {
            uint32_t keep = CeilOf(left, 2);
            Either<LARGEST>(t, t, t[keep * size], (left - keep) * size);
            left = keep;
        }
        if (columns % 2 > 0 && columns > 1) Either<LARGEST>(t, t, x[(columns - 1) * size], size);
        Local row = columns > 1 ? t : x;
        uint8_t repeats = tall / EIGHT;
        if constexpr (LARGEST) {
            Max(pairs, row, row[EIGHT], static_cast<uint64_t>(LANES), repeats, Wide(1, 2, 2, 8, 16, 16));
            BlockReduceMax<float>(to, pairs, repeats, LANES, 1, 1, 8);
        } else {
            Add(pairs, row, row[EIGHT], static_cast<uint64_t>(LANES), repeats, Wide(1, 2, 2, 8, 16, 16));
            BlockReduceSum<float>(to, pairs, repeats, LANES, 1, 1, 8);
        }
    }

    // A number a row to two blocks a row, for an instruction whose repeats are half rows of eight columns.
    __aicore__ inline void Spread(const Local& x, uint32_t tall)
    {
        AscendC::Brcb(blocks, x, static_cast<uint8_t>(tall / EIGHT), AscendC::BrcbRepeatParams(2, 2 * EIGHT));
        AscendC::Brcb(blocks[EIGHT], x, static_cast<uint8_t>(tall / EIGHT), AscendC::BrcbRepeatParams(2, 2 * EIGHT));
    }
    __aicore__ inline uint64_t Lanes(uint32_t column) { return LeastOf(EIGHT, slots.columns - column) * EIGHT; }
    __aicore__ inline Wide Rows(uint32_t tall)
    {
        uint8_t apart = 2 * (tall + 1);
        return Wide(apart, apart, 0, 1, 1, 1);
    }

    // ---- masks

    template <typename M> __aicore__ inline uint32_t Pitch() { return CeilOf(a.keys * sizeof(M), BLOCK_BYTES) * BLOCK_BYTES / sizeof(M); }

    // Heads that follow each other often have one mask: then it stays.
    __aicore__ inline void LoadMask(const ShortSteps& step, uint32_t mine)
    {
        using namespace AscendC;
        uint64_t from = step.batch * a.mask[0] + step.head * a.mask[1] + (step.row + First(step)) * a.mask[2];
        uint64_t key = from * 2 * SHORT + mine;
        anew = key != shown;
        if (!anew) return;
        shown = key;
        WaitFlag<HardEvent::V_MTE2>(MASK);
        uint32_t tall = a.mask[2] == 0 ? 1 : mine;
        if (a.masked == 1) {
            LoadRows(rawSeen, seenGm[from], tall, a.keys, tall == 1 ? a.keys : static_cast<uint32_t>(a.mask[2]), Pitch<uint8_t>());
        } else {
            LoadRows(rawAdded, addedGm[from], tall, a.keys, tall == 1 ? a.keys : static_cast<uint32_t>(a.mask[2]), Pitch<T>());
        }
        SetFlag<HardEvent::MTE2_V>(MASK);
    }

    // The mask in columns, as numbers that are added: a byte of 0 becomes -infinity.
    __aicore__ inline void Turn(uint32_t tall)
    {
        using namespace AscendC;
        uint32_t size = (tall + 1) * SIDE, apart = tall + 1;
        WaitFlag<HardEvent::MTE2_V>(MASK);
        for (uint32_t c = 0; c < slots.columns; c += EIGHT) {
            uint64_t lanes = LeastOf(EIGHT, slots.columns - c) * SIDE;
            if (a.masked == 1) {
                uint8_t line = a.mask[2] == 0 ? 0 : Pitch<uint8_t>() / BLOCK_BYTES;
                Cast(seen[c * size], rawSeen[c * SIDE], RoundMode::CAST_NONE, lanes, tall, UnaryRepeatParams(apart, 1, 1, line));
            } else {
                uint16_t line = a.mask[2] == 0 ? 0 : Pitch<T>() / SIDE;
                Copy(added[c * size], rawAdded[c * SIDE], lanes, tall, CopyRepeatParams(apart, 1, 1, line));
            }
        }
        if (a.masked == 1) {
            int32_t n = static_cast<int32_t>(slots.columns * size);
            Adds(seen, seen, static_cast<half>(-1.0f), n);
            Muls(seen, seen, static_cast<half>(60000.0f), n);
            Muls(seen, seen, static_cast<half>(60000.0f), n);
        }
        SetFlag<HardEvent::V_MTE2>(MASK);
    }

    __aicore__ inline void Mask(const Local& x, const Local& t, uint32_t tall)
    {
        using namespace AscendC;
        if (anew) Turn(tall);
        uint32_t size = (tall + 1) * SIDE, some = slots.columns > 1 ? slots.columns / 2 : 1;  // columns that t has room for
        for (uint32_t c = 0; c < slots.columns; c += some) {
            int32_t n = static_cast<int32_t>(LeastOf(some, slots.columns - c) * size);
            if (a.masked == 1) {
                Cast(t, seen[c * size], RoundMode::CAST_NONE, n);
            } else {
                Cast(t, added[c * size], RoundMode::CAST_NONE, n);
            }
            Add(x[c * size], x[c * size], t, n);
        }
    }
};
