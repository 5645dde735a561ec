#include "traffic.h"

#include <algorithm>

#include "chip.h"

namespace twin {

Traffic::Sector& Traffic::sector(uint64_t number) {
    uint64_t page = number / kPage;
    if (page != page_) {
        auto& p = pages_[page];
        if (!p) p.reset(new Sector[kPage]);
        page_ = page;
        sectors_ = p.get();
    }
    return sectors_[number % kPage];
}

bool Traffic::held(const Sector& s) const { return s.stamp && taken_ - s.stamp < chip.l2.sectors; }

// One more sector in the L2; the oldest goes, back to HBM if it was written to. What lay there before this launch is
// written to in part (dirty_before).
void Traffic::take_in() {
    taken_++;
    if (taken_ < chip.l2.sectors) back_ += chip.l2.dirty_before * double(kSector);
    while (!written_.empty() && taken_ - written_.front().stamp >= chip.l2.sectors) {
        Written w = written_.front();
        written_.pop_front();
        if (w.sector->stamp != w.stamp || !w.sector->dirty) continue;  // it came by again since
        w.sector->dirty = false;
        back_ += double(kSector);
    }
}

Served Traffic::serve(const Move& m, double start, uint32_t core) {
    const auto& d = chip.dma[int(m.way)];
    uint64_t bytes = uint64_t(m.row) * m.rows, miss = 0;
    uint64_t unit = m.way != Way::ToL1Nz || m.row < kSector ? 128 : kSector;
    bool aligned = m.at % unit == 0 && (m.rows == 1 || m.stride % unit == 0);
    double rows = 0, hbm = 0, crowd = 0, window = chip.l2.same_window;
    uint64_t me = 1ull << (core / 4 + core % 2 * 32) % 64;
    for (uint32_t r = 0; m.at && m.row && r < m.rows; r++) {
        uint64_t lo = m.at + r * m.stride, hi = lo + m.row, missed = 0;
        Sector* at = nullptr;
        for (uint64_t n = lo / kSector, last = (hi - 1) / kSector, first = n; n <= last; n++, at++) {
            if (!at || n % kPage == 0) at = &sector(n);
            Sector& s = *at;
            uint64_t part = n != first && n != last ? kSector : std::min(hi, (n + 1) * kSector) - std::max(lo, n * kSector);
            bool here = held(s);
            if (!here) missed += part;
            if (!here && (m.bypass || !m.out)) hbm += !m.bypass ? double(kSector) : double(part) * (part < kSector ? chip.l2.split : 1);
            if (start - double(s.last) > window) s.who = 0;
            if (!m.out) {
                s.who |= me;
                if (s.who != me && m.rows > 1) crowd = std::max(crowd, double(__builtin_popcountll(s.who)));
            }
            if (!m.bypass && !here) take_in();
            if (!m.bypass || here) {
                s.stamp = taken_;
                if (m.out) {
                    s.dirty = true;
                    written_.push_back({s.stamp, &s});
                }
            }
            s.last = float(start);
        }
        rows += missed ? d.row_missed * (m.bypass ? chip.l2.split_row : 1) : d.row;
        if (!m.out) miss += missed;
    }
    crowd_ = std::max(crowd, crowd_ * 0.999);
    if (crowd > 1 && m.rows > 1) rows = std::max(rows, m.rows * chip.l2.same_cost * crowd_);
    uint64_t hit = bytes - miss;
    double own = double(miss) / d.slow + double(hit) / d.hit + (m.rows > 1 ? rows : 0.0), burst = double(bytes) / d.fast;
    // HBM carries what the L2 has not, and what the L2 must give back.
    hbm += back_ * chip.l2.give_back;
    back_ = 0;
    if (!aligned) own *= d.unaligned, hbm *= d.unaligned;
    double queue = start;
    if (hbm > 0) queue = hbm_free_ = std::max(hbm_free_, start) + hbm / chip.hbm_rate;
    if (m.out) queue = std::max(queue, write_free_ = std::max(write_free_, start) + double(bytes) / chip.l2.write);
    queue = std::max(queue, l2_free_ = std::max(l2_free_, start) + double(bytes) / chip.l2.rate);
    return {std::max(start + std::max(own, burst), queue), std::max({start + d.latency + burst, start + own, queue}), hit, miss};
}

}  // namespace twin
