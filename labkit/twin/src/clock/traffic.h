// The bandwidth of GM: HBM with the L2 in front of it, shared by all cores of the launch.
//
// Each of the two bandwidths is a queue: a transfer is served after all that were requested earlier. For every sector
// of 512 bytes the model keeps when it was last accessed, measured in sectors that the L2 has loaded since the launch
// began; the oldest are evicted first.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/trace.h"

namespace twin {

struct Served {
    double service;  // when the pipe may begin its next transfer
    double end;      // when the bytes are there
    uint64_t hit, miss;
};

// What the L2 holds between two launches: a range of GM; dirty: it is yet to be written to HBM.
struct Held {
    uint64_t lo, bytes;
    bool dirty;
};

class Traffic {
public:
    void begin_with(const std::vector<Held>&);  // what earlier launches left, the oldest first
    std::vector<Held> content() const;          // the same for the next one
    Served serve(const Move&, double start, uint32_t core);

private:
    static constexpr uint64_t kSector = 512, kBlock = 8, kPage = 256;  // bytes; sectors of a block; blocks of a page
    struct Sector {
        uint32_t stamp = 0;    // value of taken_ at the last access; 0: never accessed
        float last = 0;        // time of the last access
        uint64_t readers = 0;  // bit mask of the cores that read it just now
        bool dirty = false;
    };
    // As long as all sectors of a block are accessed together they share one record (all); the first partial access
    // splits them for good (each).
    struct Block {
        Sector all;
        std::unique_ptr<Sector[]> each;
    };
    struct Written {
        uint32_t stamp, sector;  // kBlock: all sectors of the block as one
        Block* block;
    };
    // One transfer: the sums over its parts.
    struct Sum {
        const Move* m;
        double start;
        uint64_t me, missed = 0;
        double hbm = 0, crowd = 0;
    };
    Block& block(uint64_t number);
    void split(Block& b);
    void access_sectors(Sum&, Block&, uint32_t sector, uint64_t bytes);
    void take_in(uint64_t sectors);
    bool held(const Sector& s) const;
    double wait_for_atomics(const Move&, double start);

    double hbm_free_ = 0, l2_free_ = 0, write_free_ = 0;
    double crowd_ = 0;             // running mean of how many cores read the same bytes at the same time
    uint32_t taken_ = 1;           // sectors loaded since the launch began
    double back_ = 0;              // bytes being written back from the L2 to HBM
    std::deque<Written> written_;  // oldest first
    std::unordered_map<uint64_t, std::unique_ptr<Block[]>> pages_;
    std::unordered_map<uint64_t, double> atomic_free_;  // line that atomic stores change: when the last one is done
    std::pair<uint64_t, Block*> near_[8];               // cache of recently used pages: 1 + number, blocks
};

}  // namespace twin
