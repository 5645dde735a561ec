// Copies of no block, or of blocks of no bytes: documented to do nothing. They are a fault where what they should have
// brought is missed: on the chip, where something reads at their destination what the same copy brought there before;
// in GM, where nobody has stored anything when the launch ends.
#include <algorithm>

#include "core/machine.h"

namespace twin {

static constexpr size_t kMostEmpty = 64;

static void keep(std::vector<EmptyCopy>& all, const EmptyCopy& e) {
    auto same = [&](const EmptyCopy& o) { return o.mem == e.mem && o.at == e.at; };
    all.erase(std::remove_if(all.begin(), all.end(), same), all.end());
    if (all.size() < kMostEmpty) all.push_back(e);
}

Numbers EmptyCopy::numbers() const { return Numbers().add("blocks", blocks).add("len", len); }

void Core::note_empty(Loc dst, const Dma& d, Here here) {
    skip();
    if (!checks || dst.pos >= kNowhere || !has(id.kind, dst.mem)) return;
    bool again = false;
    memory[int(dst.mem)].each(dst.addr, dst.addr + 1, [&](const Hazards::Cell& c) {
        again = again || (c.write.number && c.write.here.line == here.line);
    });
    if (again) keep(empty_copies, {dst.mem, dst.addr, d.blocks, d.len, block, here});
}

void Core::note_empty(Gm dst, Loc src, const Dma& d, Here here) {
    skip();
    if (checks && src.pos < kNowhere && has(id.kind, src.mem))
        keep(empty_stores, {Mem::Count, uint64_t(dst.ptr), d.blocks, d.len, block, here});
}

void Core::missed(Loc l) {
    for (const EmptyCopy& e : empty_copies)
        if (e.mem == l.mem && e.at == l.addr) {
            EmptyCopy found = e;
            supplied(l.mem, e.at, e.at + 1);
            return report("copy-nothing", false, found.here, found.numbers());
        }
}

void Core::supplied(Mem m, uint64_t lo, uint64_t hi) {
    auto over = [&](const EmptyCopy& e) { return e.mem == m && e.at >= lo && e.at < hi; };
    empty_copies.erase(std::remove_if(empty_copies.begin(), empty_copies.end(), over), empty_copies.end());
}

}  // namespace twin
