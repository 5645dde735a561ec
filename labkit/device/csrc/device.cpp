// The simulated PyTorch device "npu": everything that needs PyTorch's headers, as one translation unit.
//
// Those headers cost eight to ten seconds for each file that includes them; the pieces are therefore headers of their
// own and are compiled together. What needs no PyTorch (arena, clock, C ABI) is compiled beside it.
#ifndef LABKIT_TORCH
#error "give the torch version as -DLABKIT_TORCH=<major * 100 + minor>, e.g. 213"
#endif
#include <torch/library.h>

#if LABKIT_TORCH < 207
#include <ATen/core/GeneratorForPrivateuseone.h>
#endif

#include "alias.h"
#include "allocators.h"
#include "autocast.h"
#include "collectives.h"
#include "fallback.h"
#include "generator.h"
#include "guard.h"
#include "kernels.h"
#include "ops.h"
#include "sparse.h"

#if __has_include(<ATen/core/GraphImplInterface.h>)
#include <ATen/core/GraphImplInterface.h>
#define LABKIT_ACCELERATOR_GRAPH
#endif

namespace labdev {
C10_REGISTER_GUARD_IMPL(PrivateUse1, NpuGuard)
#if LABKIT_TORCH < 207  // does not ask the hooks for a generator
at::Generator make_npu_generator(c10::DeviceIndex device) { return NpuHooks().getNewGenerator(device); }
REGISTER_GENERATOR_PRIVATEUSE1(make_npu_generator)
#endif
}  // namespace labdev

using torch::CppFunction;

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(CppFunction::makeFromBoxedFunction<&labdev::fallback>()); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    namespace ops = labdev::ops;
    m.impl("empty.memory_format", TORCH_FN(ops::empty));
    m.impl("empty_strided", TORCH_FN(ops::empty_strided));
    m.impl("_efficientzerotensor", TORCH_FN(ops::zero_tensor));
    m.impl("resize_", TORCH_FN(ops::resize));
    m.impl("as_strided", TORCH_FN(ops::as_strided));
    m.impl("view", TORCH_FN(ops::view));
    m.impl("_reshape_alias", TORCH_FN(ops::reshape_alias));
    m.impl("set_.source_Tensor", TORCH_FN(ops::set_tensor));
    m.impl("set_.source_Storage", TORCH_FN(ops::set_storage));
    m.impl("set_.source_Storage_storage_offset", TORCH_FN(ops::set_storage_view));
    m.impl("_copy_from", TORCH_FN(ops::copy_from));
    m.impl("_copy_from_and_resize", TORCH_FN(ops::copy_from_and_resize));
    m.impl("_local_scalar_dense", TORCH_FN(ops::item));
    m.impl("record_stream", TORCH_FN(ops::record_stream));
    // PyTorch has a kernel here for every device, which finds no implementation for this one.
    m.impl("conj_physical_", CppFunction::makeFromBoxedFunction<&labdev::fallback>());
    m.impl("convolution_overrideable", CppFunction::makeFromBoxedFunction<&labdev::convolution>());
    m.impl("convolution_backward_overrideable", CppFunction::makeFromBoxedFunction<&labdev::convolution_backward>());
    labdev::kernels::add(m);
    labdev::kernels::add_sparse_results(m);
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { labdev::kernels::add_above_autograd(m); }
TORCH_LIBRARY(labdev, m) { labdev::kernels::define(m); }
TORCH_LIBRARY_IMPL(labdev, CPU, m) { labdev::kernels::define_on_cpu(m); }

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { m.fallback(CppFunction::makeFromBoxedFunction<&labdev::sparse>()); }
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) { m.fallback(CppFunction::makeFromBoxedFunction<&labdev::sparse>()); }
TORCH_LIBRARY_IMPL(aten, SparsePrivateUse1, m) { labdev::add_sparse(m); }

// A copy handles lazy conjugation and negation itself. Without this, those keys' own fallbacks would clone, which
// copies, which clones ...
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) { labdev::autocast::add(m); }

TORCH_LIBRARY_IMPL(c10d, PrivateUse1, m) { labdev::add_collectives(m); }

// ---- torch.accelerator.Graph: captured and replayed by Python (graphs.py)

namespace labdev {

// (graph, what to do, a path) -> an error's text, or nothing
using GraphStep = const char* (*)(int graph, const char* step, const char* path);
static GraphStep graph_step = nullptr;

#ifdef LABKIT_ACCELERATOR_GRAPH
struct NpuGraph final : at::GraphImplInterface {
    explicit NpuGraph(const at::GraphImplArgs&) {
        static int made = 0;
        id_ = ++made;
    }
    ~NpuGraph() override { graph_step(id_, "drop", ""); }
    void capture_begin(at::MempoolId_t, at::GraphCaptureMode) override { step("capture_begin"); }
    void capture_end() override { step("capture_end"); }
    void instantiate() override {}
    void replay() override { step("replay"); }
    void reset() override { step("reset"); }
    at::MempoolId_t pool() const override { return {0, at::CaptureId_t(id_)}; }
    void enable_debug_mode() override {}
    void debug_dump(const std::string& path) override { step("debug_dump", path.c_str()); }

private:
    void step(const char* what, const char* path = "") const {
        const char* error = graph_step(id_, what, path);
        TORCH_CHECK(!error || !*error, error);
    }
    int id_;
};
#endif

}  // namespace labdev

// ---- what Python calls that needs PyTorch; the rest of the C ABI is in capi.cpp

extern "C" {

#define LAB_API __attribute__((visibility("default")))

LAB_API int lab_host_numbers(int64_t* out) { return labdev::PinnedAllocator::one()->numbers(out); }
LAB_API void lab_host_begin_anew(int peaks) { labdev::PinnedAllocator::one()->begin_anew(peaks); }
LAB_API int lab_host_adopt(uint64_t at, uint64_t bytes) { return labdev::PinnedAllocator::one()->adopt(at, bytes); }
LAB_API int lab_host_let_go(uint64_t at) { return labdev::PinnedAllocator::one()->let_go(at); }

// After lab_open(): makes the device known to PyTorch's core. Once a process.
LAB_API void lab_register() {
    static bool done = false;
    if (done) return;
    done = true;
    c10::SetAllocator(labdev::kNpu, labdev::npu_allocator(), 0);
    c10::SetCPUAllocator(new labdev::CpuAllocator(c10::GetCPUAllocator()), /*priority=*/1);
    at::RegisterPrivateUse1HooksInterface(new labdev::NpuHooks());
#if LABKIT_TORCH >= 211
    at::setHostAllocator(labdev::kNpu, labdev::PinnedAllocator::one());
#endif
    labdev::override_quietly([] {
        static auto* library = new torch::Library(torch::Library::IMPL, "aten",
                                                  c10::DispatchKey::CompositeImplicitAutograd, __FILE__, __LINE__);
        library->impl("_has_compatible_shallow_copy_type", TORCH_FN(labdev::ops::same_kind));
    });
    labdev::kernels::add_by_rule();
    torch::profiler::impl::registerPrivateUse1Methods(new labdev::ProfilerMarks());
}

// For versions of torch without an autograd fallback for this device: a user's operator without a derivative then runs
// as on any other device. Once for each process.
LAB_API void lab_autograd_fallthrough() {
    static auto* library = new torch::Library(torch::Library::IMPL, "_", c10::DispatchKey::AutogradPrivateUse1,
                                              __FILE__, __LINE__);
    library->fallback(CppFunction::makeFallthrough());
}

// `step` does for torch.accelerator.Graph what it says; the graphs of the backend `name`.
LAB_API void lab_serve_graphs(const char* name, labdev::GraphStep step) {
    labdev::graph_step = step;
#ifdef LABKIT_ACCELERATOR_GRAPH
    at::GraphImplRegistry()->Register(name, [](const at::GraphImplArgs& args) {
        return std::unique_ptr<at::GraphImplInterface>(new labdev::NpuGraph(args));
    });
#else
    (void)name;
#endif
}

LAB_API void lab_hand_out_default_generator(int on) { labdev::NpuHooks::hand_out_default() = on != 0; }

// torch_npu.npu_change_data_ptr: one storage becomes a part of another one's memory, `offset` bytes from its start, and
// keeps it alive. Both are at::StorageImpl, as Python's UntypedStorage._cdata gives them.
LAB_API void lab_share_storage(void* part, void* whole, size_t offset) {
    auto* to = static_cast<c10::StorageImpl*>(part);
    auto* from = static_cast<c10::StorageImpl*>(whole);
    auto* kept = new c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim_copy(from));
    c10::DataPtr pointer(
        static_cast<char*>(from->mutable_data()) + offset, kept,
        [](void* owner) { delete static_cast<c10::Storage*>(owner); }, to->device());
    to->set_data_ptr_noswap(std::move(pointer));
}

// Operators are charged but not computed from now on, or computed again.
LAB_API void lab_shapes_only(int on) { labdev::shapes_only() = on != 0; }

// A message text with {fields} for an error that C++ raises.
LAB_API void lab_set_text(const char* key, const char* text) { labdev::texts()[key] = text; }

}  // extern "C"
