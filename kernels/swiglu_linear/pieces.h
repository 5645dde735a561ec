// Element by element on a vector core: its share of INS tensors in GM through UB, in pieces of PIECE elements and two buffers, to
// OUTS tensors.
#pragma once
#include "kernel_operator.h"
using namespace AscendC;

template <typename T, uint32_t INS, uint32_t OUTS, uint32_t PIECE> class Pieces {
public:
    static constexpr uint32_t BYTES = PIECE * sizeof(T), BUFFER = (INS + OUTS) * BYTES, UNIT = 512 / sizeof(T);

    __aicore__ inline explicit Pieces(uint64_t n)
    {
        uint64_t share = (n + UNIT * GetBlockNum() - 1) / (UNIT * GetBlockNum()) * UNIT;
        begin = GetBlockIdx() * share;
        end = begin + share < n ? begin + share : n;
    }

    __aicore__ inline void In(uint32_t which, GM_ADDR from) { ins[which].SetGlobalBuffer((__gm__ T*)from); }
    __aicore__ inline void Out(uint32_t which, GM_ADDR to) { outs[which].SetGlobalBuffer((__gm__ T*)to); }
    __aicore__ inline LocalTensor<T> In(uint32_t which) { return LocalTensor<T>(TPosition::VECIN, turn * BUFFER + which * BYTES, PIECE); }
    __aicore__ inline LocalTensor<T> Out(uint32_t which) { return LocalTensor<T>(TPosition::VECOUT, turn * BUFFER + (INS + which) * BYTES, PIECE); }
    __aicore__ inline LocalTensor<float> Work(uint32_t which) { return LocalTensor<float>(TPosition::VECCALC, 2 * BUFFER + which * PIECE * 4, PIECE); }

    __aicore__ inline void Widen(const LocalTensor<float>& to, const LocalTensor<T>& from, int32_t n)
    {
        if constexpr (sizeof(T) == 4) {
            Muls(to, from, 1.0f, n);
        } else {
            Cast(to, from, RoundMode::CAST_NONE, n);
        }
    }

    __aicore__ inline void Round(const LocalTensor<T>& to, const LocalTensor<float>& from, int32_t n)
    {
        if constexpr (sizeof(T) == 4) {
            Muls(to, from, 1.0f, n);
        } else {
            Cast(to, from, RoundMode::CAST_RINT, n);
        }
    }

    // formula(*this, n): from In(0), In(1) ... to Out(0) ..., n numbers, on the vector unit
    template <typename Formula> __aicore__ inline void Run(const Formula& formula)
    {
        for (int32_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::MTE3_V>(e);
        }
        for (uint64_t at = begin; at < end; at += PIECE, turn ^= 1) {
            uint32_t n = end - at < PIECE ? end - at : PIECE;
            DataCopyExtParams piece(1, n * sizeof(T), 0, 0, 0);
            WaitFlag<HardEvent::V_MTE2>(turn);
            for (uint32_t i = 0; i < INS; i++) {
                DataCopyPad(In(i), ins[i][at], piece, DataCopyPadExtParams<T>(false, 0, 0, T()));
            }
            SetFlag<HardEvent::MTE2_V>(turn);
            WaitFlag<HardEvent::MTE2_V>(turn);
            WaitFlag<HardEvent::MTE3_V>(turn);
            formula(*this, n);
            SetFlag<HardEvent::V_MTE2>(turn);
            SetFlag<HardEvent::V_MTE3>(turn);
            WaitFlag<HardEvent::V_MTE3>(turn);
            for (uint32_t i = 0; i < OUTS; i++) {
                DataCopyPad(outs[i][at], Out(i), piece);
            }
            SetFlag<HardEvent::MTE3_V>(turn);
        }
        for (int32_t e = 0; e < 2; e++) {
            WaitFlag<HardEvent::V_MTE2>(e);
            WaitFlag<HardEvent::MTE3_V>(e);
        }
    }

private:
    uint64_t begin, end;
    uint32_t turn = 0;
    GlobalTensor<T> ins[INS], outs[OUTS];
};
