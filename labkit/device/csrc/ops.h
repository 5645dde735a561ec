// The operators that this device has kernels of its own for: making, viewing and copying memory.
#pragma once
#include <ATen/Context.h>
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_local_scalar_dense_native.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/copy_native.h>
#include <ATen/ops/resize_native.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/view_native.h>

#include <optional>

#include "alias.h"
#include "cost.h"
#include "guard.h"

namespace labdev::ops {

using c10::IntArrayRef;
using c10::SymIntArrayRef;
using std::optional;

// ---- making

inline void check_options(optional<c10::Layout> layout, optional<bool> pin) {
    TORCH_CHECK(!pin.value_or(false), "Only dense CPU tensors can be pinned");
    TORCH_CHECK(layout.value_or(c10::kStrided) == c10::kStrided,
                "npu: the simulated device has strided tensors only, not ", *layout);
}

// Under torch.use_deterministic_algorithms() new memory holds NaN, or the largest integer.
inline Tensor determined(Tensor made) {
    const auto& context = at::globalContext();
    if (context.deterministicAlgorithms() && context.deterministicFillUninitializedMemory())
        at::native::fill_empty_deterministic_(made);
    return made;
}

inline Tensor empty(IntArrayRef size, optional<at::ScalarType> dtype, optional<c10::Layout> layout,
                    optional<c10::Device> device, optional<bool> pin, optional<c10::MemoryFormat> format) {
    check_options(layout, pin);
    OnDevice here(device ? index_of(*device) : current_device());
    return determined(at::detail::empty_generic(size, npu_allocator(), kNpuKeys, c10::dtype_or_default(dtype), format));
}

inline Tensor empty_strided(IntArrayRef size, IntArrayRef stride, optional<at::ScalarType> dtype,
                            optional<c10::Layout> layout, optional<c10::Device> device, optional<bool> pin) {
    check_options(layout, pin);
    OnDevice here(device ? index_of(*device) : current_device());
    return determined(
        at::detail::empty_strided_generic(size, stride, npu_allocator(), kNpuKeys, c10::dtype_or_default(dtype)));
}

// Zeros without memory, as some derivatives return them; PyTorch gives them memory before a kernel sees them.
inline Tensor zero_tensor(SymIntArrayRef size, optional<at::ScalarType> dtype, optional<c10::Layout> layout,
                          optional<c10::Device> device, optional<bool> pin) {
    struct Nothing final : c10::Allocator {
        c10::DataPtr allocate(size_t) override { return {nullptr, npu_device(current_device())}; }
        void copy_data(void*, const void*, size_t) const override {}
    };
    static auto* nothing = new Nothing();
    check_options(layout, pin);
    OnDevice here(device ? index_of(*device) : current_device());
    return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), nothing, kNpuKeys.add(c10::DispatchKey::ZeroTensor),
                                     c10::dtype_or_default(dtype), std::nullopt);
}

inline const Tensor& resize(const Tensor& self, SymIntArrayRef size, optional<c10::MemoryFormat> format) {
    OnDevice here(self.device().index());
    BlockInfo old{};
    const bool written = arena().find(storage_of(self)->data(), old) && old.written;
    at::native::resize_(self, C10_AS_INTARRAYREF_SLOW(size), format);  // through npu_allocator(), with the old bytes
    if (written) arena().mark_written(storage_of(self)->data());
    return self;
}

// ---- viewing: the CPU's own functions look at sizes only, so they serve any device. The host's time, no device work.

inline Tensor as_strided(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride, optional<c10::SymInt> offset) {
    virtual_clock().spend_api();
    return at::cpu::as_strided_symint(self, size, stride, offset);
}
inline Tensor view(const Tensor& self, SymIntArrayRef size) {
    virtual_clock().spend_api();
    return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}
inline Tensor reshape_alias(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
    virtual_clock().spend_api();
    return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}
inline Tensor& set_tensor(Tensor& self, const Tensor& source) { return at::native::set_tensor_(self, source); }
inline Tensor& set_storage(Tensor& self, at::Storage source) { return at::native::set_(self, source); }
inline Tensor& set_storage_view(Tensor& self, at::Storage source, int64_t offset, IntArrayRef size,
                                IntArrayRef stride) {
    return at::cpu::set_(self, source, offset, size, stride);
}

// ---- copying

struct CopyNames { uint32_t in, out, inside, across; };
inline const CopyNames& copy_names() {
    VirtualClock& clock = virtual_clock();
    static const CopyNames names{clock.intern("MEMCPY_H2D"), clock.intern("MEMCPY_D2H"), clock.intern("aten::copy_"),
                                 clock.intern("MEMCPY_D2D")};
    return names;
}

// Device time of moving `bytes` over the link between host and device; `end` is when it is done.
inline double charge_link(int device, bool in, double bytes, const Tensor& what) {
    VirtualClock& clock = virtual_clock();
    const Rates& r = clock.rates();
    std::string moved;
    if (Recorder::one().on()) moved = described(what);
    return clock.launch(device, current_stream(device),
                        {in ? copy_names().in : copy_names().out, in ? Engine::CopyIn : Engine::CopyOut,
                         r.copy_latency + bytes / r.link, bytes, 0, &moved, &moved});
}

// A copy that a kernel makes, on the device of `to`; also one that changes the type or the strides.
inline void charge_copy(const Tensor& from, const Tensor& to) {
    const int device = to.device().index();
    Cost cost;
    cost.call.kind = from.scalar_type() == to.scalar_type() ? OpClass::Copy : OpClass::Cast;
    cost.reads(from.sizes() == to.sizes() ? from : from.expand(to.sizes()), false);
    cost.writes(to);
    static const OpFacts facts = [] {
        OpFacts f;
        f.name = copy_names().inside;
        return f;
    }();
    virtual_clock().launch(device, current_stream(device), cost.work(facts, "aten::copy_", device));
}

// Device time of a copy to another device: over the link between them, on the source's stream and behind what the
// target's stream holds, which then waits for it; so torch does it between CUDA devices.
inline void charge_peer(const Tensor& from, const Tensor& to) {
    VirtualClock& clock = virtual_clock();
    const Rates& r = clock.rates();
    const int source = from.device().index(), target = to.device().index();
    const double bytes = double(to.numel()) * double(to.element_size());
    std::string moved;
    if (Recorder::one().on()) moved = described(to);
    const double free = clock.now(target, current_stream(target)).time;
    const double end = clock.launch(
        source, current_stream(source),
        {copy_names().across, Engine::Link, r.copy_latency + bytes / r.peer, bytes, 0, &moved, &moved}, true, free);
    clock.hold(target, current_stream(target), end);
}

inline Tensor copy_from(const Tensor& from, const Tensor& to, bool non_blocking) {
    no_fork();
    const bool from_npu = is_npu(from), to_npu = is_npu(to);
    if (from_npu) land(from);
    if (to_npu) land(to);
    Aliases aliases;
    Tensor target = to_npu ? aliases.to_cpu(to) : to;
    TORCH_CHECK(to_npu || !shapes_only(), texts()["device.shapes_only"]);
    if (!shapes_only()) at::native::copy_(target, from_npu ? aliases.to_cpu(from) : from, false);

    VirtualClock& clock = virtual_clock();
    const int device = (to_npu ? to : from).device().index();
    if (to_npu) arena().mark_written(storage_of(to)->data());
    if (to.numel() == 0) return to;  // as torch_npu: no copy is launched, and nobody waits (CopyKernelOpApi.cpp, copy_)
    if (from_npu && to_npu) {
        from.device() == to.device() ? charge_copy(from, to) : charge_peer(from, to);
        return to;
    }
    const double end = charge_link(device, to_npu, double(to.numel()) * double(to.element_size()), to);
    // Pageable memory goes through a staging buffer: only a pinned tensor lets the host go on at once.
    if (!(non_blocking && PinnedAllocator::one()->owns(storage_of(to_npu ? from : to)->data())))
        clock.wait(end, device, current_stream(device));
    return to;
}

inline Tensor copy_from_and_resize(const Tensor& from, const Tensor& to) {
    if (from.sizes() != to.sizes()) {
        OnDevice here(is_npu(to) ? to.device().index() : current_device());
        at::native::resize_(to, from.sizes(), std::nullopt);
    }
    return copy_from(from, to, false);
}

inline at::Scalar item(const Tensor& self) {
    no_fork();
    TORCH_CHECK(!shapes_only(), texts()["device.shapes_only"]);
    const int device = self.device().index();
    land(self);
    const double end = charge_link(device, false, double(self.element_size()), self);
    virtual_clock().wait(end, device, current_stream(device));
    return at::native::_local_scalar_dense_cpu(Aliases().to_cpu(self));
}

// Dense tensors of host and device may take each other's place (`p.data = p.data.npu()`), as torch_npu allows it:
// Module.to() then keeps its parameters' identities, so that tied weights stay tied and an optimizer keeps its own.
inline bool same_kind(const Tensor& self, const Tensor& from) {
    const auto dense = [](c10::DispatchKeySet keys) {
        return keys.has(c10::DispatchKey::CPU) || keys.has(c10::DispatchKey::PrivateUse1);
    };
    const auto a = self.key_set(), b = from.key_set();
    return a == b || (dense(a) && dense(b));
}

// A tensor's memory is free for reuse only when this stream needs it no more either.
inline void record_stream(Tensor& self, c10::Stream stream) {
    TORCH_CHECK(stream.device() == self.device(), "record_stream: the stream is on ", stream.device(),
                ", the tensor on ", self.device());
    arena().record_stream(self.storage().data(), known_stream(stream));
}

}  // namespace labdev::ops
