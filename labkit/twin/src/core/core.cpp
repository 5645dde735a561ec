#include <cstring>

#include "base/arena.h"
#include "core/machine.h"

namespace twin {

thread_local Core* core = nullptr;

void Core::start(const CoreId& which, Schedule schedule, uint32_t seed) {
    id = which;
    block = which.block;
    for (int m = 0; m < int(Mem::Count); m++) {
        memory[m].clear();
        holes[m].clear();
        if (!has(id.kind, Mem(m))) continue;
        if (!bytes_[m]) bytes_[m] = map_memory(chip.size[m] + 4096);
        std::memset(bytes_[m], kPoison, chip.size[m]);
    }
    bool worst = schedule == Schedule::Worst;
    empty_copies.clear();
    empty_stores.clear();
    delayed.clear(worst, seed, block * 4 + slot());
    scalar_stores.clear();
    raw.clear();
    raw_accesses.clear();
    unseen_writes = false;
    origins.clear();
    gm_left.clear();
    instruction.begin();
    buffers.assign(1, Buffer{});
    local_arrays.clear();
    disputed_.clear();
    cube_state = CubeState{};
    queues.clear();
    ended_queues = 0;
    views.clear();
    pipes.clear();
    std::memset(no_pipe, 0, sizeof no_pipe);
    top = no_pipe;
    std::memset(allocated, 0, sizeof allocated);
    pools = 0;
    groups = 0;
    for (auto& a : flags)
        for (auto& b : a)
            for (auto& f : b) f = Flag{};
    for (int p = 0; p < 8; p++) {
        known[p] = VectorClock{};
        issued[p] = 0;
    }
    trace.begin(block, slot());
    findings.clear(block);
    gm.clear();
    gm_writes.clear();
    open_reads.clear();
    shared_.clear();
    open_findings_.clear();
    gm_reads.clear();
    gm_steps.clear();
    ordered_unseen = false;
    may_poll = false;
    registers = Registers{};
    cache.clear(worst && seed);
    exposed_.clear();
    granted = 0;
    stack_reported = false;
    probe.reset();
    counters = Counters{};
    output.clear();
    last = {nullptr, 0};
    vec = VectorState{};
    ub_peak = ub_top = phase = turns = 0;
    ordered = far = false;
    sent = VectorClock{};
    matmuls.clear();
    pipe = nullptr;
    instructions = issues = 0;
}

void settle_writes();

CoreResult Core::finish() {
    settle_exposed();
    delayed.flush();
    cache.clean_all(~0u);
    look_at_all_left();
    settle_writes();
    CoreResult r;
    r.block = block;
    r.core = slot();
    r.findings = std::move(findings.list());
    r.trace = std::move(trace);
    r.counters = counters;
    r.writes = std::move(gm_writes);
    r.reads = gm_reads.take();
    r.steps = std::move(gm_steps);
    r.empty_stores = std::move(empty_stores);
    r.ordered_unseen = ordered_unseen;
    r.phases = phase;
    r.may_poll = may_poll;
    r.lines = std::move(cache.history);
    r.buffers = std::move(views);
    r.output = std::move(output);
    r.instructions = instructions;
    r.ub_peak = ub_peak;
    r.ub_top = ub_top;
    return r;
}

// ---------------------------------------------------------------- order and time

Core::Ticket Core::issue(Pipe p, Op op, Here here, bool deferred) {
    last = here;
    instructions++;
    issues++;
    trace.spend(chip.scalar_issue);
    shared_.clear();
    open_findings_.clear();  // of an instruction that is carried out all the same
    if (!exposed_.empty()) settle_exposed();
    check_stack(here);
    instruction.begin();
    if (!raw_accesses.empty()) settle_raw();
    int i = int(p);
    known[i].hear(known[int(Pipe::S)], p);  // the scalar unit issues every instruction, so whatever it has waited for
                                            // is done before all later ones
    uint32_t n = ++issued[i];
    known[i].seen[i] = n;
    deferring = deferred && delayed.computes_late();
    if (delayed.on && !DelayedTransfers::delays(p) && !deferring) delayed.settle(known[i]);
    return {{n, p, here}, op};
}

GmClock Core::gm_clock(Pipe p) const {
    VectorClock all = known[int(p)];
    all.join(known[int(Pipe::S)]);
    return twin::gm_clock(all, slot());
}

void Core::join_all() {
    VectorClock all;
    for (int i = 0; i < kPipes; i++) all.join(known[i]);
    all.seen[kRawPipe] = raw_done();
    for (int i = 0; i < kPipes; i++) {
        known[i] = all;
        known[i].done = issued[i];
    }
    trace.join();
    if (delayed.on) delayed.settle(all);
}

// ---------------------------------------------------------------- operands

void Core::note_race(const Conflict& c, const Ticket& t, const char* memory, uint64_t lo, uint64_t hi) {
    Pipe by = int(c.other.pipe) == kRawPipe ? Pipe::S : c.other.pipe;
    bool gm_store = memory[0] == 'G' && c.race == Race::WriteAfterRead;
    const char* code = gm_store                         ? "race-gm-war"
                       : memory[0] == 'G'               ? "race-gm"
                       : c.race == Race::ReadAfterWrite ? "race-raw"
                       : c.race == Race::WriteAfterRead ? "race-war"
                                                        : "race-waw";
    report(code, true, t.access.here,
           Numbers()
               .add("op", name_of(t.op))
               .add("pipe", name_of(t.access.pipe))
               .add("other", name_of(by))
               .add("other_line", c.other.here.line)
               .add("memory", memory)
               .add("addr", lo)
               .add("bytes", hi - lo)
               .add("event", std::string(name_of(by)) + "_" + name_of(t.access.pipe)));
}

void Core::add_operand(const Operand& o) {
    if (instruction.operands.size() < Instruction::kMost) instruction.operands.push_back(o);
    else instruction.opaque = true;
}

// Whether the bytes of the two copies differ is known when the second is carried out: see perform().
void Core::note_shared(Hazards& h, const uint8_t* base, const char* memory) {
    for (const Hazards::Shared& s : h.shared) shared_.push_back({(uint8_t*)base + s.lo, s.hi - s.lo, s.other, memory});
    h.shared.clear();
}

// The bytes that two copies of one pipe write, before and after the second of them: if they are the same, the order of
// the copies does not matter.
Core::SharedBytes Core::before_overlap() {
    SharedBytes all;
    for (const SharedPlace& s : shared_) all.push_back({s, std::vector<uint8_t>(s.at, s.at + s.bytes)});
    shared_.clear();
    return all;
}

void Core::book(const Ticket& t, Loc l, uint32_t bytes, bool write) {
    if (!bytes) return;
    add_operand({l.mem, write, l.addr, bytes, bytes, 0});
    book_piece(t, l, bytes, write);
    if (!write && seen_gap_) look_at_operand(t);
}

void Core::book_rows(const Ticket& t, Loc l, uint32_t row, uint64_t apart, uint32_t rows, bool write) {
    if (!row || !rows) return;
    uint32_t all = uint32_t((rows - 1) * apart + row);
    if (rows == 1 || apart == row) return book(t, l, all, write);
    add_operand({l.mem, write, l.addr, all, row, uint32_t(apart)});
    if (apart < row + 32u) book_piece(t, l, all, write);  // gaps shorter than a block count as part of it
    else
        for (uint32_t i = 0; i < rows; i++, l.addr += uint32_t(apart)) book_piece(t, l, row, write);
    if (!write && seen_gap_) look_at_operand(t);
}

void Core::book_piece(const Ticket& t, Loc l, uint32_t bytes, bool write) {
    if (!bytes) return;
    if (l.buf && write) buffers[l.buf].filled = true;
    uint64_t lo = l.addr, hi = lo + bytes;
    if (delayed.on && write && !deferring && !DelayedTransfers::delays(t.access.pipe))
        delayed.keep(t.access, at(l), bytes);
    if (!checks && l.mem != Mem::UB) return;  // of UB the scalar unit must know for what it waits
    const VectorClock& now = known[int(t.access.pipe)];
    Hazards& h = memory[int(l.mem)];
    Conflict c = write ? h.write(lo, hi, t.access, now) : h.read(lo, hi, t.access, now);
    if (!disputed_.empty()) settle_disputed(at(l), bytes, write);
    Holes& open = holes[int(l.mem)];
    if (write) {
        if (!open.empty()) open.fill(lo, hi);
        if (!empty_copies.empty()) supplied(l.mem, lo, hi);
    } else if (checks) seen_gap_ = seen_gap_ || c.gap || (!open.empty() && open.touch(lo, hi));
    if (checks && c.race != Race::None) {
        note_race(c, t, name_of(l.mem), lo, hi);
        h.shared.clear();  // what orders the pipes orders the copies of one as well
    }
    if (!h.shared.empty()) note_shared(h, bytes_[int(l.mem)], name_of(l.mem));
}

void Core::note_gm_read(uint64_t lo, uint64_t row, uint64_t apart, uint64_t rows, Here here, bool exact, bool scalar) {
    if (!checks || far || id.blocks == 1 || !rows || !row) return;
    if (rows == 1 || apart <= row) apart = row = (rows - 1) * apart + row;
    gm_reads.note({lo, rows == 1 || apart == row ? lo + row : lo + (rows - 1) * apart + row, row, apart, phase,
                   here.line, here.file, exact, scalar});
}

void Core::book_gm(const Ticket& t, const uint8_t* p, uint64_t bytes, bool write, const uint8_t* from, bool step) {
    if (!bytes) return;
    uint64_t lo = uint64_t(p), hi = lo + bytes;
    Here here = t.access.here;
    if (write) note_gm_write(lo, hi, here, bool(registers.atomic), from);
    if (!checks) return;
    const VectorClock& now = known[int(t.access.pipe)];
    if (id.mixed && step) gm_steps.note(t.access, now, lo, bytes, bytes, 1, write, bool(registers.atomic));
    if (!write) {
        look_at_left(lo, hi);
        check_dirty_elsewhere(lo, hi, here);
        Conflict c = gm.read(lo, hi, t.access, now, false);
        if (c.race == Race::ReadAfterWrite) note_race(c, t, "GM", lo, hi);
        if (open_reads.size() == kOpenReads) open_reads.erase(open_reads.begin(), open_reads.begin() + kOpenReads / 2);
        open_reads.push_back({lo, hi, t.access});
        return;
    }
    Access me = t.access;
    me.atomic = bool(registers.atomic);
    gm.write(lo, hi, me, now);
    if (!gm.shared.empty()) note_shared(gm, nullptr, "GM");
    // Loads that may still be under way when this store arrives.
    auto over = [&](const Hazards::Shared& r) { return now.seen[int(r.other.pipe)] >= r.other.number; };
    open_reads.erase(std::remove_if(open_reads.begin(), open_reads.end(), over), open_reads.end());
    for (const Hazards::Shared& r : open_reads)
        if (r.lo < hi && lo < r.hi && r.other.pipe != t.access.pipe)
            return note_race({Race::WriteAfterRead, r.other}, t, "GM", std::max(lo, r.lo), std::min(hi, r.hi));
}

bool Core::usable(Loc l, uint64_t bytes, bool read, Here here, const char* what, uint32_t align) {
    last = here;
    if (l.pos >= kNowhere) {
        report("tensor-empty", true, here, Numbers().add("what", what));
        return false;
    }
    if (!has(id.kind, l.mem)) {
        if (!id.mixed)
            report("core-wrong", true, here,
                   Numbers()
                       .add("what", what)
                       .add("memory", name_of(l.mem))
                       .add("core", id.kind == Kind::AIC ? "AIC" : "AIV"));
        return false;
    }
    // The hardware does not check ownership: an access to a neighbouring buffer, or after FreeTensor, is reported but
    // still performed.
    uint64_t end = chip.size[int(l.mem)], memory_end = end;
    bool stale = false;
    if (l.buf) {
        const Buffer& b = buffers[l.buf];
        stale = b.gen != l.gen;
        if (stale)
            report(b.len ? "tensor-freed" : "tensor-gone", true, here,
                   Numbers().add("what", what).add("freed_line", b.last.line));
        else end = b.addr + b.len;  // SetSize and Get(len) may declare more than the buffer has
    }
    if (bytes > l.bytes || l.addr + bytes > end) {
        report("local-bounds", true, here,
               Numbers()
                   .add("what", what)
                   .add("memory", name_of(l.mem))
                   .add("need", bytes)
                   .add("have", std::min<uint64_t>(l.bytes, l.addr < end ? end - l.addr : 0))
                   .add("addr", l.addr));
        if (l.addr + bytes > memory_end) return false;
    }
    if (uint32_t off = l.addr % align) {
        report("local-align", true, here,
               Numbers()
                   .add("what", what)
                   .add("memory", name_of(l.mem))
                   .add("addr", l.addr)
                   .add("off", off)
                   .add("align", align)
                   .add("halves", align / 2)
                   .add("floats", align / 4)
                   .add("down", l.addr - off)
                   .add("up", l.addr - off + align));
        return false;
    }
    if (read && checks && bytes && !stale) {
        named_[named_next_++ % 4] = {what, l.mem, l.addr};
        if (!any_filled(l, bytes))
            report("uninit-local", true, here,
                   Numbers().add("what", what).add("memory", name_of(l.mem)).add("addr", l.addr).add("bytes", bytes));
        else if (!empty_copies.empty()) missed(l);
    }
    if (l.mem == Mem::UB) ub_top = std::max(ub_top, uint32_t(l.addr + bytes));
    return true;
}

bool Core::any_filled(Loc l, uint64_t bytes) const {
    if (l.buf && (buffers[l.buf].filled || buffers[l.buf].queue >= 0)) return buffers[l.buf].filled;
    return memory[int(l.mem)].any_written(l.addr, l.addr + bytes) ||
           (l.mem == Mem::UB && scalar_stores.any(l.addr, l.addr + bytes));
}

void Core::want_filled(Loc l, uint64_t bytes, uint32_t piece, Here here, const char* what) {
    if (!checks || bytes > l.bytes || (l.buf && (buffers[l.buf].by_scalar || buffers[l.buf].gen != l.gen))) return;
    const Hazards& h = memory[int(l.mem)];
    uint64_t lo = l.addr, hi = lo + bytes, at = h.unwritten(lo, hi, piece);
    if (at == hi || !h.any_written(lo, hi)) return;  // nothing was written at all: usable() has reported that
    uint64_t end = at + piece;
    while (end + piece <= hi && !h.any_written(end, end + piece)) end += piece;
    report("uninit-local", true, here,
           Numbers().add("what", what).add("memory", name_of(l.mem)).add("addr", at).add("bytes", end - at));
}

// The tensor that an operand belongs to: the argument that its view was made from, otherwise found by address.
// Arguments may overlap (views of one tensor): then the one that contains the whole access is taken, or else the
// longest.
const GmRange* Core::home_of(const Gm& g, uint64_t hi) const {
    const GmRange* home = nullptr;
    if (!ranges) return home;
    for (uint64_t at : {uint64_t(g.base), uint64_t(g.ptr)}) {
        for (const GmRange& r : *ranges)
            if (at >= r.lo && at < r.hi && (!home || (home->hi < hi && r.hi > home->hi))) home = &r;
        if (home) return home;
    }
    return home;
}

void Core::report_stray(const Gm& g, uint64_t bytes, bool write, const GmRange* home, Here here) {
    uint64_t lo = uint64_t(g.ptr), hi = lo + bytes;
    const GmRange* behind = home;
    const GmRange* ahead = home;
    for (size_t i = 0; ranges && !home && i < ranges->size(); i++) {
        const GmRange& r = (*ranges)[i];
        if (lo >= r.hi && (!behind || r.hi > behind->hi)) behind = &r;
        if (lo < r.lo && (!ahead || r.lo < ahead->lo)) ahead = &r;
    }
    Numbers n;
    n.add("verb", write ? "write" : "read").add("bytes", bytes);
    if (!g.base) report("gm-empty", true, here, n);
    else if (behind && lo >= behind->lo)
        report("gm-bounds", true, here,
               n.add("over", hi - behind->hi)
                   .add("argument", behind->argument)
                   .add("size", behind->hi - behind->lo)
                   .add("offset", lo - behind->lo));
    else report("gm-stray", true, here, n.add("before", ahead ? ahead->lo - lo : 0));
}

static constexpr uint64_t kPage = 4096;

bool Core::gm_usable(Gm g, uint64_t bytes, bool write, Here here, bool exact) {
    last = here;
    uint64_t lo = uint64_t(g.ptr), hi = lo + bytes;
    const GmRange* home = home_of(g, hi);
    if (!home && !write && g.base && constant_data(lo, hi)) return true;
    uint64_t over = home && lo >= home->lo && hi > home->hi ? hi - home->hi : 0;
    if (!home || lo < home->lo || over) {
        // The copy unit moves whole 32-byte blocks. Reading beyond the end does no damage, nor does writing where no
        // tensor lies.
        bool rounding = over && over < 32 && lo < home->hi && !exact && (!write || over <= home->slack);
        if (!rounding) {
            report_stray(g, bytes, write, home, here);
            // works on the device too: memory is mapped in pages
            return over && !write && lo < home->hi && hi <= (home->hi + kPage - 1) / kPage * kPage;
        }
        report(write ? "host-overwrite" : "gm-overread", false, here,
               Numbers().add("bytes", bytes).add("over", over).add("argument", home->argument));
        return true;
    }
    if (g.bytes && (g.ptr < g.base || hi > uint64_t(g.base) + g.bytes)) {
        uint64_t past = hi > uint64_t(g.base) + g.bytes ? hi - uint64_t(g.base) - g.bytes : 0;
        if (write || exact ? past > 0 : past >= 32)
            report("gm-view", false, here,
                   Numbers()
                       .add("verb", write ? "write" : "read")
                       .add("bytes", bytes)
                       .add("over", past)
                       .add("view", g.bytes)
                       .add("argument", home->argument));
    }
    if (!write) want_stored(g, bytes, "gm-uninit", here);
    return true;
}

void Core::want_stored(const Gm& g, uint64_t bytes, const char* code, Here here) {
    uint64_t lo = uint64_t(g.ptr), hi = lo + bytes;
    const GmRange* home = checks && !phase && !ordered ? home_of(g, hi) : nullptr;
    if (!home || home->written || gm.any_written(lo, hi)) return;
    for (const GmWrite& w : gm_writes)
        if (w.lo < hi && lo < w.hi) return;
    report(code, true, here,
           Numbers().add("argument", home->argument).add("offset", lo - home->lo).add("bytes", bytes));
}

void Core::skip() {
    for (size_t i : open_findings_) {
        Finding& f = findings.list()[i];
        f.skipped = f.skipped || (f.error && f.line == last.line);
    }
    open_findings_.clear();
}

void Core::refuse(Loc dst, uint64_t bytes) {
    skip();
    if (!has(id.kind, dst.mem)) return;
    unseen_writes = true;
    if (dst.buf) buffers[dst.buf].filled = true;
    uint64_t lo = dst.addr, hi = std::min<uint64_t>(lo + bytes, chip.size[int(dst.mem)]);
    if (lo >= hi) return;
    known[0].seen[0] = ++issued[0];
    memory[int(dst.mem)].write(lo, hi, {issued[0], Pipe::S, last}, known[0]);
}

// The compiler orders scalar accesses against the other pipes itself, so they are never a race: the scalar unit waits.
void Core::touch_scalar(Loc l, uint32_t bytes, bool write, Here here) {
    if (!disputed_.empty() && !write) {  // of a buffer only the first element that is read comes here
        const Buffer& b = buffers[l.buf];
        if (l.buf) settle_disputed(bytes_[int(l.mem)] + b.addr, b.len, false);
        else settle_disputed(at(l), bytes, false);
    }
    VectorClock& s = known[int(Pipe::S)];
    auto open = [&](const Access& a) { return a.number && int(a.pipe) != kRawPipe && s.seen[int(a.pipe)] < a.number; };
    auto wait_for = [&](const Access& a) {
        if (!open(a)) return;
        s.join(known[int(a.pipe)]);
        trace.await(Pipe::S, trace.mark(a.pipe));
    };
    if (l.mem == Mem::UB)
        ub.each(l.addr, l.addr + bytes, [&](const Hazards::Cell& c) {
            wait_for(c.write);
            if (write)
                for (const Access& r : c.reads) wait_for(r);
        });
    if (delayed.on) delayed.settle(s);
    spend_scalar(bytes, write, here);
    if (write && l.mem == Mem::UB) store_scalar(l.addr, bytes);
    if (!l.buf || l.mem != Mem::UB) return;
    // Is there still something to wait for in this buffer? If not, the next element need not search the cells.
    Buffer& b = buffers[l.buf];
    b.filled = b.filled || write;
    b.by_scalar = b.by_scalar || write;
    bool writes = b.filled, reads = b.filled;
    ub.each(b.addr, b.addr + b.len, [&](const Hazards::Cell& c) {
        writes = writes && !open(c.write);
        for (const Access& r : c.reads) reads = reads && !open(r);
    });
    b.settled[0] = writes ? issues : kNever;
    b.settled[1] = writes && reads && b.by_scalar ? issues : kNever;
    b.whole = b.len;
    if (checks)
        each_unwritten(l.mem, b.addr, b.addr + b.len,
                       [&](uint64_t lo, uint64_t, int) { b.whole = std::min(b.whole, uint32_t(lo) - b.addr); });
}

}  // namespace twin
