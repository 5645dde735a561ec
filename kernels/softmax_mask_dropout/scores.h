// What softmax's kernels with mask and dropout share: scores out of x and mask, and what is dropped.
#pragma once
#include "../rms_norm/rms_norm.h"

enum MaskKind { NO_MASK, ADDED, TAKEN };  // TAKEN: bytes, 1 where a column takes part

struct Scores {
    uint32_t rows, width;
    uint32_t inner, mid;                   // rows = outer x mid x inner; the mask's row of (o, m, i):
    uint32_t outerStep, midStep, rowStep;  // o * outerStep + m * midStep + i * rowStep; 0: shared. rowStep: 0 or 1
    uint32_t kind;
    float scale, kept, threshold;  // kept: 1 / (1 - p)
    uint32_t drops, seedLow, seedHigh;
};

constexpr float LOWEST = -3.4028234663852886e38f;
constexpr int32_t MINUS_INFINITY = static_cast<int32_t>(0xFF800000);
constexpr uint32_t FAR = 255 * 8;  // columns that one repeat can step over

// What the kernels for rows that fit UB and for those that do not share: the work on a tile of `here` rows, `pitch`
// apart.
template <typename T> class Shared {
protected:
    static constexpr bool WIDEN = sizeof(T) != sizeof(float);
    using Ints = AscendC::LocalTensor<int32_t>;
    using Floats = AscendC::LocalTensor<float>;
    Scores s;
    static constexpr uint32_t ROW = 0x85EBCA77u, COLUMN = 0x9E3779B1u;
    Ints columns, columnsToo, rowsA, rowsFromZero;  // C + K and C of each column, A of each row
    Floats hash, blocks;
    AscendC::LocalTensor<uint8_t> bits;

    __aicore__ inline void AddShifted(const Ints& x, const Ints& room, uint32_t by, int32_t n)  // x += x >> by
    {
        AscendC::ShiftRight(room.template ReinterpretCast<uint32_t>(), x.template ReinterpretCast<uint32_t>(), by, n);
        AscendC::Add(x, x, room, n);
    }

    __aicore__ inline void Mix(const Ints& x, const Ints& room, int32_t n)
    {
        AddShifted(x, room, 16, n);
        AscendC::Muls(x, x, static_cast<int32_t>(0x7FEB352Du), n);
        AddShifted(x, room, 15, n);
        AscendC::Muls(x, x, static_cast<int32_t>(0x846CA68Bu), n);
        AddShifted(x, room, 16, n);
    }

    // 0, 1, 2 ... times a constant, plus another: Mix() is a hash of neighbours too.
    __aicore__ inline void Count(const Ints& to, uint32_t times, uint32_t more, int32_t n)
    {
        using namespace AscendC;
        CreateVecIndex(to, static_cast<int32_t>(0), n);  // its first block is stored by the scalar unit
        SetFlag<HardEvent::S_V>(0);
        WaitFlag<HardEvent::S_V>(0);
        Muls(to, to, static_cast<int32_t>(times), n);
        Adds(to, to, static_cast<int32_t>(more), n);
    }
    __aicore__ inline void CountRows(uint32_t n) { Count(rowsFromZero, ROW, s.seedHigh + 0x51, static_cast<int32_t>(n)); }
    __aicore__ inline void CountColumns(const Ints& to, uint32_t n) { Count(to, COLUMN, s.seedLow, static_cast<int32_t>(n)); }

    __aicore__ inline void MixColumns(const Ints& counted, uint32_t first, int32_t n)
    {
        AscendC::Adds(columnsToo, counted, static_cast<int32_t>(first * COLUMN), n);
        Mix(columnsToo, columns, n);
        AscendC::Adds(columns, columnsToo, static_cast<int32_t>(0xC2B2AE3Du), n);
    }

    // bits: what is kept of the tile
    __aicore__ inline void Keep(uint32_t row, uint32_t here, uint32_t pitch)
    {
        using namespace AscendC;
        Ints u = hash.template ReinterpretCast<int32_t>(), room = blocks.template ReinterpretCast<int32_t>();
        int32_t many = static_cast<int32_t>(CeilOf(here, 8) * 8), n = static_cast<int32_t>(here * pitch);
        Adds(rowsA, rowsFromZero, static_cast<int32_t>(row * ROW), many);
        Mix(rowsA, room, many);
        if (pitch <= NARROW) {
            uint8_t line = static_cast<uint8_t>(pitch / 8);
            Broaden(blocks, rowsA.template ReinterpretCast<float>(), here);
            for (uint32_t at = 0; at < pitch; at += LANES) Mul(u[at], columns[at], room, uint64_t(LANES), here, BinaryRepeatParams(1, 1, 0, line, 0, 1));
            Adds(u, u, 1, n);
            Mul(u, u, u, n);
            for (uint32_t at = 0; at < pitch; at += LANES) Add(u[at], u[at], columnsToo[at], uint64_t(LANES), here, BinaryRepeatParams(1, 1, 1, line, line, 0));
        } else {
            FromVToS();
            for (uint32_t r = 0; r < here; r++) Muls(u[r * pitch], columns, rowsA.GetValue(r), static_cast<int32_t>(pitch));
            Adds(u, u, 1, n);
            Mul(u, u, u, n);
            for (uint32_t r = 0; r < here; r++) Add(u[r * pitch], u[r * pitch], columnsToo, static_cast<int32_t>(pitch));
        }
        Cast(hash, u, RoundMode::CAST_RINT, n);
        Compares(bits, hash, s.threshold, CMPMODE::GE, n);
    }

    __aicore__ inline void Drop(const Floats& y, int32_t n)
    {
        AscendC::Muls(y, y, s.kept, n);
        AscendC::Select(y, bits, y, 0.0f, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, n);
    }

    // The mask of `lines` rows as numbers to add; `room` holds as many floats, and bytes pass hash.
    __aicore__ inline Floats Added(const AscendC::LocalTensor<T>& mask, const AscendC::LocalTensor<uint8_t>& taken, const Floats& room, int32_t n)
    {
        using namespace AscendC;
        if (s.kind == ADDED) return Widened(mask, room, n);
        LocalTensor<half> passing = hash.template ReinterpretCast<half>();
        Cast(passing, taken, RoundMode::CAST_NONE, n);
        Cast(room, passing, RoundMode::CAST_NONE, n);
        Adds(room, room, -1.0f, n);
        Muls(room, room, -LOWEST, n);  // 0, or so low that nothing of x is left
        return room;
    }

    // x * scale + mask, -inf behind the row's end. lines: rows of the mask that are there, 1 or `here`
    __aicore__ inline void Score(const Floats& x, const Floats& mask, uint32_t here, uint32_t width, uint32_t pitch, uint32_t lines)
    {
        using namespace AscendC;
        int32_t n = static_cast<int32_t>(here * pitch);
        uint8_t line = static_cast<uint8_t>(pitch / 8);
        Muls(x, x, s.scale, n);
        if (s.kind != NO_MASK && lines == here) {
            Add(x, x, mask, n);
        } else if (s.kind != NO_MASK && pitch <= NARROW) {
            for (uint32_t at = 0; at < pitch; at += LANES) Add(x[at], x[at], mask[at], uint64_t(LANES), here, BinaryRepeatParams(1, 1, 1, line, line, 0));
        } else if (s.kind != NO_MASK) {
            for (uint32_t r = 0; r < here; r++) Add(x[r * pitch], x[r * pitch], mask, static_cast<int32_t>(pitch));
        }
        Fill(x, here, width, pitch);
    }

    // -inf behind the end of each row
    __aicore__ inline void Fill(const Floats& x, uint32_t here, uint32_t width, uint32_t pitch)
    {
        using namespace AscendC;
        uint8_t line = static_cast<uint8_t>(pitch / 8);
        if (width % LANES == 0) return;
        uint64_t lanes[2] = {~((uint64_t(1) << width % LANES) - 1), 0};
        Ints end = x[pitch - LANES].template ReinterpretCast<int32_t>();
        if (pitch <= FAR) {
            Duplicate(end, MINUS_INFINITY, lanes, static_cast<uint8_t>(here), 1, line);
        } else {
            for (uint32_t r = 0; r < here; r++) Duplicate(end[r * pitch], MINUS_INFINITY, lanes, 1, 1, 8);
        }
    }

    // The mask's row for a plane: rows that lie one below the other in the mask, or share one.
    __aicore__ inline uint64_t MaskRow(uint32_t plane) { return uint64_t(plane / s.mid) * s.outerStep + uint64_t(plane % s.mid) * s.midStep; }
};
