// softmax with mask and dropout for rows that do not fit UB.
#pragma once
#include "scores.h"

// Rows of any length, one after the other, in pieces: the largest number of a row, then the sum, then the shares; x
// comes three times, of which the L2 keeps it for two. Backward: the sum, then the gradient.
template <typename T, bool BACK> class SoftmaxWide : Shared<T> {
    using Base = Shared<T>;
    using Base::bits, Base::blocks, Base::columns, Base::columnsToo, Base::hash, Base::rowsA, Base::rowsFromZero, Base::s, Base::WIDEN;
    static constexpr uint32_t PIECE = 4096;
    AscendC::GlobalTensor<T> xGm, maskGm, yGm, sharesGm;
    AscendC::GlobalTensor<uint8_t> takenGm;
    AscendC::LocalTensor<T> xIn, maskIn, yOut, sharesOut;
    AscendC::LocalTensor<uint8_t> takenIn;
    AscendC::LocalTensor<float> wide, other, number, scratch;
    AscendC::LocalTensor<int32_t> columnsFromZero;
    bool keepsShares;

public:
    __aicore__ inline SoftmaxWide(GM_ADDR x, GM_ADDR mask, GM_ADDR y, GM_ADDR shares, const Scores& given)
    {
        using AscendC::TPosition;
        AscendC::InitSocState();
        s = given;
        keepsShares = !BACK && shares != nullptr;
        xGm.SetGlobalBuffer((__gm__ T*)x);
        maskGm.SetGlobalBuffer((__gm__ T*)mask);
        takenGm.SetGlobalBuffer((__gm__ uint8_t*)mask);
        yGm.SetGlobalBuffer((__gm__ T*)y);
        sharesGm.SetGlobalBuffer((__gm__ T*)shares);
        Room room;
        xIn = room.Take<T>(TPosition::VECIN, PIECE);
        wide = room.Take<float>(TPosition::VECCALC, PIECE);
        hash = room.Take<float>(TPosition::VECCALC, PIECE);
        room.Apart();
        maskIn = room.Take<T>(TPosition::VECIN, PIECE);
        takenIn = room.Take<uint8_t>(TPosition::VECIN, PIECE);
        other = room.Take<float>(TPosition::VECCALC, PIECE);
        yOut = room.Take<T>(TPosition::VECOUT, PIECE);
        sharesOut = room.Take<T>(TPosition::VECOUT, PIECE);
        columns = room.Take<int32_t>(TPosition::VECCALC, PIECE);
        columnsToo = room.Take<int32_t>(TPosition::VECCALC, PIECE);
        bits = room.Take<uint8_t>(TPosition::VECCALC, PIECE / 8);
        columnsFromZero = room.Take<int32_t>(TPosition::VECCALC, PIECE);
        rowsA = room.Take<int32_t>(TPosition::VECCALC, 8);
        rowsFromZero = room.Take<int32_t>(TPosition::VECCALC, 16);
        blocks = room.Take<float>(TPosition::VECCALC, LANES);
        number = room.Take<float>(TPosition::VECCALC, LANES);
        scratch = room.Take<float>(TPosition::VECCALC, PIECE / 8);
    }

    __aicore__ inline void Run()
    {
        using namespace AscendC;
        Zero(xIn, PIECE);
        Zero(maskIn, PIECE);
        Zero(takenIn.template ReinterpretCast<half>(), PIECE / 2);
        if (s.drops) {
            Base::CountRows(16);
            Base::CountColumns(columnsFromZero, PIECE);
        }
        SetFlag<HardEvent::V_MTE2>(0);
        SetFlag<HardEvent::MTE3_V>(0);
        for (uint32_t row = GetBlockIdx(); row < s.rows; row += GetBlockNum()) {
            float most = 0.0f, sum = 0.0f;
            for (uint32_t at = 0; at < s.width && !BACK; at += PIECE) {
                int32_t n = Bring(row, at);
                ReduceMax(number, Numbers(), scratch, n, false);
                SetFlag<HardEvent::V_MTE2>(0);
                FromVToS();
                float here = number.GetValue(0);
                most = at == 0 || here > most ? here : most;
            }
            for (uint32_t at = 0; at < s.width; at += PIECE) {
                int32_t n = Bring(row, at);
                Work(row, at, most, n);
                LocalTensor<float> x = Numbers();
                if (BACK) Mul(hash, x, Gradient(), n);
                ReduceSum(number, BACK ? hash : x, scratch, n);
                SetFlag<HardEvent::V_MTE2>(0);
                FromVToS();
                sum += number.GetValue(0);
            }
            for (uint32_t at = 0; at < s.width; at += PIECE) {
                int32_t n = Bring(row, at);
                Work(row, at, most, n);
                WaitFlag<HardEvent::MTE3_V>(0);
                Finish(row, at, sum, n);
                SetFlag<HardEvent::V_MTE2>(0);
                SetFlag<HardEvent::V_MTE3>(0);
                WaitFlag<HardEvent::V_MTE3>(0);
                uint32_t width = LeastOf(PIECE, s.width - at);
                StoreRows(yGm[uint64_t(row) * s.width + at], yOut, 1, width, width, static_cast<uint32_t>(n));
                if (keepsShares) StoreRows(sharesGm[uint64_t(row) * s.width + at], sharesOut, 1, width, width, static_cast<uint32_t>(n));
                SetFlag<HardEvent::MTE3_V>(0);
            }
        }
        WaitFlag<HardEvent::V_MTE2>(0);
        WaitFlag<HardEvent::MTE3_V>(0);
    }

private:
    __aicore__ inline AscendC::LocalTensor<float> Numbers() { return RoomFor(xIn, wide); }
    __aicore__ inline AscendC::LocalTensor<float> Gradient() { return RoomFor(maskIn, other); }

    // A piece of the row in float, and of forward what stands in the exponent; how many numbers, in whole repeats.
    __aicore__ inline int32_t Bring(uint32_t row, uint32_t at)
    {
        using namespace AscendC;
        uint32_t width = LeastOf(PIECE, s.width - at), pitch = CeilOf(width, LANES) * LANES;
        uint64_t line = (Base::MaskRow(row / s.inner) + uint64_t(row % s.inner) * s.rowStep) * s.width + at;
        WaitFlag<HardEvent::V_MTE2>(0);
        LoadRows(xIn, xGm[uint64_t(row) * s.width + at], 1, width, width, pitch);
        if (s.kind == ADDED) LoadRows(maskIn, maskGm[line], 1, width, width, pitch);
        if (s.kind == TAKEN) LoadRows(takenIn, takenGm[line], 1, width, width, pitch);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        LocalTensor<float> x = Widened(xIn, wide, static_cast<int32_t>(pitch)), mask = other;
        if (s.kind != NO_MASK) mask = Base::Added(maskIn, takenIn, other, static_cast<int32_t>(pitch));
        if constexpr (BACK) {
            uint64_t lanes[2] = {~((uint64_t(1) << width % LANES) - 1), 0};  // a longer piece may have been here
            if (width % LANES > 0) {
                Duplicate(x[pitch - LANES], 0.0f, lanes, 1, 1, 8);
                Duplicate(mask[pitch - LANES], 0.0f, lanes, 1, 1, 8);
            }
        } else {
            Base::Score(x, mask, 1, width, pitch, 1);
        }
        return static_cast<int32_t>(pitch);
    }

    // Forward: exp(x - most). Backward: the gradient of what was kept.
    __aicore__ inline void Work(uint32_t row, uint32_t at, float most, int32_t n)
    {
        using namespace AscendC;
        if constexpr (BACK) {
            if (!s.drops) return;
            Base::MixColumns(columnsFromZero, at, n);
            Base::Keep(row, 1, static_cast<uint32_t>(n));
            Base::Drop(Gradient(), n);
        } else {
            Adds(Numbers(), Numbers(), -most, n);
            Exp(Numbers(), Numbers(), n);
        }
    }

    __aicore__ inline void Leave(const AscendC::LocalTensor<T>& to, const AscendC::LocalTensor<float>& from, int32_t n)
    {
        if constexpr (WIDEN) {
            Narrow(to, from, n);
        } else {
            AscendC::Adds(to, from, 0.0f, n);
        }
    }

    __aicore__ inline void Finish(uint32_t row, uint32_t at, float sum, int32_t n)
    {
        using namespace AscendC;
        LocalTensor<float> x = Numbers(), g = Gradient();
        if constexpr (BACK) {
            Adds(g, g, -sum, n);
            Mul(x, x, g, n);
            Muls(x, x, s.scale, n);
        } else {
            Muls(x, x, 1.0f / sum, n);
            if (keepsShares) Leave(sharesOut, x, n);
            if (s.drops) {
                Base::MixColumns(columnsFromZero, at, n);
                Base::Keep(row, 1, static_cast<uint32_t>(n));
                Base::Drop(x, n);
            }
        }
        Leave(yOut, x, n);
    }
};
