// TPipe, TBufPool and LocalMemAllocator: allocation of a core's on-chip memory.
#include <algorithm>
#include <exception>

#include "memory/buffers.h"
#include "twin/memory/pipe.h"

namespace twin {

namespace {

constexpr uint32_t kBuffersPerPipe = 64;
const char* const kPositions[] = {"GM",  "A1",    "A2",     "B1",      "B2",  "C1",   "C2",        "CO1",
                                  "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};

Mem memory_of(uint8_t pos) { return mem_of(AscendC::TPosition(pos)); }

Core::PipeLife& life(int pipe, Here here) {
    core->last = here;
    auto& p = core->pipes[size_t(pipe)];
    if (p.used) return p;
    p.used = true;
    for (auto& other : core->pipes)
        if (&other != &p && other.open && other.used)
            core->report("pipe-twice", true, here, Numbers().add("first_line", other.here.line));
    return p;
}

void fits(Mem m, uint64_t addr, uint32_t num, uint64_t len, const char* asked, Here here) {
    uint64_t bytes = num * len, want = addr + bytes;
    if (m == Mem::UB) core->ub_peak = uint32_t(std::max<uint64_t>(core->ub_peak, std::min<uint64_t>(want, ~0u)));
    if (want > chip.size[int(m)])
        core->stop("ub-budget", here,
                   Numbers()
                       .add("asked", asked)
                       .add("num", num)
                       .add("len", len)
                       .add("need", bytes)
                       .add("used", addr)
                       .add("total", want)
                       .add("size", chip.size[int(m)])
                       .add("over", want - chip.size[int(m)]));
}

// Allocates `bytes` after what the TPipe has allocated already; a kernel that needs more than there is is stopped.
uint32_t take(Core::PipeLife& p, Mem m, uint32_t num, uint64_t len, const char* asked, Here here) {
    uint32_t addr = p.top[int(m)];
    fits(m, addr, num, len, asked, here);
    p.top[int(m)] = uint32_t(addr + num * len);
    return addr;
}

// TSCM is allocated from the end of L1 downwards: for an AIV in the L1 of its block's AIC, with a part for each AIV of
// the block.
uint32_t take_tscm(Core::PipeLife& p, uint32_t num, uint64_t len, bool group, Here here) {
    uint32_t shares = group || core->id.kind == Kind::AIC ? 1 : core->id.subs, mine = shares > 1 ? core->id.sub : 0;
    fits(Mem::L1, p.tscm, num * shares, len, shares > 1 ? "a TSCM queue for each AIV of the block" : "a TSCM queue",
         here);
    uint32_t addr = uint32_t(chip.size[int(Mem::L1)] - p.tscm - (shares - mine) * num * len);
    p.tscm += uint32_t(shares * num * len);
    return addr;
}

void not_empty(uint32_t num, uint32_t len, Here here) {
    if (num && len) return;
    core->report("buffer-empty", true, here, Numbers().add("num", num).add("len", len));
    if (!num) throw Stop{};  // an empty buffer does no harm if it is never used
}

void counted(uint32_t& count, uint32_t more, uint32_t most, const char* what, Here here) {
    count += more;
    if (count > most)
        core->stop("pipe-buffers", here, Numbers().add("what", what).add("count", count).add("most", most));
}

void show(uint8_t pos, uint8_t kind, uint32_t addr, uint32_t len, uint32_t num) {
    for (uint32_t i = 0; i < num; i++)
        core->views.push_back({addr + i * len, len, pos, kind, core->groups, uint16_t(i)});
    core->groups++;
}

// The library uses M_MTE1 events 0 to 2 of an AIC: each TPipe sets them at its begin and waits for them at its end.
constexpr int kLibrary = 3;
void library_events(bool begin, Here here) {
    if (core->id.kind != Kind::AIC) return;
    for (int id = 0; id < kLibrary; id++) {
        auto& f = core->flags[int(Pipe::M)][int(Pipe::MTE1)][id];
        f.set = f.reserved = f.library = begin;
        f.here = here;
    }
}

void all_ids_free() {
    for (auto& a : core->flags)
        for (auto& b : a)
            for (auto& f : b) f.reserved = false;
}

// The producing pipes wait for all freed buffers.
void settle(int pipe, int owner) {
    for (auto& b : core->buffers)
        if (b.pipe == pipe && (owner < 0 || b.owner == owner) && b.state == Core::State::Free) wait_idle(b);
}

// Frees the memory for other buffers. Its content stays readable until it is allocated again.
void give_back(int pipe) {
    for (auto& b : core->buffers)
        if (b.pipe == pipe) b.loose = true;
    auto& p = core->pipes[size_t(pipe)];
    for (uint32_t& t : p.top) t = 0;
    p.buffers = p.tscm = 0;
    p.used = false;
}

}  // namespace

void init_soc_state();

const char* position_name(uint8_t pos) { return pos < sizeof kPositions / sizeof *kPositions ? kPositions[pos] : "?"; }

// ---- TPipe

int pipe_begin(Here here) {
    init_soc_state();
    core->pipes.push_back({});
    core->pipes.back().here = here;
    core->top = core->pipes.back().top;
    all_ids_free();
    library_events(true, here);
    return int(core->pipes.size()) - 1;
}

void pipe_again(int pipe, Here here) {
    core->last = here;
    all_ids_free();
    library_events(true, here);
    end_queues(pipe);
    give_back(pipe);
}

void pipe_reset(int pipe, Here here) {
    core->last = here;
    end_queues(pipe);
    settle(pipe, -1);
    init_soc_state();
    all_ids_free();
    library_events(true, here);
    give_back(pipe);
}

void pipe_end(int pipe, bool wait, Here here) {
    if (here.file) core->last = here;
    if (std::uncaught_exceptions()) return;  // the block was stopped: there is nothing left to check
    end_queues(pipe);
    settle(pipe, -1);
    library_events(false, here);
    if (wait) core->join_all();  // Destroy waits for everything
    give_back(pipe);
    core->pipes[size_t(pipe)].open = false;
}

int queue_init(int pipe, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, bool group, Here here) {
    auto& p = life(pipe, here);
    not_empty(num, len, here);
    counted(p.buffers, num, kBuffersPerPipe, "TPipe", here);
    uint8_t pos = queue_position(src, dst);
    bool tscm = AscendC::TPosition(dst) == AscendC::TPosition::TSCM;
    uint32_t addr = tscm ? take_tscm(p, num, round32(len), group, here)
                         : take(p, memory_of(pos), num, round32(len), "a queue", here);
    return queue_place(pipe, -1, src, dst, depth, num, len, addr, here);
}

Loc buf_init(int pipe, uint8_t pos, uint32_t len, Here here) {
    auto& p = life(pipe, here);
    not_empty(1, len, here);
    counted(p.buffers, 1, kBuffersPerPipe, "TPipe", here);
    return buf_place(pipe, -1, pos, len, take(p, memory_of(pos), 1, round32(len), "a TBuf", here), here);
}

// ---- pools

void pool_init(Pool& pool, int pipe, uint8_t pos, uint32_t len, Here here) {
    auto& p = life(pipe, here);
    not_empty(1, len, here);
    uint32_t addr = take(p, memory_of(pos), 1, round32(len), "a TBufPool", here);
    pool = {addr, addr, uint32_t(round32(len)), core->pools++, pipe, 0, 0, 0, pool.most};
}

void pool_split(Pool& pool, Pool& from, uint32_t len, Here here) {
    uint32_t addr = pool_take(from, 1, len, here);
    pool = {addr, addr, uint32_t(round32(len)), core->pools++, from.pipe, 0, 0, 0, pool.most};
}

void pool_share(Pool& pool, const Pool& other, uint32_t len, Here here) {
    core->last = here;
    not_empty(1, len, here);
    if (round32(len) > other.len)
        core->stop("pool-budget", here,
                   Numbers()
                       .add("num", 1)
                       .add("len", len)
                       .add("need", round32(len))
                       .add("free", other.len)
                       .add("size", other.len));
    pool = {other.start, other.start, other.len, core->pools++, other.pipe, 0, 0, 0, pool.most};
}

uint32_t pool_take(Pool& pool, uint32_t num, uint32_t len, Here here) {
    core->last = here;
    not_empty(num, len, here);
    if (pool.moved) core->report("pool-reset", true, here, Numbers().add("addr", pool.moved));
    pool.moved = 0;
    uint64_t need = num * round32(len), room = uint64_t(pool.start) + pool.len - pool.top;
    if (need > room)
        core->stop("pool-budget", here,
                   Numbers().add("num", num).add("len", len).add("need", need).add("free", room).add("size", pool.len));
    uint32_t addr = pool.top;
    pool.top += uint32_t(need);
    return addr;
}

int queue_init(Pool& pool, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, Here here) {
    uint32_t addr = pool_take(pool, num, len, here);
    counted(pool.count, num, pool.most, "TBufPool", here);
    return queue_place(pool.pipe, pool.id, src, dst, depth, num, len, addr, here);
}

Loc buf_init(Pool& pool, uint8_t pos, uint32_t len, Here here) {
    uint32_t addr = pool_take(pool, 1, len, here);
    counted(pool.count, 1, pool.most, "TBufPool", here);
    return buf_place(pool.pipe, pool.id, pos, len, addr, here);
}

uint32_t pool_handle(Pool& pool, uint32_t index, Here here) {
    core->last = here;
    if (index >= pool.most)
        core->stop("pipe-buffers", here,
                   Numbers().add("what", "TBufPool").add("count", index + 1).add("most", pool.most));
    if (!pool.first) {
        pool.first = reserve_buffers(pool.most, pool.id);
        for (uint32_t i = 0; i < pool.most; i++) core->buffers[pool.first + i].pipe = pool.pipe;
    }
    return pool.first + index;
}

// Waits for the events of its buffers. Its queues stay alive, in memory that others may use. The pool itself continues
// at address 0, wherever it was before: kernels that place it over all of UB fill it anew.
void pool_reset(Pool& pool) {
    if (std::uncaught_exceptions() || pool.id < 0) return;
    settle(pool.pipe, pool.id);
    pool.moved = pool.start;
    pool.start = pool.top = pool.count = 0;
}

// ---- memory at an address that the caller chose

int queue_place(int pipe, int owner, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, uint32_t addr,
                Here here) {
    int queue = queue_open(pipe, owner, src, dst, depth, num, 0, here);
    uint8_t pos = queue_position(src, dst);
    len = uint32_t(round32(len));
    for (uint32_t i = 0; i < num; i++) place_buffer(uint16_t(queue_first(queue) + i), pos, addr + i * len, len, here);
    show(pos, 0, addr, len, num);
    return queue;
}

Loc buf_place(int pipe, int owner, uint8_t pos, uint32_t len, uint32_t addr, Here here) {
    uint16_t index = reserve_buffers(1, owner);
    core->buffers[index].pipe = pipe;
    len = uint32_t(round32(len));
    place_buffer(index, pos, addr, len, here);
    show(pos, 1, addr, len, 1);
    return loc_of(index, pos);
}

// A buffer at an address that the kernel chose.
Loc handle_place(uint32_t handle, uint8_t pos, uint32_t addr, uint32_t len, Here here) {
    core->last = here;
    not_empty(1, len, here);
    fits(memory_of(pos), addr, 1, round32(len), "a buffer", here);
    auto& b = core->buffers[uint16_t(handle)];
    b.state = Core::State::Free;
    place_buffer(uint16_t(handle), pos, addr, uint32_t(round32(len)), here);
    show(pos, 0, addr, uint32_t(round32(len)), 1);
    return loc_of(uint16_t(handle), pos);
}

Loc local_alloc(Mem m, uint8_t pos, uint32_t at, uint64_t bytes, Here here) {
    core->last = here;
    for (auto& p : core->pipes)
        if (p.open && p.used) core->report("alloc-mixed", true, here, Numbers());
    if (!at && bytes && core->allocated[int(m)])
        core->report("alloc-twice", false, here,
                     Numbers().add("memory", name_of(m)).add("first_line", core->allocated[int(m)]));
    if (bytes && !core->allocated[int(m)]) core->allocated[int(m)] = here.line;
    fits(m, at, 1, bytes, "LocalMemAllocator", here);
    core->top[int(m)] = uint32_t(at + bytes);
    show(pos, 2, at, uint32_t(bytes), 1);
    return {at, uint32_t(bytes), 0, 0, m, pos};
}

uint8_t* local_array(const void* declaration, uint64_t bytes, Here here) {
    core->last = here;
    constexpr auto kPosition = AscendC::TPosition::VECCALC;
    if (!has(core->id.kind, Mem::UB)) return nullptr;
    for (const auto& a : core->local_arrays)
        if (a.declaration == declaration) return core->at(loc_of(a.buffer, uint8_t(kPosition)));
    uint32_t addr = core->top[int(Mem::UB)];
    fits(Mem::UB, addr, 1, round32(bytes), "an array in UB", here);
    core->top[int(Mem::UB)] = uint32_t(addr + round32(bytes));
    Loc loc = buf_place(-1, -1, uint8_t(kPosition), uint32_t(bytes), addr, here);
    core->local_arrays.push_back({declaration, loc.buf});
    return address(loc);
}

void on_stack(Here here) {
    if (core) core->check_stack(here);  // else the function runs on the host
}

Loc rest_of(uint8_t pos, Here here) {
    core->last = here;
    constexpr uint32_t kMessages = 64;  // end of UB, reserved in mixed kernels for messages to the cube core
    Mem m = memory_of(pos);
    uint32_t addr = core->top[int(m)], end = chip.size[int(m)] - (m == Mem::UB ? kMessages : 0);
    if (addr >= end)
        core->stop("ub-budget", here,
                   Numbers()
                       .add("asked", "PopStackBuffer")
                       .add("num", 1)
                       .add("len", 32)
                       .add("need", 32)
                       .add("used", addr)
                       .add("total", addr + 32)
                       .add("size", end)
                       .add("over", addr + 32 - end));
    return {addr, end - addr, 0, 0, m, pos};
}

uint8_t* address(Loc l) {
    if (l.buf && l.buf < core->buffers.size())
        core->buffers[l.buf].by_scalar = true;  // accesses through the pointer are not observed
    const Core::Buffer& b = core->buffers[l.buf];
    Hole seen = l.buf ? Hole{b.addr, b.addr + uint64_t(b.len), int(l.mem)}
                      : Hole{l.addr, l.addr + uint64_t(l.bytes), int(l.mem)};
    auto same = [&](const Hole& h) { return h.lo == seen.lo && h.hi == seen.hi && h.origin == seen.origin; };
    if (std::none_of(core->raw.begin(), core->raw.end(), same)) core->raw.push_back(seen);
    return core->at(l);
}

}  // namespace twin
