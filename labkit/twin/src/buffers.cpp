// TPipe, queues, TBuf and LocalMemAllocator: the layout of UB and the life of each tensor.
#include <algorithm>
#include <exception>

#include "machine.h"

namespace twin {

namespace {

constexpr uint32_t kAlign = 32;
constexpr int kEvents = 8;   // of one kind on A2
constexpr size_t kBuffersPerPipe = 64;
const char* const kPositions[] = {"GM", "A1", "A2", "B1", "B2", "C1", "C2", "CO1", "CO2", "VECIN", "VECOUT", "VECCALC", "SPM", "TSCM", "C2PIPE2GM", "C2PIPE2LOCAL"};
enum Pos : uint8_t { GM, A1, A2, B1, B2, C1, C2, CO1, CO2, VECIN, VECOUT, VECCALC, SPM, TSCM };

Mem memory_of(uint8_t pos) {
    switch (pos) {
        case A1: case B1: case C1: case TSCM: return Mem::L1;
        case A2: return Mem::L0A;
        case B2: return Mem::L0B;
        case C2: return Mem::BT;
        case CO1: return Mem::L0C;
        default: return Mem::UB;
    }
}

// Who fills a queue and who empties it decides which event EnQue sets and DeQue waits for.
Pipe producer_of(uint8_t src) {
    switch (src) {
        case VECOUT: case VECCALC: return Pipe::V;
        case A2: case B2: case C2: return Pipe::MTE1;
        case CO1: return Pipe::M;
        default: return Pipe::MTE2;
    }
}
Pipe consumer_of(uint8_t dst) {
    switch (dst) {
        case VECIN: case VECCALC: return Pipe::V;
        case VECOUT: return Pipe::MTE3;
        case A1: case B1: case C1: case TSCM: return Pipe::MTE1;
        case A2: case B2: case C2: return Pipe::M;
        default: return Pipe::FIX;
    }
}

// Lay `bytes` behind what the pipe holds already; a kernel that wants more than there is cannot run.
uint32_t take(Mem m, uint32_t addr, uint32_t num, uint64_t len, const char* asked, Here here) {
    uint64_t bytes = num * len, want = addr + bytes;
    if (m == Mem::UB) core->ub_peak = uint32_t(std::max<uint64_t>(core->ub_peak, std::min<uint64_t>(want, ~0u)));
    if (want > chip.size[int(m)])
        core->stop("ub-budget", here, Numbers().add("asked", asked).add("num", num).add("len", len).add("need", bytes).add("used", addr).add("total", want)
                                          .add("size", chip.size[int(m)]).add("over", want - chip.size[int(m)]));
    core->top[int(m)] = uint32_t(want);
    return addr;
}
uint32_t take(uint8_t pos, uint32_t num, uint64_t len, const char* asked, Here here) {
    Mem m = memory_of(pos);
    return take(m, core->top[int(m)], num, len, asked, here);
}
// What the AIVs of a block call TSCM is laid from the end of their AIC's L1 downwards, a piece for each of them.
uint32_t take_tscm(uint32_t num, uint64_t len, Here here) {
    if (core->seat.kind == Kind::AIC) return take(TSCM, num, len, "a queue", here);
    uint32_t used = take(TSCM, num * core->seat.subs, len, "a queue for each AIV of the block", here);
    return uint32_t(chip.size[int(Mem::L1)] - used - (core->seat.subs - core->seat.sub) * num * len);
}
uint64_t rounded(uint32_t len) { return (uint64_t(len) + kAlign - 1) / kAlign * kAlign; }

uint16_t new_buffer(uint32_t addr, uint32_t len, uint8_t pos, int queue) {
    Core::Buffer b;
    b.addr = addr;
    b.len = len;
    b.pos = pos;
    b.queue = queue;
    core->buffers.push_back(b);
    return uint16_t(core->buffers.size() - 1);
}

Core::Queue& queue_at(int q, Here here) {
    core->last = here;
    if (q < 0 || size_t(q) >= core->queues.size() || !core->queues[size_t(q)].alive) core->stop("queue-uninit", here, Numbers());
    return core->queues[size_t(q)];
}

Loc loc_of(uint16_t index, uint8_t pos) {
    const auto& b = core->buffers[index];
    if (b.pos == TSCM) pos = TSCM;
    return {b.addr, b.len, index, b.gen, memory_of(pos), pos};
}

// The queue's own tensor behind a handle, or nullptr when the handle is not one of this queue's living tensors.
Core::Buffer* own(Core::Queue& q, Loc l, const char* call, Here here) {
    if (l.buf < q.first || l.buf >= q.first + q.num) {
        core->report("queue-foreign", true, here, Numbers().add("call", call).add("position", kPositions[q.src]));
        return nullptr;
    }
    auto& b = core->buffers[l.buf];
    if (b.gen != l.gen) {
        core->report("queue-twice", true, here, Numbers().add("call", call).add("freed_line", b.last.line));
        return nullptr;
    }
    return &b;
}

// What the queues still hold when their pipe ends.
void check_queues() {
    for (auto& q : core->queues) {
        if (!q.alive) continue;
        if (!q.fifo.empty()) {
            auto& b = core->buffers[q.fifo.front()];
            core->report("queue-left", true, b.last, Numbers().add("count", q.fifo.size()).add("position", kPositions[q.src]));
        }
        for (uint32_t i = 0; i < q.num; i++) {
            auto& b = core->buffers[q.first + i];
            if (b.state == Core::State::Occupied || b.state == Core::State::Taken)
                core->report("queue-leak", false, b.last, Numbers().add("position", kPositions[q.src]).add("num", unsigned(q.num)));
        }
    }
}

// All memory goes back; the queues and tensors that lay in it are no more.
void give_back(Here here) {
    for (uint32_t& t : core->top) t = 0;
    for (auto& q : core->queues) q.alive = false;
    for (auto& b : core->buffers) {
        b.gen++;
        b.last = here.file ? here : b.last;
    }
}

}  // namespace

void init_soc_state();

void pipe_begin(Here here) {
    init_soc_state();
    if (core->pipes_open++) core->report("pipe-twice", true, here, Numbers());
}
void pipe_reset(Here here) {
    core->last = here;
    check_queues();
    for (auto& q : core->queues)  // the producers wait for the buffers that were given back, as AllocTensor would
        for (uint32_t i = 0; q.alive && i < q.num; i++) {
            auto& b = core->buffers[q.first + i];
            int p = int(q.producer);
            core->known[p].join(b.idle);
            core->ready_at[p] = std::max(core->ready_at[p], b.idle_at);
        }
    give_back(here);
}
void pipe_end(Here here) {
    if (here.file) core->last = here;
    if (std::uncaught_exceptions()) return;  // the block was stopped: whatever is left has no meaning
    core->pipes_open--;
    check_queues();
    core->join_all();  // the pipe's end waits for everything
    give_back(here);
}

int queue_init(uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, Here here) {
    core->last = here;
    if (!num || !len) core->stop("buffer-empty", here, Numbers().add("num", unsigned(num)).add("len", len));
    size_t all = num;
    for (auto& q : core->queues) all += q.alive ? q.num : 0;
    if (all > kBuffersPerPipe) core->stop("queue-buffers", here, Numbers().add("position", kPositions[src]).add("count", (long long)all).add("most", int(kBuffersPerPipe)));
    uint8_t home = dst == TSCM ? dst : src;
    uint32_t addr = dst == TSCM ? take_tscm(num, rounded(len), here) : take(src, num, rounded(len), "a queue", here);
    len = uint32_t(rounded(len));
    Core::Queue q{producer_of(src), consumer_of(dst), src, dst, depth, uint16_t(core->buffers.size()), num, 0, {}, true};
    for (uint32_t i = 0; i < num; i++) {
        new_buffer(addr + i * len, len, home, int(core->queues.size()));
        core->views.push_back({addr + i * len, len, home, 0, core->groups, uint16_t(i)});
    }
    core->groups++;
    core->queues.push_back(q);
    return int(core->queues.size()) - 1;
}

namespace {
// A buffer holds an event from EnQue to DeQue, and another from FreeTensor to the next AllocTensor: what counts is how many
// are in use at once, not how many buffers there are.
void check_events(const Core::Queue& mine, Core::State state, Here here) {
    int held = 0;
    for (auto& q : core->queues)
        for (uint32_t i = 0; q.alive && q.producer == mine.producer && q.consumer == mine.consumer && i < q.num; i++) {
            const auto& b = core->buffers[q.first + i];
            held += b.state == state && b.gen > 0;
        }
    if (held > kEvents) core->stop("queue-buffers", here, Numbers().add("position", kPositions[mine.src]).add("count", held).add("most", kEvents));
}
}  // namespace

Loc queue_alloc(int id, uint8_t pos, Here here) {
    Core::Queue& q = queue_at(id, here);
    for (uint32_t step = 0; step < q.num; step++) {
        uint16_t index = uint16_t(q.first + (q.next + step) % q.num);
        auto& b = core->buffers[index];
        if (b.state != Core::State::Free) continue;
        q.next = uint16_t((q.next + step + 1) % q.num);
        b.state = Core::State::Occupied;
        b.filled = false;
        b.settled[0] = b.settled[1] = Core::kNever;
        b.gen++;
        b.last = here;
        // The producer may overwrite this buffer only once its last consumer is done: the event that FreeTensor set.
        int p = int(q.producer);
        core->known[p].join(b.idle);
        core->ready_at[p] = std::max(core->ready_at[p], b.idle_at);
        return loc_of(index, pos);
    }
    core->stop("queue-starved", here, Numbers().add("num", unsigned(q.num)).add("position", kPositions[q.src]).add("alloc_line", core->buffers[q.first].last.line));
}

void queue_enque(int id, Loc l, Here here) {
    Core::Queue& q = queue_at(id, here);
    Core::Buffer* b = own(q, l, "EnQue", here);
    if (!b) return;
    if (b->state == Core::State::Queued) {
        core->report("queue-state", true, here, Numbers().add("call", "EnQue").add("state", "already in the queue").add("state_line", b->last.line));
        return;
    }
    if (q.depth > 0 && q.fifo.size() >= size_t(std::max(q.depth, 1))) {
        core->report("queue-depth", true, here, Numbers().add("depth", q.depth).add("position", kPositions[q.src]));
        throw Stop{};
    }
    b->state = Core::State::Queued;
    b->last = here;
    int p = int(q.producer);
    b->ready = core->known[p];
    b->ready_at = std::max({core->free_at[p], core->ready_at[p], core->scalar_now});
    q.fifo.push_back(l.buf);
    check_events(q, Core::State::Queued, here);
}

Loc queue_deque(int id, uint8_t pos, Here here) {
    Core::Queue& q = queue_at(id, here);
    if (q.fifo.empty()) core->stop("queue-empty", here, Numbers().add("position", kPositions[q.src]));
    uint16_t index = q.fifo.front();
    q.fifo.erase(q.fifo.begin());
    auto& b = core->buffers[index];
    b.state = Core::State::Taken;
    b.last = here;
    int c = int(q.consumer);
    core->known[c].join(b.ready);
    core->ready_at[c] = std::max(core->ready_at[c], b.ready_at);
    return loc_of(index, pos);
}

void queue_free(int id, Loc l, Here here) {
    Core::Queue& q = queue_at(id, here);
    Core::Buffer* b = own(q, l, "FreeTensor", here);
    if (!b) return;
    if (b->state == Core::State::Queued) {
        core->report("queue-state", true, here, Numbers().add("call", "FreeTensor").add("state", "still in the queue").add("state_line", b->last.line));
        return;
    }
    b->state = Core::State::Free;
    b->gen++;
    b->last = here;
    int c = int(q.consumer);
    b->idle = core->known[c];
    b->idle_at = std::max({core->free_at[c], core->ready_at[c], core->scalar_now});
    check_events(q, Core::State::Free, here);
}

bool queue_vacant(int id) {
    Core::Queue& q = queue_at(id, core->last);
    for (uint32_t i = 0; i < q.num; i++)
        if (core->buffers[q.first + i].state == Core::State::Free) return true;
    return false;
}
bool queue_has(int id) { return !queue_at(id, core->last).fifo.empty(); }
int queue_count(int id) { return int(queue_at(id, core->last).fifo.size()); }

Loc buf_init(uint8_t pos, uint32_t len, Here here) {
    core->last = here;
    if (!len) core->stop("buffer-empty", here, Numbers().add("num", 1).add("len", 0));
    uint32_t addr = take(pos, 1, rounded(len), "a TBuf", here);
    len = uint32_t(rounded(len));
    core->views.push_back({addr, len, pos, 1, core->groups++, 0});
    return loc_of(new_buffer(addr, len, pos, -1), pos);
}

Loc local_alloc(Mem m, uint8_t pos, uint32_t at, uint64_t bytes, Here here) {
    core->last = here;
    if (core->pipes_open) core->report("alloc-mixed", true, here, Numbers());
    uint32_t addr = take(m, at, 1, bytes, "LocalMemAllocator", here);
    core->views.push_back({addr, uint32_t(bytes), pos, 2, core->groups++, 0});
    return {addr, uint32_t(bytes), 0, 0, m, pos};
}

uint8_t* address(Loc l) { return core->at(l); }

// What a block leaves behind when it ends.
void check_leftovers() {
    check_queues();
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            for (int id = 0; id < 8; id++) {
                auto& f = core->flags[a][b][id];
                if (f.set)
                    core->report("event-left", true, f.here, Numbers().add("event", std::string(name_of(Pipe(a))) + "_" + name_of(Pipe(b))).add("id", id));
            }
}

}  // namespace twin
