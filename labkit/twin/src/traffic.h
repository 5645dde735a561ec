// What GM can deliver: HBM and the L2 before it, shared by all cores of the launch.
//
// Two queues stand for the two bandwidths: a transfer is served when those asked for earlier have been. The L2 knows for
// every 512 bytes when they last came by, measured in what it has taken in since; it forgets the oldest first.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>

#include "tape.h"

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
    static constexpr uint64_t kSector = 512, kPage = 2048;  // sectors of a page
    struct Sector {
        uint32_t stamp = 0;  // how much the L2 had taken in when these bytes last came by; 0: never
        uint64_t who = 0;      // the cores that read it just now, a bit each
        bool dirty = false;
        float last = 0;
    };
    struct Written {
        uint32_t stamp;
        Sector* sector;
    };
    Sector& sector(uint64_t number);
    void take_in();
    bool held(const Sector& s) const;

    double hbm_free_ = 0, l2_free_ = 0, write_free_ = 0;
    double crowd_ = 0;             // cores that read the same bytes at the same time, of late
    uint32_t taken_ = 1;           // sectors, since the launch began
    double back_ = 0;              // bytes on their way from the L2 back to HBM
    std::deque<Written> written_;  // oldest first
    std::unordered_map<uint64_t, std::unique_ptr<Sector[]>> pages_;
    uint64_t page_ = ~0ull;
    Sector* sectors_ = nullptr;
};

}  // namespace twin
