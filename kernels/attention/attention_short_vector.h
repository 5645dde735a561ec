// Attention whose keys all fit one block: the vector cores' part. See short_attention.asc.
#pragma once
#include "attention_short.h"

// The softmax of its half of a step's rows at once. Scores lie in UB as the cube leaves them and takes the shares: in
// columns of 16 keys, [column][row][16], without the lanes that rows of 64 would waste. A column's height is odd: a
// row's blocks then lie in different groups of banks, and columns that are four apart in groups that do not meet.
template <typename T> class ShortVector {
    static constexpr uint32_t FOUR = 4;
    static constexpr float FLAT = 60.0f;
    static constexpr uint32_t BANK = 64 * 1024, UB_BYTES = 184 * 1024;
    static constexpr uint32_t LSE = 2, MASK = 2;  // events behind those of the two turns
    using Local = AscendC::LocalTensor<float>;
    using Wide = AscendC::BinaryRepeatParams;
    const ShortAttention& a;
    ShortSlots slots;
    uint32_t block, side, whole;
    AscendC::GlobalTensor<float> work, lseGm;
    AscendC::GlobalTensor<T> pGm, addedGm;
    AscendC::GlobalTensor<uint8_t> seenGm;
    AscendC::LocalTensor<T> p[2], added;
    AscendC::LocalTensor<uint8_t> seen;
    Local s[2], shown, pairs, most, sum, inverse, ones, log, blocks;
    uint64_t whose = ~uint64_t(0);  // the mask that lies there
    bool anew = false;

public:
    __aicore__ inline ShortVector(GM_ADDR mask, GM_ADDR lse, GM_ADDR workspace, const ShortAttention& a)
        : a(a),
          slots{CeilOf(a.keys, SIDE), a.most},
          block(AscendC::GetBlockIdx() / AscendC::GetSubBlockNum()),
          side(AscendC::GetSubBlockIdx()) {
        using AscendC::TPosition;
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        seenGm.SetGlobalBuffer((__gm__ uint8_t*)mask);
        addedGm.SetGlobalBuffer((__gm__ T*)mask);
        lseGm.SetGlobalBuffer((__gm__ float*)lse);
        // Eight columns and more: scores end where the room begins that folds leave theirs in, and, where UB is large
        // enough, that is where another bank begins. Fewer: blocks of the same row are folded first, room is apart.
        whole = slots.columns * Pitch(CeilOf(a.most, 2)) * SIDE;
        uint32_t tall = CeilOf(CeilOf(a.most, 2), BLOCK_FLOATS) * BLOCK_FLOATS, size = whole + BLOCK_FLOATS * SIDE;
        uint32_t bytes = whole * sizeof(float), more = CeilOf(size * sizeof(T), LINE_BYTES) * LINE_BYTES;
        uint32_t rest = tall * 116 + (a.masked ? bytes + 2048 + tall * (a.keys * a.masked + BLOCK_BYTES) : LINE_BYTES);
        bool spread = 2 * BANK + more + rest <= UB_BYTES && bytes + more <= BANK;
        Room at;
        for (uint32_t i = 0; i < 2; i++) {
            if (Many()) {
                if (spread) at.at = (i + 1) * BANK - bytes;
                s[i] = Local(TPosition::VECIN, at.at, whole + more / sizeof(float));
                p[i] = AscendC::LocalTensor<T>(TPosition::VECOUT, at.at + bytes, more / sizeof(T));
                at.at += bytes + more;
            } else {
                at.Whole();
                s[i] = at.Take<float>(TPosition::VECIN, size);
            }
        }
        for (uint32_t i = 0; i < 2 && !Many(); i++) {
            at.Apart();
            // also half as many columns of float
            p[i] = at.Take<T>(TPosition::VECOUT, slots.columns > 1 ? size + BLOCK_FLOATS * SIDE : 2 * size);
        }
        pairs = at.Take<float>(TPosition::VECCALC, tall * BLOCK_FLOATS);
        most = at.Take<float>(TPosition::VECCALC, tall);
        sum = at.Take<float>(TPosition::VECCALC, tall);
        inverse = at.Take<float>(TPosition::VECCALC, tall);
        ones = at.Take<float>(TPosition::VECCALC, tall);
        log = at.Take<float>(TPosition::VECOUT, tall);
        at.Whole();
        at.at += BLOCK_BYTES;  // in the other half of the groups than the scores' blocks that they meet
        blocks = at.Take<float>(TPosition::VECCALC, tall * 2 * BLOCK_FLOATS);
        if (!a.masked) return;
        at.Apart();
        shown = at.Take<float>(TPosition::VECCALC, size);
        uint32_t here = at.at;  // one mask or the other
        added = AscendC::LocalTensor<T>(TPosition::VECIN, here, tall * Pitch<T>());
        seen = AscendC::LocalTensor<uint8_t>(TPosition::VECIN, here, tall * Pitch<uint8_t>());
    }

    __aicore__ inline void Run() {
        using namespace AscendC;
        // rows that nobody brings are computed with, and thrown away
        for (uint32_t i = 0; i < 2; i++) Zero(s[i], static_cast<int32_t>(s[i].GetSize()));
        for (uint32_t i = 0; i < 2; i++) Zero(p[i], static_cast<int32_t>(p[i].GetSize()));
        Zero(blocks, static_cast<int32_t>(blocks.GetSize()));
        Duplicate(ones, 1.0f, static_cast<int32_t>(ones.GetSize()));
        if (a.masked) Zero(shown, static_cast<int32_t>(shown.GetSize()));
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
    __aicore__ inline uint32_t First(const ShortSteps& step) { return side == 0 ? 0 : CeilOf(step.high, 2); }
    __aicore__ inline uint32_t Mine(const ShortSteps& step) { return side == 0 ? CeilOf(step.high, 2) : step.high / 2; }
    __aicore__ inline uint32_t Pitch(uint32_t mine) { return mine | 1; }
    // Scores end where the room behind them begins.
    __aicore__ inline Local Begin(uint32_t e, uint32_t numbers) { return s[e][Many() ? whole - numbers : 0]; }
    __aicore__ inline bool Many() { return slots.columns >= 2 * FOUR; }

    __aicore__ inline void Load(const ShortSteps& step) {
        using namespace AscendC;
        uint32_t e = step.Number() % 2, mine = Mine(step);
        if (a.masked && mine > 0) LoadMask(step, mine);
        CrossCoreWaitFlag(SCORES_READY);
        if (mine == 0) return;
        WaitFlag<HardEvent::V_MTE2>(e);
        DataCopy(Begin(e, slots.columns * Pitch(mine) * SIDE),
                 work[slots.Scores(block, step.Number()) + First(step) * SIDE],
                 DataCopyParams(slots.columns, mine * 2, (a.most - mine) * 2, (Pitch(mine) - mine) * 2));
        SetFlag<HardEvent::MTE2_V>(e);
    }

    __aicore__ inline void Softmax(const ShortSteps& step) {
        using namespace AscendC;
        uint32_t e = step.Number() % 2, mine = Mine(step), pitch = Pitch(mine), size = pitch * SIDE;
        if (mine > 0) {
            int32_t n = static_cast<int32_t>(slots.columns * size),
                    rows = static_cast<int32_t>(CeilOf(mine, BLOCK_FLOATS) * BLOCK_FLOATS);
            Local x = Begin(e, slots.columns * size), t = p[e].template ReinterpretCast<float>();
            WaitFlag<HardEvent::MTE3_V>(e);
            if (a.masked && anew) Turn(p[e], mine);
            WaitFlag<HardEvent::MTE2_V>(e);
            Muls(x, x, a.scale, n);
            if (a.masked) Add(x, x, shown, n);
            if (!a.masked) Hide(x, size, mine);
            Fold<true>(most, x, t, size, rows);
            if (a.masked) Maxs(most, most, FLOOR, rows);
            if (Steep(mine, rows)) {
                Spread(most, rows);
                for (uint32_t c = 0; c < slots.columns; c += BLOCK_FLOATS) {
                    Sub(x[c * size], x[c * size], blocks, Lanes(c), static_cast<uint8_t>(2 * mine), Rows(pitch));
                }
            } else if (a.keepsLse) {
                Zero(most, rows);
            }
            Exp(x, x, n);
            Fold<false>(sum, x, t, size, rows);
            if (a.masked) Maxs(sum, sum, 1e-30f, rows);  // a row that sees no key gives zeros
            Div(inverse, ones, sum, rows);
            Spread(inverse, rows);
            for (uint32_t c = 0; c < slots.columns; c += BLOCK_FLOATS) {
                Mul(x[c * size], x[c * size], blocks, Lanes(c), static_cast<uint8_t>(2 * mine), Rows(pitch));
            }
            Cast(p[e], x, RoundMode::CAST_RINT, n);
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::V_MTE3>(e);
            WaitFlag<HardEvent::V_MTE3>(e);
            DataCopy(pGm[slots.Shares(block, step.Number()) + First(step) * SIDE], p[e],
                     DataCopyParams(slots.columns, mine, pitch - mine, a.most - mine));
            SetFlag<HardEvent::MTE3_V>(e);
        }
        CrossCoreSetFlag<0x2, PIPE_MTE3>(SHARES_READY);
        if (a.keepsLse && mine > 0) StoreLse(step, mine);
    }

    // Whether a row's largest score is so far from 0 that exp of its scores, or their sum, would not be exact floats.
    __aicore__ inline bool Steep(uint32_t mine, int32_t rows) {
        using namespace AscendC;
        Abs(sum, most, rows);
        uint32_t first = LeastOf(mine, LANES);
        WholeReduceMax<float>(pairs, sum, static_cast<int32_t>(first), 1, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        if (mine > LANES) {
            WholeReduceMax<float>(pairs[1], sum[LANES], static_cast<int32_t>(mine - LANES), 1, 1, 1, 8,
                                  ReduceOrder::ORDER_ONLY_VALUE);
        }
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        return pairs.GetValue(0) > FLAT || (mine > LANES && pairs.GetValue(1) > FLAT);
    }

    // The logarithm of the sum of exp(score) of each row, from which a backward pass makes the shares again.
    __aicore__ inline void StoreLse(const ShortSteps& step, uint32_t mine) {
        using namespace AscendC;
        int32_t rows = static_cast<int32_t>(CeilOf(mine, BLOCK_FLOATS) * BLOCK_FLOATS);
        WaitFlag<HardEvent::MTE3_V>(LSE);
        Ln(log, sum, rows);
        Add(log, log, most, rows);
        SetFlag<HardEvent::V_MTE3>(LSE);
        WaitFlag<HardEvent::V_MTE3>(LSE);
        StoreRows(lseGm[(static_cast<uint64_t>(step.batch) * a.heads + step.head) * a.rows + step.row + First(step)],
                  log, 1, mine, mine, mine);
        SetFlag<HardEvent::MTE3_V>(LSE);
    }

    // ---- rows and columns

    // The lanes behind the last key.
    __aicore__ inline void Hide(const Local& x, uint32_t size, uint32_t mine) {
        uint64_t lane = (uint64_t(1) << SIDE) - (uint64_t(1) << a.keys % SIDE), lanes[2] = {lane * 0x1000100010001, 0};
        if (a.keys % SIDE == 0) return;
        AscendC::Duplicate(x[(slots.columns - 1) * size], UNSEEN, lanes, static_cast<uint8_t>(CeilOf(mine, 4)), 1, 8);
    }

    template <bool LARGEST> __aicore__ inline void Either(const Local& to, const Local& x, const Local& y, uint32_t n) {
        if constexpr (LARGEST) {
            AscendC::Max(to, x, y, static_cast<int32_t>(n));
        } else {
            AscendC::Add(to, x, y, static_cast<int32_t>(n));
        }
    }

    // The largest of each row, or the sum: of the columns, of a row's two blocks, of the lanes of one.
    template <bool LARGEST>
    __aicore__ inline void Fold(const Local& to, const Local& x, const Local& t, uint32_t size, int32_t rows) {
        uint8_t repeats = rows / BLOCK_FLOATS;
        if (!Many()) {  // blocks first: two columns' would meet in the banks
            Blocks<LARGEST>(t, x, static_cast<uint8_t>(CeilOf(slots.columns * size, 2 * LANES)));
            Halve<LARGEST>(t, slots.columns, size / 2);
            Eighths<LARGEST>(to, t, repeats);
            return;
        }
        uint32_t more = slots.columns - 2 * FOUR, first = LeastOf(more, FOUR), second = more - first;
        if (first > 0) Either<LARGEST>(t, x, x[first * size], first * size);
        if (second > 0)
            Either<LARGEST>(t[first * size], x[2 * first * size], x[(2 * first + second) * size], second * size);
        Across<LARGEST>(blocks, x[2 * more * size], size, rows);
        Blocks<LARGEST>(pairs, blocks, repeats);
        Eighths<LARGEST>(to, pairs, repeats);
    }
    // Half a row of eight columns is a repeat.
    template <bool LARGEST>
    __aicore__ inline void Across(const Local& to, const Local& x, uint32_t size, uint32_t rows) {
        int32_t apart = size / BLOCK_FLOATS, repeats = LeastOf(2 * rows, apart);
        if constexpr (LARGEST) {
            AscendC::BlockReduceMax<float>(to, x, repeats, LANES, 1, apart, 1);
        } else {
            AscendC::BlockReduceSum<float>(to, x, repeats, LANES, 1, apart, 1);
        }
    }
    template <bool LARGEST> __aicore__ inline void Halve(const Local& t, uint32_t columns, uint32_t size) {
        for (uint32_t left = columns; left > 1;) {
            uint32_t keep = CeilOf(left, 2);
            Either<LARGEST>(t, t, t[keep * size], (left - keep) * size);
            left = keep;
        }
    }
    template <bool LARGEST> __aicore__ inline void Blocks(const Local& to, const Local& x, uint8_t repeats) {
        if constexpr (LARGEST) {
            AscendC::Max(to, x, x[BLOCK_FLOATS], static_cast<uint64_t>(LANES), repeats, Wide(1, 2, 2, 8, 16, 16));
        } else {
            AscendC::Add(to, x, x[BLOCK_FLOATS], static_cast<uint64_t>(LANES), repeats, Wide(1, 2, 2, 8, 16, 16));
        }
    }
    template <bool LARGEST> __aicore__ inline void Eighths(const Local& to, const Local& x, uint8_t repeats) {
        if constexpr (LARGEST) {
            AscendC::BlockReduceMax<float>(to, x, repeats, LANES, 1, 1, 8);
        } else {
            AscendC::BlockReduceSum<float>(to, x, repeats, LANES, 1, 1, 8);
        }
    }

    // A number a row to two blocks a row, for an instruction whose repeats are half rows of eight columns.
    __aicore__ inline void Spread(const Local& x, int32_t rows) {
        uint8_t repeats = rows / BLOCK_FLOATS;
        AscendC::Brcb(blocks, x, repeats, AscendC::BrcbRepeatParams(2, 2 * BLOCK_FLOATS));
        AscendC::Brcb(blocks[BLOCK_FLOATS], x, repeats, AscendC::BrcbRepeatParams(2, 2 * BLOCK_FLOATS));
    }
    __aicore__ inline uint64_t Lanes(uint32_t column) {
        return LeastOf(BLOCK_FLOATS, slots.columns - column) * BLOCK_FLOATS;
    }
    __aicore__ inline Wide Rows(uint32_t pitch) {
        uint8_t apart = 2 * pitch;
        return Wide(apart, apart, 0, 1, 1, 1);
    }

    // ---- masks

    template <typename M> __aicore__ inline uint32_t Pitch() {
        return CeilOf(a.keys * sizeof(M), BLOCK_BYTES) * BLOCK_BYTES / sizeof(M);
    }

    // Heads that follow each other often have one mask: then it stays.
    __aicore__ inline void LoadMask(const ShortSteps& step, uint32_t mine) {
        using namespace AscendC;
        uint64_t from = step.batch * a.mask[0] + step.head * a.mask[1] + (step.row + First(step)) * a.mask[2];
        uint64_t key = from * 2 * SHORT + mine;
        anew = key != whose;
        if (!anew) return;
        whose = key;
        WaitFlag<HardEvent::V_MTE2>(MASK);
        uint32_t tall = a.mask[2] == 0 ? 1 : mine;
        if (a.masked == 1) {
            LoadRows(seen, seenGm[from], tall, a.keys, tall == 1 ? a.keys : static_cast<uint32_t>(a.mask[2]),
                     Pitch<uint8_t>());
        } else {
            LoadRows(added, addedGm[from], tall, a.keys, tall == 1 ? a.keys : static_cast<uint32_t>(a.mask[2]),
                     Pitch<T>());
        }
        SetFlag<HardEvent::MTE2_V>(MASK);
    }

    // The mask in columns, as numbers that are added.
    __aicore__ inline void Turn(const AscendC::LocalTensor<T>& room, uint32_t mine) {
        using namespace AscendC;
        uint32_t pitch = Pitch(mine), size = pitch * SIDE;
        int32_t n = static_cast<int32_t>(slots.columns * size);
        LocalTensor<half> halves = room.template ReinterpretCast<half>();
        WaitFlag<HardEvent::MTE2_V>(MASK);
        for (uint32_t c = 0; c < slots.columns; c += BLOCK_FLOATS) {
            uint64_t lanes = LeastOf(BLOCK_FLOATS, slots.columns - c) * SIDE;
            uint8_t rows = mine;
            if (a.masked == 1) {
                uint8_t line = a.mask[2] == 0 ? 0 : Pitch<uint8_t>() / BLOCK_BYTES;
                Cast(halves[c * size], seen[c * SIDE], RoundMode::CAST_NONE, lanes, rows,
                     UnaryRepeatParams(pitch, 1, 1, line));
            } else {
                uint16_t line = a.mask[2] == 0 ? 0 : Pitch<T>() / SIDE;
                Copy(room[c * size], added[c * SIDE], lanes, rows, CopyRepeatParams(pitch, 1, 1, line));
            }
        }
        SetFlag<HardEvent::V_MTE2>(MASK);
        if (a.masked == 1) {
            Adds(halves, halves, static_cast<half>(-1.0f), n);
            Cast(shown, halves, RoundMode::CAST_NONE, n);
            Muls(shown, shown, -UNSEEN, n);
        } else {
            Cast(shown, room, RoundMode::CAST_NONE, n);
            Hide(shown, size, mine);
        }
    }
};
