// PyTorch's interface to devices, streams, events and its older profiler's marks: thin calls into the virtual clock.
#pragma once
#include <c10/core/DeviceGuard.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "allocators.h"
#include "clock.h"

namespace labdev {

// An opaque non-null handle for a stream, like an aclrtStream.
inline void* stream_handle(int device, int64_t stream) {
    return reinterpret_cast<void*>((uintptr_t(device) << 32) | uintptr_t(stream + 1));
}

struct NpuGuard final : c10::impl::DeviceGuardImplInterface {
    using Stream = c10::Stream;
    using DeviceIndex = c10::DeviceIndex;

    c10::DeviceType type() const override { return kNpu; }
    DeviceIndex deviceCount() const noexcept override { return DeviceIndex(virtual_clock().devices()); }

    // ---- devices
    c10::Device getDevice() const override { return npu_device(current_device()); }
    c10::Device exchangeDevice(c10::Device device) const override {
        const c10::Device old = getDevice();
        setDevice(device);
        return old;
    }
    void setDevice(c10::Device device) const override {
        if (device.has_index()) known(device.index());
        uncheckedSetDevice(device);
    }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        if (device.has_index()) set_current_device(device.index());
    }
    void synchronizeDevice(const DeviceIndex device) const override {
        virtual_clock().synchronize(device == -1 ? current_device() : known(device));
    }

    // ---- streams
    static Stream stream(int device, int64_t id) { return Stream(Stream::UNSAFE, npu_device(device), id); }
    Stream getStream(c10::Device device) const noexcept override {
        const int i = index_of(device);
        return stream(i, current_stream(i));
    }
    Stream getDefaultStream(c10::Device device) const override { return stream(known(device), 0); }
    Stream getStreamFromGlobalPool(c10::Device device, bool = false) const override { return getNewStream(device); }
    Stream getNewStream(c10::Device device, int = 0) const override {
        const int i = known(device);
        return stream(i, virtual_clock().new_stream(i));
    }
    // Releases of PyTorch differ in whether this may throw; where it may not, no stream becomes current.
    static constexpr bool kThrows = !noexcept(
        std::declval<const c10::impl::DeviceGuardImplInterface&>().exchangeStream(std::declval<Stream>()));
    Stream exchangeStream(Stream next) const noexcept(!kThrows) override {
        const Stream old = getStream(next.device());
        if (kThrows || (next.id() >= 0 && next.id() <= INT16_MAX))
            set_current_stream(next.device_index(), known_stream(next));
        return old;
    }
    bool queryStream(const Stream& s) const override { return virtual_clock().idle(s.device_index(), known_stream(s)); }
    void synchronizeStream(const Stream& s) const override {
        virtual_clock().synchronize(s.device_index(), known_stream(s));
    }
    void recordDataPtrOnStream(const c10::DataPtr& p, const Stream& s) const override {
        arena().record_stream(p.get(), known_stream(s));
    }
    void* getStreamNativeHandle(const Stream s) const
#if LABKIT_TORCH >= 211
        override
#endif
    {
        return stream_handle(s.device_index(), s.id());
    }

    // ---- events
    static Event& at(void* event) { return *static_cast<Event*>(event); }
    void record(void** event, const Stream& s, const DeviceIndex, const c10::EventFlag) const override {
        const int id = known_stream(s);
        if (!*event) {
            *event = new Event();
            watch().note(Watched::NewEvent, *event);
        }
        virtual_clock().record(at(*event), s.device_index(), id);
    }
    void block(void* event, const Stream& s) const override {
        if (event) virtual_clock().block(at(event), s.device_index(), known_stream(s));
    }
    bool queryEvent(void* event) const override { return !event || virtual_clock().query(at(event)); }
    void synchronizeEvent(void* event) const override {
        if (event) virtual_clock().synchronize(at(event));
    }
    double elapsedTime(void* first, void* second, const DeviceIndex) const override {
        TORCH_CHECK(first && second && at(first).recorded && at(second).recorded,
                    "Both events must be recorded before calculating elapsed time.");
        TORCH_CHECK(at(first).epoch == at(second).epoch,
                    "npu: the clock was put back to zero (labkit.device.reset_clock) between the two events");
        return (at(second).time - at(first).time) * 1e-6;  // milliseconds
    }
    void destroyEvent(void* event, const DeviceIndex) const noexcept override {
        if (event) watch().note(Watched::DropEvent, event);
        delete static_cast<Event*>(event);
    }
};

// Makes `device` current for as long as this object exists.
class OnDevice {
public:
    explicit OnDevice(int device) : outer_(current_device()) { NpuGuard().setDevice(npu_device(device)); }
    ~OnDevice() { set_current_device(outer_); }
    OnDevice(const OnDevice&) = delete;

private:
    int outer_;
};

// torch.autograd.profiler.profile(use_device="npu"): the column "NPU time" shows modelled device time.
class ProfilerMarks final : public torch::profiler::impl::ProfilerStubs {
    using Mark = torch::profiler::impl::ProfilerVoidEventStub;
    static Event& at(const Mark* mark) { return *static_cast<Event*>(mark->get()); }

public:
    void record(c10::DeviceIndex* device, Mark* mark, int64_t* cpu_ns) const override {
        if (device) *device = c10::DeviceIndex(current_device());
        auto event = std::make_shared<Event>();
        *event = virtual_clock().now(current_device(), current_stream(current_device()));
        *mark = event;
        using namespace std::chrono;
        if (cpu_ns) *cpu_ns = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
    }
    float elapsed(const Mark* begin, const Mark* end) const override {
        const double from = virtual_clock().is_old(at(begin)) ? 0 : at(begin).time;
        return float((at(end).time - from) * 1e-3);
    }
    void mark(const char*) const override {}
    void rangePush(const char*) const override {}
    void rangePop() const override {}
    bool enabled() const override { return true; }
    void onEachDevice(std::function<void(int)> f) const override {
        for (int i = 0; i < virtual_clock().devices(); ++i) f(i);
    }
    void synchronize() const override {}
};

}  // namespace labdev
