// The backward of attention on cube and vector cores: the cube core's part. See attention_grad.asc.
#pragma once
#include "attention_grad_steps.h"

template <typename T, bool KEYS, uint32_t AHEAD> class AttentionGradCube {
    static constexpr uint32_t RING = 4, BYTES = TALL * CHUNK * sizeof(T), MANY = GRAD_WIDE / CHUNK;
    // slots in L1: theirs from 0 on, mine of two tasks, what the vector cores made of two steps
    static constexpr uint32_t MINE = RING, MADE = MINE + 4;
    static constexpr uint16_t MADE_EVENT = 4, MINE_EVENT = 6;  // theirs have the events from 0 on
    const AttentionGrad& a;
    GradSlots slots;
    uint32_t block, loaded = 0, used = 0, made = 0, tasks = 0, pieces = 0, results = 0;
    AscendC::GlobalTensor<T> mine[2], theirs[2], pGm;
    AscendC::GlobalTensor<float> work;

public:
    __aicore__ inline AttentionGradCube(GM_ADDR mine1, GM_ADDR mine2, GM_ADDR theirs1, GM_ADDR theirs2,
                                        GM_ADDR workspace, const AttentionGrad& a)
            : a(a), slots{a.wide, CeilOf(a.dim, LANES) * LANES}, block(AscendC::GetBlockIdx())
    {
        mine[0].SetGlobalBuffer((__gm__ T*)mine1);
        mine[1].SetGlobalBuffer((__gm__ T*)mine2);
        theirs[0].SetGlobalBuffer((__gm__ T*)theirs1);
        theirs[1].SetGlobalBuffer((__gm__ T*)theirs2);
        work.SetGlobalBuffer((__gm__ float*)workspace);
        pGm.SetGlobalBuffer((__gm__ T*)workspace);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        for (uint16_t e = 0; e < 8; e++) SetFlag<HardEvent::MTE1_MTE2>(e);
        for (uint16_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::M_MTE1>(e);
            SetFlag<HardEvent::FIX_M>(e);
        }
        GradSteps<KEYS> scores(a, block), sums(a, block);
        for (uint32_t i = 0; i < AHEAD; i++) {
            if (scores.Next()) Scores(scores);
        }
        while (sums.Next()) {
            if (scores.Next()) Scores(scores);
            Sums(sums);
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
    __aicore__ inline AscendC::LocalTensor<T> A2(uint32_t e)
    {
        return AscendC::LocalTensor<T>(AscendC::TPosition::A2, e * BYTES, BYTES / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<T> B2(uint32_t e)
    {
        return AscendC::LocalTensor<T>(AscendC::TPosition::B2, e * BYTES, BYTES / sizeof(T));
    }
    __aicore__ inline AscendC::LocalTensor<float> C1(uint32_t e)
    {
        return AscendC::LocalTensor<float>(AscendC::TPosition::CO1, e * TALL * CHUNK * sizeof(float), TALL * CHUNK);
    }

    // Rows of a head, `line` apart in GM, as columns of fractals.
    __aicore__ inline void Bring(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from, uint32_t high,
                                 uint64_t line)
    {
        AscendC::DataCopy(to, from, AscendC::Nd2NzParams(1, high, a.dim, 0, line, CeilOf(high, LINE) * LINE, 1, 0));
    }
    __aicore__ inline void BringNext(uint32_t which, const GradSteps<KEYS>& s, uint32_t at, uint32_t high)
    {
        const uint64_t(&far)[3] = which == 0 ? a.theirs1 : a.theirs2;
        uint32_t e = loaded++ % RING;
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(e);
        Bring(L1(e), theirs[which][s.batch * far[0] + s.other * far[1] + (s.key + at) * far[2]], high, far[2]);
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(e);
    }

    __aicore__ inline void Multiply(uint32_t to, uint32_t e, uint32_t high, uint32_t wide, uint32_t depth, bool begins)
    {
        using namespace AscendC;
        SetFlag<HardEvent::MTE1_M>(e);
        WaitFlag<HardEvent::MTE1_M>(e);
        MmadParams mmad;
        mmad.m = CeilOf(high, LINE) * LINE;
        mmad.n = CeilOf(wide, LINE) * LINE;
        mmad.k = depth;
        mmad.cmatrixInitVal = begins;
        if (!begins && mmad.m * mmad.n < SETTLED) PipeBarrier<PIPE_M>();
        Mmad(C1(to), A2(e), B2(e), mmad);
        SetFlag<HardEvent::M_MTE1>(e);
    }

    // adds: to what stands there. It is this core's own, so the order of the sum is always the same.
    __aicore__ inline void Store(uint64_t at, uint32_t from, uint32_t high, uint32_t wide, uint32_t line, bool adds)
    {
        using namespace AscendC;
        SetFlag<HardEvent::M_FIX>(from);
        WaitFlag<HardEvent::M_FIX>(from);
        FixpipeParamsV220 fix;
        fix.nSize = wide;
        fix.mSize = high;
        fix.srcStride = CeilOf(high, LINE) * LINE;
        fix.dstStride = line;
        fix.ndNum = 1;
        fix.quantPre = QuantMode_t::NoQuant;
        if (adds) SetAtomicAdd<float>();
        Fixpipe(work[at], C1(from), fix);
        if (adds) SetAtomicNone();
        SetFlag<HardEvent::FIX_M>(from);
    }

    // mine1 theirs1^T and mine2 theirs2^T
    __aicore__ inline void Scores(const GradSteps<KEYS>& s)
    {
        using namespace AscendC;
        uint32_t slot = MINE + tasks % 2 * 2, event = MINE_EVENT + tasks % 2;
        if (s.first) {
            WaitFlag<HardEvent::MTE1_MTE2>(event);
            Bring(L1(slot), mine[0][s.batch * a.mine1[0] + s.head * a.mine1[1] + s.row * a.mine1[2]], s.high,
                  a.mine1[2]);
            Bring(L1(slot + 1), mine[1][s.batch * a.mine2[0] + s.head * a.mine2[1] + s.row * a.mine2[2]], s.high,
                  a.mine2[2]);
            SetFlag<HardEvent::MTE2_MTE1>(event);
            WaitFlag<HardEvent::MTE2_MTE1>(event);
        }
        uint32_t rows = CeilOf(s.high, LINE), deep = a.dim / LINE;
        for (uint32_t at = 0; at < s.width; at += CHUNK) {
            uint32_t here = LeastOf(CHUNK, s.width - at);
            for (uint32_t which = 0; which < 2; which++) {
                uint32_t e = pieces++ % 2, to = results++ % 2;
                BringNext(which, s, at, here);
                uint32_t from = used++ % RING;
                WaitFlag<HardEvent::MTE2_MTE1>(from);
                WaitFlag<HardEvent::M_MTE1>(e);
                for (uint32_t i = 0; i < deep; i++) {  // columns of fractals to rows of fractals
                    LoadData(A2(e)[i * FRACTAL], L1(slot + which)[i * rows * FRACTAL],
                             LoadData2DParams(0, rows, 1, 0, deep - 1, false, 0));
                }
                LoadData(B2(e), L1(from), LoadData2DParams(0, CeilOf(here, LINE) * deep, 1, 0, 0, false, 0));
                SetFlag<HardEvent::MTE1_MTE2>(from);
                WaitFlag<HardEvent::FIX_M>(to);
                Multiply(to, e, s.high, here, a.dim, true);
                Store(slots.S(which, block, s.Number()) + at, to, s.high, here, a.wide, false);
            }
        }
        CrossCoreSetFlag<0x2, PIPE_FIX>(S_READY);
        if (s.last) {
            SetFlag<HardEvent::MTE1_MTE2>(event);
            tasks++;
        }
    }

    // The gradient of the scores times theirs1; of keys also the shares times theirs2. Both are summed over the steps.
    __aicore__ inline void Sums(const GradSteps<KEYS>& s)
    {
        using namespace AscendC;
        uint32_t columns = CeilOf(s.width, LANES), tall = CeilOf(s.high, LINE) * LINE, turn = made++ % 2,
                 event = MADE_EVENT + turn;
        CrossCoreWaitFlag(P_READY);
        WaitFlag<HardEvent::MTE1_MTE2>(event);
        for (uint32_t which = 0; which < 1 + KEYS; which++) {
            DataCopy(L1(MADE + (2 * turn + which) * MANY, MANY * BYTES),
                     pGm[slots.P(which, block, s.Number()) * (sizeof(float) / sizeof(T))],
                     DataCopyParams(columns * (LANES / LINE), tall, TALL - tall, 0));
        }
        SetFlag<HardEvent::MTE2_MTE1>(event);
        WaitFlag<HardEvent::MTE2_MTE1>(event);
        for (uint32_t which = 0; which < 1 + KEYS; which++) {
            uint32_t to = results++ % 2;
            LocalTensor<T> left = L1(MADE + (2 * turn + which) * MANY, MANY * BYTES);
            WaitFlag<HardEvent::FIX_M>(to);
            for (uint32_t at = 0; at < s.width; at += CHUNK) {
                uint32_t here = LeastOf(CHUNK, s.width - at), e = pieces++ % 2, deep = CeilOf(here, LINE);
                BringNext(which, s, at, here);
                uint32_t from = used++ % RING;
                WaitFlag<HardEvent::MTE2_MTE1>(from);
                WaitFlag<HardEvent::M_MTE1>(e);
                for (uint32_t i = 0; i < deep; i++) {
                    uint32_t key = at / LINE + i, column = key % 4 * columns + key / 4;
                    LoadData(A2(e)[i * FRACTAL], left[column * tall * LINE],
                             LoadData2DParams(0, tall / LINE, 1, 0, deep - 1, false, 0));
                }
                for (uint32_t i = 0; i < deep; i++) {  // the sum runs down theirs: fractals are turned
                    LoadData(B2(e)[i * (a.dim / LINE) * FRACTAL], L1(from)[i * FRACTAL],
                             LoadData2DParams(0, a.dim / LINE, deep, 0, 0, true, 0));
                }
                SetFlag<HardEvent::MTE1_MTE2>(from);
                Multiply(to, e, s.high, a.dim, here, at == 0);
            }
            Store(slots.Sum(which, block, s.Task()), to, s.high, a.dim, slots.pitch, !s.first);
        }
        SetFlag<HardEvent::MTE1_MTE2>(event);
        if (s.last) CrossCoreSetFlag<0x2, PIPE_FIX>(O_READY);
    }
};
