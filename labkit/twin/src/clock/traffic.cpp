#include "clock/traffic.h"

#include <algorithm>

#include "base/chip.h"

namespace twin {

Traffic::Block& Traffic::block(uint64_t number) {
    uint64_t page = number / kPage;
    auto& near = near_[page % std::size(near_)];
    if (near.first != page + 1) {
        auto& p = pages_[page];
        if (!p) p.reset(new Block[kPage]);
        near = {page + 1, p.get()};
    }
    return near.second[number % kPage];
}

bool Traffic::held(const Sector& s) const { return s.stamp && taken_ - s.stamp < chip.l2.sectors; }

// Puts more sectors into the L2. The oldest are evicted, and written back to HBM if they are dirty.
void Traffic::take_in(uint64_t sectors) {
    taken_ += uint32_t(sectors);
    while (!written_.empty() && taken_ - written_.front().stamp >= chip.l2.sectors) {
        Written w = written_.front();
        written_.pop_front();
        auto give_back = [&](Sector& s, uint64_t count) {
            if (s.stamp != w.stamp || !s.dirty) return;  // it was accessed again since, or is clean
            s.dirty = false;
            back_ += double(count * kSector);
        };
        if (!w.block->each) give_back(w.block->all, kBlock);
        else if (w.sector < kBlock) give_back(w.block->each[w.sector], 1);
        else std::for_each_n(w.block->each.get(), kBlock, [&](Sector& s) { give_back(s, 1); });
    }
}

// From here on each sector of the block is known by itself.
void Traffic::split(Block& b) {
    if (b.each) return;
    b.each.reset(new Sector[kBlock]);
    std::fill_n(b.each.get(), kBlock, b.all);
}

// `bytes` of one sector, or of a whole block (sector: kBlock).
void Traffic::access_sectors(Sum& t, Block& b, uint32_t sector, uint64_t bytes) {
    uint64_t count = sector == kBlock ? kBlock : 1;
    Sector& s = sector == kBlock ? b.all : b.each[sector];
    const Move& m = *t.m;
    bool here = held(s);
    if (!here) t.missed += bytes;
    if (!here && (m.bypass || !m.out))
        t.hbm += !m.bypass ? double(count * kSector) : double(bytes) * (bytes < kSector ? chip.l2.split : 1);
    if (t.start - double(s.last) > chip.l2.same_window) s.readers = 0;
    if (!m.out) {
        s.readers |= t.me;
        if (s.readers != t.me && m.rows > 1) t.crowd = std::max(t.crowd, double(__builtin_popcountll(s.readers)));
    }
    if (!m.bypass && !here) take_in(count);
    if (!m.bypass || here) {
        s.stamp = taken_;
        if (m.out) {
            s.dirty = true;
            written_.push_back({s.stamp, sector, &b});
        }
    }
    s.last = float(t.start);
}

// The L2 reads, changes and writes a line of an atomic store as one step: stores to the same line do so one after the
// other, whichever cores they come from, in the order in which they were asked for. Returns how long this one waits.
double Traffic::wait_for_atomics(const Move& m, double start) {
    if (!m.atomic || !m.at || !m.row || chip.l2.atomic <= 0) return 0;
    const uint64_t line = chip.l2.atomic_line;
    double wait = 0;
    for (uint32_t r = 0; r < m.rows; r++) {
        uint64_t lo = m.at + r * m.stride;
        for (uint64_t n = lo / line; n * line < lo + m.row; n++) {
            double& free = atomic_free_[n];
            wait = std::max(wait, free - start);
            free = std::max(free, start) + chip.l2.atomic;
        }
    }
    return wait;
}

Served Traffic::serve(const Move& m, double start, uint32_t core) {
    const auto& d = chip.dma[int(m.route)];
    uint64_t bytes = uint64_t(m.row) * m.rows, miss = 0;
    const uint64_t piece = chip.l2.piece;
    uint64_t pieces = 0, fewest = uint64_t((m.row + piece - 1) / piece) * m.rows;
    double rows = 0;
    Sum sum{&m, start, 1ull << (core / 4 + core % 2 * 32) % 64};
    for (uint32_t r = 0; m.at && m.row && r < m.rows; r++) {
        uint64_t lo = m.at + r * m.stride, hi = lo + m.row;
        pieces += (hi - 1) / piece - lo / piece + 1;
        sum.missed = 0;
        for (uint64_t n = lo / kSector; n * kSector < hi;) {
            Block& b = block(n / kBlock);
            uint64_t end = (n / kBlock + 1) * kBlock;
            if (!b.each && lo <= (end - kBlock) * kSector && hi >= end * kSector) {
                access_sectors(sum, b, kBlock, kBlock * kSector);
                n = end;
                continue;
            }
            split(b);
            for (; n < end && n * kSector < hi; n++)
                access_sectors(sum, b, uint32_t(n % kBlock),
                               std::min(hi, (n + 1) * kSector) - std::max(lo, n * kSector));
        }
        rows += sum.missed ? d.row_missed * (m.bypass ? chip.l2.split_row : 1) : d.row;
        if (!m.out) miss += sum.missed;
    }
    double hbm = sum.hbm, crowd = sum.crowd;
    crowd_ = std::max(crowd, crowd_ * 0.999);
    if (crowd > 1 && m.rows > 1) rows = std::max(rows, m.rows * chip.l2.same_cost * crowd_);
    uint64_t hit = bytes - miss;
    double own = double(miss) / d.slow + double(hit) / d.hit + (m.rows > 1 ? rows : 0.0),
           burst = double(miss) / d.fast + double(hit) / std::max(d.fast, d.hit),
           latency = miss ? d.latency : d.latency_hit, load = double(bytes);
    // HBM carries the misses and the write-backs.
    hbm += back_ * chip.l2.give_back;
    back_ = 0;
    // Pieces travel as a whole, so what a row leaves of its first and last one is lost. Of rows that are shorter than a
    // piece, which cost their core by the row anyhow, only those that lie across two.
    double useful = m.row < piece ? double(fewest * piece) : double(bytes);
    if (double(pieces * piece) > useful && m.at) {
        double more = double(pieces * piece) / useful;
        own *= more, burst *= more, hbm *= more, load *= more;
    }
    double queue = start, begin = start + wait_for_atomics(m, start);
    if (hbm > 0) queue = hbm_free_ = std::max(hbm_free_, start) + hbm / chip.hbm_rate;
    if (m.out) queue = std::max(queue, write_free_ = std::max(write_free_, start) + load / chip.l2.write);
    queue = std::max(queue, l2_free_ = std::max(l2_free_, start) + load / chip.l2.rate);
    // While bytes are missed, up to `window` of them, few of the next transfer's can be asked for.
    double held_up = (latency + burst) * (d.window > 0 ? std::min(1.0, double(miss) / d.window) : 1);
    return {std::max({begin + std::max(own, burst), begin + held_up, queue}),
            std::max({begin + latency + burst, begin + own, queue}), hit, miss};
}

// ---- between two launches

void Traffic::begin_with(const std::vector<Held>& content) {
    for (const Held& h : content)
        for (uint64_t n = h.lo / kSector, end = (h.lo + h.bytes) / kSector; n < end;) {
            Block& b = block(n / kBlock);
            const bool whole = !b.each && n % kBlock == 0 && n + kBlock <= end;
            if (!whole) split(b);
            Sector& s = whole ? b.all : b.each[n % kBlock];
            const uint32_t count = whole ? kBlock : 1;
            taken_ += count;
            s.stamp = taken_;
            s.dirty = h.dirty;
            if (h.dirty) written_.push_back({taken_, whole ? kBlock : uint32_t(n % kBlock), &b});
            n += count;
        }
}

std::vector<Held> Traffic::content() const {
    constexpr uint32_t kAges = 16;  // the order of eviction is kept that finely
    std::vector<const decltype(pages_)::value_type*> pages;
    for (auto& page : pages_) pages.push_back(&page);
    std::sort(pages.begin(), pages.end(), [](auto* a, auto* b) { return a->first < b->first; });
    std::vector<Held> of_age[kAges];  // each by address, what adjoins as one
    for (auto* page : pages)
        for (uint64_t i = 0; i < kPage; i++) {
            const Block& b = page->second[i];
            for (uint32_t s = 0; s < (b.each ? kBlock : 1); s++) {
                const Sector& one = b.each ? b.each[s] : b.all;
                if (!held(one)) continue;
                uint32_t age = std::min(kAges - 1, uint32_t(uint64_t(taken_ - one.stamp) * kAges / chip.l2.sectors));
                uint64_t lo = ((page->first * kPage + i) * kBlock + s) * kSector;
                uint64_t bytes = (b.each ? 1 : kBlock) * kSector;
                std::vector<Held>& same = of_age[age];
                if (!same.empty() && same.back().lo + same.back().bytes == lo && same.back().dirty == one.dirty)
                    same.back().bytes += bytes;
                else same.push_back({lo, bytes, one.dirty});
            }
        }
    std::vector<Held> all;
    for (uint32_t age = kAges; age-- > 0;) all.insert(all.end(), of_age[age].begin(), of_age[age].end());
    return all;
}

}  // namespace twin
