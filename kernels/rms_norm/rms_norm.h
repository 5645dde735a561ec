// What RMSNorm's kernels share.
#pragma once
#include "../rows.h"

constexpr uint32_t LANES = 64;           // float in one repeat
constexpr uint32_t UB_BYTES = 191 * 1024;

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
