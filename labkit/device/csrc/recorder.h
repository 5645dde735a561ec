// What a program does while torch_npu.profiler records: ranges of the host's threads, calls into the runtime, work of
// the devices, blocks of device memory. labkit/profiler reads it; its events.py says what the fields mean.
//
// All times are of the virtual clock, which only the device's calls move. Several ranges can so begin at one moment of
// it; each gets its own nanosecond, in the order in which they began and ended, so that what lies within what can be
// read from the times.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/record_function.h>
#include <torch/csrc/profiler/combined_traceback.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "arena.h"
#include "clock.h"

namespace labdev {

// Also read by Python, see labkit/profiler/recorder.py. Texts and stacks are numbers of their tables, 0 is none.
struct RangeEvent {
    uint32_t name, kind, thread, forward_thread, inputs, stack;
    int64_t parent, sequence;
    double start, end;
};
struct TaskEvent {
    uint32_t name, kind, engine, thread, inputs, outputs, queued, blocks;
    int32_t device, stream;
    int64_t range;
    double issued, reached, start, end, bytes, flops;
};
struct CallEvent {
    uint32_t api, thread;
    int32_t device, stream;
    int64_t range, task;
    double start, end, waited;
};
struct MemoryEvent {
    uint64_t address, bytes, allocated, reserved;
    int32_t device, stream;
    int64_t range;
    double time;
    uint32_t freed, reserved_;  // freed: the block goes
};

enum class RangeKind : uint32_t { Op, Backward, User, Module, Mark };
enum class TaskKind : uint32_t { Kernel, Record, Wait };

class Recorder final : public Observer, public MemoryObserver {
public:
    enum Wish : int { Shapes = 1, Memory = 2, Stack = 4 };
    static Recorder& one();

    void start(int wishes);
    void stop();
    void forget();  // what was recorded, when Python has read it: a long recording is hundreds of MB
    bool on() const { return on_; }

    // Ranges that Python opens and closes itself: modules, marks.
    void push(const char* name, RangeKind kind);
    void pop();

    void launched(const Record& record, const Work& work, double begin, double reached, bool queued) override;
    void called(Api api, double begin, double end, double waited, int device, int stream) override;
    void ordered(bool waits, int device, int stream, double issued, double time) override;
    void changed(const MemoryChange& change) override;

    // ---- what was recorded; after stop()
    std::vector<RangeEvent> ranges;
    std::vector<TaskEvent> tasks;
    std::vector<CallEvent> calls;
    std::vector<MemoryEvent> memory;
    std::vector<std::string> texts;
    std::vector<std::string> stacks;  // lines with \n between, innermost first
    double begin = 0, end = 0;
    uint64_t lost = 0, threads = 0;

private:
    struct Context final : at::ObserverContext {
        Context(int64_t range, uint64_t session) : range(range), session(session) {}
        int64_t range;
        uint64_t session;
    };
    // The ranges that are open on a thread; of an earlier session they are forgotten.
    struct Thread {
        uint64_t session = 0;
        uint32_t number = 0;
        std::vector<int64_t> open;
    };
    static std::unique_ptr<at::ObserverContext> begins(const at::RecordFunction& fn);
    static void ends(const at::RecordFunction& fn, at::ObserverContext* context);

    Thread& thread();
    int64_t innermost();
    double stamp();
    uint32_t text(const std::string& words);
    int64_t open(uint32_t name, RangeKind kind, int64_t sequence, uint64_t forward, uint32_t inputs,
                 std::shared_ptr<torch::CapturedTraceback> stack);
    void close(int64_t range);
    bool room(size_t used);

    std::recursive_mutex mutex_;
    std::atomic<bool> on_{false};
    uint64_t session_ = 0;
    int wishes_ = 0;
    at::CallbackHandle handle_ = 0;
    std::unordered_map<std::string, uint32_t> known_;
    std::unordered_map<uint64_t, uint32_t> numbers_;  // of threads, by RecordFunction's id
    std::vector<std::pair<int64_t, std::shared_ptr<torch::CapturedTraceback>>> tracebacks_;
    double host_ = -1;  // of the newest stamp
    int within_ = 0;    // stamps since the host's clock moved
};

// While it exists this thread's operators are no ranges: the CPU's own parts of an operator that runs in place of one
// of the device.
class Hidden {
public:
    Hidden() : outer_(inside()) { inside() = true; }
    ~Hidden() { inside() = outer_; }
    Hidden(const Hidden&) = delete;
    static bool& inside() {
        static thread_local bool hidden = false;
        return hidden;
    }

private:
    bool outer_;
};

// "16,4096:float16", and what is no tensor by its kind; arguments with ';' between, lists in brackets with '&'.
std::string described(const at::Tensor& t, const char* format = "");
std::string described(c10::ArrayRef<const c10::IValue> arguments);

}  // namespace labdev
