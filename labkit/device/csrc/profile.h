// torch.autograd.profiler.profile(use_device="npu"): the column "NPU time" shows modelled device time.
#pragma once
#include <torch/csrc/profiler/stubs/base.h>

#include <chrono>
#include <memory>

#include "clock.h"

namespace labdev {

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
        return float((at(end).time - at(begin).time) * 1e-3);
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
