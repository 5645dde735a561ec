// One AI core while it runs one block: its memories, queues, flags, happens-before knowledge and trace.
#pragma once
#include <array>
#include <atomic>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/chip.h"
#include "base/findings.h"
#include "core/counters.h"
#include "core/cube_state.h"
#include "core/delayed_transfers.h"
#include "core/gm_accesses.h"
#include "core/hazard.h"
#include "core/registers.h"
#include "core/trace.h"
#include "core/vector_state.h"

namespace twin {

// The two kinds of cores, each with memories of its own: AIV has the UB, AIC has L1, L0A, L0B, L0C and two small
// buffers.
enum class Kind : uint8_t { AIV, AIC };
constexpr bool has(Kind k, Mem m) { return (m == Mem::UB) == (k == Kind::AIV); }

struct TimelineEvent {
    uint16_t block;
    uint8_t pipe, core;  // core of its block: 0 and 1 the AIVs, 2 the AIC
    uint16_t op, pad2;
    int32_t line;
    uint32_t bytes;
    double start, end;  // cycles since the first core began
};

struct GmRange {  // a tensor that the launch may touch
    uint64_t lo, hi;
    bool written;  // false: nothing was ever stored in it before this launch
    int argument;
    uint32_t slack = 0;  // bytes behind it that belong to the same allocation
};

struct BufferView {  // a buffer that InitBuffer allocated, for the drawing of memory use
    uint32_t addr, bytes;
    uint8_t pos, kind;  // kind 0 queue, 1 TBuf, 2 LocalMemAllocator
    uint16_t group, index;
};

struct EmptyCopy {  // a copy of no block, or of blocks of no bytes
    Mem mem;        // of its destination; Count: GM
    uint64_t at;    // where it begins
    uint32_t blocks, len, block;
    Here here;
    Numbers numbers() const;
};

struct CoreResult {
    uint32_t block = 0;
    uint8_t core = 0;  // as in TimelineEvent
    std::vector<Finding> findings;
    Trace trace;
    std::vector<TimelineEvent> events;
    std::vector<GmWrite> writes;
    std::vector<GmRead> reads;
    std::vector<EmptyCopy> empty_stores;
    GmSteps steps;
    bool ordered_unseen = false;          // by a wait whose sender is not followed
    uint32_t phases = 0;                  // how many barriers of all cores it has passed
    bool may_poll = false;                // has read past its data cache, or cleaned it
    std::vector<DataCache::Store> lines;  // scalar stores to GM
    std::vector<BufferView> buffers;
    std::string output;
    Counters counters;
    double begin = 0, cycles = 0, busy[kPipes] = {};  // from the replay: begin, duration, busy cycles of each pipe
    uint64_t instructions = 0;
    uint32_t ub_peak = 0, ub_top = 0;  // of UB: the most that TPipe had allocated; the end of the highest operand
    bool finished = false;
};

// Identifies a core within its launch.
struct CoreId {
    Kind kind = Kind::AIV;
    uint32_t block = 0, blocks = 1;  // of the launch
    uint32_t sub = 0, subs = 1;      // which of the AIVs of its block
    bool mixed = false;              // the block has cores of both kinds
};

class Core {
public:
    static constexpr uint64_t kNever = ~0ull;
    void start(const CoreId&, Schedule, uint32_t seed);
    CoreResult finish();

    // ---- one instruction: order it, check and record its operands, cost it
    struct Ticket {
        Access access;
        Op op;
    };
    static constexpr uint64_t kStack = 0x8000;  // -cce-aicore-stack-size of CANN's own builds for dav-2201
    // deferred: its effect is handed to perform(), so that the vector or the cube unit may be late with it
    Ticket issue(Pipe, Op, Here, bool deferred = false);
    void retire(const Ticket& t, double cycles, uint64_t bytes) {
        if (instruction.partial()) carry_unwritten(t);
        trace.work(t.access.pipe, t.op, t.access.here.line, cycles, bytes,
                   t.access.pipe == Pipe::V ? chip.vector_startup : 0);
    }
    void retire(const Ticket& t, Move m) {
        if (instruction.partial()) carry_unwritten(t);
        m.atomic = m.out && registers.atomic;
        trace.move(t.access.pipe, t.op, t.access.here.line, m);
    }  // a transfer from or to GM
    void book(const Ticket&, Loc, uint32_t bytes, bool write);
    // the same for rows of `row` bytes, `apart` bytes from start to start
    void book_rows(const Ticket&, Loc, uint32_t row, uint64_t apart, uint32_t rows, bool write);
    void book_piece(const Ticket&, Loc, uint32_t bytes, bool write);  // of an operand that is in `instruction` already
    // the same for the active lanes of the mask/repeat form; pieces() records them
    template <typename F> void book_lanes(const Ticket& t, const Operand& o, const Lanes& lanes, F pieces) {
        instruction.lanes = lanes;
        add_operand(o);
        if (!o.write) {
            pieces();
            if (seen_gap_) look_at_operand(t);
            return;
        }
        if (!checks) return pieces();
        check_repeats(t, o);
        // Lanes that are switched off lie between those that are written and count as part of them, unless nobody wrote
        // them.
        Shadow off;
        if (!lanes.dense(o) && unwritten(o.mem, o.lo, o.lo + o.bytes)) off = lanes_off(o);
        pieces();
        if (!off.empty()) leave(o.mem, o.lo, off, kNobody);
    }
    void check_repeats(const Ticket&, const Operand& dst);
    Shadow lanes_off(const Operand&) const;  // what is unwritten of it, without its active lanes
    void add_operand(const Operand&);        // before its pieces
    void look_at_operand(const Ticket&);     // after its pieces, if it is read
    // of the scalar unit, for the other cores of the block
    void note_scalar_step(uint64_t lo, uint32_t bytes, bool write, Here here) {
        if (!id.mixed || !checks) return;
        known[0].seen[0] = ++issued[0];
        gm_steps.note({issued[0], Pipe::S, here}, known[0], lo, bytes, bytes, 1, write, false);
    }
    void note_gm_write(uint64_t lo, uint64_t hi, Here, bool atomic = false, const uint8_t* from = nullptr);
    // rows of `row` bytes, `apart` bytes from start to start, that other cores may store to
    void note_gm_read(uint64_t lo, uint64_t row, uint64_t apart, uint64_t rows, Here, bool exact, bool scalar = false);
    void book_gm(const Ticket&, const uint8_t* p, uint64_t bytes, bool write, const uint8_t* from = nullptr,
                 bool step = true);  // from: the values, where available
    // What an instruction behind a flag that this pipe sets may rely on, for the other cores of the block.
    GmClock gm_clock(Pipe) const;
    void learn(const GmClock& told) { twin::learn(known[int(Pipe::S)], slot(), told); }
    // ---- the scalar unit and GM, through its data cache (scalar_gm.cpp)
    // The place of [lo, lo + size) for a load or a store: GM, or a line of the cache under a schedule that keeps them.
    uint8_t* cached(uint64_t lo, uint32_t size, bool write, Here);
    // For code that takes a reference or a raw pointer: what it stores is seen by settle_exposed().
    void expose(uint64_t lo, uint32_t size, Here);
    void settle_exposed();
    void publish();  // tells the other cores which lines are dirty: before a signal to them
    void clean(const uint8_t* line, bool whole);
    void check_dirty_elsewhere(uint64_t lo, uint64_t hi, Here);
    void check_stack(Here);
    uint64_t past_stack(uint64_t fault, uint64_t pointer) const;
    uint64_t granted = 0;     // what the next raw access may be, as an API call has booked it
    bool deferring = false;   // the instruction that is being issued may be late
    uint64_t stack_from = 0;  // where the kernel's stack begins
    bool stack_reported = false;
    // Through a pointer to UB (memory/raw_access.cpp): of a pipe of its own, kept until the next instruction.
    static constexpr int kRawPipe = int(Pipe::Count);
    struct RawAccess {
        uint64_t lo, hi;
        bool write;
        Here here;
    };
    std::vector<RawAccess> raw_accesses;
    void raw_access(uint64_t lo, uint64_t bytes, bool write, void* pc);
    void settle_raw();
    // What is ordered behind the scalar unit, is behind its accesses through pointers as well.
    uint32_t raw_done() {
        if (!raw_accesses.empty()) settle_raw();
        return issued[kRawPipe];
    }
    void touch_scalar(Loc, uint32_t bytes, bool write, Here);
    void spend_scalar(uint32_t bytes, bool write, Here here) {
        instructions++;
        trace.scalar(here.line, write ? chip.scalar_set : chip.scalar_get, bytes);
    }
    void join_all();  // every pipe waits for every other
    // Performs what an instruction of this pipe may rely on, for one that reads operands before it is issued (offsets).
    void catch_up(Pipe p) {
        known[int(p)].hear(known[int(Pipe::S)], p);
        if (delayed.on) delayed.settle(known[int(p)]);
    }
    // Performs a transfer: at once, or under Schedule::Worst as late as the synchronisation allows.
    template <typename F> void perform(const Ticket& t, F effect) {
        if (!effects) return;
        if (!shared_.empty()) return perform_over(t, effect);
        if (delayed.on && delayed.takes(t.access.pipe)) delayed.push(t.access, known[int(t.access.pipe)], effect);
        else effect();
    }
    // The same for a copy that writes bytes which an earlier one of its pipe may still be writing.
    template <typename F> void perform_over(const Ticket& t, F effect) {
        auto places = std::move(shared_);
        shared_.clear();
        // A std::function: with the lambda's own type perform() and this would instantiate each other without end.
        perform(t, std::function<void()>([this, t, effect, places] {
                    shared_ = places;
                    SharedBytes before = before_overlap();
                    effect();
                    after_overlap(before, t);
                }));
    }

    // ---- checks before an instruction; false: it must not run
    // Silent where this kind of core has no such memory: in a mixed kernel each kind skips the other's instructions.
    bool usable(Loc, uint64_t bytes, bool read, Here, const char* what, uint32_t align = 32);
    bool any_filled(Loc, uint64_t bytes) const;
    // ---- unwritten bytes (hazard.h)
    template <typename F> void each_unwritten(Mem, uint64_t lo, uint64_t hi, F) const;
    bool unwritten(Mem, uint64_t lo, uint64_t hi) const;
    Shadow shadow(Mem, uint64_t lo, uint64_t bytes) const;
    Shadow shadow_if_any(Mem m, uint64_t lo, uint64_t bytes) const {
        return checks && unwritten(m, lo, lo + bytes) ? shadow(m, lo, bytes) : Shadow();
    }
    void leave(Mem, uint64_t lo, const Shadow&, int origin);  // the runs of a shadow become holes
    void forget(Mem, uint64_t lo, uint64_t hi);               // what was written there is no longer anybody's
    int origin_of(Mem, uint64_t lo, uint64_t hi, Here, const char* what, uint64_t bytes);
    void report_origin(int origin);
    void report_unwritten(Mem, uint64_t lo, uint64_t hi, Here, const char* what);
    // A copy to GM, row r of which goes to `to` + r * stride; exact: it moves no byte more than asked.
    void note_stored(bool exact, const uint8_t* to, uint64_t stride);
    void look_at_left(uint64_t lo, uint64_t hi);  // somebody may read that part of GM
    void look_at_all_left() { look_at_left(0, ~0ull); }
    // Unwritten bytes that lie in GM. A kernel may store whole blocks first and the right values over their ends, so
    // they are a fault only where they are still there when GM is read, another core is told or the core ends.
    Holes gm_left;
    void absorb(const Ticket&, uint8_t absorbing);
    void carry_unwritten(const Ticket&);
    Instruction instruction;
    Holes holes[int(Mem::Count)];
    ScalarStores scalar_stores;
    void store_scalar(uint32_t addr, uint32_t bytes) {
        scalar_stores.set(addr, bytes, chip.size[int(Mem::UB)]);
        if (!holes[int(Mem::UB)].empty()) holes[int(Mem::UB)].fill(addr, addr + bytes);
    }
    std::vector<Hole> raw;  // where a pointer was taken; origin: the memory
    std::vector<Origin> origins;

    // For instructions that use every lane: reports a whole piece (a block, a fractal) to which nothing was ever
    // written.
    void want_filled(Loc, uint64_t bytes, uint32_t piece, Here, const char* what);
    // An instruction was refused: what it would have written is missing.
    bool unseen_writes = false;
    bool gm_usable(Gm, uint64_t bytes, bool write, Here, bool exact);  // exact: moves no byte more than asked
    // Reports a read of GM that nobody has stored into yet. An atomic store reads too.
    void want_stored(const Gm&, uint64_t bytes, const char* code, Here);
    // Marks the destination of a refused instruction as written, so that no follow-up findings are reported about it.
    void refuse(Loc dst, uint64_t bytes);
    void report(const char* code, bool error, Here here, const Numbers& n) {
        open_findings_.push_back(findings.add(code, error, here, n));
    }
    // The instruction of the findings since the last one is not carried out: they say so.
    void skip();
    // at: bytes on the chip, or in GM, that are read or written now.
    void settle_disputed(const uint8_t* at, uint64_t bytes, bool write);
    bool disputes() const { return !disputed_.empty(); }
    // ---- copies that move nothing (empty_copies.cpp)
    std::vector<EmptyCopy> empty_copies, empty_stores;  // on the chip; to GM
    void note_empty(Loc dst, const Dma&, Here);
    void note_empty(Gm dst, Loc src, const Dma&, Here);
    void missed(Loc);                              // something reads there
    void supplied(Mem, uint64_t lo, uint64_t hi);  // something is written there
    [[noreturn]] void stop(const char* code, Here here, const Numbers& n) {
        findings.add(code, true, here, n);
        throw Stop{};
    }
    uint8_t* at(Loc l) { return bytes_[int(l.mem)] + l.addr; }

    // ---- buffers
    enum class State : uint8_t { Free, Occupied, Queued, Taken };
    struct Held {  // an event id in use
        int8_t id = -1;
        Pipe from = Pipe::S, to = Pipe::S;
    };
    struct Buffer {
        uint32_t addr = 0, len = 0;
        uint16_t gen = 0;
        uint8_t pos = 0;
        State state = State::Free;
        // loose: its TPipe freed the memory; it stays readable until another buffer gets it
        bool filled = false, by_scalar = false, loose = false;
        uint32_t whole = 0;  // bytes from its start on that are written, as far as the scalar unit has looked
        int queue = -1, pipe = -1, owner = -1, tag = -1;  // owner: its pool
        Held queued, freed;                               // from EnQue to DeQue; from FreeTensor to AllocTensor
        VectorClock ready, idle;  // what the consumer may rely on; what the next producer may rely on
        Stamp ready_at = 0, idle_at = 0;
        Here last{nullptr, 0};
        // value of `issues` at which the scalar unit had nothing to wait for: to read, to write
        uint64_t settled[2] = {kNever, kNever};
    };
    struct Queue {
        Pipe producer, consumer;
        uint8_t pos;
        int depth;
        uint16_t first, num, next;
        int pipe;
        std::vector<uint16_t> fifo;
        bool alive;  // its pipe still has the memory
    };
    struct PipeLife {                                               // one TPipe from Init to Destroy
        uint32_t top[int(Mem::Count)] = {}, tscm = 0, buffers = 0;  // tscm: from the end of L1 downwards
        bool open = true, used = false;
        Here here{nullptr, 0};
    };
    std::vector<Buffer> buffers;  // index 0 stands for "unmanaged"
    struct LocalArray {           // an array in UB that the kernel declares, and its entry in `buffers`
        const void* declaration;
        uint16_t buffer;
    };
    std::vector<LocalArray> local_arrays;
    std::vector<Queue> queues;
    size_t ended_queues = 0;  // so many of them, from the first on, have ended
    std::deque<PipeLife> pipes;
    std::vector<BufferView> views;
    // allocation top in each memory: of the newest TPipe, or of the allocator
    uint32_t no_pipe[int(Mem::Count)] = {}, *top = no_pipe;
    int pools = 0;
    int allocated[int(Mem::Count)] = {};  // the line of LocalMemAllocator's first tensor in each memory
    uint16_t groups = 0;

    // ---- flags
    struct Flag {
        bool set = false, reserved = false, library = false;  // library: set by TPipe itself
        bool queue = false;                                   // set by a queue that has not waited for it yet
        uint8_t again = 0;                                    // how many times it was set again before a wait
        VectorClock clock;
        Stamp at = 0;
        Here here{nullptr, 0}, queue_here{nullptr, 0};
    };
    Flag flags[8][8][8];

    // ---- order and time
    VectorClock known[8];
    uint32_t issued[8] = {};
    Trace trace;

    Findings findings;
    Hazards memory[int(Mem::Count)], gm;
    Hazards& ub = memory[int(Mem::UB)];
    DelayedTransfers delayed;
    std::vector<GmWrite> gm_writes;
    static constexpr size_t kOpenReads = 128;
    std::vector<Hazards::Shared> open_reads;  // of GM, that a store may overtake
    SharedReads gm_reads;
    GmSteps gm_steps;
    bool ordered_unseen = false;
    bool may_poll = false;
    std::array<uint32_t, 64> recent_writes{};  // indices into gm_writes, hashed by place and line
    std::string output;
    Here last{nullptr, 0};
    CoreId id;
    uint32_t block = 0, ub_peak = 0, ub_top = 0;
    uint32_t phase = 0;  // how often all cores have met
    uint32_t turns = 0;
    VectorClock sent;      // the vector clock that this core sent with its last signal
    bool ordered = false;  // has waited for another core: its accesses to shared GM may be ordered
    bool far = false;      // for one of another block, or for one that had
    class CoreGroup* group = nullptr;
    Core* cube = nullptr;              // the AIC of the same block; of a cube core, itself
    void* pipe = nullptr;              // the kernel's own TPipe
    std::vector<const void*> matmuls;  // of a mixed kernel: its Matmul objects, which take two flags between cores each
    uint8_t slot() const { return id.kind == Kind::AIC ? 2 : uint8_t(id.sub); }
    // issues: instructions that go to a pipe, not those of the scalar unit itself
    uint64_t instructions = 0, issues = 0;
    VectorState vec;
    uint64_t gathered = 0;    // number of elements that the last GatherMask kept
    uint16_t merged[4] = {};  // records that the last MrgSort consumed from each list
    Registers registers;
    DataCache cache;
    Counters counters;
    std::shared_ptr<struct Probe> probe;  // replay.cpp
    // Adds to `known` what the group has learned since; other cores may be adding to the group's own.
    void learn_maxima(std::vector<std::vector<Stamp>>& known) const;
    CubeState cube_state;
    const std::vector<GmRange>* ranges = nullptr;
    bool checks = true, effects = true;

private:
    struct Exposed {
        uint64_t lo;
        uint32_t size;
        Here here;
        uint8_t old[DataCache::kLine];  // of GM
    };
    std::vector<Exposed> exposed_;
    std::vector<size_t> open_findings_;  // of the instruction that is being looked at
    struct Named {                       // the last operands that were read
        const char* what;
        Mem mem;
        uint32_t addr;
    } named_[4] = {};
    uint32_t named_next_ = 0;
    bool seen_gap_ = false;  // in a piece of the operand under way
    const char* name_of_operand(const Operand&) const;
    const GmRange* home_of(const Gm&, uint64_t hi) const;
    void report_stray(const Gm&, uint64_t bytes, bool write, const GmRange* home, Here);
    struct SharedPlace {
        uint8_t* at;
        uint64_t bytes;
        Access other;
        const char* memory;
    };
    std::vector<SharedPlace> shared_;  // of the instruction that is being issued
    using SharedBytes = std::vector<std::pair<SharedPlace, std::vector<uint8_t>>>;
    SharedBytes before_overlap();
    void after_overlap(const SharedBytes&, const Ticket&);
    struct Disputed {  // bytes that two copies have written, and the finding that it is if somebody reads them
        const uint8_t* at;
        uint64_t bytes;
        Here here;
        Numbers numbers;
    };
    std::vector<Disputed> disputed_;
    void note_shared(Hazards&, const uint8_t* base, const char* memory);
    void note_race(const Conflict&, const Ticket&, const char* memory, uint64_t lo, uint64_t hi);
    uint8_t* bytes_[int(Mem::Count)] = {};  // see arena.h
};

void give_way();                 // lets the other cores run
void note_matmuls(const Core&);  // to its group
// f(lo, hi, origin) for each unwritten stretch, in no particular order and perhaps twice.
template <typename F> void Core::each_unwritten(Mem m, uint64_t lo, uint64_t hi, F f) const {
    auto open = [&](uint64_t a, uint64_t b, int origin) {
        for (const Hole& r : raw)
            if (int(m) == r.origin && r.lo <= a && b <= r.hi) return;  // perhaps written through the pointer
        f(a, b, origin);
    };
    auto gap = [&](uint64_t a, uint64_t b) {
        if (m != Mem::UB || !scalar_stores.used()) return open(a, b, kNobody);
        for (uint64_t to; a < b; a = to) {
            to = a + 1;
            if (scalar_stores.at(a)) continue;
            while (to < b && !scalar_stores.at(to)) to++;
            open(a, to, kNobody);
        }
    };
    uint64_t at = lo;
    memory[int(m)].each(lo, hi, [&](const Hazards::Cell& c) {
        if (!c.write.number) return;
        if (at < c.lo) gap(at, c.lo);
        at = std::max(at, c.hi);
    });
    if (at < hi) gap(at, hi);
    holes[int(m)].each(lo, hi, open);
}

// Of libraries whose sources take pointers to UB (memory/raw_access.cpp).
bool watch_ub_pointers(const void* place_in_library);
bool watches_ub_pointers(const void* code);
extern std::atomic<bool> ub_pointers;  // of the launch that is running
void ub_accessed(uint64_t address, uint64_t bytes, bool write, void* pc);

extern thread_local Core* core __attribute__((tls_model("initial-exec")));  // the core that this host thread is running

extern uint64_t device_from, device_bytes;  // the device's memory, for the check of raw pointers

bool constant_data(uint64_t lo, uint64_t hi);  // true: these bytes belong to the kernel's constants

constexpr uint8_t kNowhere = 16;   // TPosition::MAX: a tensor that was never given memory
constexpr uint8_t kPoison = 0xff;  // a NaN in every floating type, -1 in every integer type: stale or missing data
                                   // shows

}  // namespace twin
