// torch.autocast("npu"): which operators run in the lower precision, which in fp32, which in the widest of their types.
//
// The lists are PyTorch's for devices with half precision ("Autocast Op Reference" of its documentation). The kernels
// are boxed: they cast whatever tensors are among the arguments and call the operator again below autocast.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include "allocators.h"
#include "facts.h"

namespace at::autocast {  // declared here: ATen/autocast_mode.h brings all of ATen along
TORCH_API at::ScalarType get_autocast_dtype(c10::DeviceType device);
TORCH_API at::Tensor cached_cast(at::ScalarType to, const at::Tensor& tensor, c10::DeviceType device);
}  // namespace at::autocast

namespace labdev::autocast {

enum class To { Lower, Float, Widest };

inline bool castable(const at::Tensor& t) {
    return t.device().type() == kNpu && t.is_floating_point() && t.scalar_type() != at::kDouble;
}

template <To to> void run(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
    c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKeySet(c10::DispatchKey::AutocastPrivateUse1));
    const size_t count = op.schema().arguments().size();
    at::ScalarType type = to == To::Float ? at::kFloat : at::autocast::get_autocast_dtype(kNpu);
    auto each = [&](auto&& f) {
        for (size_t i = stack->size() - count; i < stack->size(); ++i) map_tensors((*stack)[i], f);
    };
    if (to == To::Widest)
        each([&](at::Tensor t) {
            if (castable(t) && t.scalar_type() == at::kFloat) type = at::kFloat;
            return t;
        });
    each([&](at::Tensor t) { return castable(t) ? at::autocast::cached_cast(type, t, kNpu) : t; });
    op.callBoxed(stack);
}

inline void unsafe(const c10::OperatorHandle&, c10::DispatchKeySet, Stack*) {
    TORCH_CHECK(
        false,
        "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: in half precision "
        "the logarithm of a small probability overflows. Use binary_cross_entropy_with_logits or BCEWithLogitsLoss "
        "on the values before the sigmoid.");
}

inline void add(torch::Library& m) {
    using torch::CppFunction;
    auto all = [&](auto kernel, std::initializer_list<const char*> names) {
        for (const char* name : names) m.impl(name, kernel());
    };
    all([] { return CppFunction::makeFromBoxedFunction<&run<To::Lower>>(); }, {"conv1d",
                                                                               "conv1d.padding",
                                                                               "conv2d",
                                                                               "conv2d.padding",
                                                                               "conv3d",
                                                                               "conv3d.padding",
                                                                               "_convolution",
                                                                               "convolution",
                                                                               "conv_tbc",
                                                                               "conv_transpose1d",
                                                                               "conv_transpose2d.input",
                                                                               "conv_transpose3d.input",
                                                                               "prelu",
                                                                               "addmm",
                                                                               "addmv",
                                                                               "addr",
                                                                               "matmul",
                                                                               "einsum",
                                                                               "mm",
                                                                               "mv",
                                                                               "linear",
                                                                               "addbmm",
                                                                               "baddbmm",
                                                                               "bmm",
                                                                               "chain_matmul",
                                                                               "linalg_multi_dot",
                                                                               "linalg_vecdot",
                                                                               "lstm_cell",
                                                                               "gru_cell",
                                                                               "rnn_tanh_cell",
                                                                               "rnn_relu_cell",
                                                                               "scaled_dot_product_attention"});
    all([] { return CppFunction::makeFromBoxedFunction<&run<To::Float>>(); }, {"acos",
                                                                               "asin",
                                                                               "cosh",
                                                                               "erfinv",
                                                                               "exp",
                                                                               "expm1",
                                                                               "log",
                                                                               "log10",
                                                                               "log2",
                                                                               "log1p",
                                                                               "reciprocal",
                                                                               "rsqrt",
                                                                               "sinh",
                                                                               "tan",
                                                                               "pow.Tensor_Scalar",
                                                                               "pow.Tensor_Tensor",
                                                                               "pow.Scalar",
                                                                               "softplus",
                                                                               "layer_norm",
                                                                               "native_layer_norm",
                                                                               "group_norm",
                                                                               "frobenius_norm.dim",
                                                                               "nuclear_norm",
                                                                               "cosine_similarity",
                                                                               "poisson_nll_loss",
                                                                               "cosine_embedding_loss",
                                                                               "nll_loss",
                                                                               "nll_loss2d",
                                                                               "hinge_embedding_loss",
                                                                               "kl_div",
                                                                               "l1_loss",
                                                                               "smooth_l1_loss",
                                                                               "huber_loss",
                                                                               "mse_loss",
                                                                               "margin_ranking_loss",
                                                                               "multilabel_margin_loss",
                                                                               "soft_margin_loss",
                                                                               "triplet_margin_loss",
                                                                               "multi_margin_loss",
                                                                               "binary_cross_entropy_with_logits",
                                                                               "dist",
                                                                               "pdist",
                                                                               "cdist",
                                                                               "renorm",
                                                                               "logsumexp",
                                                                               "softmax.int",
                                                                               "log_softmax.int",
                                                                               "cumprod",
                                                                               "cumsum",
                                                                               "prod",
                                                                               "prod.dim_int",
                                                                               "sum",
                                                                               "sum.dim_IntList",
                                                                               "norm.Scalar",
                                                                               "norm.ScalarOpt_dim"});
    all([] { return CppFunction::makeFromBoxedFunction<&run<To::Widest>>(); },
        {"addcdiv", "addcmul", "atan2", "bilinear", "cross", "dot", "vdot", "grid_sampler", "index_put", "tensordot",
         "scatter_add", "cat", "stack"});
    m.impl("binary_cross_entropy", CppFunction::makeFromBoxedFunction<&unsafe>());
}

}  // namespace labdev::autocast
