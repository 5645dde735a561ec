// Random numbers of the npu, and the hooks through which PyTorch's core reaches this device.
//
// A CPU generator does the drawing: the same seed gives the same numbers on every machine. (The real device uses
// Philox; its numbers differ from these.)
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <c10/core/GeneratorImpl.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "allocators.h"
#include "guard.h"

namespace labdev {

// The state is a seed and an offset, as torch_npu's is. Each call of a random operator draws from an engine that is
// seeded anew from both, and moves the offset on: so the same pair gives the same numbers, wherever it was set.
struct NpuGenerator final : c10::GeneratorImpl {
    static constexpr uint64_t kStep = 4;  // offsets are multiples of it, in PyTorch's programs too
    static constexpr size_t kStateBytes = 2 * sizeof(uint64_t);

    explicit NpuGenerator(int device)
        : c10::GeneratorImpl(npu_device(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

    // The CPU generator for one call: its own, as another thread may begin the next one meanwhile. The offset of zero
    // leaves the seed as it is.
    at::Generator next() {
        std::lock_guard<std::mutex> lock(mutex_);
        const uint64_t seed = offset_ ? mixed(seed_ ^ mixed(offset_)) : seed_;
        offset_ += kStep;
        return at::detail::createCPUGenerator(seed);
    }

    void set_current_seed(uint64_t seed) override { seed_ = seed, offset_ = 0; }
    uint64_t current_seed() const override { return seed_; }
    uint64_t seed() override {
        set_current_seed(c10::detail::getNonDeterministicRandom());
        return seed_;
    }
    void set_offset(uint64_t offset) override {
        TORCH_CHECK(offset % kStep == 0, "offset must be a multiple of 4");
        offset_ = offset;
    }
    uint64_t get_offset() const override { return offset_; }
    void set_state(const c10::TensorImpl& state) override {
        at::detail::check_rng_state(state);
        TORCH_CHECK(size_t(state.numel()) == kStateBytes, "RNG state is wrong size");
        uint64_t parts[2];
        std::memcpy(parts, state.data(), kStateBytes);
        seed_ = parts[0];
        set_offset(parts[1]);
    }
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        at::Tensor state = at::detail::empty_cpu({int64_t(kStateBytes)}, at::kByte, std::nullopt, std::nullopt,
                                                 std::nullopt, std::nullopt);
        const uint64_t parts[2] = {seed_, offset_};
        std::memcpy(state.mutable_data_ptr(), parts, kStateBytes);
        return state.getIntrusivePtr();
    }
    NpuGenerator* clone_impl() const override {
        auto* twin = new NpuGenerator(device_.index());
        twin->seed_ = seed_, twin->offset_ = offset_;
        return twin;
    }

private:
    static uint64_t mixed(uint64_t x) {  // splitmix64
        x += 0x9E3779B97F4A7C15u;
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
        x = (x ^ x >> 27) * 0x94D049BB133111EBu;
        return x ^ x >> 31;
    }
    uint64_t seed_ = c10::default_rng_seed_val;
    uint64_t offset_ = 0;
};

inline at::Generator new_generator(int device) { return at::make_generator<NpuGenerator>(device); }

inline const at::Generator& default_generator(int device) {
    static auto* all = [] {
        auto* made = new std::vector<at::Generator>();
        for (int i = 0; i < virtual_clock().devices(); ++i) made->push_back(new_generator(i));
        return made;
    }();
    return (*all)[size_t(device)];
}

// The CPU generator that does the drawing of one call for `npu`.
inline at::Generator draw_from(const at::Generator& npu) {
    return static_cast<NpuGenerator*>(npu.unsafeGetGeneratorImpl())->next();
}

// Some random operators take no generator. Where the kernel is ours it draws from the one that its thread is lent while
// this object exists.
class Lent {
public:
    explicit Lent(int device) : own_(draw_from(default_generator(device))), outer_(now()) { now() = &own_; }
    ~Lent() { now() = outer_; }
    Lent(const Lent&) = delete;
    static const at::Generator& generator() {
        TORCH_CHECK(now(), "npu: this operator is a part of another one");
        return *now();
    }

private:
    static const at::Generator*& now() {
        static thread_local const at::Generator* lent = nullptr;
        return lent;
    }
    at::Generator own_;
    const at::Generator* outer_;
};

// PyTorch's own kernels draw from the CPU's default generator. While this object exists, that one continues the npu's
// sequence; afterwards its own sequence continues unchanged. One thread at a time: two exchanges that do not end in the
// reverse order would leave an npu's sequence behind.
class SwapEngine {
public:
    explicit SwapEngine(int device) : own_(draw_from(default_generator(device))), npu_(impl(own_)) { swap(); }
    ~SwapEngine() { swap(); }
    SwapEngine(const SwapEngine&) = delete;

private:
    static std::recursive_mutex& one_at_a_time() {
        static auto* mutex = new std::recursive_mutex();
        return *mutex;
    }
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
    std::lock_guard<std::recursive_mutex> alone_{one_at_a_time()};
    at::Generator own_;
    at::CPUGeneratorImpl& npu_;
};

// native_dropout as the CPU's, from the generator that it is lent.
inline std::tuple<at::Tensor, at::Tensor> drawn_dropout(const at::Tensor& input, double p, std::optional<bool> train) {
    const auto type = input.options().dtype(at::kBool);
    if (input.numel() == 0) return {input, at::empty_like(input)};
    if (!train.value_or(true)) return {input.clone(), at::ones_like(input, type)};
    const at::Tensor mask = at::empty_like(input, type).bernoulli_(1 - p, Lent::generator());
    return {input.mul(mask).mul_(p == 1 ? 0 : 1 / (1 - p)), mask};
}

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
        return default_generator(device < 0 ? current_device() : known(device));
    }
    at::Generator getNewGenerator(c10::DeviceIndex device = -1) const override {
        const int i = device < 0 ? current_device() : known(device);
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
