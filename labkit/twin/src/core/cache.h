// The data cache between the scalar unit and GM, as far as the checks need it: which bytes were stored and not written
// back, and what a line held when it was read. The values themselves are written through, because a line may be evicted
// at any time and stale values would prove nothing; only an adversarial schedule keeps them in the lines.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "twin/base/abi.h"

namespace twin {

class DataCache {
public:
    static constexpr uint64_t kLine = 64, kLines = 512;  // 32 KB (NPU architecture 2201, hardware constraints)
    struct Line {
        uint64_t at = 0;                                          // address; 0: nothing is held
        uint64_t dirty = 0;                                       // a bit for each byte
        uint32_t phase = 0;                                       // of the first store since the line was clean
        bool ordered = false, published = false, copied = false;  // copied: `bytes` were read from GM
        Here here{nullptr, 0};                                    // the last store
        uint8_t bytes[kLine];
    };
    struct Store {  // bytes of one line that were dirty from one phase to another
        uint64_t at, bytes;
        uint32_t phase, end;
        bool ordered;
        Here here;
    };
    bool keeps = false;                   // values stay in the lines until they are written back
    std::vector<Store> history;           // what has been written back
    uint32_t dirty = 0, unpublished = 0;  // lines
    std::vector<uint64_t> retracted;      // lines that other cores were told of and that have been written back

    void clear(bool keeps_) {
        keeps = keeps_;
        for (Line& l : lines_) l.at = l.dirty = 0;
        history.clear();
        retracted.clear();
        dirty = unpublished = 0;
    }
    bool empty() const { return !dirty; }
    static uint64_t mask(uint64_t line, uint64_t lo, uint64_t hi) {
        uint64_t from = std::max(line, lo) - line, to = std::min(line + kLine, hi) - line;
        return (to == 64 ? ~0ull : (1ull << to) - 1) & ~((1ull << from) - 1);
    }
    // The line that holds this address, for a load or a store; another one may have to leave for it.
    Line& fetch(uint64_t at, uint32_t phase) {
        if (lines_.empty()) lines_.resize(kLines);
        uint64_t line = at / kLine * kLine;
        Line& l = lines_[line / kLine % kLines];
        if (l.at == line) return l;
        if (l.at) leave(l, phase);
        l.at = line;
        l.dirty = 0;
        l.published = l.copied = false;
        return l;
    }
    Line* held(uint64_t at) {
        uint64_t line = at / kLine * kLine;
        if (lines_.empty()) return nullptr;
        Line& l = lines_[line / kLine % kLines];
        return l.at == line ? &l : nullptr;
    }
    void wrote(uint64_t lo, uint64_t hi, uint32_t phase, bool ordered, Here here) {
        for (uint64_t at = lo / kLine * kLine; at < hi; at += kLine) {
            Line& l = fetch(at, phase);
            if (!l.dirty) {
                dirty++;
                unpublished++;
                l.published = false;
                l.phase = phase;
                l.ordered = ordered;
            }
            l.dirty |= mask(at, lo, hi);
            l.here = here;
        }
    }
    // f(line, bytes of it that are dirty and lie in [lo, hi))
    template <typename F> void each_dirty(uint64_t lo, uint64_t hi, F f) {
        if (!dirty) return;
        auto look = [&](Line& l) {
            if (l.at && l.dirty && l.at < hi && lo < l.at + kLine)
                if (uint64_t bytes = l.dirty & mask(l.at, lo, hi)) f(l, bytes);
        };
        if (hi - lo >= kLine * kLines) {
            for (Line& l : lines_) look(l);
            return;
        }
        for (uint64_t at = lo / kLine * kLine; at < hi; at += kLine)
            if (Line* l = held(at)) look(*l);
    }
    // Writes back and forgets. A single line is cleaned from the address to the line's end, as documented.
    void clean_line(uint64_t at, uint32_t phase) {
        Line* l = held(at);
        if (!l) return;
        uint64_t kept = l->dirty & mask(l->at, l->at, at);
        leave(*l, phase, mask(l->at, at, l->at + kLine));
        if (!kept) return;
        l->at = at / kLine * kLine;
        l->dirty = kept;
        dirty++;
        l->published = false;
        unpublished++;
    }
    void clean_all(uint32_t phase) {
        for (Line& l : lines_)
            if (l.at) leave(l, phase);
    }
    template <typename F> void each(F f) {
        for (Line& l : lines_)
            if (l.at) f(l);
    }
    static void copy(uint8_t* to, const uint8_t* from, uint64_t bytes) {
        for (uint64_t i = 0; bytes; i++, bytes >>= 1)
            if (bytes & 1) to[i] = from[i];
    }

private:
    void leave(Line& l, uint32_t phase, uint64_t part = ~0ull) {
        if (l.dirty) {
            if (history.size() < kMost) history.push_back({l.at, l.dirty & part, l.phase, phase, l.ordered, l.here});
            dirty--;
            if (!l.published) unpublished--;
            else retracted.push_back(l.at);
            // hardware writes back whole lines
            if (keeps && l.copied) std::memcpy(reinterpret_cast<uint8_t*>(l.at), l.bytes, kLine);
        }
        l.at = l.dirty = 0;
    }
    static constexpr size_t kMost = 1 << 16;
    std::vector<Line> lines_;
};

}  // namespace twin
