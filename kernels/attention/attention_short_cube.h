// Attention whose keys all fit one block: the cube core's part. See short_attention.asc.
#pragma once
#include "attention_short.h"

// Rows that lie side by side in GM come to L1 as they are, in one piece, and are unfolded into fractals on their way to
// L0: an image of `rows` lines of dim / 16 pixels, under a filter that is a line wide. Only the keys, which L0B takes
// as they lie in columns of fractals, are brought as such: each by itself, or in turn.
template <typename T> class ShortCube {
    static constexpr uint32_t PIECE = 128;  // rows, keys of one product
    static constexpr uint32_t L0 = PIECE * PIECE * sizeof(T), SUMS = PIECE * PIECE * sizeof(float);
    static constexpr uint16_t Q = 0, K = 2, V = 4, P = 6;  // events of L1's slots, two each
    static constexpr uint16_t LEFT = 0, RIGHT = 2;         // of L0
    const ShortAttention& a;
    ShortSlots slots;
    uint32_t sets;  // of 16 keys, where keys come in turn, else 0
    uint32_t block, end, room[4], begin[4], taken[4] = {}, held[4] = {}, lefts = 0, rights = 0, results = 0;
    AscendC::GlobalTensor<T> qGm, kGm, vGm, pGm, outGm;
    AscendC::GlobalTensor<float> work;

public:
    __aicore__ inline ShortCube(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR out, GM_ADDR workspace,
                                const ShortAttention& a)
        : a(a), slots{CeilOf(a.keys, SIDE), a.most}, block(AscendC::GetBlockIdx()) {
        qGm.SetGlobalBuffer((__gm__ T*)q);
        kGm.SetGlobalBuffer((__gm__ T*)k);
        vGm.SetGlobalBuffer((__gm__ T*)v);
        outGm.SetGlobalBuffer((__gm__ T*)out);
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        uint32_t tall = slots.columns * SIDE, high = CeilOf(a.most, SIDE) * SIDE, at = 0;
        for (uint32_t i = 0; i < 4; i++) {
            room[i] = (i == 0 ? high * a.dim : i == 3 ? high * tall : tall * a.dim) * sizeof(T);
            begin[i] = at;
            at += 2 * room[i];
        }
        end = at;
        bool turns = a.masked == 0 && a.keys > PIECE && a.rows <= a.most && a.k[2] == a.dim && a.v[2] == a.dim;
        sets = turns ? a.keys / SIDE : 0;
    }

    __aicore__ inline void Run() {
        using namespace AscendC;
        for (uint16_t e = 0; e < 8; e++) SetFlag<HardEvent::MTE1_MTE2>(e);
        for (uint16_t e = 0; e < 4; e++) SetFlag<HardEvent::M_MTE1>(e);
        for (uint16_t e = 0; e < 2; e++) SetFlag<HardEvent::FIX_M>(e);
        if (a.masked && a.keys % SIDE > 0) Clear();
        ShortSteps ahead(a, block), now(a, block);
        for (uint32_t i = 0; i < LEAD; i++) {
            if (ahead.Next()) Scores(ahead);
        }
        while (now.Next()) {
            if (ahead.Next()) Scores(ahead);
            Values(now);
        }
        for (uint16_t e = 0; e < 8; e++) WaitFlag<HardEvent::MTE1_MTE2>(e);
        for (uint16_t e = 0; e < 4; e++) WaitFlag<HardEvent::M_MTE1>(e);
        for (uint16_t e = 0; e < 2; e++) WaitFlag<HardEvent::FIX_M>(e);
    }

private:
    // ---- L1: two slots of each of Q, K, V and P

    __aicore__ inline AscendC::LocalTensor<T> L1(uint16_t kind, uint32_t i) {
        return AscendC::LocalTensor<T>(AscendC::TPosition::A1, begin[kind / 2] + i % 2 * room[kind / 2],
                                       room[kind / 2] / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<T> Fill(uint16_t kind)  // the next slot, when it is free
    {
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(kind + taken[kind / 2] % 2);
        return L1(kind, taken[kind / 2]);
    }
    __aicore__ inline void Filled(uint16_t kind) {
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(kind + taken[kind / 2]++ % 2);
    }
    __aicore__ inline void Await(uint16_t kind) {
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(kind + held[kind / 2] % 2);
    }
    __aicore__ inline AscendC::LocalTensor<T> Held(uint16_t kind) { return L1(kind, held[kind / 2]); }
    __aicore__ inline void Empty(uint16_t kind) {
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(kind + held[kind / 2]++ % 2);
    }

    __aicore__ inline void Columns(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                   uint32_t rows, uint64_t apart) {
        AscendC::DataCopy(to, from, AscendC::Nd2NzParams(1, rows, a.dim, 0, apart, CeilOf(rows, SIDE) * SIDE, 1, 0));
    }
    __aicore__ inline void Rows(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from, uint32_t rows,
                                uint64_t apart) {
        if (apart == a.dim) {
            AscendC::DataCopy(to, from, AscendC::DataCopyParams(1, rows * a.dim / SIDE, 0, 0));
        } else {
            Columns(to, from, rows, apart);
        }
    }

    // ---- keys in turn
    //
    // On the way into columns of fractals a short row takes longer than its bytes do. So where keys lie side by side,
    // there is no mask and a head is one step, so that keys are often brought, as many keys as there are whole sets of
    // 16 count as one row, of which there are 16. What comes out is set after set, and the keys of a set are `sets`
    // apart. A softmax does not ask for the order of keys; V's rows are taken in the same. Keys behind the last whole
    // set are a set of their own.
    //
    // Rows that lie far apart are slow to come from HBM, so all keys are read in one piece before, to where nobody
    // looks for them: the 16 rows are then in the L2. There is room for it: with Q, K, V and P twice, 499,712 bytes at
    // most.

    __aicore__ inline void InTurn(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from) {
        uint32_t row = sets * a.dim;
        Rows(AscendC::LocalTensor<T>(AscendC::TPosition::A1, end, room[1] / sizeof(T)), from, a.keys, a.dim);
        AscendC::DataCopy(to, from, AscendC::Nd2NzParams(1, SIDE, row, 0, row, SIDE, 1, 0));
    }
    // Sets that begin with the `first`, as the right side of scores.
    __aicore__ inline void SetsOfKeys(const AscendC::LocalTensor<T>& to, uint32_t first, uint32_t many) {
        uint32_t deep = a.dim / SIDE;
        for (uint32_t c = 0; c < deep; c++) {
            AscendC::LoadData(to[c * many * PATCH], Held(K)[(first * deep + c) * PATCH],
                              AscendC::LoadData2DParams(0, many, deep, 0, 0, false, 0));
        }
    }
    // The same of values.
    __aicore__ inline void SetsOfValues(const AscendC::LocalTensor<T>& to, uint32_t first, uint32_t many) {
        uint32_t rest = a.keys - sets * SIDE, size = SIDE * a.dim;
        for (uint32_t i = first; i < first + many; i++) {
            if (i < sets) {
                Unfold(to[(i - first) * size], Held(V), true, SIDE, sets * a.dim, 0, SIDE, i * a.dim, a.dim);
            } else {
                Unfold(to[(i - first) * size], Held(V)[sets * size], true, rest, a.dim, 0, rest, 0, a.dim);
            }
        }
    }

    // Zeros behind the last key: a mask is added to the scores there.
    __aicore__ inline void Clear() {
        using namespace AscendC;
        uint32_t last = a.keys / PIECE * PIECE, columns = slots.columns - last / SIDE;
        for (uint32_t i = 0; i < 2; i++) {
            InitConstValue(L1(K, i)[last * a.dim + (columns - 1) * PATCH].template ReinterpretCast<uint16_t>(),
                           InitConstValueParams<uint16_t>(a.dim / SIDE, SIDE, (columns - 1) * SIDE, 0));
        }
        PipeBarrier<PIPE_MTE2>();
    }

    // ---- L0

    // Rows [first, first + high) and numbers [at, at + deep) of what lies in L1: rows one behind the other (whole), or
    // in columns of fractals.
    __aicore__ inline void Unfold(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from, bool whole,
                                  uint32_t rows, uint32_t wide, uint32_t first, uint32_t high, uint32_t at,
                                  uint32_t deep) {
        AscendC::LoadData3DParamsV2<T> p;
        p.padList[3] = 255;  // zeros below the last row
        p.l1H = whole ? rows : CeilOf(rows, SIDE) * SIDE;
        p.l1W = p.filterW = whole ? wide / SIDE : 1;
        p.channelSize = whole ? SIDE : wide;
        p.mStartPt = first;
        p.mExtension = CeilOf(high, SIDE) * SIDE;
        p.kStartPt = at;
        p.kExtension = CeilOf(deep, SIDE) * SIDE;
        AscendC::LoadData(to, from, p);
    }
    __aicore__ inline AscendC::LocalTensor<T> A2(uint32_t i) {
        return AscendC::LocalTensor<T>(AscendC::TPosition::A2, i % 2 * L0, L0 / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<T> B2(uint32_t i) {
        return AscendC::LocalTensor<T>(AscendC::TPosition::B2, i % 2 * L0, L0 / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<float> Sums(uint32_t i) {
        return AscendC::LocalTensor<float>(AscendC::TPosition::CO1, i % 2 * SUMS, SUMS / sizeof(float));
    }

    __aicore__ inline void Multiply(uint32_t to, uint32_t left, uint32_t right, uint32_t high, uint32_t wide,
                                    uint32_t depth, bool begins, bool loaded = true) {
        using namespace AscendC;
        if (loaded) {
            SetFlag<HardEvent::MTE1_M>(right % 2);
            WaitFlag<HardEvent::MTE1_M>(right % 2);
        }
        MmadParams mmad;
        mmad.m = CeilOf(high, SIDE) * SIDE;  // a single row would be read as a vector
        mmad.n = CeilOf(wide, SIDE) * SIDE;
        mmad.k = depth;
        mmad.cmatrixInitVal = begins;
        if (!begins && mmad.m * mmad.n < SETTLED) PipeBarrier<PIPE_M>();
        Mmad(Sums(to), A2(left), B2(right), mmad);
    }

    // Rows of one product: as few as there must be, alike.
    __aicore__ inline uint32_t Tall(const ShortSteps& s) {
        return CeilOf(CeilOf(s.high, CeilOf(s.high, PIECE)), SIDE) * SIDE;
    }

    __aicore__ inline void Scores(const ShortSteps& s) {
        using namespace AscendC;
        uint64_t kv = s.head / (a.heads / a.kvHeads), from = s.batch * a.k[0] + kv * a.k[1];
        // the first keys come with the queries, so that they are multiplied while the others are on their way
        uint32_t soon = sets > 0 ? sets * SIDE : LeastOf(PIECE, a.keys);
        if (s.begins) {
            LocalTensor<T> keys = Fill(K);
            if (sets > 0) {
                InTurn(keys, kGm[from]);
            } else {
                Columns(keys, kGm[from], soon, a.k[2]);
            }
        }
        Rows(Fill(Q), qGm[s.batch * a.q[0] + s.head * a.q[1] + s.row * a.q[2]], s.high, a.q[2]);
        Filled(Q);
        if (s.begins) {
            if (soon < a.keys)
                Columns(L1(K, taken[K / 2])[soon * a.dim], kGm[from + soon * a.k[2]], a.keys - soon, a.k[2]);
            Filled(K);
        }
        Await(Q);
        uint64_t slot = slots.Scores(block, s.Number());
        uint32_t most = Tall(s), deep = a.dim / SIDE, first = lefts;
        for (uint32_t r = 0; r < s.high; r += most) {  // one or two
            uint32_t left = lefts++;
            WaitFlag<HardEvent::M_MTE1>(LEFT + left % 2);
            Unfold(A2(left), Held(Q), a.q[2] == a.dim, s.high, a.dim, r, LeastOf(most, s.high - r), 0, a.dim);
        }
        for (uint32_t at = 0; at < a.keys; at += PIECE) {
            uint32_t here = LeastOf(PIECE, a.keys - at), wide = CeilOf(here, SIDE), right = rights++;
            if (s.begins && at + here == a.keys) Await(K);
            WaitFlag<HardEvent::M_MTE1>(RIGHT + right % 2);
            if (sets > 0) {
                SetsOfKeys(B2(right), at / SIDE, wide);
            } else {
                LoadData(B2(right), Held(K)[at * a.dim], LoadData2DParams(0, wide * deep, 1, 0, 0, false, 0));
            }
            for (uint32_t r = 0; r < s.high; r += most) {
                uint32_t high = LeastOf(most, s.high - r), to = results++;
                WaitFlag<HardEvent::FIX_M>(to % 2);
                Multiply(to, first + r / most, right, high, here, a.dim, true, r == 0);
                SetFlag<HardEvent::M_FIX>(to % 2);
                WaitFlag<HardEvent::M_FIX>(to % 2);
                FixpipeParamsV220 fix;
                fix.nSize = wide * SIDE;
                fix.mSize = high;
                fix.srcStride = CeilOf(high, SIDE) * SIDE;
                fix.dstStride = a.most * (SIDE * sizeof(float) / BLOCK_BYTES);
                fix.quantPre = QuantMode_t::NoQuant;
                Fixpipe<float, float, CFG_NZ>(work[slot + (at * a.most + r * SIDE)], Sums(to), fix);
                SetFlag<HardEvent::FIX_M>(to % 2);
            }
            SetFlag<HardEvent::M_MTE1>(RIGHT + right % 2);
        }
        for (; first < lefts; first++) SetFlag<HardEvent::M_MTE1>(LEFT + first % 2);
        CrossCoreSetFlag<0x2, PIPE_FIX>(SCORES_READY);
        Empty(Q);
        if (s.ends) Empty(K);
    }

    __aicore__ inline void Values(const ShortSteps& s) {
        using namespace AscendC;
        uint64_t kv = s.head / (a.heads / a.kvHeads);
        if (s.begins) {
            Rows(Fill(V), vGm[s.batch * a.v[0] + kv * a.v[1]], a.keys, a.v[2]);
            Filled(V);
        }
        LocalTensor<T> shares = Fill(P);
        CrossCoreWaitFlag(SHARES_READY);
        uint32_t tall = CeilOf(s.high, SIDE) * SIDE;
        DataCopy(shares, pGm[slots.Shares(block, s.Number())],
                 DataCopyParams(slots.columns, s.high, a.most - s.high, tall - s.high));
        Filled(P);
        if (s.begins) Await(V);
        Await(P);
        uint32_t most = Tall(s);
        for (uint32_t r = 0; r < s.high; r += most) {
            uint32_t high = LeastOf(most, s.high - r), to = results++;
            WaitFlag<HardEvent::FIX_M>(to % 2);
            for (uint32_t at = 0; at < a.keys; at += PIECE) {
                uint32_t here = LeastOf(PIECE, a.keys - at), left = lefts++, right = rights++;
                WaitFlag<HardEvent::M_MTE1>(LEFT + left % 2);
                Unfold(A2(left), Held(P), false, s.high, slots.columns * SIDE, r, high, at, here);
                WaitFlag<HardEvent::M_MTE1>(RIGHT + right % 2);
                if (sets > 0) {
                    SetsOfValues(B2(right), at / SIDE, CeilOf(here, SIDE));
                } else {
                    Unfold(B2(right), Held(V), a.v[2] == a.dim, a.keys, a.dim, at, here, 0, a.dim);
                }
                Multiply(to, left, right, high, a.dim, here, at == 0);
                SetFlag<HardEvent::M_MTE1>(LEFT + left % 2);
                SetFlag<HardEvent::M_MTE1>(RIGHT + right % 2);
            }
            SetFlag<HardEvent::M_FIX>(to % 2);
            WaitFlag<HardEvent::M_FIX>(to % 2);
            FixpipeParamsV220 fix;
            fix.nSize = a.dim;
            fix.mSize = high;
            fix.srcStride = CeilOf(high, SIDE) * SIDE;
            fix.dstStride = a.out[2];
            fix.ndNum = 1;
            fix.quantPre = IsSameType<T, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
            Fixpipe(outGm[s.batch * a.out[0] + s.head * a.out[1] + (s.row + r) * a.out[2]], Sums(to), fix);
            SetFlag<HardEvent::FIX_M>(to % 2);
        }
        Empty(P);
        if (s.ends) Empty(V);
    }
};
