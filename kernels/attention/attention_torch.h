// What the adapters of the attention kernels share: the checks of their arguments.
#pragma once
#include <cmath>
#include <initializer_list>
#include <optional>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

namespace lab_attention {

using at::Tensor;

constexpr int64_t CUBES = 24, VECTORS = 48;  // cores of the chip
constexpr int64_t FURTHEST = 65535;          // elements from row to row that a copy into L1 can step

inline uint8_t* bytes(const Tensor& t) { return static_cast<uint8_t*>(t.data_ptr()); }

inline float scale_of(std::optional<double> given, int64_t dim)
{
    return given ? *given : 1.0 / std::sqrt(double(dim));
}

inline void check_type(const char* op, const Tensor& t, const char* name)
{
    TORCH_CHECK(t.scalar_type() == at::kHalf || t.scalar_type() == at::kBFloat16, op, ": ", name, " is ",
                t.scalar_type(), ", the kernel takes float16 and bfloat16");
}
inline void check_pair(const char* op, const Tensor& t, const char* name, const Tensor& other, const char* other_name)
{
    TORCH_CHECK(other.scalar_type() == t.scalar_type(), op, ": ", name, " is ", t.scalar_type(), " but ", other_name,
                " is ", other.scalar_type(), "; convert one of them");
    TORCH_CHECK(other.device() == t.device(), op, ": ", name, " is on ", t.device(), " but ", other_name, " is on ",
                other.device());
}
inline void check_heads(const char* op, const c10::SymInt& heads, const c10::SymInt& kv_heads, const c10::SymInt& dim,
                        const c10::SymInt& kv_dim, int64_t most)
{
    TORCH_CHECK(dim == kv_dim, op, ": the heads of q have ", dim, " numbers but those of the keys ", kv_dim);
    TORCH_CHECK(dim % 16 == 0 && dim <= most && dim > 0, op, ": heads have ", dim,
                " numbers, the kernel takes multiples of 16 up to ", most);
    TORCH_CHECK(kv_heads > 0 && heads % kv_heads == 0, op, ": ", heads, " heads of queries cannot share ", kv_heads,
                " heads of keys evenly");
}

// What does not depend on the device: Meta asks the same, so that a program for fake tensors fails where the real one
// does.
inline void check_prompt(const char* op, const Tensor& q, const Tensor& k, const Tensor& v,
                         const std::optional<Tensor>& mask, bool causal)
{
    check_type(op, q, "q");
    TORCH_CHECK(q.dim() == 4 && k.dim() == 4 && k.sym_sizes() == v.sym_sizes(), op, ": q has the shape ", q.sym_sizes(),
                ", k ", k.sym_sizes(), " and v ", v.sym_sizes(),
                "; they must be [batch, heads, rows, head_dim], k and v alike");
    TORCH_CHECK(q.sym_size(0) == k.sym_size(0), op, ": q has ", q.sym_size(0), " sequences but k ", k.sym_size(0));
    check_pair(op, q, "q", k, "k");
    check_pair(op, q, "q", v, "v");
    check_heads(op, q.sym_size(1), k.sym_size(1), q.sym_size(3), k.sym_size(3), 128);
    if (!mask) return;
    TORCH_CHECK(!causal, op, ": a mask and causal=True together; put the causal part into the mask");
    TORCH_CHECK(mask->scalar_type() == at::kBool || mask->scalar_type() == q.scalar_type(), op, ": mask is ",
                mask->scalar_type(), ", it must be Bool (True: seen) or, to be added, ", q.scalar_type());
    TORCH_CHECK(mask->device() == q.device(), op, ": q is on ", q.device(), " but mask is on ", mask->device());
    bool fits = mask->dim() == 4;
    for (int64_t d = 0; fits && d < 4; d++)
        fits = mask->sym_size(d) == 1 || mask->sym_size(d) == (d < 3 ? q.sym_size(d) : k.sym_size(2));
    TORCH_CHECK(fits, op, ": mask has the shape ", mask->sym_sizes(),
                ", it must be [batch or 1, heads or 1, rows or 1, keys] of q ", q.sym_sizes(), " and k ",
                k.sym_sizes());
}

// Heads and rows may lie in any order, as the views of a projection do; the numbers of a head lie side by side.
inline Tensor in_rows(const Tensor& t)
{
    bool rows = t.stride(3) == 1 && t.stride(2) >= t.size(3) && t.stride(2) <= FURTHEST;
    return rows ? t : t.contiguous();
}

template <typename S> void strides(S& to, const Tensor& t)
{
    for (int d = 0; d < 3; d++) to[d] = t.stride(d);
}

// The mask as a kernel reads it: [batch or 1, heads or 1, rows or 1, keys], keys side by side.
inline Tensor seen_of(const Tensor& mask, int64_t keys)
{
    Tensor seen = mask.size(3) == keys && (keys == 1 || mask.stride(3) == 1)
                      ? mask
                      : mask.expand({mask.size(0), mask.size(1), mask.size(2), keys}).contiguous();
    return seen.size(2) > 1 && seen.stride(2) < keys ? seen.contiguous() : seen;
}
inline uint32_t kind_of(const Tensor& mask) { return mask.scalar_type() == at::kBool ? 1 : 2; }

// Inference only: a gradient that silently is none would be worse than an error.
inline void refuse_gradients(const char* op, std::initializer_list<Tensor> given)
{
    for (const Tensor& t : given) {
        TORCH_CHECK(!(at::GradMode::is_enabled() && t.requires_grad()), op,
                    " has no backward; call it under torch.no_grad(), or train with scaled_dot_product_attention");
    }
}

}  // namespace lab_attention
