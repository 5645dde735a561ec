// Random numbers of the npu, and the hooks through which PyTorch's core reaches this device.
//
// An npu generator wraps a CPU generator: the same seed gives the same numbers on every machine. (The real device uses
// Philox; its numbers differ from these and from the CPU's.)
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/GeneratorImpl.h>

#include <mutex>
#include <optional>
#include <vector>

#include "allocators.h"
#include "guard.h"

namespace labdev {

struct NpuGenerator final : c10::GeneratorImpl {
    NpuGenerator(int device, at::Generator cpu)
        : c10::GeneratorImpl(npu_device(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
          engine(std::move(cpu)) {}
    at::Generator engine;

    void set_current_seed(uint64_t seed) override { engine.set_current_seed(seed); }
    uint64_t current_seed() const override { return engine.current_seed(); }
    uint64_t seed() override { return engine.seed(); }
    void set_offset(uint64_t offset) override { engine.set_offset(offset); }
    uint64_t get_offset() const override { return engine.get_offset(); }
    void set_state(const c10::TensorImpl& state) override { engine.unsafeGetGeneratorImpl()->set_state(state); }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        return engine.unsafeGetGeneratorImpl()->get_state();
    }
    NpuGenerator* clone_impl() const override { return new NpuGenerator(device_.index(), engine.clone()); }
};

inline at::Generator new_generator(int device) {
    return at::make_generator<NpuGenerator>(device, at::detail::createCPUGenerator());
}

inline const at::Generator& default_generator(int device) {
    static auto* all = [] {
        auto* made = new std::vector<at::Generator>();
        for (int i = 0; i < virtual_clock().devices(); ++i) made->push_back(new_generator(i));
        return made;
    }();
    return (*all)[size_t(device)];
}

// The CPU generator that does the drawing for `npu`.
inline const at::Generator& engine_of(const at::Generator& npu) {
    return static_cast<NpuGenerator*>(npu.unsafeGetGeneratorImpl())->engine;
}

// Some random operators take no generator and draw from the CPU's default one. While this object exists, that generator
// continues the npu's sequence; afterwards its own sequence continues unchanged.
class SwapEngine {
public:
    explicit SwapEngine(int device) : npu_(impl(engine_of(default_generator(device)))) { swap(); }
    ~SwapEngine() { swap(); }
    SwapEngine(const SwapEngine&) = delete;

private:
    static at::CPUGeneratorImpl& impl(const at::Generator& g) {
        return *static_cast<at::CPUGeneratorImpl*>(g.unsafeGetGeneratorImpl());
    }
    void swap() {  // locked only here: the kernels take the generator's mutex themselves
        at::CPUGeneratorImpl& cpu = impl(at::detail::getDefaultCPUGenerator());
        std::scoped_lock lock(cpu.mutex_, npu_.mutex_);
        const at::mt19937 engine = cpu.engine();
        // normal numbers are drawn in pairs; the second one is stored here
        const auto next_float = cpu.next_float_normal_sample();
        const auto next_double = cpu.next_double_normal_sample();
        cpu.set_engine(npu_.engine());
        cpu.set_next_float_normal_sample(npu_.next_float_normal_sample());
        cpu.set_next_double_normal_sample(npu_.next_double_normal_sample());
        npu_.set_engine(engine);
        npu_.set_next_float_normal_sample(next_float);
        npu_.set_next_double_normal_sample(next_double);
    }
    at::CPUGeneratorImpl& npu_;
};

struct NpuHooks final : at::PrivateUse1HooksInterface {
    // torch.Generator("npu") always makes a new one; with this set, it returns the default one instead.
    static bool& hand_out_default() {
        static thread_local bool on = false;
        return on;
    }

    bool isBuilt() const { return true; }  // no `override`: torch 2.6 has neither of the two
    bool isAvailable() const { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return NpuGuard().deviceCount(); }
    void setCurrentDevice(c10::DeviceIndex device) const override { NpuGuard().setDevice(npu_device(device)); }
    c10::DeviceIndex getCurrentDevice() const override { return c10::DeviceIndex(current_device()); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        const auto old = getCurrentDevice();
        setCurrentDevice(device);
        return old;
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
        return device < 0 ? getCurrentDevice() : exchangeDevice(device);
    }

    const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
        return default_generator(device < 0 ? current_device() : device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device = -1) const override {
        const int i = device < 0 ? current_device() : device;
        return hand_out_default() ? default_generator(i) : new_generator(i);
    }

    c10::Device getDeviceFromPtr(void* p) const override {
        BlockInfo info;
        TORCH_CHECK(arena().find(p, info), "npu: ", p, " is not in device memory");
        return npu_device(info.device);
    }
    bool isPinnedPtr(const void* p) const override { return PinnedAllocator::one()->owns(p); }
    c10::Allocator* getPinnedMemoryAllocator() const override { return PinnedAllocator::one(); }

    void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
        auto* impl = storage.unsafeGetStorageImpl();
        BlockInfo old{};
        const bool written = arena().find(impl->data(), old) && old.written;
        c10::DataPtr block = allocate_block(bytes, index_of(impl->device()));
        if (const size_t kept = std::min(bytes, impl->nbytes())) std::memcpy(block.get(), impl->data(), kept);
        if (written) arena().mark_written(block.get());
        impl->set_data_ptr_noswap(std::move(block));
        impl->set_nbytes(bytes);
    }
};

}  // namespace labdev
