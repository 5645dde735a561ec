// Operators that a card has one kernel for, and that PyTorch would take apart for a device that it does not know:
// norms, attention, dropout, softmax into fp32, the lists of an optimizer. Here each is one call of the fallback and
// one piece of device work; half precision is computed in fp32 and rounded once (OpFacts::wide).
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_native_multi_head_attention_native.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/_scaled_dot_product_fused_attention_overrideable.h>
#include <ATen/ops/_transformer_encoder_layer_fwd_native.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/native_dropout.h>
#include <ATen/ops/one_hot_native.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>
#include <vector>

#include "fallback.h"
#include "sparse.h"

namespace labdev::kernels {

using c10::IntArrayRef;
using std::optional;

// PyTorch's decomposition of an operator: what a device without any kernel would get.
inline void taken_apart(const c10::OperatorHandle& op, Stack* stack) {
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse2), stack);
}

// ---- norms

inline bool is_half(const c10::IValue& v) {
    if (!v.isTensor() || !v.toTensor().defined()) return false;
    const auto type = v.toTensor().scalar_type();
    return type == at::kHalf || type == at::kBFloat16;
}

// Mean and 1 / deviation stay fp32, and so does the gradient of a weight that is.
inline void norm(const c10::OperatorHandle& op, Stack* stack) {
    constexpr uint32_t kStatistics = 0b110;
    CpuCall(op, op, stack, Rounding{kStatistics}).run();
}
template <int weight> void norm_backward(const c10::OperatorHandle& op, Stack* stack) {
    const auto args = torch::jit::last(*stack, op.schema().arguments().size());
    const bool wide_weight = args[weight].isTensor() && args[weight].toTensor().defined() && !is_half(args[weight]);
    CpuCall(op, op, stack, Rounding{wide_weight ? 0b110u : 0u}).run();
}

// x / sqrt(mean(x^2) + eps) * weight over the last axes; the second result is 1 / sqrt(...). fp32 or fp64.
template <class T> void rms_rows(const T* x, const T* weight, T* y, T* rstd, int64_t rows, int64_t width, double eps) {
    at::parallel_for(0, rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)),
                     [&](int64_t first, int64_t end) {
                         for (int64_t r = first; r < end; ++r) {
                             const T* from = x + r * width;
                             T* to = y + r * width;
                             double sum = 0;
                             for (int64_t i = 0; i < width; ++i) sum += double(from[i]) * double(from[i]);
                             const T scale = T(1 / std::sqrt(sum / double(width) + eps));
                             rstd[r] = scale;
                             if (weight)
                                 for (int64_t i = 0; i < width; ++i) to[i] = from[i] * scale * weight[i];
                             else
                                 for (int64_t i = 0; i < width; ++i) to[i] = from[i] * scale;
                         }
                     });
}

inline std::vector<int64_t> statistics_shape(const Tensor& x, size_t normalized) {
    std::vector<int64_t> shape(x.sizes().begin(), x.sizes().end());
    std::fill(shape.end() - long(normalized), shape.end(), 1);
    return shape;
}

inline Tensor contiguous_or_none(const optional<Tensor>& t, at::ScalarType type) {
    return t && t->defined() ? t->to(type).contiguous() : Tensor();
}

inline std::tuple<Tensor, Tensor> rms_norm(const Tensor& input, IntArrayRef shape, const optional<Tensor>& weight_,
                                           optional<double> eps) {
    const auto type = input.scalar_type();
    TORCH_CHECK(type == at::kFloat || type == at::kDouble, "npu: rms_norm of ", type);
    TORCH_CHECK(size_t(input.dim()) >= shape.size() && input.sizes().slice(size_t(input.dim()) - shape.size()) == shape,
                "Given normalized_shape=", shape, ", expected input with shape [*", shape, "], but got input of size",
                input.sizes());
    const Tensor x = input.contiguous(), weight = contiguous_or_none(weight_, type);
    Tensor y = at::empty_like(x, at::MemoryFormat::Contiguous);
    Tensor rstd = at::empty(statistics_shape(x, shape.size()), x.options());
    const int64_t width = c10::multiply_integers(shape), rows = rstd.numel();
    auto run = [&](auto zero) {
        using T = decltype(zero);
        rms_rows<T>(x.const_data_ptr<T>(), weight.defined() ? weight.const_data_ptr<T>() : nullptr,
                    y.mutable_data_ptr<T>(), rstd.mutable_data_ptr<T>(), rows, width,
                    eps.value_or(std::numeric_limits<T>::epsilon()));
    };
    if (type == at::kFloat) run(0.f);
    else run(0.);
    return {y, rstd};
}

inline std::tuple<Tensor, Tensor> rms_norm_backward(const Tensor& grad_, const Tensor& input, IntArrayRef shape,
                                                    const Tensor& rstd_, const optional<Tensor>& weight_,
                                                    std::array<bool, 2> wanted) {
    const auto type = input.scalar_type();
    const Tensor weight = contiguous_or_none(weight_, type);
    std::vector<int64_t> inner(shape.size()), outer(size_t(input.dim()) - shape.size());
    std::iota(outer.begin(), outer.end(), 0);
    std::iota(inner.begin(), inner.end(), int64_t(outer.size()));
    const Tensor grad = grad_.to(type), rstd = rstd_.view(statistics_shape(input, shape.size()));
    const Tensor normal = input * rstd;
    Tensor to_input, to_weight;
    if (wanted[0]) {
        const Tensor scaled = weight.defined() ? grad * weight : grad;
        to_input = ((scaled - normal * (normal * scaled).mean(inner, true)) * rstd).contiguous();
    }
    if (wanted[1] && weight.defined()) {
        to_weight = grad * normal;
        if (!outer.empty()) to_weight = to_weight.sum(outer);
    }
    return {to_input, to_weight};
}

inline c10::OperatorHandle our(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

inline bool real(const c10::IValue& v) { return v.isTensor() && v.toTensor().is_floating_point(); }

inline void rms(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = our("labdev::rms_norm");
    if (!real(stack->at(stack->size() - op.schema().arguments().size()))) return taken_apart(op, stack);
    CpuCall(op, target, stack, Rounding{0b10}).run();
}
inline void rms_backward(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = our("labdev::rms_norm_backward");
    const auto args = torch::jit::last(*stack, op.schema().arguments().size());
    const bool wide_weight = args[4].isTensor() && args[4].toTensor().defined() && !is_half(args[4]);
    CpuCall(op, target, stack, Rounding{wide_weight ? 0b10u : 0u}).run();
}

// ---- softmax of half-precision numbers into fp32, which the CPU's kernel refuses

template <int flag> void softmax(const c10::OperatorHandle& op, Stack* stack) {
    c10::IValue& into_float = (*stack)[stack->size() - op.schema().arguments().size() + flag];
    const bool kept = into_float.toBool();
    into_float = false;
    CpuCall(op, op, stack, Rounding{kept ? 1u : 0u}).run();
}
inline void softmax_backward(const c10::OperatorHandle& op, Stack* stack) {
    const size_t first = stack->size() - op.schema().arguments().size();
    c10::IValue& type = (*stack)[first + 3];
    const auto narrow = type.toScalarType();
    const bool from_float = (*stack)[first].toTensor().scalar_type() == at::kFloat && narrow != at::kFloat;
    if (from_float || is_half((*stack)[first])) type = at::kFloat;
    CpuCall(op, op, stack, Rounding{0, from_float ? optional<at::ScalarType>(narrow) : std::nullopt}).run();
}

// ---- dropout: one kernel that draws, scales and keeps the mask

inline Tensor dropout(const Tensor& input, double p, bool train) {
    TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
    if (p == 0 || !train || input.sym_numel() == 0) return input;
    if (p == 1) return input * at::zeros_like(input);
    return std::get<0>(at::native_dropout(input, p, true));
}
inline void native_dropout(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = our("labdev::native_dropout");
    CpuCall(op, target, stack).run();
}

// ---- attention

// PyTorch's query.new_empty(...) with the order of the query's axes in memory.
inline Tensor laid_out_like(const Tensor& like, const Tensor& values) {
    std::vector<int64_t> order(size_t(values.dim()));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return like.stride(a) > like.stride(b); });
    std::vector<int64_t> back(order.size());
    for (size_t i = 0; i < order.size(); ++i) back[size_t(order[i])] = int64_t(i);
    return values.permute(order).contiguous().permute(back);
}

struct Attention {
    Tensor query, key, value;  // [batch, heads, rows, depth]; as many heads of keys as of queries
    int64_t groups;
    double scale;

    Attention(const Tensor& q, const Tensor& k, const Tensor& v, optional<double> scale_)
        : query(q),
          groups(k.size(1) ? q.size(1) / k.size(1) : 1),
          scale(scale_.value_or(1 / std::sqrt(double(q.size(-1))))) {
        key = groups > 1 ? k.repeat_interleave(groups, 1) : k;
        value = groups > 1 ? v.repeat_interleave(groups, 1) : v;
    }

    Tensor scores(const optional<Tensor>& bias, bool causal) const {
        Tensor s = at::matmul(query * scale, key.transpose(-1, -2));
        const double never = -std::numeric_limits<double>::infinity();
        if (causal) {
            const Tensor row = at::arange(s.size(-2)).unsqueeze(1), column = at::arange(s.size(-1));
            s.masked_fill_(column.gt(row), never);
        }
        if (bias && bias->defined()) {
            if (bias->scalar_type() == at::kBool) s.masked_fill_(bias->logical_not(), never);
            else s.add_(*bias);
        }
        return s;
    }
    // A row in which nothing may be seen gives zeros.
    static Tensor shares(const Tensor& scores, const Tensor& sums) {
        return (scores - sums.unsqueeze(-1)).exp_().masked_fill_(sums.isneginf().unsqueeze(-1), 0);
    }
    // The numbers that dropout would draw for these shares; of p = 1 nothing is left, and nothing to divide by.
    static Tensor mask(const Tensor& like, double p, int64_t seed) {
        if (p == 1) return at::zeros_like(like);
        return at::empty_like(like).bernoulli_(1 - p, at::detail::createCPUGenerator(uint64_t(seed))).div_(1 - p);
    }
    Tensor grouped(const Tensor& grad) const {  // the sum over the queries that share a head of keys
        return groups > 1 ? grad.unflatten(1, IntArrayRef({grad.size(1) / groups, groups})).sum(2) : grad;
    }
};

using Fused = std::tuple<Tensor, Tensor, Tensor, Tensor, int64_t, int64_t, Tensor, Tensor, Tensor>;

inline Fused attention(const Tensor& q, const Tensor& k, const Tensor& v, const optional<Tensor>& bias, double p,
                       bool causal, bool, optional<double> scale) {
    const Attention a(q, k, v, scale);
    const Tensor scores = a.scores(bias, causal), sums = scores.logsumexp(-1);
    Tensor shares = Attention::shares(scores, sums);
    Tensor seed = at::scalar_tensor(0, at::kLong);
    if (p > 0) {
        // Of the generator that this call was lent: nothing was drawn from it yet, so the way back can draw it again.
        seed.fill_(int64_t(Lent::generator().current_seed()));
        shares = shares * Attention::mask(shares, p, seed.item<int64_t>());
    }
    return {laid_out_like(q, at::matmul(shares, a.value)),
            sums,
            Tensor(),
            Tensor(),
            q.size(2),
            k.size(2),
            seed,
            at::scalar_tensor(0, at::kLong),
            Tensor()};
}

inline std::tuple<Tensor, Tensor, Tensor, Tensor> attention_backward(
    const Tensor& grad, const Tensor& q, const Tensor& k, const Tensor& v, const optional<Tensor>& bias,
    std::array<bool, 4> wanted, const Tensor&, const Tensor& sums, const Tensor&, const Tensor&, int64_t, int64_t,
    double p, bool causal, const Tensor& seed, const Tensor&, optional<double> scale) {
    const Attention a(q, k, v, scale);
    const Tensor shares = Attention::shares(a.scores(bias, causal), sums);
    Tensor to_shares = at::matmul(grad, a.value.transpose(-1, -2)), seen = shares;
    if (p > 0) {
        const Tensor mask = Attention::mask(shares, p, seed.item<int64_t>());
        to_shares = to_shares * mask, seen = shares * mask;
    }
    const Tensor to_scores = shares * (to_shares - (to_shares * shares).sum(-1, true));
    Tensor to_bias;
    if (wanted[3] && bias && bias->defined() && bias->is_floating_point())
        to_bias = to_scores.sum_to_size(bias->sizes());
    // Laid out as the tensors that they belong to, which is what torch.compile was told by PyTorch's own meta function.
    return {wanted[0] ? laid_out_like(q, at::matmul(to_scores, a.key).mul_(a.scale)) : Tensor(),
            wanted[1] ? laid_out_like(k, a.grouped(at::matmul(to_scores.transpose(-1, -2), a.query)).mul(a.scale))
                      : Tensor(),
            wanted[2] ? laid_out_like(v, a.grouped(at::matmul(seen.transpose(-1, -2), grad))) : Tensor(), to_bias};
}

inline void fused_attention(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = our("labdev::attention");
    CpuCall(op, target, stack, Rounding{0b10}).run();
}
inline void fused_attention_backward(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = our("labdev::attention_backward");
    CpuCall(op, target, stack, Rounding{}).run();
}

// Whether torch_npu would take its fused kernel: op-plugin, ScaledDotProductAttentionKernelNpuOpApi.cpp.
inline bool fuses(const Tensor& q, const Tensor& k, const Tensor& v, const optional<Tensor>& mask, bool causal) {
    constexpr int64_t kMostHeads = 2048, kMostDepth = 512;
    const auto type = q.scalar_type();
    if (type != at::kHalf && type != at::kBFloat16 && type != at::kFloat) return false;
    if (q.dim() != 4 || k.dim() != 4 || v.dim() != 4 || q.is_nested() || k.is_nested() || v.is_nested()) return false;
    if (mask && mask->defined() && (causal || mask->scalar_type() != at::kBool)) return false;
    auto size = [](const Tensor& t, int64_t i) { return t.sym_size(i).guard_int(__FILE__, __LINE__); };
    if (type == at::kFloat && (size(q, 3) % 4 || size(k, 3) % 4 || size(v, 3) % 4)) return false;
    // A tensor subclass without a rule for the fused operator (DTensor) gets the parts; tracing keeps the one operator.
    for (const Tensor* t : {&q, &k, &v})
        if (t->key_set().has(c10::DispatchKey::Python) && !c10::impl::TorchDispatchModeTLS::any_modes_set())
            return false;
    const int64_t heads = size(k, 1);
    return size(q, 1) <= kMostHeads && heads <= kMostHeads && size(q, 3) <= kMostDepth && heads > 0 &&
           size(q, 1) % heads == 0 && size(q, 1) >= heads && size(v, 1) == heads;
}

inline Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                           const optional<Tensor>& mask, double p, bool causal, optional<double> scale,
                                           bool gqa) {
    TORCH_CHECK(q.dtype() == k.dtype() && q.dtype() == v.dtype(),
                "Expected query, key, and value to have the same dtype, but got query.dtype: ", q.dtype(),
                " key.dtype: ", k.dtype(), " and value.dtype: ", v.dtype(), " instead.");
    TORCH_CHECK(q.device() == k.device() && q.device() == v.device(),
                "Expected query, key, and value to have the same device type, but got query.device: ", q.device(),
                " key.device: ", k.device(), " and value.device: ", v.device(), " instead.");
    TORCH_CHECK(q.dim() >= 2 && k.dim() >= 2 && v.dim() >= 2,
                "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: ", q.dim(),
                " key.dim: ", k.dim(), " and value.dim: ", v.dim(), " instead.");
    optional<Tensor> seen = mask && mask->defined() ? mask : std::nullopt;
    if (seen)
        // PyTorch's own check lets a float mask through as well; torch_npu's (validate_sdpa_input there) does not.
        TORCH_CHECK(seen->scalar_type() == at::kBool || seen->dtype() == q.dtype(),
                    "Expected attn_mask dtype to be bool or to match query dtype, but got attn_mask.dtype: ",
                    seen->dtype(), " and  query.dtype: ", q.dtype(), " instead.");
    if (fuses(q, k, v, seen, causal))
        return std::get<0>(
            at::_scaled_dot_product_fused_attention_overrideable(q, k, v, seen, p, causal, false, scale));
    if (seen && seen->scalar_type() == at::kBool)
        seen = at::zeros_like(*seen, q.options())
                   .masked_fill_(seen->logical_not(), -std::numeric_limits<double>::infinity());
    return std::get<0>(at::_scaled_dot_product_attention_math(q, k, v, seen, p, causal, std::nullopt, scale, gqa));
}

// ---- losses, indices

// One kernel on a card; PyTorch would give an unknown device its parts, each rounded to half precision.
inline void one_wide_kernel(const c10::OperatorHandle& op, Stack* stack) { CpuCall(op, op, stack, Rounding{}).run(); }

// A card takes int32 where the CPU's kernel insists on int64.
template <int argument> void long_indices(const c10::OperatorHandle& op, Stack* stack) {
    c10::IValue& v = torch::jit::peek(*stack, argument, op.schema().arguments().size());
    if (v.isTensor() && v.toTensor().scalar_type() == at::kInt) v = v.toTensor().to(at::kLong);
    fallback(op, stack);
}
inline Tensor one_hot(const Tensor& self, int64_t classes) {
    if (self.scalar_type() != at::kInt) return at::native::one_hot(self, classes);
    return at::native::one_hot(self.to(at::kLong), classes).to(at::kInt);
}
// Whole layers are no kernels of a card: op-plugin, too, gives attention to the function that calls its parts. Those
// take the types that the layer has: autocast would give one part its bias in another type than its input.
template <auto function, class Result, class... Arguments> Result in_parts(Arguments... arguments) {
    const c10::impl::ExcludeDispatchKeyGuard as_given(c10::DispatchKey::AutocastPrivateUse1);
    return function(arguments...);
}
template <auto function, class Result, class... Arguments> torch::CppFunction parts_of(Result (*)(Arguments...)) {
    return torch::CppFunction(TORCH_FN((in_parts<function, Result, Arguments...>)));
}
template <auto function> torch::CppFunction parts() { return parts_of<function>(function); }

// nn.TransformerEncoder asks this before it drops the padding by strided nested tensors, which no NPU has: with "no" it
// takes the padded batch. Only what stands in the padded places of its output then differs from the CPU's, which are 0.
inline bool left_aligned(const Tensor&, const Tensor&) { return false; }
// With sparse=True the gradient of the table is a sparse tensor.
inline void embedding_bag_backward(const c10::OperatorHandle& op, Stack* stack) {
    const auto& arguments = op.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (arguments[i].name() == "sparse" && torch::jit::peek(*stack, i, arguments.size()).toBool())
            return sparse(op, stack);
    }
    fallback(op, stack);
}

// ---- lists of tensors: one launch for all of them where they lie on one device

inline void for_each(const c10::OperatorHandle& op, Stack* stack) {
    int device = -1;
    bool together = true;
    for (const c10::IValue& v : torch::jit::last(*stack, op.schema().arguments().size())) {
        if (!v.isTensorList()) continue;
        for (const Tensor& t : v.toTensorVector()) {
            const int here = is_npu(t) ? t.device().index() : -1;
            if (device < 0) device = here;
            together = together && here >= 0 && here == device;
        }
    }
    if (together) CpuCall(op, op, stack).run();
    else taken_apart(op, stack);
}

// ---- their places in PyTorch

// On the CPU, under names of our own: what the boxed kernels above redispatch to.
inline void define(torch::Library& m) {
    m.def("rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)");
    m.def(
        "rms_norm_backward(Tensor grad_out, Tensor input, int[] normalized_shape, Tensor rstd, Tensor? weight, "
        "bool[2] output_mask) -> (Tensor, Tensor)");
    m.def("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)");
    m.def(
        "attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias=None, float dropout_p=0.0, "
        "bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor, Tensor, Tensor, Tensor, "
        "int, int, Tensor, Tensor, Tensor)");
    m.def(
        "attention_backward(Tensor grad_out, Tensor query, Tensor key, Tensor value, Tensor? attn_bias, "
        "bool[4] grad_input_mask, Tensor out, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, int max_q, "
        "int max_k, float dropout_p, bool is_causal, Tensor philox_seed, Tensor philox_offset, *, float? scale=None) "
        "-> (Tensor, Tensor, Tensor, Tensor)");
}
inline void define_on_cpu(torch::Library& m) {
    m.impl("rms_norm", TORCH_FN(rms_norm));
    m.impl("rms_norm_backward", TORCH_FN(rms_norm_backward));
    m.impl("native_dropout", TORCH_FN(drawn_dropout));
    m.impl("attention", TORCH_FN(attention));
    m.impl("attention_backward", TORCH_FN(attention_backward));
}

inline void add(torch::Library& m) {
    using torch::CppFunction;
    for (const char* name : {"native_layer_norm", "native_group_norm"})
        m.impl(name, CppFunction::makeFromBoxedFunction<&norm>());
    m.impl("native_layer_norm_backward", CppFunction::makeFromBoxedFunction<&norm_backward<5>>());
    m.impl("native_group_norm_backward", CppFunction::makeFromBoxedFunction<&norm_backward<4>>());
    for (const char* name : {"_softmax", "_log_softmax", "_softmax.out", "_log_softmax.out"})
        m.impl(name, CppFunction::makeFromBoxedFunction<&softmax<2>>());
    for (const char* name : {"_softmax_backward_data", "_log_softmax_backward_data"})
        m.impl(name, CppFunction::makeFromBoxedFunction<&softmax_backward>());
    for (const char* name :
         {"binary_cross_entropy_with_logits", "binary_cross_entropy", "binary_cross_entropy_backward"})
        m.impl(name, CppFunction::makeFromBoxedFunction<&one_wide_kernel>());
    m.impl("multilabel_margin_loss_forward", CppFunction::makeFromBoxedFunction<&long_indices<1>>());
    m.impl("multilabel_margin_loss_backward", CppFunction::makeFromBoxedFunction<&long_indices<2>>());
    m.impl("one_hot", TORCH_FN(one_hot));
    m.impl("_native_multi_head_attention", parts<&at::native::native_multi_head_attention_cpu>());
    m.impl("_transformer_encoder_layer_fwd", parts<&at::native::transformer_encoder_layer_forward>());
    m.impl("_nested_tensor_from_mask_left_aligned", TORCH_FN(left_aligned));
    m.impl("_embedding_bag_backward", CppFunction::makeFromBoxedFunction<&embedding_bag_backward>());
    m.impl("dropout", TORCH_FN(dropout));
    m.impl("native_dropout", CppFunction::makeFromBoxedFunction<&native_dropout>());
    m.impl("scaled_dot_product_attention", TORCH_FN(scaled_dot_product_attention));
    m.impl("_scaled_dot_product_fused_attention_overrideable", CppFunction::makeFromBoxedFunction<&fused_attention>());
    m.impl("_scaled_dot_product_fused_attention_overrideable_backward",
           CppFunction::makeFromBoxedFunction<&fused_attention_backward>());
#if LABKIT_TORCH >= 210
    m.impl("_fused_rms_norm", CppFunction::makeFromBoxedFunction<&rms>());
    m.impl("_fused_rms_norm_backward", CppFunction::makeFromBoxedFunction<&rms_backward>());
#endif
}
// Dense tensors that become sparse ones.
inline void add_sparse_results(torch::Library& m) {
    for (const char* name : {"_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc",
                             "_to_sparse_bsr", "_to_sparse_bsc", "sparse_mask"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&sparse>());
}
// PyTorch takes these apart before it records anything for the backward pass, so the kernel stands above autograd too.
inline void add_above_autograd(torch::Library& m) {
    m.impl("dropout", TORCH_FN(dropout));
    m.impl("scaled_dot_product_attention", TORCH_FN(scaled_dot_product_attention));
}

// Every operator on lists, and every one that PyTorch gives an unknown device by way of another although the CPU has a
// kernel of that very name: `add` would be `empty` and `add.out`, two trips through the dispatcher. The same for sparse
// tensors, where the other way may be wrong: is_coalesced() is always false for an unknown device.
inline void add_by_rule() {
    using c10::DispatchKey;
    using torch::CppFunction;
    const auto library = [](DispatchKey key) {
        return new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
    };
    static auto* dense = library(DispatchKey::PrivateUse1);
    static auto* coo = library(DispatchKey::SparsePrivateUse1);
    static auto* csr = library(DispatchKey::SparseCsrPrivateUse1);
    auto& dispatcher = c10::Dispatcher::singleton();
    for (const auto& name : dispatcher.getAllOpNames()) {
        if (name.name.compare(0, 6, "aten::") != 0) continue;
        const auto op = dispatcher.findOp(name);
        if (!op || !op->hasSchema()) continue;
        const auto has = [&](DispatchKey key) { return op->hasKernelForDispatchKey(key); };
        const bool composite = has(DispatchKey::CompositeExplicitAutograd) ||
                               has(DispatchKey::CompositeExplicitAutogradNonFunctional);
        const std::string full = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
        if (composite && !has(DispatchKey::PrivateUse1)) {
            if (name.name.compare(0, 15, "aten::_foreach_") == 0)
                dense->impl(full.c_str(), CppFunction::makeFromBoxedFunction<&for_each>());
            else if (has(DispatchKey::CPU)) dense->impl(full.c_str(), CppFunction::makeFromBoxedFunction<&fallback>());
        }
        if (!composite && !has(DispatchKey::CompositeImplicitAutograd)) continue;
        if (has(DispatchKey::SparseCPU) && !has(DispatchKey::SparsePrivateUse1))
            coo->impl(full.c_str(), CppFunction::makeFromBoxedFunction<&sparse>());
        if (has(DispatchKey::SparseCsrCPU) && !has(DispatchKey::SparseCsrPrivateUse1))
            csr->impl(full.c_str(), CppFunction::makeFromBoxedFunction<&sparse>());
    }
}

}  // namespace labdev::kernels
