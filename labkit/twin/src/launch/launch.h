// A launch: the blocks of one kernel, run on the host's threads, and their results.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "clock/traffic.h"
#include "core/machine.h"

namespace twin {

// The cores that a block of the launch has.
struct CoreMix {
    uint32_t aic = 0, aiv = 1;
    bool mixed() const { return aic && aiv; }
};

// The same launch with one thing different (whatif.cpp).
struct WhatIf {
    std::string what;
    double amount = 0;    // in: as requested; out: as applied
    double seconds = -1;  // modelled; below 0: not applicable to this launch
};

struct Launch {
    std::string kernel;
    uint32_t blocks = 1;
    CoreMix mix;
    std::vector<GmRange> ranges;
    size_t keep_events = 8192;  // for the timeline, all blocks together
    bool checks = true;
    bool effects = true;  // false: nothing is moved or computed, only the time is modelled; no checks either
    Schedule schedule = Schedule::Program;
    uint32_t seed = 0;              // of an adversarial schedule
    bool in_order = false;          // one host thread, block after block: for sums that depend on the order
    std::vector<WhatIf> what_ifs;   // to be computed as well
    std::function<void()> body[2];  // what a core of each kind runs
    std::vector<Held> l2;           // what earlier launches left in it
    bool keep_l2 = false;           // fills LaunchResult::l2
};

struct LaunchResult {
    std::vector<CoreResult> cores;                          // block by block: the AIVs, then the AIC
    std::vector<Finding> across;                            // findings that belong to no single core
    std::vector<Finding> left;                              // flags between cores that nobody waited for
    std::vector<std::pair<uint64_t, uint64_t>> workspaces;  // in GM, of synchronisation by software
    double seconds = 0;                                     // modelled
    bool extrapolated = false;                              // a trace was full: the time is extrapolated in proportion
    bool finished = true;
    std::vector<std::vector<Stamp>> maxima;  // of the traces, see kMaxOf
    std::vector<WhatIf> what_ifs;
    std::vector<Held> l2;  // what this launch left in it
};

void set_tiling_key(uint64_t);  // of the launches that follow
LaunchResult run(const Launch&, int threads);
bool runs_in_order(const void* code);  // whether the library that holds this code asks for in_order
// Registers a function that is called instead of exit() when a kernel calls exit(). It must not return.
void when_leaving(void (*)(void* caller));
// The same for memory that the twin itself does not get, outside of a kernel; called where that was.
void when_memory_fails(void (*)());
// Ends what a kernel has forked.
void end_children();

// What a process that runs a learner's code gives up, as far as this kernel offers it without root: for the calling
// thread and all that it starts, for good. Files are made, changed and removed below `writes` alone, all files keep
// their owner, mode and times; no network; no signal and no reach into the process that started this one. Returns what
// does not work here, a line each.
std::vector<std::string> confine(const std::vector<std::string>& writes);

// Adds to result.across the reads of GM bytes that another core stores without any order between the two. The stores
// are sorted by lo.
void find_unordered_reads(LaunchResult&, const std::vector<GmWrite>& stores);
// The same of the accesses of a mixed block's cores to the bytes that another of them stores.
void find_unordered_in_blocks(LaunchResult&, uint32_t cores_of_a_block);
// Lines of the data cache that several cores store into.
void find_shared_lines(LaunchResult&, const std::vector<GmWrite>& stores, uint32_t cores_of_a_block);
void add_across(LaunchResult&, const Finding&);

// For a watchdog: a thread that runs a core now; if each only waits for news, one of those; 0 if there is none. Safe to
// call while they run.
unsigned long running_thread();

}  // namespace twin
