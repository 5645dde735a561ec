#include "core/hazard.h"

namespace twin {

void Hazards::split(uint64_t at) {
    size_t i = first(at);
    if (i == cells_.size() || cells_[i].lo >= at) return;
    Cell right = cells_[i];
    right.lo = at;
    cells_[i].hi = at;
    cells_.insert(cells_.begin() + long(i) + 1, right);
}

// A read of bytes that no pipe has written (the scalar unit has) still matters for the next write to them.
void Hazards::cover(uint64_t lo, uint64_t hi) {
    for (size_t i = first(lo); lo < hi; i++) {
        bool there = i < cells_.size() && cells_[i].lo < hi;
        uint64_t gap = there ? cells_[i].lo : hi;
        if (lo < gap) cells_.insert(cells_.begin() + long(i), Cell{lo, gap, {}, {}});
        lo = lo < gap ? gap : cells_[i].hi;
    }
}

Conflict Hazards::read(uint64_t lo, uint64_t hi, const Access& me, const VectorClock& now, bool keep) {
    Conflict found;
    size_t i = first(lo);
    // the usual case: the same tile as before
    bool exact = i < cells_.size() && cells_[i].lo == lo && cells_[i].hi == hi;
    if (keep && !exact) {
        split(lo);
        split(hi);
        cover(lo, hi);
        i = first(lo);
    }
    for (; i < cells_.size() && cells_[i].lo < hi; i++) {
        Cell& c = cells_[i];
        found.gap = found.gap || !c.write.number;
        if (found.race == Race::None && unordered(c.write, me, now))
            found.race = Race::ReadAfterWrite, found.other = c.write;
        if (keep) c.reads[reader_slot(me.pipe)] = me;
    }
    return found;
}

Conflict Hazards::write(uint64_t lo, uint64_t hi, const Access& me, const VectorClock& now) {
    Conflict found;
    size_t i = first(lo);
    if (i == cells_.size()) {
        cells_.push_back({lo, hi, me, {}});
        return found;
    }
    bool exact = cells_[i].lo == lo && cells_[i].hi == hi;
    if (!exact) {
        split(lo);
        split(hi);
        i = first(lo);
    }
    size_t j = i;
    for (; j < cells_.size() && cells_[j].lo < hi; j++) {
        Cell& c = cells_[j];
        if (overtakes(c.write, me, now)) shared.push_back({c.lo, c.hi, c.write});
        if (found.race != Race::None) continue;
        for (const Access& r : c.reads)
            if (unordered(r, me, now)) found = {Race::WriteAfterRead, r, false};
        if (found.race == Race::None && unordered(c.write, me, now)) found = {Race::WriteAfterWrite, c.write, false};
    }
    if (exact) {
        cells_[i].write = me;
        for (Access& r : cells_[i].reads) r = Access{};
        return found;
    }
    // A write starts a new history for its bytes: the cells it covers become one.
    cells_.erase(cells_.begin() + long(i), cells_.begin() + long(j));
    cells_.insert(cells_.begin() + long(i), Cell{lo, hi, me, {}});
    return found;
}

bool Hazards::any_written(uint64_t lo, uint64_t hi) const {
    for (size_t i = first(lo); i < cells_.size() && cells_[i].lo < hi; i++)
        if (cells_[i].write.number) return true;
    return false;
}

uint64_t Hazards::unwritten(uint64_t lo, uint64_t hi, uint32_t piece) const {
    uint64_t at = lo;
    for (size_t i = first(lo); i < cells_.size() && cells_[i].lo < hi; i++) {
        const Cell& c = cells_[i];
        if (!c.write.number) continue;
        if (c.lo >= at + piece) break;
        at = lo + (c.hi - lo + piece - 1) / piece * piece;
    }
    return at + piece <= hi ? at : hi;
}

}  // namespace twin
