// Attention on cube and vector cores: the cube core's part. See attention.asc.
#pragma once
#include "attention_steps.h"

// AIC: both products. Operands come from GM to L1 in chunks, through L0A and L0B, sums to one half of L0C and out by
// Fixpipe.
template <typename T, bool PAGED> class AttentionCube {
    // slots of K and V in L1: what is multiplied at a time
    static constexpr uint32_t RING = 4, BYTES = TALL * CHUNK * sizeof(T);
    // slots in L1: K and V from 0 on, two of Q, two of P, which hold a whole step
    static constexpr uint32_t QUERY = RING, PROBABILITY = QUERY + 2, MANY = WIDE / CHUNK;
    static constexpr uint32_t EARLY = 2 * CHUNK;  // values that are brought before P is there
    static constexpr uint16_t P_EVENT = 4, Q_EVENT = 6;                    // K and V have the events from 0 on
    const Attention& a;
    Slots slots;
    uint32_t block, loaded = 0, used = 0, probabilities = 0, tasks = 0, pieces = 0, results = 0;
    AscendC::GlobalTensor<T> qGm, kGm, vGm, pGm;
    AscendC::GlobalTensor<float> work;
    AscendC::GlobalTensor<int32_t> tableGm;
    GM_ADDR lengths;

public:
    __aicore__ inline AttentionCube(GM_ADDR q, GM_ADDR k, GM_ADDR v, GM_ADDR table, GM_ADDR lengths, GM_ADDR workspace,
                                    const Attention& a)
            : a(a), lengths(lengths), slots{a.wide, CeilOf(a.dim, LANES) * LANES}, block(AscendC::GetBlockIdx())
    {
        qGm.SetGlobalBuffer((__gm__ T*)q);
        kGm.SetGlobalBuffer((__gm__ T*)k);
        vGm.SetGlobalBuffer((__gm__ T*)v);
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
        tableGm.SetGlobalBuffer((__gm__ int32_t*)table);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        for (uint16_t e = 0; e < 8; e++) SetFlag<HardEvent::MTE1_MTE2>(e);
        for (uint16_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::M_MTE1>(e);
            SetFlag<HardEvent::FIX_M>(e);
        }
        Steps scores(a, lengths, block), values(a, lengths, block);
        for (uint32_t i = 0; i < 2; i++) {
            if (scores.Next()) Scores(scores);
        }
        while (values.Next()) {
            if (scores.Next()) Scores(scores);
            Values(values);
        }
        for (uint16_t e = 0; e < 8; e++) WaitFlag<HardEvent::MTE1_MTE2>(e);
        for (uint16_t e = 0; e < 2; e++) {
            WaitFlag<HardEvent::M_MTE1>(e);
            WaitFlag<HardEvent::FIX_M>(e);
        }
    }

private:
    __aicore__ inline AscendC::LocalTensor<T> L1(uint32_t slot, uint32_t bytes = BYTES)
    {
        return AscendC::LocalTensor<T>(AscendC::TPosition::A1, slot * BYTES, bytes / sizeof(T));
    }

    // high x wide numbers of GM, rows `line` apart, as columns of fractals.
    __aicore__ inline void Bring(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from, uint32_t high,
                                 uint32_t wide, uint64_t line)
    {
        AscendC::DataCopy(to, from, AscendC::Nd2NzParams(1, high, wide, 0, line, CeilOf(high, LINE) * LINE, 1, 0));
    }

    // `high` keys or values of a step into the next slot of the ring: in one copy, or one for each page.
    __aicore__ inline void BringNext(const AscendC::GlobalTensor<T>& gm, const uint64_t (&strides)[3], const Steps& s,
                                     uint32_t at, uint32_t high)
    {
        uint32_t e = loaded++ % RING, kv = s.head / (a.heads / a.kvHeads), key = s.key + at;
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(e);
        if constexpr (PAGED) {
            uint32_t line = a.kvHeads * a.dim;
            for (uint32_t r = 0; r < high;) {
                uint32_t inside = (key + r) % a.pageSize, here = LeastOf(a.pageSize - inside, high - r);
                uint64_t page = tableGm.GetValue(static_cast<uint64_t>(s.batch) * a.maxPages + (key + r) / a.pageSize);
                AscendC::DataCopy(L1(e)[r * LINE], gm[(page * a.pageSize + inside) * line + kv * a.dim],
                                  AscendC::Nd2NzParams(1, here, a.dim, 0, line, CeilOf(high, LINE) * LINE, 1, 0));
                r += here;
            }
        } else {
            Bring(L1(e), gm[s.batch * strides[0] + kv * strides[1] + key * strides[2]], high, a.dim, strides[2]);
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(e);
    }

    // A [high, depth] from columns of fractals to rows of fractals.
    __aicore__ inline void ToA(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<T>& from, uint32_t high,
                               uint32_t depth)
    {
        uint32_t rows = CeilOf(high, LINE), deep = CeilOf(depth, LINE);
        for (uint32_t i = 0; i < deep; i++) {
            AscendC::LoadData(to[i * FRACTAL], from[i * rows * FRACTAL],
                              AscendC::LoadData2DParams(0, rows, 1, 0, deep - 1, false, 0));
        }
    }

    __aicore__ inline void Multiply(const AscendC::LocalTensor<float>& sums, uint32_t e, uint32_t high, uint32_t wide,
                                    uint32_t depth, bool begins)
    {
        using namespace AscendC;
        SetFlag<HardEvent::MTE1_M>(e);
        WaitFlag<HardEvent::MTE1_M>(e);
        MmadParams mmad;
        mmad.m = CeilOf(high, LINE) * LINE;  // a single row would be read as a vector
        mmad.n = CeilOf(wide, LINE) * LINE;
        mmad.k = depth;
        mmad.cmatrixInitVal = begins;
        if (!begins && mmad.m * mmad.n < SETTLED) PipeBarrier<PIPE_M>();
        Mmad(sums, A2(e), B2(e), mmad);
        SetFlag<HardEvent::M_MTE1>(e);
    }
    __aicore__ inline AscendC::LocalTensor<T> A2(uint32_t e)
    {
        return AscendC::LocalTensor<T>(AscendC::TPosition::A2, e * BYTES, BYTES / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<T> B2(uint32_t e)
    {
        return AscendC::LocalTensor<T>(AscendC::TPosition::B2, e * BYTES, BYTES / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<float> Sums(uint32_t e)
    {
        return AscendC::LocalTensor<float>(AscendC::TPosition::CO1, e * TALL * CHUNK * sizeof(float), TALL * CHUNK);
    }

    __aicore__ inline void Store(uint64_t to, uint32_t e, uint32_t high, uint32_t wide, uint32_t line)
    {
        using namespace AscendC;
        SetFlag<HardEvent::M_FIX>(e);
        WaitFlag<HardEvent::M_FIX>(e);
        FixpipeParamsV220 fix;
        fix.nSize = wide;
        fix.mSize = high;
        fix.srcStride = CeilOf(high, LINE) * LINE;
        fix.dstStride = line;
        fix.ndNum = 1;
        fix.quantPre = QuantMode_t::NoQuant;
        Fixpipe(work[to], Sums(e), fix);
        SetFlag<HardEvent::FIX_M>(e);
    }

    __aicore__ inline void Scores(const Steps& s)
    {
        using namespace AscendC;
        uint32_t slot = QUERY + tasks % 2, event = Q_EVENT + tasks % 2;
        if (s.first) {
            WaitFlag<HardEvent::MTE1_MTE2>(event);
            Bring(L1(slot), qGm[s.batch * a.q[0] + s.head * a.q[1] + s.row * a.q[2]], s.high, a.dim, a.q[2]);
            SetFlag<HardEvent::MTE2_MTE1>(event);
            WaitFlag<HardEvent::MTE2_MTE1>(event);
        }
        for (uint32_t at = 0; at < s.width; at += CHUNK) {
            uint32_t here = LeastOf(CHUNK, s.width - at), e = pieces++ % 2, to = results++ % 2;
            BringNext(kGm, a.k, s, at, here);
            uint32_t from = used++ % RING;
            WaitFlag<HardEvent::MTE2_MTE1>(from);
            WaitFlag<HardEvent::M_MTE1>(e);
            ToA(A2(e), L1(slot), s.high, a.dim);
            // keys lie as columns do
            LoadData(B2(e), L1(from), LoadData2DParams(0, CeilOf(here, LINE) * (a.dim / LINE), 1, 0, 0, false, 0));
            SetFlag<HardEvent::MTE1_MTE2>(from);
            WaitFlag<HardEvent::FIX_M>(to);
            Multiply(Sums(to), e, s.high, here, a.dim, true);
            Store(slots.S(block, s.Number()) + at, to, s.high, here, a.wide);
        }
        CrossCoreSetFlag<0x2, PIPE_FIX>(S_READY);
        if (s.last) {
            SetFlag<HardEvent::MTE1_MTE2>(event);
            tasks++;
        }
    }

    __aicore__ inline void Values(const Steps& s)
    {
        using namespace AscendC;
        uint32_t to = results++ % 2;
        uint64_t from = slots.P(block, s.Number()) * (sizeof(float) / sizeof(T));
        uint32_t asked = 0;
        for (; asked < LeastOf(s.width, EARLY); asked += CHUNK)
            BringNext(vGm, a.v, s, asked, LeastOf(CHUNK, s.width - asked));
        CrossCoreWaitFlag(P_READY);
        // P lies in fractals: [a quarter of 64 keys][64 keys][row][16]
        uint32_t columns = CeilOf(s.width, LANES), tall = CeilOf(s.high, LINE) * LINE, p = probabilities++ % 2;
        LocalTensor<T> shares = L1(PROBABILITY + MANY * p, MANY * BYTES);
        WaitFlag<HardEvent::MTE1_MTE2>(P_EVENT + p);
        DataCopy(shares, pGm[from], DataCopyParams(columns * (LANES / LINE), tall, TALL - tall, 0));
        SetFlag<HardEvent::MTE2_MTE1>(P_EVENT + p);
        for (; asked < s.width; asked += CHUNK) BringNext(vGm, a.v, s, asked, LeastOf(CHUNK, s.width - asked));
        WaitFlag<HardEvent::MTE2_MTE1>(P_EVENT + p);
        WaitFlag<HardEvent::FIX_M>(to);
        for (uint32_t at = 0; at < s.width; at += CHUNK) {
            uint32_t here = LeastOf(CHUNK, s.width - at), e = pieces++ % 2, v = used++ % RING,
                     deep = CeilOf(here, LINE);
            WaitFlag<HardEvent::MTE2_MTE1>(v);
            WaitFlag<HardEvent::M_MTE1>(e);
            for (uint32_t i = 0; i < deep; i++) {  // rows of fractals
                uint32_t key = at / LINE + i, column = key % 4 * columns + key / 4;
                LoadData(A2(e)[i * FRACTAL], shares[column * tall * LINE],
                         LoadData2DParams(0, tall / LINE, 1, 0, deep - 1, false, 0));
            }
            for (uint32_t i = 0; i < deep; i++) {  // the sum runs down V: fractals are turned
                LoadData(B2(e)[i * (a.dim / LINE) * FRACTAL], L1(v)[i * FRACTAL],
                         LoadData2DParams(0, a.dim / LINE, deep, 0, 0, true, 0));
            }
            SetFlag<HardEvent::MTE1_MTE2>(v);
            Multiply(Sums(to), e, s.high, a.dim, here, at == 0);
        }
        SetFlag<HardEvent::MTE1_MTE2>(P_EVENT + p);
        Store(slots.O(block, s.Number()), to, s.high, a.dim, slots.pitch);
        CrossCoreSetFlag<0x2, PIPE_FIX>(O_READY);
    }
};
