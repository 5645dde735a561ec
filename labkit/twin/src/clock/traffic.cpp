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

// Puts more sectors into the L2. The oldest are evicted, and written back to HBM if they are dirty. Part of what the L2
// held before this launch is dirty as well (dirty_before).
void Traffic::take_in(uint64_t sectors) {
    taken_ += uint32_t(sectors);
    if (taken_ < chip.l2.sectors) back_ += chip.l2.dirty_before * double(sectors * kSector);
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

Served Traffic::serve(const Move& m, double start, uint32_t core) {
    const auto& d = chip.dma[int(m.route)];
    uint64_t bytes = uint64_t(m.row) * m.rows, miss = 0;
    uint64_t unit = m.route != Route::ToL1Nz || m.row < kSector ? 128 : kSector;
    bool aligned = m.at % unit == 0 && (m.rows == 1 || m.stride % unit == 0);
    double rows = 0;
    Sum sum{&m, start, 1ull << (core / 4 + core % 2 * 32) % 64};
    for (uint32_t r = 0; m.at && m.row && r < m.rows; r++) {
        uint64_t lo = m.at + r * m.stride, hi = lo + m.row;
        sum.missed = 0;
        for (uint64_t n = lo / kSector; n * kSector < hi;) {
            Block& b = block(n / kBlock);
            uint64_t end = (n / kBlock + 1) * kBlock;
            if (!b.each && lo <= (end - kBlock) * kSector && hi >= end * kSector) {
                access_sectors(sum, b, kBlock, kBlock * kSector);
                n = end;
                continue;
            }
            if (!b.each) {
                b.each.reset(new Sector[kBlock]);
                std::fill_n(b.each.get(), kBlock, b.all);
            }
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
           burst = double(bytes) / d.fast;
    // HBM carries the misses and the write-backs.
    hbm += back_ * chip.l2.give_back;
    back_ = 0;
    if (!aligned) own *= d.unaligned, hbm *= d.unaligned;
    double queue = start;
    if (hbm > 0) queue = hbm_free_ = std::max(hbm_free_, start) + hbm / chip.hbm_rate;
    if (m.out) queue = std::max(queue, write_free_ = std::max(write_free_, start) + double(bytes) / chip.l2.write);
    queue = std::max(queue, l2_free_ = std::max(l2_free_, start) + double(bytes) / chip.l2.rate);
    return {std::max(start + std::max(own, burst), queue), std::max({start + d.latency + burst, start + own, queue}),
            hit, miss};
}

}  // namespace twin
