// A launch: the blocks of one kernel over the host's cores, and what came of it.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "machine.h"

namespace twin {

struct Launch {
    std::string kernel;
    uint32_t blocks = 1;
    std::vector<GmRange> ranges;
    size_t keep_events = 8192;  // for the timeline, all blocks together
    bool checks = true;
    Kind kind = Kind::AIV;
    Schedule schedule = Schedule::Program;
};

struct LaunchResult {
    std::vector<BlockResult> blocks;
    std::vector<Finding> across;  // findings that belong to no single block
    double seconds = 0;           // modelled
    bool finished = true;
};

LaunchResult run(const Launch&, const std::function<void()>& body, int threads);

// Calls this in place of exit when a kernel calls it. It must not return.
void when_leaving(void (*)(void* caller));

// For a watchdog: what each playing core did last. Safe to read while they run.
struct Playing {
    Core* core;
    unsigned long thread;
};
std::vector<Playing> playing();

}  // namespace twin
