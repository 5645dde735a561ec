// Behind attention.asc: the room that its kernels need in GM.
#pragma once
#include <ATen/ops/empty.h>

namespace lab_attention {

inline Tensor workspace(const Tensor& like, int64_t blocks, const Attention& a)  // the slots of S, P and O
{
    int64_t pitch = (a.dim + LANES - 1) / LANES * LANES;
    return at::empty({blocks * TALL * (S_SLOTS * a.wide + P_SLOTS * (a.wide / 2) + O_SLOTS * pitch)},
                     like.options().dtype(at::kFloat));
}

}  // namespace lab_attention
