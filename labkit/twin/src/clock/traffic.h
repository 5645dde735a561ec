// What GM can deliver: HBM and the L2 before it, shared by all cores of the launch.
//
// Two queues stand for the two bandwidths: a transfer is served when those asked for earlier have been. The L2 knows for
// every 512 bytes when they last came by, measured in what it has taken in since; it forgets the oldest first.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "core/trace.h"

namespace twin {

struct Served {
    double service;  // when the pipe may begin its next transfer
    double end;      // when the bytes are there
    uint64_t hit, miss;
};

class Traffic {
public:
    Served serve(const Move&, double start, uint32_t core);

private:
    static constexpr uint64_t kSector = 512, kBlock = 8, kPage = 256;  // bytes; sectors of a block; blocks of a page
    struct Sector {
        uint32_t stamp = 0;  // how much the L2 had taken in when these bytes last came by; 0: never
        float last = 0;      // when that was
        uint64_t who = 0;    // the cores that read it just now, a bit each
        bool dirty = false;
    };
    // Sectors that have always come by together are one; the first that comes alone takes them apart for good.
    struct Block {
        Sector all;
        std::unique_ptr<Sector[]> each;
    };
    struct Written {
        uint32_t stamp, sector;  // kBlock: all of the block's, as one
        Block* block;
    };
    // One transfer: what its parts add up to.
    struct Sum {
        const Move* m;
        double start;
        uint64_t me, missed = 0;
        double hbm = 0, crowd = 0;
    };
    Block& block(uint64_t number);
    void come_by(Sum&, Block&, uint32_t sector, uint64_t bytes);
    void take_in(uint64_t sectors);
    bool held(const Sector& s) const;

    double hbm_free_ = 0, l2_free_ = 0, write_free_ = 0;
    double crowd_ = 0;             // cores that read the same bytes at the same time, of late
    uint32_t taken_ = 1;           // sectors, since the launch began
    double back_ = 0;              // bytes on their way from the L2 back to HBM
    std::deque<Written> written_;  // oldest first
    std::unordered_map<uint64_t, std::unique_ptr<Block[]>> pages_;
    std::pair<uint64_t, Block*> near_[8];  // pages that came by lately: 1 + number, blocks
};

}  // namespace twin
