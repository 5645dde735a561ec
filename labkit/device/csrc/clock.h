// The virtual clock: when the host issues work, and when the device does it.
//
// Time here is computed, never measured: the host's clock advances by a fixed cost per call, each stream is busy until
// a time that the cost model says, and waiting moves the host's clock forward. So launch-bound chains, bubbles and
// overlap show as they do on hardware, and every run of a program gives the same numbers on every machine.
// All times are nanoseconds since the clock's zero; rates are per nanosecond (bytes/ns is GB/s).
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "card.h"

namespace labdev {

// Operators that cost alike; their constants are in the chip's table under operators.<class>.
enum class OpClass : uint8_t {
    Elementwise,
    Transcendental,
    Activation,
    Softplus,
    Cast,
    Fill,
    Random,
    Copy,
    Transpose,
    GatherRows,
    Gather,
    Reduce,
    Softmax,
    Norm,
    NormBackward,
    GroupNorm,
    Sort,
    Optimizer,
    Foreach,
    Matmul,
    Attention,
    Count
};
constexpr const char* kClassNames[] = {
    "elementwise",   "transcendental", "activation",  "softplus",  "cast",    "fill",    "random",
    "copy",          "transpose",      "gather_rows", "gather",    "reduce",  "softmax", "norm",
    "norm_backward", "group_norm",     "sort",        "optimizer", "foreach", "matmul",  "attention"};

struct ClassCosts {
    double fixed = 0;   // ns of the smallest one, on one core
    double block = 0;   // ns more for each further core
    double repeat = 0;  // cycles a core takes for 64 elements (of a product: for a fractal)
    double row = 0;     // cycles for each row or run that it begins (of a product: for each tile)
};

// The cost model's constants of the chip and its host. Filled from the chip's table by lab_set_param().
struct Rates {
    double host_dispatch = 0;  // ns the host spends on issuing one operator or launch
    double host_api = 0;       // ns for a call that issues no kernel: record an event, make a view
    double launch = 0;         // ns of a collective of one rank, the least that a device does
    double copy_latency = 0;   // ns before a copy over the link moves its first byte
    double link = 1;           // bytes/ns between host and device, each direction
    double peer = 1;           // bytes/ns between two devices, each direction
    double peer_latency = 0;   // ns of a collective without bytes
    // operators, see operators.h
    double clock = 1, aic = 1, aiv = 1;  // cycles/ns; cores
    double hbm = 1;                      // bytes/ns of all cores together
    double l2_read = 1, l2_write = 1;    // of all cores together, too
    double core = 1;                     // of one core
    double l2 = 0;                       // bytes
    double back = 0;                     // what a byte pushed out of the L2 costs HBM, against one read
    double turn = 0;                     // and what it costs on top where HBM is read at the same time
    double spread = 0;                   // ns times the root of the cores: they do not begin at once
    double exposed = 0;       // share of a product's shorter side, moving or computing, that is not hidden by the other
    double cube_load = 1;     // bytes/cycle of a cube core's way in from the L2
    double int64_repeat = 0;  // cycles for 64 elements of 8-byte integers, which the vector unit lacks
    double ragged = 1;        // a copy whose runs are no whole blocks, against one of whole blocks
    double strided = 1, strided_row = 0;  // rows along another dimension than the last: factor, cycles a vector
    ClassCosts classes[int(OpClass::Count)] = {};
};

// ---- what the device's L2 holds, across operators and launches
//
// Chunks of device memory; the one not used for the longest time goes first. A read of what it holds does not go to
// HBM; a write stays here until it is pushed out. Of a chunk only the part between its first and its last byte used is
// held, so that a small tensor does not bring its neighbour along.

// Bytes of one operator's traffic. back: written earlier, by whomever, and pushed out to HBM now.
struct Traffic { double missed = 0, held = 0, written = 0, back = 0; };

class L2 {
public:
    static constexpr int kShift = 16;  // 64 KB a chunk
    static constexpr uint64_t kChunk = uint64_t(1) << kShift;

    // What it holds stays while the size does.
    void resize(double bytes) {
        const size_t room = size_t(bytes / double(kChunk));
        if (room == room_) return;
        clear();
        room_ = room;
    }
    void clear() {
        places_.clear();
        chunks_.clear();
        first_ = last_ = kNone;
    }
    // The bytes [at, at + bytes) pass once, in order.
    void read(uint64_t at, double bytes, Traffic& t) { pass(at, bytes, false, t); }
    void write(uint64_t at, double bytes, Traffic& t) { pass(at, bytes, true, t); }
    // How many of these bytes it holds now.
    double held(uint64_t at, double bytes) const {
        double sum = 0;
        each(at, bytes, [&](uint64_t key, uint32_t lo, uint32_t hi) {
            if (const auto known = places_.find(key); known != places_.end()) sum += chunks_[known->second].of(lo, hi);
        });
        return sum;
    }

private:
    static constexpr uint32_t kNone = ~uint32_t(0);
    struct Chunk {
        uint64_t key;
        uint32_t lo, hi;          // the bytes of it that are held
        uint32_t before, behind;  // in the order of last use; first_ is the newest
        bool dirty;
        double of(uint32_t from, uint32_t to) const {  // how many of the bytes [from, to) are held
            from = std::max(from, lo), to = std::min(to, hi);
            return from < to ? to - from : 0;
        }
    };

    template <class F> static void each(uint64_t at, double bytes, F&& f) {
        const uint64_t end = at + uint64_t(bytes);
        for (uint64_t a = at; a < end;) {
            const uint64_t next = std::min(end, ((a >> kShift) + 1) << kShift);
            const uint64_t chunk = a >> kShift << kShift;
            f(a >> kShift, uint32_t(a - chunk), uint32_t(next - chunk));
            a = next;
        }
    }
    void pass(uint64_t at, double bytes, bool write, Traffic& t) {
        each(at, bytes, [&](uint64_t key, uint32_t lo, uint32_t hi) {
            const auto known = places_.find(key);
            const bool here = known != places_.end();
            const double part = hi - lo, held = here ? chunks_[known->second].of(lo, hi) : 0;
            if (write) t.written += part;
            else t.held += held, t.missed += part - held;
            if (!room_) {
                t.back += write ? part : 0;
                return;
            }
            const uint32_t i = here ? known->second : take(key, t);
            if (here) unlink(i);
            to_front(i);
            Chunk& c = chunks_[i];
            c.dirty = write || (here && c.dirty);
            c.lo = here ? std::min(c.lo, lo) : lo, c.hi = here ? std::max(c.hi, hi) : hi;
        });
    }
    uint32_t take(uint64_t key, Traffic& t) {
        uint32_t i = uint32_t(chunks_.size());
        if (chunks_.size() < room_) chunks_.push_back({});
        else {
            i = last_;
            unlink(i);
            places_.erase(chunks_[i].key);
            if (chunks_[i].dirty) t.back += chunks_[i].hi - chunks_[i].lo;
        }
        chunks_[i].key = key;
        places_[key] = i;
        return i;
    }
    void unlink(uint32_t i) {
        const Chunk& c = chunks_[i];
        (c.before == kNone ? first_ : chunks_[c.before].behind) = c.behind;
        (c.behind == kNone ? last_ : chunks_[c.behind].before) = c.before;
    }
    void to_front(uint32_t i) {
        chunks_[i].before = kNone;
        chunks_[i].behind = first_;
        (first_ == kNone ? last_ : chunks_[first_].before) = i;
        first_ = i;
    }

    size_t room_ = 0;
    uint32_t first_ = kNone, last_ = kNone;
    std::vector<Chunk> chunks_;
    std::unordered_map<uint64_t, uint32_t> places_;
};

// ---- run-to-run variation of measured times, for the lessons on measuring: off unless switched on
//
// It depends only on the seed and on what was launched, not on the host's libm: the same program with the same seed
// gives the same times on every machine.

struct NoiseLevels {
    double jitter = 0;      // standard deviation of a kernel's time, as a share of it
    double outliers = 0;    // share of the launches that are delayed by other activity of the machine
    double outlier_ns = 0;  // length of that delay
    double first_ns = 0;    // host time of an operator's first launch: its binary is compiled or loaded
    double hot_ns = 0;      // device time, idle time taken off, after which the chip lowers its clock
    double slower = 1;      // factor by which kernels are then slower
};

class Noise {
public:
    void start(uint64_t seed, const NoiseLevels& levels) {
        *this = Noise(), on_ = true, state_ = seed, levels_ = levels;
    }
    void stop() { on_ = false; }
    bool on() const { return on_; }

    double host_ns(uint32_t name, double ns) {
        if (levels_.first_ns > 0 && seen_.insert(name).second) ns += levels_.first_ns;
        if (uniform() < levels_.outliers) ns += levels_.outlier_ns * (0.5 + uniform());
        return std::max(0.25 * ns, ns * (1 + levels_.jitter * normal()));
    }
    double device_ns(double ns) { return std::max(0.5 * ns, ns * (1 + levels_.jitter * normal())); }
    // Adds a kernel that starts after `idle` ns of idle time to the chip's heat; returns its time at the resulting
    // clock rate.
    double heated(double& heat, double idle, double ns) {
        heat = std::max(0.0, heat - std::max(0.0, idle));
        if (levels_.hot_ns > 0 && heat > levels_.hot_ns) ns *= levels_.slower;
        heat += ns;
        return ns;
    }

private:
    double uniform() {  // splitmix64
        uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }
    double normal() {  // twelve uniform numbers have a standard deviation of one
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return sum;
    }

    bool on_ = false;
    uint64_t state_ = 0;
    NoiseLevels levels_;
    std::unordered_set<uint32_t> seen_;
};

// The parts of a device that work in parallel. Each executes one kernel at a time: two matrix products on two streams
// do not run at twice the chip's rate.
enum class Engine : uint8_t {
    Vector,
    Cube,
    Cores,
    CopyIn,
    CopyOut,
    Link,
    Count
};  // Cores: vector and cube together; Link: to other devices

// How an operator's time comes about: fixed + begin, then the longer of moving and computing (busy); of a product also
// a part of the shorter. ns; 0 where that is not known.
struct Parts { double fixed = 0, begin = 0, moved = 0, busy = 0, cores = 0; };

struct Work {
    uint32_t name;  // from VirtualClock::intern()
    Engine engine;
    double ns;
    double bytes = 0, flops = 0;
    // for whoever records: the tensors as recorder.h describes them, the cores used; null and 0: not known
    const std::string* inputs = nullptr;
    const std::string* outputs = nullptr;
    int cores = 0;
    Parts parts = {};
    double host = 0;  // ns of issuing it, where that is settled before; 0: what the host takes for an operator
};

struct Record {  // one piece of device work; also read by Python, see library.py
    uint32_t name;
    int16_t device, stream;
    uint32_t engine, reserved;
    double host, start, end;  // host: when the host had issued it
    double bytes, flops;
    Parts parts;
};

struct Event {
    double time = 0;
    bool recorded = false;
    int device = 0, stream = 0;
    uint32_t issued = 0;  // operators in front of it on the stream
    uint32_t epoch = 0;   // how often the clock had been put back to zero
};

// Calls of the host into the runtime, in the order of recorder.py's names for them.
enum class Api : uint32_t {
    Launch,
    SynchronizeDevice,
    SynchronizeStream,
    SynchronizeEvent,
    RecordEvent,
    WaitEvent,
    QueryStream,
    QueryEvent
};

// Whoever wants to know what passes; called after the fact, outside the clock's lock. Times are the host's: from when
// to when the call took, and how much of that it was blocked until the device was ready.
class Observer {
public:
    virtual ~Observer() = default;
    // reached: the device could have begun; of a collective, whose other ranks may come later, before record.start
    virtual void launched(const Record& record, const Work& work, double begin, double reached, bool queued) = 0;
    virtual void called(Api api, double begin, double end, double waited, int device, int stream) = 0;
    // a mark in a stream: an event recorded or waited for, done at `time`
    virtual void ordered(bool waits, int device, int stream, double issued, double time) = 0;
};

class VirtualClock {
public:
    void observe(Observer* observer) { observer_ = observer; }  // null: nobody
    void configure(int devices);
    int devices() const { return int(devices_.size()); }
    Rates& rates() { return rates_; }

    uint32_t intern(const std::string& name);
    std::string name(uint32_t id) const;

    // The host issues `work` to a stream and continues; returns when the device will have finished it. queued: through
    // torch_npu's host queue, as operators of PyTorch are; a kernel's own launch is not.
    // not_before: the other side's data is available from then on.
    double launch(int device, int stream, const Work& work, bool queued = true, double not_before = 0);
    // f(the L2 of a device), while nobody else looks at it.
    template <class F> auto with_l2(int device, F&& f) {
        std::lock_guard<std::mutex> lock(mutex_);
        L2& l2 = devices_[size_t(device)].l2;
        l2.resize(rates_.l2);
        if (cold_) l2.clear();
        return f(l2);
    }
    void clear_l2();          // of all devices
    void cold_l2(bool cold);  // from now on every operator finds it empty
    // The earliest begin of work that the host issues now. host: what issuing it takes, for launch() to use.
    double ready(int device, int stream, Engine engine, uint32_t name, double* host);

    // ---- collectives: each process group has a stream of its own on each device, as with HCCL
    int group_stream(int device, const void* group);
    // The stream does nothing more before `time`; the host does not notice. name: of what it waits for, where that
    // stands in the host queue in front of the stream's next work.
    void hold(int device, int stream, double time, const uint32_t* name = nullptr);
    // A collective works on these bytes until `time`. Whatever reads or writes them waits for it (land): a right
    // program waits for the collective itself, and where that happens in C++ (DDP's reducer) nobody tells the device.
    void fly(int device, const void* begin, size_t bytes, double time);
    void land(int device, int stream, const void* begin, size_t bytes) {
        if (flying_.load(std::memory_order_relaxed)) wait_for_flights(device, stream, begin, bytes);
    }
    void land_all(int device, int stream) { land(device, stream, nullptr, SIZE_MAX); }
    // The host queue in front of a stream. On hardware a launch on a raw stream overtakes the operators that wait
    // there.
    void drain(int device, int stream);
    uint32_t waiting(int device, int stream);        // operators issued since it was drained
    uint32_t last_queued(int device, int stream);    // the newest one's name
    void spend(double ns);                           // the host is busy
    void spend_api();                                // the host is busy for one API call
    void wait(double time, int device, int stream);  // the host blocks until `time`, when work of the stream is done
    double host() const;
    double busy_until(int device) const;

    int new_stream(int device);
    void synchronize(int device);
    void synchronize(int device, int stream);
    bool idle(int device, int stream);
    void record(Event& event, int device, int stream);
    void block(const Event& event, int device, int stream);  // the stream waits for the event
    Event now(int device, int stream);                       // when the stream will be idle, at no cost
    bool query(const Event& event);
    void synchronize(const Event& event);
    // Recorded before the last reset(): that is over, and its time is of another zero.
    bool is_old(const Event& event) const;

    void start_noise(uint64_t seed, const NoiseLevels& levels);
    void stop_noise();
    // From now on device 0 is one card with the processes that sit at it, see card.h. Every seat is to be taken.
    bool sit_down(const char* file, int seat, int seats);
    bool leave_card();  // false: another process stood still, and was not waited for any longer
    // Time zero, timeline empty; streams stay. False, and nothing is done, while it sits at a card: its other processes
    // have seen this one's time, and theirs go on.
    bool reset();
    size_t kept() const;                            // pieces of the timeline: the newest kRecords
    std::vector<Record> newest(size_t many) const;  // of those, oldest first
    uint64_t launches() const;                      // since reset(), more than are kept

private:
    struct Stream {
        double busy = 0;  // time until which it is busy
        // operators that entered the host's queue and left it; the newest one's name
        uint32_t issued = 0, drained = 0, last = 0;
    };
    struct Flight {
        uintptr_t begin, end;
        double time;
    };
    struct Device {
        std::vector<Stream> streams = std::vector<Stream>(1);  // 0 is the default stream
        double engines[int(Engine::Count)] = {};
        unsigned next_stream = 0;
        std::unordered_map<const void*, int> groups;  // process group -> its stream
        std::vector<Flight> flights;
        double heat = 0;
        L2 l2;
    };
    Stream& stream(int device, int id);
    double host_cost(uint32_t name) {
        return noise_.on() ? noise_.host_ns(name, rates_.host_dispatch) : rates_.host_dispatch;
    }
    // 0: over, or never recorded
    double time_of(const Event& e) const { return e.recorded && e.epoch == epoch_ ? e.time : 0; }
    void left_queue(const Event& e) {  // what stood in front of it has
        if (!e.recorded || e.epoch != epoch_) return;
        Stream& s = stream(e.device, e.stream);
        s.drained = std::max(s.drained, e.issued);
    }
    void wait_for_flights(int device, int stream, const void* begin, size_t bytes);
    void tell_card();  // from when on this process could issue something to it
    void tell(Api api, double begin, double end, double until, int device, int stream) {
        if (Observer* o = observer_) o->called(api, begin, end, std::max(0.0, until - begin), device, stream);
    }

    std::atomic<Observer*> observer_{nullptr};
    std::atomic<size_t> flying_{0};
    mutable std::mutex mutex_;
    Rates rates_;
    bool cold_ = false;
    double host_ = 0;
    std::atomic<uint32_t> epoch_{0};  // counts reset()
    Noise noise_;
    Seat<int(Engine::Count)> card_;
    std::vector<Device> devices_ = std::vector<Device>(1);
    std::vector<Record> ring_;
    uint64_t launches_ = 0;
    std::vector<std::string> names_;
    std::unordered_map<std::string, uint32_t> ids_;
};

VirtualClock& virtual_clock();  // the one of this process

// The device and, per device, the stream that this thread issues to.
int current_device();
void set_current_device(int device);
int current_stream(int device);
void set_current_stream(int device, int stream);

// ---- several processes, each with its own devices: the rank of this one, and the duration of their communication
//
// The devices of a server are joined in pairs, each pair by a link (a full mesh). A rank talks to all others at the
// same time, so with n ranks and B bytes a step that hands every rank its n-th part takes B/n at one link's rate.

// In the default process group; size 0: there is none.
struct RankOfProcess { int rank = 0, size = 0; };
RankOfProcess& rank_of_process();

// The parameters of a collective that its ranks have agreed on. Times in ns; bytes: of the largest argument of any
// rank.
struct Collective {
    double begin = 0, bytes = 0, ns = 0;
    double host = 0;  // of issuing it
    int ranks = 0;
    int stream = 0;        // of the group
    bool at_once = false;  // the stream that asked for it waits for its end
};

inline double collective_ns(const std::string& op, const Collective& m, const Rates& r) {
    auto is = [&](const char* name) { return op.rfind(name, 0) == 0; };
    const double part = m.bytes / double(m.ranks > 0 ? m.ranks : 1) / r.peer, whole = m.bytes / r.peer;
    if (m.ranks < 2) return r.launch;
    if (is("c10d::allreduce")) return r.peer_latency + 2 * part;  // each rank adds up one part, then hands it to all
    if (is("c10d::broadcast") || is("c10d::reduce_") || is("c10d::send") || is("c10d::recv"))
        return r.peer_latency + (is("c10d::reduce_scatter") ? part : whole);
    return r.peer_latency + part;  // gather, scatter, all-to-all
}

}  // namespace labdev
