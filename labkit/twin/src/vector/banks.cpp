#include "vector/banks.h"

#include <algorithm>

namespace twin {

namespace {

constexpr uint32_t kGroups = 16, kBlocks = 8;

struct Blocks {  // the 32-byte blocks that one repeat accesses
    uint32_t at[kBlocks];
    Blocks(const Strided& s, uint64_t repeat) {
        for (uint32_t b = 0; b < kBlocks; b++) at[b] = s.addr / 32 + uint32_t(repeat) * s.rep + b * s.blk;
    }
};

uint32_t bank(uint32_t block) { return (block >> 11 & 3) * kGroups + block % kGroups; }

// How many different blocks the busiest group must serve.
class Load {
public:
    void add(uint32_t block) {
        uint32_t g = block % kGroups;
        for (uint32_t i = 0; i < count_[g]; i++)
            if (held_[g][i] == block) return;  // read once for all operands
        if (count_[g] < 4 * kBlocks) held_[g][count_[g]++] = block;
        most_ = std::max(most_, count_[g]);
    }
    uint32_t most() const { return most_; }

private:
    uint32_t held_[kGroups][4 * kBlocks], count_[kGroups] = {}, most_ = 0;
};

double slowly(const Strided& dst, std::initializer_list<Strided> sources, uint64_t repeats) {
    uint64_t some = std::min<uint64_t>(repeats, kGroups);  // the pattern of groups comes again after 16 repeats
    double extra = 0;
    for (uint64_t i = 0; i < some; i++) {
        Load reads, writes;
        uint64_t read = 0;
        for (const Strided& s : sources)
            for (uint32_t b : Blocks(s, i).at) {
                reads.add(b);
                read |= 1ull << bank(b);
            }
        for (uint32_t b : Blocks(dst, i).at) writes.add(b);
        uint32_t most = std::max({1u, reads.most(), writes.most()});
        double slower = (most - 1) * chip.conflict;
        uint64_t written = 0;
        if (i > 0)
            for (uint32_t b : Blocks(dst, i - 1).at) written |= 1ull << bank(b);
        extra += std::max(slower, read & written ? chip.conflict_write : 0);
    }
    return extra / double(some);
}

}  // namespace

double bank_cycles(const Strided& dst, std::initializer_list<Strided> sources, uint64_t repeats) {
    if (!repeats) return 0;
    // The usual case, contiguous blocks: two such reads conflict unless their bank groups are 256 bytes apart; a read
    // conflicts with the previous repeat's write unless both begin in the same group, or in other banks.
    bool plain = dst.blk == 1 && dst.rep == 8 && dst.addr % 32 == 0;
    for (const Strided& s : sources) plain = plain && s.blk == 1 && s.rep == 8 && s.addr % 32 == 0;
    if (!plain) return slowly(dst, sources, repeats);
    // the bank changes on the way: the middle of the operand decides
    uint32_t first = 0, half = uint32_t(repeats) * 128;
    bool any = false, twice = false, meets = false;
    for (const Strided& s : sources) {
        uint32_t group = s.addr / 32 % kGroups;
        twice = twice || (any && (group - first) % kGroups != kBlocks && s.addr / 32 != sources.begin()->addr / 32);
        meets = meets || (group != dst.addr / 32 % kGroups && (s.addr + half) >> 16 == (dst.addr + half) >> 16);
        if (!any) first = group;
        any = true;
    }
    double write = meets ? chip.conflict_write * double(repeats - 1) / double(repeats) : 0;
    return std::max(twice ? chip.conflict : 0, write);
}

}  // namespace twin
