// Queues: the life of each tensor from AllocTensor to FreeTensor, and the events that order its producer and consumer.
#include <algorithm>

#include "memory/buffers.h"
#include "twin/memory/pipe.h"

namespace twin {

namespace {

using P = AscendC::TPosition;

// The pipes between which a queue transfers data: the producer fills a buffer, the consumer empties it. Derived from
// the memories.
std::pair<Pipe, Pipe> pipes_of(uint8_t src, uint8_t dst) {
    auto gm = [](uint8_t p) { return P(p) == P::GM || P(p) == P::CO2; };
    Mem s = mem_of(P(src)), d = mem_of(P(dst));
    if (gm(src)) return {Pipe::MTE2, d == Mem::UB ? Pipe::V : d == Mem::L1 ? Pipe::MTE1 : Pipe::M};
    if (s == Mem::L0C) return {Pipe::M, Pipe::FIX};
    if (s == Mem::UB) {
        if (gm(dst)) return {Pipe::V, Pipe::MTE3};
        return d == Mem::L1 ? std::pair(Pipe::MTE3, Pipe::MTE1) : std::pair(Pipe::MTE2, Pipe::MTE3);
    }
    return {Pipe::MTE1, d == Mem::UB ? Pipe::V : d == Mem::FB ? Pipe::FIX : Pipe::M};
}

std::string event(Pipe from, Pipe to) { return std::string(name_of(from)) + "_" + name_of(to); }

Core::Queue& queue_at(int q, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_tque);
    if (q < 0 || size_t(q) >= core->queues.size() || !core->queues[size_t(q)].alive)
        core->stop("queue-uninit", here, Numbers());
    return core->queues[size_t(q)];
}

Core::Buffer& first_of(Core::Queue& q) { return core->buffers[q.first]; }

// The queue's buffer behind a handle; nullptr if the handle is not a live tensor of this queue.
Core::Buffer* own(Core::Queue& q, Loc l, const char* call, Here here) {
    if (l.buf < q.first || l.buf >= q.first + q.num) {
        core->report("queue-foreign", true, here, Numbers().add("call", call).add("position", position_name(q.pos)));
        return nullptr;
    }
    auto& b = core->buffers[l.buf];
    if (b.gen != l.gen) {
        core->report("queue-twice", true, here, Numbers().add("call", call).add("freed_line", b.last.line));
        return nullptr;
    }
    return &b;
}

void hold(Core::Held& h, Core::Queue& q, Pipe from, Pipe to, const char* call, Here here) {
    h = {take_event(from, to), from, to};
    if (h.id < 0)
        core->stop("queue-buffers", here,
                   Numbers()
                       .add("call", call)
                       .add("position", position_name(q.pos))
                       .add("event", event(from, to))
                       .add("most", 8));
}

// From here on the queue's own flag stands, until it waits for it.
void raise(const Core::Held& h, Here here) {
    Core::Flag& f = core->flags[int(h.from)][int(h.to)][h.id];
    f.queue = true;
    f.queue_here = here;
}
void lower(const Core::Held& h) {
    if (h.id >= 0) core->flags[int(h.from)][int(h.to)][h.id].queue = false;
}

void enque(Core::Queue& q, Loc l, Pipe from, Pipe to, Here here) {
    Core::Buffer* b = own(q, l, "EnQue", here);
    if (!b) return;
    if (b->state == Core::State::Queued) {
        core->report(
            "queue-state", true, here,
            Numbers().add("call", "EnQue").add("state", "already in the queue").add("state_line", b->last.line));
        return;
    }
    if (q.depth && q.fifo.size() >= size_t(q.depth))
        core->stop("queue-depth", here, Numbers().add("depth", q.depth).add("position", position_name(q.pos)));
    if (q.depth) hold(b->queued, q, from, to, "EnQue", here);
    raise(b->queued, here);
    b->state = Core::State::Queued;
    b->last = here;
    int p = int(from);
    b->ready = core->known[p];
    b->ready_at = core->trace.mark(from);
    q.fifo.push_back(l.buf);
}

Loc deque(Core::Queue& q, uint16_t index, Pipe from, Pipe to, Here here) {
    auto& b = core->buffers[index];
    if (q.depth && (b.queued.from != from || b.queued.to != to))
        core->stop("queue-users", here,
                   Numbers()
                       .add("put", event(b.queued.from, b.queued.to))
                       .add("got", event(from, to))
                       .add("put_line", b.last.line));
    q.fifo.erase(std::find(q.fifo.begin(), q.fifo.end(), index));
    lower(b.queued);
    if (q.depth) give_event(b.queued);
    b.state = Core::State::Taken;
    b.last = here;
    int c = int(to);
    core->known[c].hear(b.ready, to);
    core->trace.await(to, b.ready_at);
    return loc_of(index, q.pos);
}

Loc front(Core::Queue& q, Pipe from, Pipe to, Here here) {
    if (q.fifo.empty()) core->stop("queue-empty", here, Numbers().add("position", position_name(q.pos)));
    return deque(q, q.fifo.front(), from, to, here);
}

// Reports what a queue still holds when its TPipe ends.
void check(Core::Queue& q) {
    if (!q.fifo.empty()) {
        auto& b = core->buffers[q.fifo.front()];
        core->report("queue-left", true, b.last,
                     Numbers().add("count", q.fifo.size()).add("position", position_name(q.pos)));
    }
    for (uint32_t i = 0; i < q.num; i++) {
        auto& b = core->buffers[q.first + i];
        if (b.state == Core::State::Occupied || b.state == Core::State::Taken)
            core->report("queue-leak", false, b.last,
                         Numbers().add("position", position_name(q.pos)).add("num", unsigned(q.num)));
    }
}

}  // namespace

uint8_t queue_position(uint8_t src, uint8_t dst) {
    uint8_t pos = P(dst) == P::GM || P(dst) == P::CO2 ? src : dst;
    return P(pos) == P::MAX ? uint8_t(P::VECCALC) : pos;
}

// ---- buffers and their events

// Reset() and Init() again and again leave entries whose memory others have: beyond this many they are used again, so
// that no kernel pays for all the buffers that it ever had.
constexpr size_t kManyBuffers = 256;

// The first of `num` consecutive entries that are nobody's, or the end.
static size_t ended_buffers(uint32_t num) {
    const auto& all = core->buffers;
    uint32_t run = 0;
    for (size_t i = 1; i < all.size(); i++) {
        const Core::Buffer& b = all[i];
        bool ended = b.loose && !b.len && b.queued.id < 0 && b.freed.id < 0;
        run = ended ? run + 1 : 0;
        if (run == num) return i + 1 - num;
    }
    return all.size();
}

uint16_t reserve_buffers(uint32_t num, int owner) {
    auto& all = core->buffers;
    size_t first = all.size() < kManyBuffers ? all.size() : ended_buffers(num);
    if (first == all.size()) all.resize(first + num);
    for (size_t i = first; i < first + num; i++) {
        uint16_t gen = all[i].gen;  // tensors of its former life stay recognisable
        all[i] = {};
        all[i].gen = gen;
        all[i].owner = owner;
    }
    return uint16_t(first);
}

void place_buffer(uint16_t index, uint8_t pos, uint32_t addr, uint32_t len, Here here) {
    auto& me = core->buffers[index];
    Mem m = mem_of(P(pos));
    for (auto& b : core->buffers) {
        bool gone = b.loose || (b.owner >= 0 && b.owner == me.owner && b.pipe == me.pipe);
        if (!gone || &b == &me || !b.len || mem_of(P(b.pos)) != m || b.addr >= addr + len || addr >= b.addr + b.len)
            continue;
        b.gen++;
        b.len = 0;
        b.last = here.file ? here : b.last;
    }
    me.addr = addr;
    me.len = len;
    me.pos = pos;
}

Loc loc_of(uint16_t index, uint8_t pos) {
    const auto& b = core->buffers[index];
    return {b.addr, b.len, index, b.gen, mem_of(P(pos)), pos};
}
Loc handle_loc(uint32_t handle, uint8_t pos) {
    Loc l = loc_of(uint16_t(handle) < core->buffers.size() ? uint16_t(handle) : 0, pos);
    if (l.buf) l.gen = uint16_t(handle >> 16);
    return l;
}

int8_t take_event(Pipe from, Pipe to) {
    auto& row = core->flags[int(from)][int(to)];
    for (int8_t id = 0; id < 8; id++)
        if (!row[id].reserved) {
            row[id].reserved = true;
            return id;
        }
    return -1;
}
void give_event(Core::Held& h) {
    if (h.id >= 0) {
        Core::Flag& f = core->flags[int(h.from)][int(h.to)][h.id];
        f.reserved = f.queue = false;
    }
    h.id = -1;
}
void wait_idle(Core::Buffer& b) {
    if (b.freed.id < 0) return;
    int p = int(b.freed.to);
    core->known[p].hear(b.idle, b.freed.to);
    core->trace.await(b.freed.to, b.idle_at);
    give_event(b.freed);
}

void set_tag(const Loc& l, int tag) { core->buffers[l.buf].tag = l.buf ? tag : -1; }
int tag_of(const Loc& l) { return core->buffers[l.buf].tag; }

// ---- queues

int queue_open(int pipe, int owner, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t first, Here here) {
    core->last = here;
    if (first) pipe = core->buffers[first].pipe;  // buffers of a pool
    else first = reserve_buffers(num, owner);
    if (first + num > core->buffers.size())  // a kernel's own pool
        core->stop(
            "pipe-buffers", here,
            Numbers().add("what", "TBufPool").add("count", num).add("most", uint32_t(core->buffers.size() - first)));
    auto [from, to] = pipes_of(src, dst);
    Core::Queue q{from, to, queue_position(src, dst), depth, uint16_t(first), num, 0, pipe, {}, true};
    int id = int(core->queues.size());
    for (uint32_t i = 0; i < num; i++) {
        auto& b = core->buffers[first + i];
        b.pipe = pipe;
        b.queue = id;
        if (depth) continue;
        hold(b.queued, q, from, to, "InitBuffer", here);  // a queue of depth 0 keeps its events permanently
        hold(b.freed, q, to, from, "InitBuffer", here);
    }
    core->queues.push_back(q);
    return id;
}
uint32_t queue_first(int id) { return core->queues[size_t(id)].first; }

Loc queue_alloc(int id, Here here) {
    Core::Queue& q = queue_at(id, here);
    for (uint32_t step = 0; step < q.num; step++) {
        uint16_t index = uint16_t(q.first + (q.next + step) % q.num);
        auto& b = core->buffers[index];
        if (b.state != Core::State::Free) continue;
        q.next = uint16_t((q.next + step + 1) % q.num);
        b.state = Core::State::Occupied;
        b.filled = false;
        core->forget(mem_of(AscendC::TPosition(b.pos)), b.addr, b.addr + b.len);
        b.settled[0] = b.settled[1] = Core::kNever;
        b.gen++;
        b.last = here;
        b.tag = -1;
        // The producer may overwrite this buffer only once its last consumer is done: the event that FreeTensor set.
        core->known[int(q.producer)].hear(b.idle, q.producer);
        lower(b.freed);
        if (q.depth && b.freed.id >= 0) wait_idle(b);
        else core->trace.await(q.producer, b.idle_at);
        return loc_of(index, q.pos);
    }
    core->stop("queue-starved", here,
               Numbers()
                   .add("num", unsigned(q.num))
                   .add("position", position_name(q.pos))
                   .add("alloc_line", first_of(q).last.line));
}

void queue_enque(int id, Loc l, Here here) {
    Core::Queue& q = queue_at(id, here);
    enque(q, l, q.producer, q.consumer, here);
}
void queue_enque(int id, Loc l, uint8_t src, uint8_t dst, Here here) {
    auto [from, to] = pipes_of(src, dst);
    enque(queue_at(id, here), l, from, to, here);
}

Loc queue_deque(int id, Here here) {
    Core::Queue& q = queue_at(id, here);
    return front(q, q.producer, q.consumer, here);
}
Loc queue_deque(int id, uint8_t src, uint8_t dst, Here here) {
    auto [from, to] = pipes_of(src, dst);
    return front(queue_at(id, here), from, to, here);
}
void queue_deque_tensor(int id, Loc l, Here here) {
    Core::Queue& q = queue_at(id, here);
    Core::Buffer* b = own(q, l, "DeQue", here);
    if (!b) return;
    if (b->state != Core::State::Queued)
        core->stop("queue-empty", here, Numbers().add("position", position_name(q.pos)));
    deque(q, l.buf, q.producer, q.consumer, here);
}

void queue_free(int id, Loc l, Here here) {
    Core::Queue& q = queue_at(id, here);
    Core::Buffer* b = own(q, l, "FreeTensor", here);
    if (!b) return;
    if (b->state == Core::State::Queued) {
        core->report(
            "queue-state", true, here,
            Numbers().add("call", "FreeTensor").add("state", "still in the queue").add("state_line", b->last.line));
        return;
    }
    if (q.depth) hold(b->freed, q, q.consumer, q.producer, "FreeTensor", here);
    raise(b->freed, here);
    b->state = Core::State::Free;
    b->gen++;
    b->last = here;
    int c = int(q.consumer);
    b->idle = core->known[c];
    b->idle_at = core->trace.mark(q.consumer);
}

void queue_free_events(int id, Here here) {
    Core::Queue& q = queue_at(id, here);
    for (uint32_t i = 0; i < q.num; i++) wait_idle(core->buffers[q.first + i]);
}

bool queue_idle(int id) {
    Core::Queue& q = queue_at(id, core->last);
    for (uint32_t i = 0; i < q.num; i++)
        if (core->buffers[q.first + i].state == Core::State::Free) return true;
    return false;
}
int queue_count(int id) { return int(queue_at(id, core->last).fifo.size()); }
int queue_state(const Loc& l) { return l.buf ? int(core->buffers[l.buf].state) : 0; }

void end_queues(int pipe) {
    auto& all = core->queues;
    while (core->ended_queues < all.size() && !all[core->ended_queues].alive) core->ended_queues++;
    for (size_t i = core->ended_queues; i < all.size(); i++) {
        if (!all[i].alive || all[i].pipe != pipe) continue;
        check(all[i]);
        all[i].alive = false;
    }
}

// Reports what is left over when a block ends.
void check_leftovers() {
    for (auto& q : core->queues)
        if (q.alive) check(q);
    for (int a = 0; a < 8; a++)
        for (int b = 0; b < 8; b++)
            for (int id = 0; id < 8; id++) {
                auto& f = core->flags[a][b][id];
                if (f.set && !f.library)
                    core->report("event-left", true, f.here,
                                 Numbers().add("event", event(Pipe(a), Pipe(b))).add("id", id));
            }
}

}  // namespace twin
