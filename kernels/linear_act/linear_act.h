// What a linear layer does behind its product, on a vector core: y = act(z + bias + residual), in float, rounded once.
#pragma once
#include "../swiglu_linear/linear_blocks.h"

enum Act { NONE, RELU, GELU, SILU, SIGMOID, TANH };  // gelu in the tanh form

// Where the operands lie; nullptr: there is none. bias [i], residual and y [m, i].
struct Behind {
    GM_ADDR bias;
    GM_ADDR residual;
    GM_ADDR y;
};

// Z: what z comes as, float out of a product's ring or T out of GM.
template <typename T, typename Z> class Finish {
    static constexpr uint32_t PIECE = 4096, MOST_COLS = 256, MOST_ROWS = 255;  // of a piece; rows: repeats of an
                                                                               // instruction
    static constexpr bool WIDEN = sizeof(T) != sizeof(float);
    static constexpr uint32_t IN = PIECE * sizeof(Z), MORE = PIECE * sizeof(T), BIAS = MOST_COLS * sizeof(T), BUFFER = IN + 2 * MORE + BIAS;
    static constexpr uint32_t WORK = PIECE * sizeof(float);

public:
    __aicore__ inline Finish(const Behind& g, const Tiling& t, uint32_t act) : t(t), act(act), biased(g.bias != nullptr), adds(g.residual != nullptr)
    {
        bias.SetGlobalBuffer((__gm__ T*)g.bias);
        residual.SetGlobalBuffer((__gm__ T*)g.residual);
        y.SetGlobalBuffer((__gm__ T*)g.y);
    }

    __aicore__ inline void Begin()
    {
        for (int32_t e = 0; e < 2; e++) {
            SetFlag<HardEvent::V_MTE2>(e);
            SetFlag<HardEvent::MTE3_V>(e);
        }
    }
    __aicore__ inline void End()
    {
        for (int32_t e = 0; e < 2; e++) {
            WaitFlag<HardEvent::V_MTE2>(e);
            WaitFlag<HardEvent::MTE3_V>(e);
        }
    }

    // Rows [first, last) of y, columns [column, column + cols). z: the first of them; its rows lie `line` apart.
    __aicore__ inline void Block(const GlobalTensor<Z>& z, uint32_t line, uint32_t first, uint32_t last, uint32_t column, uint32_t cols)
    {
        uint32_t wide = Up(cols, 16), most = Least(PIECE / wide, MOST_ROWS);
        for (uint32_t r = first; r < last; r += most, turn ^= 1) {
            uint32_t high = Least(most, last - r);
            uint64_t to = uint64_t(r) * t.i + column;
            WaitFlag<HardEvent::V_MTE2>(turn);
            Load(In(), z[uint64_t(r - first) * line], high, cols, line);
            if (biased) Load(Bias(), bias[column], 1, cols, cols);
            if (adds) Load(More(), residual[to], high, cols, t.i);
            SetFlag<HardEvent::MTE2_V>(turn);
            WaitFlag<HardEvent::MTE2_V>(turn);
            WaitFlag<HardEvent::MTE3_V>(turn);
            Compute(high, wide);
            SetFlag<HardEvent::V_MTE2>(turn);
            SetFlag<HardEvent::V_MTE3>(turn);
            WaitFlag<HardEvent::V_MTE3>(turn);
            DataCopyExtParams lines(high, cols * sizeof(T), (wide * sizeof(T) - Up(cols * sizeof(T), 32)) / 32, (t.i - cols) * sizeof(T), 0);
            DataCopyPad(y[to], Out(), lines);
            SetFlag<HardEvent::MTE3_V>(turn);
        }
    }

private:
    __aicore__ inline LocalTensor<Z> In() { return LocalTensor<Z>(TPosition::VECIN, turn * BUFFER, PIECE); }
    __aicore__ inline LocalTensor<T> More() { return LocalTensor<T>(TPosition::VECIN, turn * BUFFER + IN, PIECE); }
    __aicore__ inline LocalTensor<T> Bias() { return LocalTensor<T>(TPosition::VECIN, turn * BUFFER + IN + MORE, MOST_COLS); }
    __aicore__ inline LocalTensor<T> Out() { return LocalTensor<T>(TPosition::VECOUT, turn * BUFFER + IN + MORE + BIAS, PIECE); }
    __aicore__ inline LocalTensor<float> Work(uint32_t which) { return LocalTensor<float>(TPosition::VECCALC, 2 * BUFFER + which * WORK, PIECE); }

    // `high` rows of `cols` columns, `line` apart, to rows of whole fractals; zeros behind a row's end.
    template <typename U> __aicore__ inline void Load(const LocalTensor<U>& to, const GlobalTensor<U>& from, uint32_t high, uint32_t cols, uint32_t line)
    {
        constexpr uint32_t UNIT = 32 / sizeof(U);
        uint32_t filled = Up(cols, UNIT), gap = (Up(cols, 16) - filled) / UNIT;
        DataCopyPad(to, from, DataCopyExtParams(high, cols * sizeof(U), (line - cols) * sizeof(U), gap, 0), DataCopyPadExtParams<U>(true, 0, filled - cols, U()));
    }

    template <typename U> __aicore__ inline void Widen(const LocalTensor<float>& to, const LocalTensor<U>& from, int32_t n)
    {
        if constexpr (sizeof(U) == 4) {
            Adds(to, from, 0.0f, n);
        } else {
            Cast(to, from, RoundMode::CAST_NONE, n);
        }
    }

    __aicore__ inline void Compute(uint32_t high, uint32_t wide)
    {
        int32_t n = static_cast<int32_t>(high * wide);
        LocalTensor<float> z = Work(0), other = Work(1);
        Widen(z, In(), n);
        if (biased) {
            uint8_t line = static_cast<uint8_t>(wide / 8);
            Widen(other, Bias(), static_cast<int32_t>(wide));
            for (uint32_t at = 0; at < wide; at += 64) {
                Add(z[at], z[at], other[at], uint64_t(Least(64, wide - at)), static_cast<uint8_t>(high), BinaryRepeatParams(1, 1, 1, line, line, 0));
            }
        }
        if (adds) {
            Widen(other, More(), n);
            Add(z, z, other, n);
        }
        Activate(z, other, n);
        if constexpr (WIDEN) {
            Cast(Out(), z, RoundMode::CAST_RINT, n);
        } else {
            Adds(Out(), z, 0.0f, n);
        }
    }

    __aicore__ inline void Activate(const LocalTensor<float>& z, const LocalTensor<float>& t, int32_t n)
    {
        constexpr float LINEAR = -1.5957691216057308f, CUBIC = -0.07135481627159897f;  // bias_gelu.asc
        if (act == NONE) return;
        if (act == RELU) {
            Relu(z, z, n);
            return;
        }
        if (act == GELU) {
            Mul(t, z, z, n);
            Muls(t, t, CUBIC, n);
            Adds(t, t, LINEAR, n);
            Mul(t, t, z, n);
        } else {
            Muls(t, z, act == TANH ? 2.0f : -1.0f, n);
        }
        Exp(t, t, n);
        Adds(t, t, 1.0f, n);
        if (act == GELU || act == SILU) {
            Div(z, z, t, n);
        } else {  // sigmoid = 1 / t; tanh = 1 - 2 / t, whose error near 0 is one place of 1
            Duplicate(z, act == TANH ? -2.0f : 1.0f, n);
            Div(z, z, t, n);
            if (act == TANH) Adds(z, z, 1.0f, n);
        }
    }

    Tiling t;
    uint32_t act, turn = 0;
    bool biased, adds;
    GlobalTensor<T> bias, residual, y;
};
