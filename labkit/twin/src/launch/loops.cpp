#include "launch/loops.h"

#include <algorithm>
#include <map>

namespace twin {

int station(uint8_t pipe) {
    switch (Pipe(pipe)) {
    case Pipe::MTE2: return 0;
    case Pipe::MTE1: return 1;
    case Pipe::M:
    case Pipe::V:
    case Pipe::S: return 2;
    case Pipe::FIX: return 3;
    default: return 4;  // MTE3
    }
}

Flow::Flow(const Trace& t) {
    for (const Entry& n : t.entries)
        if (n.kind == EntryKind::Work || n.kind == EntryKind::Move) used[n.pipe] = true;
    for (int q = 0; q < kPipes; q++) {
        after_[q] = kPipes;
        for (int p = 1; p < kPipes; p++)
            if (used[p] && station(uint8_t(p)) > station(uint8_t(q)))
                after_[q] = std::min(after_[q], station(uint8_t(p)));
    }
}

bool Flow::feeds(int q, int p) const { return used[q] && used[p] && after_[q] == station(uint8_t(p)); }

namespace {

uint64_t kind_of(const Entry& n) {
    return uint64_t(n.kind) << 56 | uint64_t(n.pipe) << 48 | uint64_t(n.op) << 32 | uint32_t(n.line);
}

// Appends entries to a trace. The scalar unit's time before an entry that is left out is carried to the next.
class TraceWriter {
public:
    explicit TraceWriter(Trace& t) : to_(t) {}
    void drop(const Entry& n) { carried_ += n.before; }
    Entry& put(Entry n) {
        n.before += carried_;
        carried_ = 0;
        to_.entries.push_back(n);
        return to_.entries.back();
    }
    void put(Entry n, const Move& m) {
        put(n).ref = to_.moves.size();
        to_.moves.push_back(m);
    }

private:
    Trace& to_;
    float carried_ = 0;
};

}  // namespace

Loop::Loop(const Trace& t, uint32_t block, uint8_t core) : trace_(t), core_index_(stamp_of(block, core, 0) >> 32) {
    mark_items_.assign(t.marks(), ~0u);
    uint32_t first = 0;
    for (uint32_t i = 0; i < t.entries.size(); i++) {
        const Entry& n = t.entries[i];
        if (n.kind == EntryKind::Await) continue;
        if (n.kind == EntryKind::Mark && uint32_t(n.ref) < mark_items_.size())
            mark_items_[uint32_t(n.ref)] = uint32_t(items_.size());
        items_.push_back({first, i});
        first = i + 1;
    }
    if (first < t.entries.size()) items_.push_back({first, uint32_t(t.entries.size())});  // waits at the very end
    find();
}

// Finds the longest stretch in which every item repeats `period` items later.
void Loop::look(const std::vector<uint64_t>& kinds, size_t period, size_t& covered) {
    for (size_t i = 0; i + period < kinds.size(); i++) {
        size_t begin = i;
        while (i + period < kinds.size() && kinds[i] == kinds[i + period]) i++;
        size_t times = (i - begin) / period + 1, cover = times * period;
        if (times > 1 && (cover > covered || (cover == covered && period < period_)))
            covered = cover, first_ = begin, period_ = period, times_ = times;
    }
}

void Loop::find() {
    std::vector<uint64_t> kinds;
    std::map<uint64_t, std::vector<size_t>> seen;  // positions by kind: of transfers, or of any work if there are none
    for (const Item& i : items_)
        kinds.push_back(i.entry < trace_.entries.size() ? kind_of(trace_.entries[i.entry]) : ~0ull);
    for (EntryKind wanted : {EntryKind::Move, EntryKind::Work}) {
        if (!seen.empty()) break;
        for (size_t i = 0; i < items_.size(); i++)
            if (items_[i].entry < trace_.entries.size() && trace_.entries[items_[i].entry].kind == wanted)
                seen[kinds[i]].push_back(i);
    }
    size_t covered = 0;
    for (auto& [kind, at] : seen) {
        std::map<size_t, size_t> apart;
        for (size_t lag = 1; lag <= 4; lag++)  // an iteration may contain the same line several times
            for (size_t i = lag; i < at.size(); i++) apart[at[i] - at[i - lag]]++;
        for (auto& [period, count] : apart)
            if (count * period * 2 >= covered) look(kinds, period, covered);
    }
}

bool Loop::own(const Entry& n) const {
    return !(n.ref & kMaxOf) && n.ref >> 32 == core_index_ && uint32_t(n.ref) < mark_items_.size() &&
           mark_items_[uint32_t(n.ref)] != ~0u;
}

Loop::Place Loop::place_of(Stamp m) const {
    size_t at = mark_items_[uint32_t(m)];
    if (at < first_ || at >= first_ + times_ * period_) return {false, 0, at};
    return {true, (at - first_) / period_, (at - first_) % period_};
}

Stamp Loop::mark_at(size_t window, size_t p) const { return trace_.entries[item(window, p).entry].ref; }

Trace Loop::merged(size_t k) const {
    Trace r;
    TraceWriter out(r);
    size_t groups = times_ / k;
    // A mark that is left out stands for the same point as the last one of its group.
    auto kept = [&](Stamp m) {
        Place at = place_of(m);
        return at.inside && at.window < groups * k ? mark_at(at.window / k * k + k - 1, at.item) : m;
    };
    auto plain = [&](const Item& i) {
        for (uint32_t a = i.first; a <= i.entry && a < trace_.entries.size(); a++) {
            Entry n = trace_.entries[a];
            if (n.kind == EntryKind::Await && own(n)) n.ref = kept(n.ref);
            if (n.kind == EntryKind::Move) out.put(n, trace_.moves[n.ref]);
            else out.put(n);
        }
    };
    auto together = [&](size_t g, size_t p) {
        const Item& last = item(g * k + k - 1, p);
        for (uint32_t a = last.first; a < last.entry; a++) {
            Entry n = trace_.entries[a];
            if (own(n)) {
                Place at = place_of(n.ref);
                if (at.inside) {
                    size_t ago = g * k + k - 1 - at.window;
                    if (ago > g) {
                        out.drop(n);
                        continue;
                    }
                    n.ref = mark_at((g - ago) * k + k - 1, at.item);
                } else if (g) {
                    out.drop(n);
                    continue;
                }
            }
            out.put(n);
        }
        Entry n = trace_.entries[last.entry];
        n.before = trace_.entries[item(g * k, p).entry].before;
        if (n.kind == EntryKind::Mark || n.kind == EntryKind::Join) return void(out.put(n));
        Move m = n.kind == EntryKind::Move ? trace_.moves[trace_.entries[item(g * k, p).entry].ref] : Move{};
        for (size_t s = 0; s + 1 < k; s++) {
            const Entry& other = trace_.entries[item(g * k + s, p).entry];
            n.cycles += other.cycles - float(other.startup) / 100;
            n.bytes += other.bytes;
            if (n.kind == EntryKind::Work) n.ref += other.ref;  // cost of bank conflicts
            if (n.kind != EntryKind::Move) continue;
            const Move& next = trace_.moves[trace_.entries[item(g * k + s + 1, p).entry].ref];
            if (m.rows == 1 && next.rows == 1 && next.at == m.at + m.row) m.row += next.row;
            else if (m.rows == 1) m.stride = next.at - m.at, m.rows += next.rows;
            else m.rows += next.rows;
        }
        if (n.kind == EntryKind::Move) out.put(n, m);
        else out.put(n);
    };
    for (size_t i = 0; i < first_; i++) plain(items_[i]);
    for (size_t g = 0; g < groups; g++)
        for (size_t p = 0; p < period_; p++) together(g, p);
    for (size_t i = first_ + groups * k * period_; i < items_.size(); i++) plain(items_[i]);
    return r;
}

Trace Loop::part(size_t from, size_t to, uint32_t block) const {
    Trace r;
    TraceWriter out(r);
    auto moved = [&](Stamp m) { return stamp_of(block, uint8_t(core_index_of(m) % 4), uint32_t(m)); };
    for (size_t i = 0; i < items_.size(); i++) {
        if (i >= first_ && i < first_ + times_ * period_ &&
            ((i - first_) / period_ < from || (i - first_) / period_ >= to))
            continue;
        for (uint32_t a = items_[i].first; a <= items_[i].entry && a < trace_.entries.size(); a++) {
            Entry n = trace_.entries[a];
            if (n.kind == EntryKind::Await && own(n)) {
                Place at = place_of(n.ref);
                if (at.inside && at.window < from) {
                    out.drop(n);
                    continue;
                }
                n.ref = moved(at.inside && at.window >= to ? mark_at(to - 1, at.item) : n.ref);
            } else if (n.kind == EntryKind::Mark) n.ref = moved(n.ref);
            if (n.kind == EntryKind::Move) out.put(n, trace_.moves[n.ref]);
            else out.put(n);
        }
    }
    return r;
}

Trace Loop::another_buffer() const {
    Trace r;
    TraceWriter out(r);
    r.moves = trace_.moves;
    for (const Entry& one : trace_.entries) {
        Entry n = one;
        if (n.kind == EntryKind::Await && own(n)) {
            uint8_t from = trace_.entries[items_[mark_items_[uint32_t(n.ref)]].entry].pipe;
            Place at = place_of(n.ref);
            if (at.inside && station(from) > station(n.pipe)) {
                if (!at.window) {
                    out.drop(n);
                    continue;
                }
                n.ref = mark_at(at.window - 1, at.item);
            }
        }
        out.put(n);
    }
    return r;
}

Trace Loop::events_for_barriers() const {
    Trace r;
    TraceWriter out(r);
    r.moves = trace_.moves;
    const Flow flow(trace_);
    uint32_t next = trace_.marks();
    std::vector<std::vector<Stamp>> ends(times_);  // the end of each iteration's work, by pipe
    auto mark = [&](int p) {
        Stamp m = core_index_ << 32 | next++;
        out.put({EntryKind::Mark, uint8_t(p), 0, 0, 0, 0, 0, 0, m});
        return m;
    };
    auto await = [&](int p, Stamp m) { out.put({EntryKind::Await, uint8_t(p), 0, 0, 0, 0, 0, 0, m}); };
    for (size_t i = 0; i < items_.size(); i++) {
        bool inside = i >= first_ && i < first_ + times_ * period_;
        size_t window = inside ? (i - first_) / period_ : 0;
        if (inside && (i - first_) % period_ == 0 && window > 1)
            for (int q = 1; q < kPipes; q++)
                for (int p = 1; p < kPipes; p++)
                    if (flow.feeds(q, p) && ends[window - 2].size()) await(q, ends[window - 2][size_t(p)]);
        for (uint32_t a = items_[i].first; a <= items_[i].entry && a < trace_.entries.size(); a++) {
            const Entry& n = trace_.entries[a];
            if (!inside || n.kind != EntryKind::Join) {
                out.put(n);
                continue;
            }
            out.drop(n);
            std::vector<Stamp> now(kPipes, 0);
            for (int p = 1; p < kPipes; p++)
                if (flow.used[p]) now[size_t(p)] = mark(p);
            for (int q = 1; q < kPipes; q++)
                for (int p = 1; p < kPipes; p++)
                    if (flow.used[p] && flow.used[q] && station(uint8_t(p)) < station(uint8_t(q)))
                        await(q, now[size_t(p)]);
            ends[window] = now;
        }
    }
    return r;
}

}  // namespace twin
