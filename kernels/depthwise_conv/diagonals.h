// The taps as the cube's kernel multiplies by them: for each 16 channels and each tap a matrix of 16 x 16 with the
// channels' numbers on its diagonal, made on the cube's core itself, which reaches no single number in L1. Three of its
// instructions place numbers all the same:
//
// 1. DataCopy with Nd2NzParams puts the taps of channel i into row i of the i-th of 16 squares that are zero otherwise.
// 2. LoadData turns the squares: channel i's taps are now column i, so that row t is the i-th row of tap t's diagonal
//    matrix. The 16 squares, one below the other, times the unit matrix bring that to L0C, and Fixpipe to L1 (L0A has no
//    way back).
// 3. LoadData 3D with a stride of 16 rows collects row t of every square: tap t's diagonal matrix.
//
// The unit matrix is made once: the squares with row i full of quarters, side by side, times the same turned; each sum
// has 16 sixteenths.
#pragma once
#include "cube.h"

constexpr uint32_t SQUARES = C0 * FRACTAL;       // of 16 channels and up to 16 taps
constexpr uint32_t MOST_UNITS = 8;               // of SQUARES at a time
// SQUARES of 16 bits each: MOST_UNITS, two of results, and the biases' matrices
constexpr uint32_t L1_MADE = 64 * 1024;
constexpr uint32_t L1_BIAS = 80 * 1024, L1_TAPS = 84 * 1024;
constexpr uint32_t UNIT = 127;                   // where in L0B, fractals

// Whose turn it is in L0A and in L0C, two slots each, with the flags M_MTE1 and FIX_M.
struct Turns {
    uint32_t in = 0, out = 0;
};

// Flag 2 of MTE1_MTE2, MTE2_MTE1, M_MTE1 and MTE1_M is this class's own, and all of FIX_MTE1 and MTE1_FIX.
template <typename T> class Diagonals {
    using L1 = AscendC::LocalTensor<T>;
    AscendC::GlobalTensor<T> weightGm, biasGm;
    L1 squares, made, biases, taps2;
    uint32_t count, blocks, all, bias, flip;     // taps; 16 taps; taps and the bias

public:
    __aicore__ inline Diagonals() {}

    __aicore__ inline void Init(GM_ADDR weight, GM_ADDR b, const Conv& c, uint32_t pieces)
    {
        count = c.kernelH * c.kernelW;
        blocks = CeilOf(count, C0);
        all = count + c.bias;
        bias = c.bias;
        flip = c.flip;
        weightGm.SetGlobalBuffer((__gm__ T*)weight, static_cast<uint64_t>(c.channels) * count);
        if (bias) biasGm.SetGlobalBuffer((__gm__ T*)b, c.channels);
        squares = L1(AscendC::TPosition::B1, 0, L1_MADE / sizeof(T));
        made = L1(AscendC::TPosition::B1, L1_MADE, (L1_BIAS - L1_MADE) / sizeof(T));
        biases = L1(AscendC::TPosition::B1, L1_BIAS, (L1_TAPS - L1_BIAS) / sizeof(T));
        taps2 = L1(AscendC::TPosition::B2, 0, 2 * L0_SLOT / sizeof(T));
        Blank(squares, pieces * blocks * SQUARES);
        Blank(made, SQUARES);
        if (bias) Blank(biases, pieces * FRACTAL);
        AscendC::PipeBarrier<PIPE_MTE2>();
        AscendC::Fill(made, AscendC::InitConstValueParams<T>(C0, 1, C0, static_cast<T>(0.25f)));
        Order<AscendC::HardEvent::MTE2_MTE1>(2);
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(2);
    }

    // The taps of `wide` times 16 channels, from `first` on, on their way to L1.
    __aicore__ inline void Fetch(uint32_t first, uint32_t wide)
    {
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(2);
        AscendC::DataCopy(
            squares, weightGm[static_cast<uint64_t>(first) * count],
            AscendC::Nd2NzParams(wide, C0, count, C0 * count, count, SQUARES / C0, C0 + 1, blocks * SQUARES));
        if (bias) AscendC::DataCopy(biases, biasGm[first], AscendC::DataCopyParams(wide, 1, 0, C0 - 1));
        AscendC::SetFlag<AscendC::HardEvent::MTE2_MTE1>(2);
    }

    // The unit matrix in L0B, once; its flags are set already.
    __aicore__ inline void MakeUnit(Turns& turn)
    {
        AscendC::LocalTensor<T> left(AscendC::TPosition::A2, turn.in * L0_SLOT, L0_SLOT / sizeof(T));
        AscendC::LocalTensor<float> sums(AscendC::TPosition::CO1, turn.out * L0C_SLOT, L0C_SLOT / sizeof(float));
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(turn.in);
        AscendC::LoadData(left, made, AscendC::LoadData2DParams(0, C0, 1, 0, 0, false, 0));
        AscendC::LoadData(taps2, made, AscendC::LoadData2DParams(0, C0, 1, 0, 0, false, 0));
        Multiply(sums, left, taps2, C0, SQUARES / C0, turn);
        Fix(made[SQUARES], sums, C0, turn);
        Order<AscendC::HardEvent::FIX_MTE1>();
        AscendC::LoadData(taps2[UNIT * FRACTAL], made[SQUARES], AscendC::LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        for (int32_t e = 0; e < 2; e++) AscendC::SetFlag<AscendC::HardEvent::MTE1_FIX>(e);
    }

    // What was fetched becomes matrices in L0B: 16 channels' after 16 channels', tap after tap, the bias last.
    __aicore__ inline void Make(uint32_t wide, Turns& turn)
    {
        uint32_t units = wide * blocks;
        Order<AscendC::HardEvent::M_MTE1>(2);    // L0B is read no more
        AscendC::WaitFlag<AscendC::HardEvent::MTE2_MTE1>(2);
        // the next unit's squares are multiplied while this one's rows are collected
        for (uint32_t u = 0; u <= units; u++) {
            if (u < units) Turn(u, turn);
            if (u > 0) Collect(u - 1);
        }
        for (uint32_t i = 0; bias && i < wide; i++) {  // ones times a matrix with the bias in row 0
            AscendC::LoadData(taps2[(i * all + count) * FRACTAL], biases[i * FRACTAL],
                              AscendC::LoadData2DParams(0, 1, 1, 0, 0, true, 0));
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE1_MTE2>(2);
        Order<AscendC::HardEvent::MTE1_M>(2);
    }

    __aicore__ inline void End()
    {
        for (int32_t e = 0; e < 2; e++) AscendC::WaitFlag<AscendC::HardEvent::MTE1_FIX>(e);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_MTE2>(2);
    }

    __aicore__ inline L1 At(uint32_t piece, uint32_t tap) { return taps2[(piece * all + tap) * FRACTAL]; }

private:
    __aicore__ inline void Blank(const L1& x, uint32_t n)
    {
        AscendC::Fill(x, AscendC::InitConstValueParams<T>(1, n / C0, 0, static_cast<T>(0.0f)));
    }

    __aicore__ inline void Turn(uint32_t u, Turns& turn)
    {
        AscendC::LocalTensor<T> left(AscendC::TPosition::A2, turn.in * L0_SLOT, L0_SLOT / sizeof(T));
        AscendC::LocalTensor<float> sums(AscendC::TPosition::CO1, turn.out * L0C_SLOT, L0C_SLOT / sizeof(float));
        AscendC::WaitFlag<AscendC::HardEvent::M_MTE1>(turn.in);
        AscendC::LoadData(left, squares[u * SQUARES], AscendC::LoadData2DParams(0, C0, 1, 0, 0, true, 0));
        Multiply(sums, left, taps2[UNIT * FRACTAL], SQUARES / C0, C0, turn);
        AscendC::WaitFlag<AscendC::HardEvent::MTE1_FIX>(u % 2);
        Fix(made[u % 2 * SQUARES], sums, SQUARES / C0, turn);
        AscendC::SetFlag<AscendC::HardEvent::FIX_MTE1>(u % 2);
    }

    __aicore__ inline void Collect(uint32_t u)
    {
        uint32_t first = u % blocks * C0;
        uint8_t pads[4] = {0, 0, 0, 0};
        AscendC::WaitFlag<AscendC::HardEvent::FIX_MTE1>(u % 2);
        for (uint32_t t = 0; t < C0 && first + t < count; t++) {
            AscendC::LoadData(At(u / blocks, flip ? count - 1 - first - t : first + t), made[u % 2 * SQUARES + t * C0],
                              AscendC::LoadData3DParamsV2<T>(pads, 1, SQUARES / C0 - t, C0, C0, C0, 0, 0, C0, 1, 1, 1,
                                                             1, 1, false, false, static_cast<T>(0.0f)));
        }
        AscendC::SetFlag<AscendC::HardEvent::MTE1_FIX>(u % 2);
    }

    __aicore__ inline void Multiply(const AscendC::LocalTensor<float>& sums, const AscendC::LocalTensor<T>& left,
                                    const AscendC::LocalTensor<T>& right, uint32_t rows, uint32_t deep,
                                    const Turns& turn)
    {
        AscendC::MmadParams p;
        p.m = rows;
        p.n = C0;
        p.k = deep;
        p.cmatrixInitVal = true;
        Order<AscendC::HardEvent::MTE1_M>(turn.in);
        AscendC::WaitFlag<AscendC::HardEvent::FIX_M>(turn.out);
        AscendC::Mmad(sums, left, right, p);
    }

    __aicore__ inline void Fix(const L1& to, const AscendC::LocalTensor<float>& sums, uint32_t rows, Turns& turn)
    {
        AscendC::FixpipeParamsV220 fix;
        fix.nSize = C0;
        fix.mSize = rows;
        fix.srcStride = rows;
        fix.dstStride = rows;
        fix.quantPre = AscendC::IsSameType<T, half>::value ? QuantMode_t::F322F16 : QuantMode_t::F322BF16;
        AscendC::SetFlag<AscendC::HardEvent::M_MTE1>(turn.in);
        turn.in = 1 - turn.in;
        Order<AscendC::HardEvent::M_FIX>(turn.out);
        AscendC::Fixpipe<T, float, AscendC::CFG_NZ>(to, sums, fix);
        AscendC::SetFlag<AscendC::HardEvent::FIX_M>(turn.out);
        turn.out = 1 - turn.out;
    }
};
