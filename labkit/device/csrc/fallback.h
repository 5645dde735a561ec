// The boxed fallback: an operator without a kernel of its own for this device runs as the CPU's kernel, in place.
//
// Arguments become CPU tensors over the same bytes (alias.h), the operator is redispatched to the CPU, and what comes
// back becomes npu tensors; nothing is copied. Then the virtual clock is charged for what an NPU would have done.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/resize_native.h>
#include <c10/util/Exception.h>

#include <optional>
#include <utility>

#include "alias.h"
#include "cost.h"
#include "facts.h"
#include "generator.h"

namespace labdev {

// An operator that computes half precision in fp32 and rounds its results once. A bit of `kept` for each result that
// stays fp32; narrow: the type of the results where the arguments do not say it.
struct Rounding {
    uint32_t kept = 0;
    std::optional<at::ScalarType> narrow = std::nullopt;
};

class CpuCall {
public:
    // Runs `op`, whose arguments are on the stack, as `target` on the CPU; the results replace the arguments.
    // target differs from op only where the CPU knows the operator by another name.
    // meeting: set for a collective.
    CpuCall(const c10::OperatorHandle& op, const c10::OperatorHandle& target, Stack* stack,
            const Collective* meeting = nullptr)
        : op_(op),
          target_(target),
          facts_(facts_of(op, room_)),
          stack_(stack),
          meeting_(meeting),
          wide_(facts_.product != Product::None) {}
    CpuCall(const c10::OperatorHandle& op, const c10::OperatorHandle& target, Stack* stack, const Rounding& rounding)
        : CpuCall(op, target, stack) {
        wide_ = mixed_ = true, rounding_ = rounding;
    }

    void run() {
        if (!facts_.view) no_fork();  // a view touches no memory
        TORCH_CHECK_NOT_IMPLEMENTED(
            target_.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), "Could not run '", op_.operator_name(),
            "' with arguments from the 'PrivateUse1' (npu) backend: it has no "
            "kernel there, and no CPU kernel that the simulated device could run in its place.");
        flops_ = product_flops(facts_, arguments());
        ask(facts_, arguments(), cost_.call);
        if (facts_.bags) {
            const Tensor &table = argument(0).toTensor(), &which = argument(1).toTensor();
            cost_.rows = double(which.numel()) * size_of(table, 1) * double(table.element_size());
        }
        take_arguments();
        if (wide_) widen();
        call();
        for (Widened& w : widened_) write_back(w);
        aliases_.carry_back();
        for (c10::StorageImpl* storage : written_) arena().mark_written(storage->data());
        give_results();
        charge();
    }

private:
    size_t count() const { return op_.schema().arguments().size(); }
    c10::IValue& argument(size_t i) { return (*stack_)[stack_->size() - count() + i]; }
    // Of kernels.h: PyTorch knows nothing of it.
    bool ours() const { return target_.operator_name().name.rfind("labdev::", 0) == 0; }
    c10::ArrayRef<c10::IValue> arguments() { return torch::jit::last(*stack_, count()); }

    // ---- before the call

    void take_arguments() {
        std::optional<c10::Device> wanted;  // of a factory
        bool host_tensor = false;
        for (size_t i = 0; i < count(); ++i) {
            c10::IValue& v = argument(i);
            if (v.isDevice()) {
                if (v.toDevice().type() == kNpu) {
                    wanted = v.toDevice();
                    v = c10::Device(c10::DeviceType::CPU);
                }
            } else if (v.isGenerator()) {
                TORCH_CHECK(v.toGenerator().device().type() == kNpu,
                            "Expected a 'npu' device type for generator but found '", v.toGenerator().device().type(),
                            "'");
                v = draw_from(v.toGenerator());
                drawn_ = true;
            } else {
                const OpFacts::Use use = facts_.uses[i];
                const bool index = v.isOptionalTensorList();  // index tensors may stay on the host
                map_tensors(v, [&](Tensor t) -> Tensor {
                    if (is_npu(t)) return take(t, use);
                    // A number wrapped as a tensor is welcome, but not as a place for the result.
                    const bool written = use != OpFacts::Use::Read && !facts_.collective;
                    if ((t.dim() > 0 && !index) || written) host_tensor = true;
                    return t;
                });
            }
        }
        device_ = device_ >= 0 ? device_ : wanted ? known(*wanted) : current_device();
        TORCH_CHECK(!(host_tensor && !aliases_.pairs().empty()),
                    "Expected all tensors to be on the same device, but found at least two devices, npu:", device_,
                    " and cpu! (in ", op_.operator_name(), ")");
        if (facts_.generator >= 0 && facts_.random && !drawn_) {
            argument(size_t(facts_.generator)) = draw_from(default_generator(device_));
            drawn_ = true;
        }
    }

    Tensor take(const Tensor& t, OpFacts::Use use) {
        const int device = t.device().index();
        if (device_ < 0) device_ = device;
        TORCH_CHECK(device == device_,
                    "Expected all tensors to be on the same device, but found at least two devices, npu:", device_,
                    " and npu:", device, "! (in ", op_.operator_name(), ")");
        if (use != OpFacts::Use::Read) written_.push_back(storage_of(t));
        if (meeting_) moved_.push_back(span_of(t));
        else if (!facts_.view) land(t);
        if (use != OpFacts::Use::Write) cost_.reads(t, facts_.gathers && aliases_.pairs().empty());
        if (use != OpFacts::Use::Read && facts_.silent) cost_.writes(t);
        return aliases_.to_cpu(t);
    }

    // Half-precision products are computed in fp32, as the cube accumulates in fp32. The CPU's own fp16 product is also
    // up to a hundred times slower than its fp32 one. The fp32 copies are an implementation detail: they stay on the
    // heap and out of the statistics.
    void widen() {
        half_ = rounding_.narrow;
        std::optional<at::ScalarType> type;
        for (size_t i = 0; i < count(); ++i) {
            const c10::IValue& v = argument(i);
            if (!v.isTensor() || !v.toTensor().defined()) continue;
            if (!mixed_ && type && *type != v.toTensor().scalar_type())
                return;  // a product of mixed types: the CPU's kernel reports it
            type = v.toTensor().scalar_type();
        }
        for (size_t i = 0; i < count(); ++i) {
            c10::IValue& v = argument(i);
            if (!v.isTensor() || !v.toTensor().defined()) continue;
            const Tensor narrow = v.toTensor();
            if (narrow.scalar_type() != at::kHalf && narrow.scalar_type() != at::kBFloat16) continue;
            if (!half_) half_ = narrow.scalar_type();
            const Tensor wide = convert(narrow, at::kFloat);
            if (facts_.uses[i] != OpFacts::Use::Read) widened_.push_back({narrow, wide});
            v = wide;
        }
    }

    static Tensor convert(const Tensor& from, at::ScalarType type) {
        if (shapes_only()) return from.is_meta() ? in_arena(from, type) : to_meta(from, type);
        Tensor to = from.is_non_overlapping_and_dense()
                        ? at::detail::empty_strided_generic(from.sizes(), from.strides(), c10::GetCPUAllocator(),
                                                            kCpuKeys, type)
                        : at::detail::empty_generic(from.sizes(), c10::GetCPUAllocator(), kCpuKeys, type, std::nullopt);
        at::native::copy_(to, from, false);
        return to;
    }

    // An attention without dropout draws nothing: what the program draws next is the same with and without it.
    bool drops() {
        for (size_t i = 0; i < count(); ++i)
            if (op_.schema().arguments()[i].name() == "dropout_p" && argument(i).isDouble())
                return argument(i).toDouble() > 0;
        return true;
    }

    // A tensor without memory, and the same with memory that nothing was stored in.
    static Tensor to_meta(const Tensor& from, at::ScalarType type) {
        return at::detail::empty_strided_meta(from.sizes(), from.strides(), type);
    }
    static Tensor in_arena(const Tensor& from, at::ScalarType type) {
        return at::detail::empty_strided_generic(from.sizes(), from.strides(), c10::GetCPUAllocator(), kCpuKeys, type);
    }

    // The operator on tensors without memory, by PyTorch's own functions for those.
    void call_for_shapes() {
        for (size_t i = 0; i < count(); ++i)
            map_tensors(argument(i), [&](Tensor t) -> Tensor {
                // a number, from the host or wrapped, stays: functions in Python take it for one
                if (t.is_meta() || t.unsafeGetTensorImpl()->is_wrapped_number()) return t;
                for (const auto& [cpu, meta] : metas_)
                    if (cpu.is_same(t)) return meta;
                metas_.emplace_back(t, to_meta(t, t.scalar_type()));
                return metas_.back().second;
            });
        for (size_t i = 0; i < count(); ++i)
            if (argument(i).isDevice()) argument(i) = c10::Device(c10::DeviceType::Meta);
        const Hidden inside;
        (ours() ? op_ : target_).redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::Meta), stack_);
        ResultsInArena results(device_);  // out= may have to grow
        for (const auto& [cpu, meta] : metas_)
            if (cpu.sizes() != meta.sizes()) at::native::resize_(cpu, meta.sizes(), std::nullopt);
    }

    // What stands for a result that has no memory.
    Tensor with_memory(const Tensor& meta) {
        for (const auto& [cpu, of] : metas_)
            if (of.is_same(meta)) return cpu;
        ResultsInArena results(device_);
        return in_arena(meta, meta.scalar_type());
    }

    void call() {
        if (shapes_only() && !facts_.view) return call_for_shapes();
        std::optional<Lent> lent;
        std::optional<SwapEngine> swapped;
        if (facts_.random && !drawn_ && drops()) {
            if (ours()) lent.emplace(device_);
            else swapped.emplace(device_);
        }
        std::optional<ResultsInArena> results;
        if (!half_) results.emplace(device_);
        const Hidden inside;
        target_.redispatchBoxed(kCpuKeys, stack_);
    }

    // ---- after it

    struct Widened { Tensor narrow, wide; };

    void write_back(Widened& w) {
        if (shapes_only()) return;
        ResultsInArena results(device_);  // out= may have to grow
        if (w.narrow.sizes() != w.wide.sizes()) at::native::resize_(w.narrow, w.wide.sizes(), std::nullopt);
        at::native::copy_(w.narrow, w.wide, false);
    }

    Tensor narrowed(Tensor wide) {
        for (const Widened& w : widened_)
            if (w.wide.is_same(wide)) return w.narrow;
        ResultsInArena results(device_);
        return convert(wide, *half_);
    }

    void give_results() {
        const size_t returns = op_.schema().returns().size();
        for (size_t i = stack_->size() - returns, result = 0; i < stack_->size(); ++i, ++result)
            map_tensors((*stack_)[i], [&](Tensor t) -> Tensor {
                const bool kept = rounding_.kept >> result & 1;
                if (half_ && t.scalar_type() == at::kFloat && !kept) t = narrowed(std::move(t));
                if (t.is_meta()) t = with_memory(t);
                Tensor result = aliases_.to_npu(std::move(t), device_);
                cost_.writes(result);
                outputs_ = std::max(outputs_, double(result.numel()));
                return result;
            });
    }

    void charge() {
        VirtualClock& clock = virtual_clock();
        if (facts_.view) return clock.spend_api();
        if (meeting_) {
            Work work{facts_.name, Engine::Link, meeting_->ns, meeting_->bytes, 0};
            work.host = meeting_->host;
            const double end = clock.launch(device_, meeting_->stream, work, true, meeting_->begin);
            if (meeting_->at_once) return clock.hold(device_, current_stream(device_), end, &facts_.name);
            for (const Span& s : moved_) clock.fly(device_, s.begin, s.bytes, end);
            return;
        }
        cost_.flops = flops_.all + 2.0 * flops_.depth * outputs_;
        const Work work = cost_.work(facts_, op_.schema().name(), device_);
        convert_formats(true);
        double end = clock.launch(device_, current_stream(device_), work);
        end = std::max(end, convert_formats(false));
        if (facts_.waits) clock.wait(end + clock.rates().copy_latency, device_, current_stream(device_));
    }

    // Of a convolution: its tensors with channels, before it what it reads, behind it what it writes.
    double convert_formats(bool before) {
        double end = 0;
        if (facts_.product != Product::Convolution && facts_.product != Product::ConvolutionBackward) return end;
        for (const Operand& o : cost_.call.operands)
            if (o.dims > 2 && o.reads == before)
                end = virtual_clock().launch(device_, current_stream(device_), format_conversion(o, device_));
        return end;
    }

    const c10::OperatorHandle& op_;
    const c10::OperatorHandle& target_;
    OpFacts room_;
    const OpFacts& facts_;
    Stack* stack_;
    const Collective* meeting_;
    bool wide_, mixed_ = false;  // half precision goes through fp32; beside fp32 arguments too
    Rounding rounding_;
    int device_ = -1;
    Aliases aliases_;
    Cost cost_;
    Flops flops_;
    double outputs_ = 0;  // elements of the largest result
    bool drawn_ = false;  // an npu generator is among the arguments
    c10::SmallVector<c10::StorageImpl*, 4> written_;
    c10::SmallVector<Span, 4> moved_;               // by a collective
    std::optional<at::ScalarType> half_;            // the half-precision type of a product
    std::vector<std::pair<Tensor, Tensor>> metas_;  // by shapes only: an argument's alias and its stand-in
    c10::SmallVector<Widened, 1> widened_;          // written arguments and their fp32 stand-ins
};

inline void fallback(const c10::OperatorHandle& op, Stack* stack) { CpuCall(op, op, stack).run(); }

// Registers kernels over PyTorch's own, without the warning.
template <class F> void override_quietly(F&& add) {
    struct Quiet final : c10::WarningHandler {
        void process(const c10::Warning&) override {}
    } quiet;
    c10::WarningUtils::WarningHandlerGuard silence(&quiet);
    add();
}

// ---- convolution: PyTorch calls operators of these names for a device that it does not know

inline c10::OperatorHandle find_operator(const char* name) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
}

inline void convolution(const c10::OperatorHandle& op, Stack* stack) {
    static const auto target = find_operator("aten::convolution");
    CpuCall(op, target, stack).run();
}

inline void convolution_backward(const c10::OperatorHandle&, Stack* stack) {
    static const auto target = find_operator("aten::convolution_backward");
    // The CPU's form has one argument more, the bias' shape, behind (grad, input, weight).
    constexpr size_t kArguments = 10, kWeight = 2, kTransposed = 6, kGroups = 8;
    const size_t first = stack->size() - kArguments;
    const Tensor weight = (*stack)[first + kWeight].toTensor();
    const bool transposed = (*stack)[first + kTransposed].toBool();
    const int64_t groups = (*stack)[first + kGroups].toInt();
    const int64_t channels = transposed ? weight.size(1) * groups : weight.size(0);
    stack->insert(stack->begin() + long(first + kWeight + 1), c10::IValue(std::vector<int64_t>{channels}));
    CpuCall(target, target, stack).run();
}

}  // namespace labdev
