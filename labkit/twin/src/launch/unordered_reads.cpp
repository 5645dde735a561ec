#include "launch/launch.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

namespace twin {

namespace {

bool same_place(const Finding& a, const Finding& b) { return a.line == b.line && !std::strcmp(a.file, b.file); }

class Search {
public:
    Search(const LaunchResult& result, const std::vector<GmWrite>& stores) : stores_(stores) {
        for (const GmWrite& w : stores) reach_.push_back(std::max(reach_.empty() ? 0 : reach_.back(), w.hi));
        for (const CoreResult& c : result.cores) met_ = met_ || c.phases;
    }
    // Finds another block's store to the bytes of a read. If the reader has stored to them as well, the check of stores
    // reports it.
    const GmWrite* conflict(const CoreResult& reader, const GmRead& r) const {
        return find(r.lo, r.hi, [&](const GmWrite& w) {
            if (w.block == reader.block || w.phase != r.phase || w.ordered || !r.of(w.lo, w.hi)) return false;
            if (met_ && w.cube != (reader.core == 2)) return false;  // AIVs and AICs count their barriers separately
            uint64_t lo = std::max(w.lo, r.lo), hi = std::min(w.hi, r.hi);
            return !find(lo, hi, [&](const GmWrite& own) { return own.block == reader.block && own.phase == r.phase; });
        });
    }

private:
    template <class F> const GmWrite* find(uint64_t lo, uint64_t hi, F f) const {
        auto past = std::lower_bound(stores_.begin(), stores_.end(), hi,
                                     [](const GmWrite& w, uint64_t at) { return w.lo < at; });
        for (size_t i = size_t(past - stores_.begin()); i-- > 0 && reach_[i] > lo;)
            if (stores_[i].hi > lo && f(stores_[i])) return &stores_[i];
        return nullptr;
    }
    const std::vector<GmWrite>& stores_;
    std::vector<uint64_t> reach_;  // the highest end of all stores up to each one
    bool met_ = false;             // some cores have passed a barrier
};

}  // namespace

void find_unordered_reads(LaunchResult& result, const std::vector<GmWrite>& stores) {
    Search search(result, stores);
    for (const CoreResult& c : result.cores) {
        std::vector<Finding> found;
        for (const GmRead& r : c.reads) {
            // a kernel that polls orders its reads itself
            const GmWrite* w = r.scalar && c.may_poll ? nullptr : search.conflict(c, r);
            if (!w) continue;
            Findings one;
            one.clear(c.block);
            one.add("gm-unordered", true, {r.file, r.line},
                    Numbers()
                        .add("reader", c.block)
                        .add("writer", w->block)
                        .add("bytes", r.of(w->lo, w->hi))
                        .add("other_line", w->line));
            const Finding& now = one.list().front();
            auto known = std::find_if(found.begin(), found.end(), [&](const Finding& f) { return same_place(f, now); });
            if (known == found.end()) found.push_back(now);
            else known->count++;
        }
        for (Finding& f : found) add_across(result, f);
    }
}

// ---------------------------------------------------------------- the cores of one block

namespace {

using Place = std::vector<const GmStep*>;  // one core's stores to the same bytes by one pipe, in their order

struct Stores {
    std::vector<Place> places;    // sorted by where they begin
    std::vector<uint64_t> reach;  // the highest end of all up to each one

    explicit Stores(const CoreResult& c) {
        auto key = [](const GmStep& s) {
            return std::make_tuple(s.place.lo, s.place.hi, s.place.row, s.place.apart, s.pipe);
        };
        std::vector<const GmStep*> all;
        for (const GmStep& s : c.steps.steps)
            if (s.write) all.push_back(&s);
        std::sort(all.begin(), all.end(), [&](const GmStep* a, const GmStep* b) {
            return key(*a) != key(*b) ? key(*a) < key(*b) : a->number < b->number;
        });
        for (const GmStep* s : all) {
            if (places.empty() || key(*places.back().front()) != key(*s)) {
                places.emplace_back();
                reach.push_back(std::max(reach.empty() ? 0 : reach.back(), s->place.hi));
            }
            places.back().push_back(s);
        }
    }
};

// How many instructions of a pipe of `other` were over for this step, as far as its core had heard.
uint32_t heard_of(const CoreResult& mine, const GmStep& s, const CoreResult& other, uint8_t pipe) {
    int which = other_core(mine.core, 0) == other.core ? 0 : 1;
    return mine.steps.heard[s.heard][size_t(which * 4 + pipe)];
}

uint64_t common_bytes(const GmRead& a, const GmRead& b) {
    uint64_t at = b.lo;
    if (b.row < b.apart && a.lo > at) at += (a.lo - at) / b.apart * b.apart;
    for (; at < b.hi && at < a.hi; at += b.apart)
        if (uint64_t both = a.of(at, std::min(at + b.row, b.hi))) return both;
    return 0;
}

// The first store of `other` that neither is over when `s` begins nor begins when `s` is over. What a core hears only
// grows, so of the stores to one place it is enough to look at the first of which `s` has not heard.
const GmStep* unordered(const CoreResult& mine, const GmStep& s, const CoreResult& other, const Stores& stores) {
    auto past = std::lower_bound(stores.places.begin(), stores.places.end(), s.place.hi,
                                 [](const Place& p, uint64_t at) { return p.front()->place.lo < at; });
    for (size_t i = size_t(past - stores.places.begin()); i-- > 0 && stores.reach[i] > s.place.lo;) {
        const Place& p = stores.places[i];
        if (p.front()->place.hi <= s.place.lo) continue;
        uint32_t over = heard_of(mine, s, other, p.front()->pipe);
        auto w = std::upper_bound(p.begin(), p.end(), over,
                                  [](uint32_t n, const GmStep* step) { return n < step->number; });
        if (w == p.end() || heard_of(other, **w, mine, s.pipe) >= s.number) continue;
        if (s.write && s.atomic && (*w)->atomic) continue;
        if (common_bytes(s.place, (*w)->place)) return *w;
    }
    return nullptr;
}

// Had the core stored to these bytes itself before? Two vector cores that run the same lines do so, with the same
// values.
bool stored_before(const GmStep& s, const Stores& own) {
    auto past = std::lower_bound(own.places.begin(), own.places.end(), s.place.hi,
                                 [](const Place& p, uint64_t at) { return p.front()->place.lo < at; });
    for (size_t i = size_t(past - own.places.begin()); i-- > 0 && own.reach[i] > s.place.lo;)
        if (own.places[i].front() < &s && common_bytes(s.place, own.places[i].front()->place)) return true;
    return false;
}

// Do two cores store different values to the bytes that these steps have in common? Of the scalar unit's the values are
// not kept.
bool differ(const CoreResult& a, const CoreResult& b, const GmStep& s, const GmStep& w) {
    uint64_t lo = std::max(s.place.lo, w.place.lo), hi = std::min(s.place.hi, w.place.hi);
    auto in = [&](const GmWrite& x) { return x.lo < hi && lo < x.hi; };
    for (const GmWrite& x : a.writes) {
        if (!x.known || !in(x)) continue;
        for (const GmWrite& y : b.writes)
            if (in(y) && x.lo < y.hi && y.lo < x.hi && y.known && !x.same_values(y)) return true;
    }
    return false;
}

// Is an earlier store of `other` to what `s` reads over when `s` begins?
bool waited_for(const CoreResult& mine, const GmStep& s, const CoreResult& other, const Stores& stores,
                const GmStep& later) {
    for (const Place& p : stores.places)
        for (const GmStep* w : p) {
            if (w->first > heard_of(mine, s, other, w->pipe)) break;
            if ((w->pipe != later.pipe || w->first < later.number) && common_bytes(s.place, w->place)) return true;
        }
    return false;
}

std::string called(const CoreResult& c) { return c.core == 2 ? "AIC" : "AIV " + std::to_string(c.core); }

}  // namespace

void find_unordered_in_blocks(LaunchResult& result, uint32_t per_block) {
    for (size_t first = 0; first + per_block <= result.cores.size(); first += per_block) {
        const CoreResult* block = &result.cores[first];
        bool followed = std::all_of(block, block + per_block,
                                    [](const CoreResult& c) { return !c.may_poll && !c.ordered_unseen; });
        if (!followed) continue;
        std::vector<Stores> all(block, block + per_block);
        for (const CoreResult* other = block; other < block + per_block; other++) {
            const Stores& stores = all[size_t(other - block)];
            if (stores.places.empty()) continue;
            for (const CoreResult* mine = block; mine < block + per_block; mine++) {
                if (mine == other) continue;
                for (const GmStep& s : mine->steps.steps) {
                    if (s.write && mine->core > other->core) continue;
                    const GmStep* w = unordered(*mine, s, *other, stores);
                    if (!w) continue;
                    // two vector cores that run the same lines store the same
                    bool vectors = mine->core != 2 && other->core != 2;
                    if (vectors && s.write && !differ(*mine, *other, s, *w)) continue;
                    if (vectors && !s.write && stored_before(s, all[size_t(mine - block)])) continue;
                    // A read that has waited for an earlier store to these bytes: it is the later one that has to wait.
                    bool again = !s.write && waited_for(*mine, s, *other, stores, *w);
                    const GmStep &late = again ? *w : s, &early = again ? s : *w;
                    Findings one;
                    one.clear(mine->block);
                    one.add("gm-order", true, {late.place.file, late.place.line},
                            Numbers()
                                .add("core", called(again ? *other : *mine))
                                .add("other", called(again ? *mine : *other))
                                .add("verb", late.write ? "write" : "read")
                                .add("other_verb", early.write ? "write" : "read")
                                .add("bytes", common_bytes(s.place, w->place))
                                .add("other_line", early.place.line));
                    add_across(result, one.list().front());
                }
            }
        }
    }
}

void add_across(LaunchResult& result, const Finding& f) {
    auto known = std::find_if(result.across.begin(), result.across.end(),
                              [&](const Finding& o) { return o.code == f.code && same_place(o, f); });
    if (known == result.across.end()) result.across.push_back(f);
    else known->count += f.count;
}

}  // namespace twin
