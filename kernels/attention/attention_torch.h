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

// Inference only: a gradient that silently is none would be worse than an error.
inline void refuse_gradients(const char* op, std::initializer_list<Tensor> given)
{
    for (const Tensor& t : given) {
        TORCH_CHECK(!(at::GradMode::is_enabled() && t.requires_grad()), op,
                    " has no backward; call it under torch.no_grad(), or train with scaled_dot_product_attention");
    }
}

}  // namespace lab_attention
