// What RMSNorm's kernels share.
#pragma once
#include "../rows.h"

constexpr uint32_t LANES = 64;           // float in one repeat
constexpr uint32_t UB_BYTES = 191 * 1024;
constexpr uint32_t NARROW = 8 * LANES;   // columns: the sums of a row's blocks are one repeat

__aicore__ inline void FromVToS()        // the scalar unit waits for V, then reads
{
    AscendC::SetFlag<AscendC::HardEvent::V_S>(0);
    AscendC::WaitFlag<AscendC::HardEvent::V_S>(0);
}

// rstd = 1 / sqrt(sums * share + eps), for n rows; share: 1 / width
__aicore__ inline void OneOverRoot(const AscendC::LocalTensor<float>& rstd, const AscendC::LocalTensor<float>& sums, float share, float eps, int32_t n)
{
    AscendC::Muls(sums, sums, share, n);
    AscendC::Adds(sums, sums, eps, n);
    AscendC::Sqrt(sums, sums, n);
    AscendC::Duplicate(rstd, 1.0f, n);
    AscendC::Div(rstd, rstd, sums, n);
}

// The sum of each of `rows` rows: eight values of a block to one, then what is left of a row, each row by itself.
__aicore__ inline void RowSums(const AscendC::LocalTensor<float>& sums, const AscendC::LocalTensor<float>& x, const AscendC::LocalTensor<float>& parts,
                               const AscendC::LocalTensor<float>& scratch, uint32_t rows, uint32_t pitch)
{
    AscendC::BlockReduceSum<float>(parts, x, static_cast<int32_t>(rows * pitch / LANES), static_cast<int32_t>(LANES), 1, 1, 8);
    for (uint32_t r = 0; r < rows; r++) AscendC::ReduceSum(sums[r], parts[r * pitch / 8], scratch, static_cast<int32_t>(pitch / 8));
}

// The same for narrow rows: what is left of a row is one repeat, so that one instruction ends all rows.
__aicore__ inline void NarrowSums(const AscendC::LocalTensor<float>& sums, const AscendC::LocalTensor<float>& x, const AscendC::LocalTensor<float>& parts,
                                  uint32_t rows, uint32_t pitch)
{
    AscendC::BlockReduceSum<float>(parts, x, static_cast<int32_t>(rows * pitch / LANES), static_cast<int32_t>(LANES), 1, 1, 8);
    AscendC::WholeReduceSum<float>(sums, parts, static_cast<int32_t>(pitch / 8), static_cast<int32_t>(rows), 1, 1, static_cast<int32_t>(pitch / LANES));
}

// Each of a few numbers eight times, a block of 32 bytes.
__aicore__ inline void Broaden(const AscendC::LocalTensor<float>& blocks, const AscendC::LocalTensor<float>& numbers, uint32_t count)
{
    AscendC::Brcb(blocks, numbers, static_cast<uint8_t>(CeilOf(count, 8)), AscendC::BrcbRepeatParams(1, 8));
}

// y = x * one number for each row, given as blocks: 64 columns of all rows in an instruction, which reads a row's block eight times.
// What lies behind the end of a row is left alone: a zero there, times a number that is none, would spoil the sum of the row that comes next.
__aicore__ inline void ScaleRows(const AscendC::LocalTensor<float>& y, const AscendC::LocalTensor<float>& x, const AscendC::LocalTensor<float>& blocks, uint32_t rows, uint32_t pitch,
                                 uint32_t width)
{
    uint8_t row = static_cast<uint8_t>(pitch / 8);
    for (uint32_t at = 0; at < pitch; at += LANES) {
        uint64_t lanes = LeastOf(LANES, width - at);
        AscendC::Mul(y[at], x[at], blocks, lanes, static_cast<uint8_t>(rows), AscendC::BinaryRepeatParams(1, 1, 0, row, row, 1));
    }
}
