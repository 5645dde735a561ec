// Sparse tensors of the npu: their indices and values are npu tensors, and their operators run as the CPU's sparse ones
// on the same bytes (alias.h). Charged as the bytes of what goes in and comes out.
#pragma once
#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_and_tensors_native.h>
#include <ATen/ops/_sparse_coo_tensor_with_dims_native.h>
#include <torch/library.h>

#include <vector>

#include "fallback.h"

namespace labdev {

class SparseCall {
public:
    explicit SparseCall(const c10::OperatorHandle& op, Stack* stack) : op_(op), stack_(stack) {}

    void run() {
        no_fork();
        const auto& schema = op_.schema();
        OpFacts room;
        const OpFacts& facts = facts_of(op_, room);
        const size_t first = stack_->size() - schema.arguments().size();
        // This kernel keeps the places of a maximum only where somebody may ask for a gradient.
        const bool tells_gradient = schema.name() == "aten::_sparse_mm_reduce_impl" && at::GradMode::is_enabled();
        for (size_t i = 0; i < schema.arguments().size(); ++i) {
            c10::IValue& v = (*stack_)[first + i];
            if (v.isDevice() && v.toDevice().type() == kNpu) {
                device_ = known(v.toDevice());
                v = c10::Device(c10::DeviceType::CPU);
                continue;
            }
            const bool written = facts.uses[i] != OpFacts::Use::Read;
            map_tensors(v, [&](Tensor t) {
                if (!is_npu(t)) return t;
                Tensor cpu = to_cpu(t, written);
                if (tells_gradient && t.requires_grad()) cpu.set_requires_grad(true);
                return cpu;
            });
        }
        if (device_ < 0) device_ = current_device();
        {
            at::AutoDispatchBelowADInplaceOrView below;
            ResultsInArena results(device_);
            const Hidden inside;
            op_.callBoxed(stack_);
        }
        for (const Pair& p : pairs_)
            if (p.written) carry_back(p);
        aliases_.carry_back();
        for (size_t i = stack_->size() - schema.returns().size(); i < stack_->size(); ++i)
            map_tensors((*stack_)[i], [&](Tensor t) { return to_npu(std::move(t)); });
        VirtualClock& clock = virtual_clock();
        if (facts.view || bytes_ == 0) return clock.spend_api();
        const Rates& r = clock.rates();
        const double end = clock.launch(device_, current_stream(device_),
                                        {facts.name, Engine::Vector, r.launch + bytes_ / r.hbm, bytes_});
        if (facts.waits) clock.wait(end + r.copy_latency, device_, current_stream(device_));
    }

private:
    struct Pair {
        Tensor npu, cpu;
        bool written;
    };
    static at::SparseTensorImpl* coo(const Tensor& t) {
        return static_cast<at::SparseTensorImpl*>(t.unsafeGetTensorImpl());
    }
    static at::SparseCsrTensorImpl* csr(const Tensor& t) {
        return static_cast<at::SparseCsrTensorImpl*>(t.unsafeGetTensorImpl());
    }
    static bool is_csr(const Tensor& t) {
        const auto layout = t.layout();
        return layout == c10::kSparseCsr || layout == c10::kSparseCsc || layout == c10::kSparseBsr ||
               layout == c10::kSparseBsc;
    }

    Tensor dense(const Tensor& t, bool to_cpu) {
        return to_cpu ? aliases_.to_cpu(t) : is_npu(t) ? t : aliases_.to_npu(t, device_);
    }
    // The same tensor on the other side: its parts are converted.
    Tensor converted(const Tensor& t, bool to_cpu) {
        using c10::DispatchKey;
        // An empty sparse tensor takes the current device, whatever its parts are on.
        const c10::OptionalDeviceGuard there(to_cpu ? std::nullopt : std::make_optional(npu_device(device_)));
        if (t.is_sparse()) {
            const auto* from = coo(t);
            Tensor made = at::detail::make_tensor<at::SparseTensorImpl>(
                c10::DispatchKeySet(to_cpu ? DispatchKey::SparseCPU : DispatchKey::SparsePrivateUse1), t.dtype());
            fill(made, t, dense(from->indices(), to_cpu), dense(from->values(), to_cpu));
            return made;
        }
        const auto* from = csr(t);
        Tensor made = at::detail::make_tensor<at::SparseCsrTensorImpl>(
            c10::DispatchKeySet(to_cpu ? DispatchKey::SparseCsrCPU : DispatchKey::SparseCsrPrivateUse1),
            to_cpu ? c10::Device(c10::DeviceType::CPU) : npu_device(device_), t.layout(), t.dtype());
        csr(made)->set_member_tensors(dense(from->compressed_indices(), to_cpu), dense(from->plain_indices(), to_cpu),
                                      dense(from->values(), to_cpu), t.sizes());
        return made;
    }
    static void fill(const Tensor& to, const Tensor& from, const Tensor& indices, const Tensor& values) {
        coo(to)->raw_resize_(coo(from)->sparse_dim(), coo(from)->dense_dim(), from.sizes());
        coo(to)->set_indices_and_values_unsafe(indices, values);
        coo(to)->set_coalesced(coo(from)->coalesced());
    }

    Tensor to_cpu(const Tensor& t, bool written) {
        if (device_ < 0) device_ = t.device().index();
        if (!t.is_sparse() && !is_csr(t)) {
            bytes_ += bytes_of(t);
            return aliases_.to_cpu(t);
        }
        for (const Pair& p : pairs_)
            if (p.npu.is_same(t)) return p.cpu;
        const Tensor values = t.is_sparse() ? coo(t)->values() : csr(t)->values();
        bytes_ += double(values.numel()) * double(values.element_size());
        pairs_.push_back({t, converted(t, true), written});
        return pairs_.back().cpu;
    }
    Tensor to_npu(Tensor t) {
        if (!t.defined() || !t.device().is_cpu()) return t;  // undefined: the places of a maximum that nobody asked for
        for (const Pair& p : pairs_)
            if (p.cpu.is_same(t)) return p.npu;
        return t.is_sparse() || is_csr(t) ? converted(t, false) : aliases_.to_npu(std::move(t), device_);
    }
    void carry_back(const Pair& p) {
        if (p.cpu.is_sparse()) {
            fill(p.npu, p.cpu, dense(coo(p.cpu)->indices(), false), dense(coo(p.cpu)->values(), false));
        } else if (is_csr(p.cpu)) {
            csr(p.npu)->set_member_tensors(dense(csr(p.cpu)->compressed_indices(), false),
                                           dense(csr(p.cpu)->plain_indices(), false),
                                           dense(csr(p.cpu)->values(), false), p.cpu.sizes());
        }
    }

    const c10::OperatorHandle& op_;
    Stack* stack_;
    int device_ = -1;
    double bytes_ = 0;
    Aliases aliases_;
    std::vector<Pair> pairs_;
};

inline void sparse(const c10::OperatorHandle& op, Stack* stack) { SparseCall(op, stack).run(); }

// What makes a sparse tensor on the device that it is given; made() is one of ATen's own.
template <auto made, class Signature> struct OnItsDevice;
template <auto made, class Result, class... A> struct OnItsDevice<made, Result(A...)> {
    static Result call(A... a) {
        std::optional<at::Device> device;
        auto look = [&](const auto& one) {
            if constexpr (std::is_same_v<std::decay_t<decltype(one)>, std::optional<at::Device>>) device = one;
        };
        (look(a), ...);
        const c10::OptionalDeviceGuard there(device);
        return made(a...);
    }
};

inline void add_sparse(torch::Library& m) {
    using namespace at::native;
    m.impl("_sparse_coo_tensor_with_dims", &OnItsDevice<&new_with_dims_sparse, decltype(new_with_dims_sparse)>::call);
    m.impl(
        "_sparse_coo_tensor_with_dims_and_tensors",
        &OnItsDevice<&new_with_dims_and_tensor_sparse_symint, decltype(new_with_dims_and_tensor_sparse_symint)>::call);
}

}  // namespace labdev
