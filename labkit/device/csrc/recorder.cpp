#include "recorder.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace labdev {
namespace {
constexpr size_t kMost = 1 << 23;  // events of a kind: 1 GB of the largest; what comes later is counted as lost
constexpr int kStamps = 500;       // ns that ranges of one moment may take together, less than any call of the device
constexpr char kOwn[] = "profiler::_record_function";  // how record_function enters: no operator of the program

bool own(const char* name) { return std::strncmp(name, kOwn, sizeof kOwn - 1) == 0; }

std::string one_argument(const c10::IValue& v) {
    if (v.isTensor()) return v.toTensor().defined() ? described(v.toTensor()) : "None";
    if (v.isTensorList() || v.isOptionalTensorList()) {
        std::string all = "[";
        for (const c10::IValue& t : v.toListRef()) all += (all.size() > 1 ? "&" : "") + one_argument(t);
        return all + "]";
    }
    if (v.isNone()) return "None";
    if (v.isScalar() || v.isBool()) return "Scalar";
    if (v.isIntList() || v.isDoubleList() || v.isBoolList()) return "ScalarList";
    return "";
}
}  // namespace

std::string described(const at::Tensor& t, const char* format) {
    std::string out;
    if (t.layout() == c10::kStrided && !t.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
        for (const int64_t size : t.sizes()) out += (out.empty() ? "" : ",") + std::to_string(size);
    out += ':';
    out += c10::getDtypeNames(t.scalar_type()).first;
    if (*format) (out += ':') += format;
    return out;
}

std::string described(c10::ArrayRef<const c10::IValue> arguments) {
    std::string out;
    for (size_t i = 0; i < arguments.size(); ++i) (out += i ? ";" : "") += one_argument(arguments[i]);
    return out;
}

Recorder& Recorder::one() {
    static auto* recorder = new Recorder();  // never destroyed, as the clock
    return *recorder;
}

void Recorder::start(int wishes) {
    if (on_) return;
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    ranges.clear(), tasks.clear(), calls.clear(), memory.clear(), stacks.clear(), texts.assign(1, "");
    known_.clear(), numbers_.clear(), tracebacks_.clear();
    lost = threads = 0;
    ++session_;
    wishes_ = wishes;
    host_ = -1;
    begin = end = virtual_clock().host();
    thread();  // the one that starts it is number 0
    on_ = true;
    virtual_clock().observe(this);
    if (wishes & Memory) arena().observe(this);
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(begins, ends)
            .needsInputs((wishes & Shapes) != 0)
            .needsIds(true)
            .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION, at::RecordScope::USER_SCOPE}));
}

void Recorder::stop() {
    if (!on_) return;
    at::removeCallback(handle_);
    virtual_clock().observe(nullptr);
    arena().observe(nullptr);
    end = virtual_clock().host();
    std::unique_lock<std::recursive_mutex> lock(mutex_);
    on_ = false;
    for (RangeEvent& range : ranges)
        if (range.end < range.start) range.end = std::max(range.start, end);  // still open
    const auto taken = std::move(tracebacks_);
    tracebacks_.clear();
    // It asks for Python's lock, whose owner may be at the end of a range, and asks for ours.
    const uint64_t session = session_;
    lock.unlock();
    std::vector<torch::CapturedTraceback*> all;
    for (auto& [range, traceback] : taken) all.push_back(traceback.get());
    const auto symbols = torch::symbolize(all);
    lock.lock();
    if (session != session_) return;  // another recording has begun meanwhile
    std::unordered_map<std::string, uint32_t> seen;
    stacks.assign(1, "");
    for (size_t i = 0; i < all.size(); ++i) {
        std::string lines;
        for (const uint64_t frame : symbols.tracebacks[i]) {
            const auto& f = symbols.all_frames[frame];
            lines += f.filename + "(" + std::to_string(f.lineno) + "): " + f.funcname + "\n";
        }
        const auto [it, fresh] = seen.emplace(lines, uint32_t(stacks.size()));
        if (fresh) stacks.push_back(lines);
        if (const size_t range = size_t(taken[i].first); range < ranges.size()) ranges[range].stack = it->second;
    }
}

void Recorder::forget() {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (on_) return;
    const auto give_up = [](auto&... all) { ((all = std::decay_t<decltype(all)>()), ...); };
    give_up(ranges, tasks, calls, memory, stacks, texts, known_);  // clear() would keep the memory
}

// ---- threads, times, texts

Recorder::Thread& Recorder::thread() {
    static thread_local Thread tls;
    if (tls.session != session_) {
        tls.session = session_;
        tls.open.clear();
        tls.number = uint32_t(threads++);
        numbers_[at::RecordFunction::currentThreadId()] = tls.number;
    }
    return tls;
}

int64_t Recorder::innermost() {
    Thread& t = thread();
    auto closed = [&](int64_t i) { return ranges[size_t(i)].end >= ranges[size_t(i)].start; };  // on another thread
    while (!t.open.empty() && closed(t.open.back())) t.open.pop_back();
    return t.open.empty() ? -1 : t.open.back();
}

double Recorder::stamp() {
    const double host = virtual_clock().host();
    if (host != host_) host_ = host, within_ = 0;
    return host + std::min(within_++, kStamps);
}

uint32_t Recorder::text(const std::string& words) {
    const auto [it, fresh] = known_.emplace(words, uint32_t(texts.size()));
    if (fresh) texts.push_back(words);
    return it->second;
}

bool Recorder::room(size_t used) {
    if (used < kMost) return true;
    ++lost;
    return false;
}

// ---- ranges of the host

int64_t Recorder::open(uint32_t name, RangeKind kind, int64_t sequence, uint64_t forward, uint32_t inputs,
                       std::shared_ptr<torch::CapturedTraceback> stack) {
    if (!room(ranges.size())) return -1;
    Thread& t = thread();
    const int64_t parent = innermost();
    const auto known = numbers_.find(forward);
    const int64_t range = int64_t(ranges.size());
    ranges.push_back({name, uint32_t(kind), t.number, known == numbers_.end() ? 0 : known->second, inputs, 0, parent,
                      sequence, stamp(), -1});
    t.open.push_back(range);
    if (stack) tracebacks_.emplace_back(range, std::move(stack));
    return range;
}

void Recorder::close(int64_t range) {
    if (range < 0) return;
    ranges[size_t(range)].end = stamp();
    std::vector<int64_t>& open = thread().open;
    // a record_function may end on another thread, or before what it holds
    const auto found = std::find(open.begin(), open.end(), range);
    if (found != open.end()) open.erase(found);
}

std::unique_ptr<at::ObserverContext> Recorder::begins(const at::RecordFunction& fn) {
    Recorder& r = one();
    if (!r.on_ || Hidden::inside() || own(fn.name())) return nullptr;
    std::shared_ptr<torch::CapturedTraceback> stack;
    // outside the lock: it takes Python's
    if (r.wishes_ & Stack) stack = torch::CapturedTraceback::gather(true, false, false);
    std::lock_guard<std::recursive_mutex> lock(r.mutex_);
    if (!r.on_) return nullptr;
    const RangeKind kind = fn.scope() == at::RecordScope::FUNCTION            ? RangeKind::Op
                           : fn.scope() == at::RecordScope::BACKWARD_FUNCTION ? RangeKind::Backward
                                                                              : RangeKind::User;
    const uint32_t inputs = r.wishes_ & Shapes && kind == RangeKind::Op ? r.text(described(fn.inputs())) : 0;
    const int64_t range = r.open(r.text(fn.name()), kind, fn.seqNr(), fn.forwardThreadId(), inputs, std::move(stack));
    return std::make_unique<Context>(range, r.session_);
}

void Recorder::ends(const at::RecordFunction&, at::ObserverContext* context) {
    Recorder& r = one();
    const auto* c = static_cast<Context*>(context);
    if (!c || !r.on_) return;
    std::lock_guard<std::recursive_mutex> lock(r.mutex_);
    if (r.on_ && c->session == r.session_) r.close(c->range);
}

void Recorder::push(const char* name, RangeKind kind) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (on_) open(text(name), kind, -1, 0, 0, nullptr);
}

void Recorder::pop() {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!on_) return;
    innermost();  // what another thread has closed is none of the open ones
    const std::vector<int64_t>& open = thread().open;
    const auto pushed = std::find_if(open.rbegin(), open.rend(), [&](int64_t i) {
        const auto kind = RangeKind(ranges[size_t(i)].kind);
        return kind == RangeKind::Module || kind == RangeKind::Mark;
    });
    if (pushed != open.rend()) close(*pushed);
}

// ---- what the clock and the memory tell

void Recorder::launched(const Record& record, const Work& work, double begin, double reached, bool queued) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!on_ || !room(tasks.size())) return;
    const uint32_t number = thread().number;
    tasks.push_back({text(virtual_clock().name(record.name)), uint32_t(TaskKind::Kernel), record.engine, number,
                     work.inputs ? text(*work.inputs) : 0, work.outputs ? text(*work.outputs) : 0, queued,
                     uint32_t(work.cores), record.device, record.stream, innermost(), record.host, reached,
                     record.start, record.end, record.bytes, record.flops});
    if (room(calls.size()))
        calls.push_back({uint32_t(Api::Launch), number, record.device, record.stream, innermost(),
                         int64_t(tasks.size()) - 1, begin, record.host, 0});
}

void Recorder::called(Api api, double begin, double end, double waited, int device, int stream) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (on_ && room(calls.size()))
        calls.push_back({uint32_t(api), thread().number, device, stream, innermost(), -1, begin, end, waited});
}

void Recorder::ordered(bool waits, int device, int stream, double issued, double time) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!on_ || !room(tasks.size())) return;
    tasks.push_back({text(waits ? "EVENT_WAIT" : "EVENT_RECORD"), uint32_t(waits ? TaskKind::Wait : TaskKind::Record),
                     uint32_t(Engine::Count), thread().number, 0, 0, 1, 0, device, stream, innermost(), issued, issued,
                     std::max(issued, time), std::max(issued, time), 0, 0});
}

void Recorder::changed(const MemoryChange& c) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!on_ || !room(memory.size())) return;
    memory.push_back(
        {c.address, c.bytes, c.allocated, c.reserved, c.device, c.stream, innermost(), stamp(), c.freed, 0});
}

}  // namespace labdev

// ---- for Python

#pragma GCC visibility push(default)
extern "C" {
using labdev::Recorder;

void lab_recorder_start(int wishes) { Recorder::one().start(wishes); }
void lab_recorder_stop() { Recorder::one().stop(); }
void lab_recorder_forget() { Recorder::one().forget(); }
int lab_recorder_on() { return Recorder::one().on(); }
int lab_recorder_own(const char* name) { return labdev::own(name); }  // whether a range of that name is left out
void lab_recorder_push(const char* name, int kind) { Recorder::one().push(name, labdev::RangeKind(kind)); }
void lab_recorder_pop() { Recorder::one().pop(); }
// How many ranges, tasks, calls, changes of memory, texts, stacks, lost events and threads; the times of both ends.
void lab_recorder_numbers(uint64_t* counts, double* times) {
    const Recorder& r = Recorder::one();
    const uint64_t all[] = {r.ranges.size(), r.tasks.size(),  r.calls.size(), r.memory.size(),
                            r.texts.size(),  r.stacks.size(), r.lost,         r.threads};
    std::copy(std::begin(all), std::end(all), counts);
    times[0] = r.begin, times[1] = r.end;
}
const labdev::RangeEvent* lab_recorder_ranges() { return Recorder::one().ranges.data(); }
const labdev::TaskEvent* lab_recorder_tasks() { return Recorder::one().tasks.data(); }
const labdev::CallEvent* lab_recorder_calls() { return Recorder::one().calls.data(); }
const labdev::MemoryEvent* lab_recorder_memory() { return Recorder::one().memory.data(); }
const char* lab_recorder_text(uint64_t i) { return Recorder::one().texts[size_t(i)].c_str(); }
const char* lab_recorder_stack(uint64_t i) { return Recorder::one().stacks[size_t(i)].c_str(); }
}
#pragma GCC visibility pop
