#include "core/hazard.h"

#include <algorithm>
#include <cstring>

#include "core/machine.h"

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

// ---------------------------------------------------------------- unwritten bytes, overlap between repeats

namespace twin {

void Holes::fill(uint64_t lo, uint64_t hi) {
    size_t i = first(lo);
    if (i == holes_.size() || holes_[i].lo >= hi) return;
    if (holes_[i].lo < lo && holes_[i].hi > hi) {
        Hole right = holes_[i];
        right.lo = hi;
        holes_[i].hi = lo;
        holes_.insert(holes_.begin() + long(i) + 1, right);
        return;
    }
    if (holes_[i].lo < lo) holes_[i++].hi = lo;
    size_t j = i;
    while (j < holes_.size() && holes_[j].hi <= hi) j++;
    if (j < holes_.size() && holes_[j].lo < hi) holes_[j].lo = hi;
    holes_.erase(holes_.begin() + long(i), holes_.begin() + long(j));
}

void Holes::add(uint64_t lo, uint64_t hi, int origin) {
    fill(lo, hi);
    size_t i = first(lo);
    if (i && holes_[i - 1].hi == lo && holes_[i - 1].origin == origin) holes_[i - 1].hi = hi;
    else holes_.insert(holes_.begin() + long(i), Hole{lo, hi, origin});
}

// ---------------------------------------------------------------- overlap between repeats

bool repeats_overlap(const Operand& d, const Operand& s, const Lanes& l) {
    if (d.mem != s.mem || d.lo >= s.lo + s.bytes || s.lo >= d.lo + d.bytes) return false;
    uint32_t w = std::max(d.rows() ? 1 : d.width, 1u), v = std::max(s.width, 1u);
    bool same = !d.rows() && w == v;
    if (same && d.lo == s.lo && d.blk == s.blk && d.rep == s.rep && d.rep * 32 >= l.lanes * w)
        return false;  // in place
    // Blocks from where both begin; starts are multiples of a block.
    uint64_t base = std::min(d.lo, s.lo) / 32;
    std::vector<int16_t> last(size_t((s.lo + s.bytes + 31) / 32 - base), -1);  // the last repeat that reads it
    auto blocks = [&](const Operand& o, uint32_t i, auto f) {
        if (o.rows()) {  // a result for each repeat
            uint64_t from = o.lo + uint64_t(i) * o.apart;
            for (uint64_t b = from / 32; b <= (from + o.row - 1) / 32; b++) f(b - base, 0u);
            return;
        }
        uint32_t n = (l.top_of(i) * std::max(o.width, 1u) + 31) / 32, per = 32 / std::max(o.width, 1u);
        for (uint32_t b = 0; b < n; b++) {
            bool any = false;
            for (uint32_t lane = b * per; lane < (b + 1) * per && lane < l.top_of(i); lane++) any = any || l.on(lane);
            if (any) f(o.lo / 32 + uint64_t(i) * o.rep + uint64_t(b) * o.blk - base, b);
        }
    };
    for (uint32_t i = 0; i < l.times; i++)
        blocks(s, i, [&](uint64_t b, uint32_t) {
            if (b < last.size()) last[b] = int16_t(i);
        });
    bool bad = false;
    for (uint32_t i = 0; i < l.times && !bad; i++) {
        blocks(d, i, [&](uint64_t b, uint32_t) { bad = bad || (b < last.size() && last[b] > int(i)); });
        if (!same || bad) continue;  // of two widths a repeat is read before it is written, and kernels rely on that
        uint64_t read[8];
        uint32_t n = 0;
        blocks(s, i, [&](uint64_t b, uint32_t which) {
            while (n <= which) read[n++] = ~0ull;
            read[which] = b;
        });
        blocks(d, i, [&](uint64_t b, uint32_t which) {
            for (uint32_t k = 0; k < n; k++) bad = bad || (read[k] == b && k != which);
        });
    }
    return bad;
}

// ---------------------------------------------------------------- unwritten bytes

bool Core::unwritten(Mem m, uint64_t lo, uint64_t hi) const {
    bool any = false;
    each_unwritten(m, lo, hi, [&](uint64_t, uint64_t, int) { any = true; });
    return any;
}

Shadow Core::shadow(Mem m, uint64_t lo, uint64_t bytes) const {
    Shadow s(bytes, 0);
    each_unwritten(m, lo, lo + bytes, [&](uint64_t a, uint64_t b, int) { std::memset(&s[a - lo], 0xff, b - a); });
    return s;
}

// The runs of a shadow become holes.
void Core::leave(Mem m, uint64_t lo, const Shadow& s, int origin) {
    for (uint64_t a = 0; a < s.size();) {
        uint64_t b = a + 1;
        if (s[a]) {
            while (b < s.size() && s[b]) b++;
            holes[int(m)].add(lo + a, lo + b, origin);
            if (m == Mem::UB) scalar_stores.unset(lo + a, lo + b);
        }
        a = b;
    }
}

void Core::forget(Mem m, uint64_t lo, uint64_t hi) {
    holes[int(m)].add(lo, hi, kNobody);
    if (m == Mem::UB) scalar_stores.unset(lo, hi);
}

// bytes: how many of them an instruction reads in all.
int Core::origin_of(Mem m, uint64_t lo, uint64_t hi, Here here, const char* what, uint64_t bytes) {
    int found = kNobody;
    holes[int(m)].each(lo, hi, [&](uint64_t, uint64_t, int origin) {
        if (origin != kNobody && (found == kNobody || origins[size_t(found)].rounding)) found = origin;
    });
    if (found != kNobody) return found;
    for (size_t i = origins.size(); i-- > 0 && i + 64 > origins.size();)
        if (origins[i].here.line == here.line && origins[i].here.file == here.file) return int(i);
    origins.push_back({here, what, m, lo, bytes});
    return int(origins.size()) - 1;
}

const char* Core::name_of_operand(const Operand& o) const {
    for (uint32_t i = 1; i <= 4; i++)  // the newest first: older ones may be of an earlier instruction
        if (const Named& n = named_[(named_next_ - i) % 4];
            n.what && n.mem == o.mem && n.addr >= o.lo && n.addr < o.lo + o.bytes)
            return n.what;
    return "src";
}

void Core::report_unwritten(Mem m, uint64_t lo, uint64_t hi, Here here, const char* what) {
    report_origin(origin_of(m, lo, hi, here, what, hi - lo));
}
void Core::report_origin(int origin) {
    Origin& o = origins[size_t(origin)];
    if (unseen_writes) return;  // what a refused instruction would have written is not to be reported again
    // The operand's own check has said so, or it reads past the end of its tensor and that has been said.
    if (!o.said && (findings.has("uninit-local", o.here) || findings.has("local-bounds", o.here))) return;
    o.said = true;
    report("uninit-local", true, o.here,
           Numbers().add("what", o.what).add("memory", twin::name_of(o.mem)).add("addr", o.addr).add("bytes", o.bytes));
}

namespace {

// Does the lane, or a byte of the row [from, to) of the operand's elements one behind the other, lie in the shadow?
bool dark(const Shadow& s, const Operand& o, uint64_t place, uint64_t bytes) {
    for (uint64_t a = place - o.lo; a < place - o.lo + bytes; a++)
        if (a < s.size() && s[a]) return true;
    return false;
}
uint64_t size_of(const Operand& o) { return uint64_t(o.count()) * o.row; }
uint64_t byte_of(const Operand& o, uint64_t k) { return o.apart ? k / o.row * o.apart + k % o.row : k; }

uint32_t groups(Op op, const Lanes& l) {  // results of a repeat
    switch (op) {
    case Op::WholeReduceSum:
    case Op::WholeReduceMax:
    case Op::WholeReduceMin:
    case Op::ReduceSum:
    case Op::ReduceMax:
    case Op::ReduceMin: return 1;
    case Op::BlockReduceSum:
    case Op::BlockReduceMax:
    case Op::BlockReduceMin: return 8;
    case Op::PairReduceSum: return l.lanes / 2;
    default: return l.lanes;
    }
}

// What of `d` an instruction makes of unwritten bytes of `s`.
void carry(Op op, const Lanes& l, const Operand& s, const Shadow& from, const Operand& d, Shadow& to) {
    auto lit = [&](uint64_t k) {
        if (k < to.size()) to[k] = 0xff;
    };
    // Eight lanes make a byte of bits, of which no more is known than whether all of them are unwritten.
    bool bits = op == Op::Compare || op == Op::CompareScalar;
    std::vector<uint64_t> seen(bits ? to.size() : 0);
    if (!s.rows()) {
        uint32_t g = groups(op, l);
        for (uint32_t i = 0; i < l.times; i++)
            for (uint32_t lane = 0; lane < l.top_of(i); lane++) {
                if (!l.on(lane) || !dark(from, s, Instruction::place(s, i, lane), std::max(s.width, 1u))) continue;
                if (!d.rows()) {
                    for (uint32_t k = 0; k < std::max(d.width, 1u); k++) lit(Instruction::place(d, i, lane) + k - d.lo);
                    continue;
                }
                uint64_t all = size_of(d), group = uint64_t(i) * g + uint64_t(lane) * g / l.lanes,
                         of = uint64_t(l.times) * g;
                for (uint64_t k = group * all / of, end = std::max(k + 1, (group + 1) * all / of); k < end; k++)
                    if (!bits || (k < seen.size() && ++seen[k] * all >= of)) lit(byte_of(d, k));
            }
        return;
    }
    if (groups(op, l) == 1) return std::fill(to.begin(), to.end(), 0xff);
    uint64_t sn = size_of(s);
    uint64_t elements = d.rows() ? size_of(d) : uint64_t(l.times - 1) * l.lanes + l.last;
    for (uint64_t k = 0; k < sn; k++) {
        uint64_t at = byte_of(s, k);
        if (at >= from.size() || !from[at]) continue;
        uint64_t a = k * elements / sn, b = ((k + 1) * elements + sn - 1) / sn;
        for (uint64_t e = a; e < b; e++) {
            if (bits && (e >= seen.size() || ++seen[e] * elements < sn)) continue;
            if (d.rows()) lit(byte_of(d, e));
            else if (uint32_t i = uint32_t(e / l.lanes), lane = uint32_t(e % l.lanes); l.on(lane))
                for (uint32_t w = 0; w < std::max(d.width, 1u); w++) lit(Instruction::place(d, i, lane) + w - d.lo);
        }
    }
}

}  // namespace

Shadow Core::lanes_off(const Operand& o) const {
    Shadow s = shadow(o.mem, o.lo, o.bytes);
    const Lanes& l = instruction.lanes;
    for (uint32_t i = 0; i < l.times; i++)
        for (uint32_t lane = 0; lane < l.top_of(i); lane++)
            if (l.on(lane))
                for (uint64_t k = Instruction::place(o, i, lane) - o.lo, end = k + std::max(o.width, 1u); k < end; k++)
                    if (k < s.size()) s[k] = 0;
    return s;
}

void Core::check_repeats(const Ticket& t, const Operand& d) {
    bool adds = t.op == Op::MulAddDst || t.op == Op::Axpy || t.op == Op::FusedMulAdd || t.op == Op::MulAddRelu;
    bool gathers = adds;  // the destination is read as well
    for (const Operand& s : instruction.operands) gathers = gathers || (!s.write && s.lo == d.lo);
    if (instruction.lanes.times > 1 && !d.rows() && !d.rep && !gathers && instruction.operands.size() > 1)
        report("repeat-lost", false, t.access.here,
               Numbers().add("times", uint64_t(instruction.lanes.times)).add("bytes", uint64_t(d.bytes)));
    for (const Operand& s : instruction.operands) {
        if (adds && s.lo == d.lo && s.blk == d.blk && s.rep == d.rep) continue;  // the destination, which is read too
        if (s.write || s.rows() || !repeats_overlap(d, s, instruction.lanes)) continue;
        const Operand* second = nullptr;
        for (const Operand& o : instruction.operands)
            if (!o.write && !o.rows()) second = &o;
        if (instruction.running && &s == second && (!s.rep || !d.rep)) continue;
        return report("overlap", true, t.access.here,
                      Numbers().add("dst", d.lo).add("src", s.lo).add("bytes", uint64_t(d.bytes)));
    }
}

// Called after the pieces of an operand that is read, if some of them are unwritten: are they among its elements?
void Core::look_at_operand(const Ticket& t) {
    seen_gap_ = false;
    Instruction& now = instruction;
    if (now.operands.empty() || now.opaque) return;
    const Operand& o = now.operands.back();
    Shadow s = shadow(o.mem, o.lo, o.bytes);
    uint64_t from = 0, bytes = 0;
    bool rounding = true;
    constexpr uint64_t kRow = 32, kFractal = 16 * kRow;
    bool fractals = o.mem == Mem::L0A || o.mem == Mem::L0B || t.op == Op::LoadData;
    auto look = [&](uint64_t at, uint64_t n) {
        for (uint64_t a = at; a < at + n && a < s.size(); a++) {
            if (!s[a]) continue;
            from = bytes++ ? from : a;
            // not of a block of which not even the first byte is written, or a fractal without its first row
            rounding = rounding && (fractals ? (a - at) % kFractal >= kRow : (o.lo + a) % kRow > 0);
        }
    };
    if (o.rows())
        for (uint64_t at = 0; at < o.bytes; at += o.apart ? o.apart : o.bytes) look(at, o.row);
    else
        for (uint32_t i = 0; i < now.lanes.times; i++)
            for (uint32_t lane = 0; lane < now.lanes.top_of(i); lane++)
                if (now.lanes.on(lane)) look(Instruction::place(o, i, lane) - o.lo, std::max(o.width, 1u));
    if (!bytes) return;
    size_t before = origins.size();
    int origin = origin_of(o.mem, o.lo + from, o.lo + o.bytes, last, name_of_operand(o), bytes);
    if (origins.size() > before) origins.back().rounding = rounding;
    now.dark.push_back({now.operands.size() - 1, origin, std::move(s)});
}

// Zeros under an And and ones under an Or give the same whatever stands in the other operand: masks are used so to
// throw away what nobody wrote. `absorbing`: such a byte. Called when both operands are booked.
void Core::absorb(const Ticket& t, uint8_t absorbing) {
    if (delayed.on) delayed.settle(known[int(t.access.pipe)]);
    Instruction& now = instruction;
    std::vector<Instruction::Dark> before = now.dark;
    for (Instruction::Dark& part : now.dark) {
        const Operand& s = now.operands[part.operand];
        for (size_t i = 0; i < now.operands.size(); i++) {
            const Operand& o = now.operands[i];
            if (i == part.operand || o.write) continue;
            const Shadow* unknown = nullptr;
            for (const Instruction::Dark& other : before)
                if (other.operand == i) unknown = &other.bytes;
            const uint8_t* bytes = bytes_[int(o.mem)] + o.lo;
            auto meet = [&](uint64_t mine, uint64_t its) {
                if (mine < part.bytes.size() && its < o.bytes && !(unknown && (*unknown)[its]) &&
                    bytes[its] == absorbing)
                    part.bytes[mine] = 0;
            };
            if (s.rows())
                for (uint64_t k = 0; k < s.bytes; k++) meet(k, k);
            else
                for (uint32_t n = 0; n < now.lanes.times; n++)
                    for (uint32_t lane = 0; lane < now.lanes.top_of(n); lane++)
                        for (uint32_t k = 0; k < s.width; k++)
                            meet(Instruction::place(s, n, lane) + k - s.lo, Instruction::place(o, n, lane) + k - o.lo);
        }
    }
    auto none = [](const Instruction::Dark& part) {
        return std::all_of(part.bytes.begin(), part.bytes.end(), [](uint8_t b) { return !b; });
    };
    now.dark.erase(std::remove_if(now.dark.begin(), now.dark.end(), none), now.dark.end());
}

// Called at the end of an instruction that read something unwritten.
void Core::carry_unwritten(const Ticket& t) {
    Instruction& now = instruction;
    std::vector<Instruction::Dark> dark = std::move(now.dark);
    now.dark.clear();
    if (now.opaque) return;
    // A function of whole tensors mixes its elements: which go where is known only if there are as many as before.
    bool whole = t.op >= Op::Matmul, out = false;
    for (const Instruction::Dark& part : dark) {
        const Operand& s = now.operands[part.operand];
        for (const Operand& d : now.operands) {
            out = out || d.write;
            if (!d.write || (whole && d.bytes != s.bytes)) continue;
            Shadow to(d.bytes, 0);
            carry(t.op, now.lanes, s, part.bytes, d, to);
            leave(d.mem, d.lo, to, part.origin);
        }
        if (!out) report_origin(part.origin);  // into a register
    }
}

// A block's unwritten end may be there by rounding: DataCopy moves whole blocks, and instructions are told to compute
// them.
void Core::note_stored(bool exact, const uint8_t* to, uint64_t stride) {
    for (const Instruction::Dark& part : instruction.dark) {
        const Operand& o = instruction.operands[part.operand];
        const Origin& from = origins[size_t(part.origin)];
        bool own = from.here.line == last.line && from.here.file == last.file;
        for (uint64_t at = 0, row = 0; at < o.bytes; at += o.apart ? o.apart : o.bytes, row++)
            for (uint64_t block = at; block < at + o.row; block += 32) {
                uint64_t end = std::min(block + 32, at + o.row), k = block;
                while (k < end && !part.bytes[k]) k++;
                if (k == end) continue;
                bool bad = exact || k == block || (!own && !from.rounding);
                for (uint64_t i = k; i < end; i++) bad = bad || !part.bytes[i];
                while (!part.bytes[end - 1]) end--;
                uint64_t place = uint64_t(to) + row * stride - at;
                if (bad) gm_left.add(place + k, place + end, part.origin);
            }
    }
    instruction.dark.clear();
    if (registers.atomic) look_at_all_left();  // what is there already does not go away
}

void Core::look_at_left(uint64_t lo, uint64_t hi) {
    if (gm_left.empty()) return;
    std::vector<int> found;
    gm_left.each(lo, hi, [&](uint64_t, uint64_t, int origin) {
        if (std::find(found.begin(), found.end(), origin) == found.end()) found.push_back(origin);
    });
    for (int origin : found) report_origin(origin);
    gm_left.fill(lo, hi);
}

// ---------------------------------------------------------------- two copies of one pipe into one place

// What lies in GM is a result. On the chip it matters only where somebody reads it: a kernel that measures copies
// sends them all to one place.
void Core::after_overlap(const SharedBytes& all, const Ticket& t) {
    for (const auto& [s, old] : all) {
        if (delayed.swapped || std::memcmp(old.data(), s.at, s.bytes) == 0) continue;
        disputed_.push_back({s.at, s.bytes, t.access.here,
                             Numbers()
                                 .add("op", name_of(t.op))
                                 .add("pipe", name_of(t.access.pipe))
                                 .add("memory", s.memory)
                                 .add("bytes", s.bytes)
                                 .add("other_line", s.other.here.line)});
        if (s.memory[0] == 'G') settle_disputed(s.at, s.bytes, false);
        return;
    }
}

// Reports what is read of it, and forgets what is written over as a whole.
void Core::settle_disputed(const uint8_t* at, uint64_t bytes, bool write) {
    auto over = [&](const Disputed& d) {
        if (write) return at <= d.at && d.at + d.bytes <= at + bytes;
        if (d.at + d.bytes <= at || at + bytes <= d.at) return false;
        findings.add("copy-order", true, d.here, d.numbers);
        return true;
    };
    disputed_.erase(std::remove_if(disputed_.begin(), disputed_.end(), over), disputed_.end());
}

}  // namespace twin
