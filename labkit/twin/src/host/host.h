// The host side of a program with its own main(): its device memory, its streams, and the report that it writes.
// Everything here belongs to the program's process; the runner, which serves single launches, does not use it.
#pragma once
#include <array>
#include <map>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace twin {

constexpr int kDevices = 8;  // of a server; all of them are the one modelled chip

// A result of aclrtMalloc. [lo, hi) is what the program asked for; no other allocation lies within a page of it.
struct Allocation {
    uint64_t lo, hi;
    int number;    // from 1, in the order of the calls
    bool written;  // something was stored in it
    Here here;
    int device = 0;
    int looked = 0;     // number of launches that found it unchanged since the allocation
    int stream = 0;     // the stream whose kernel wrote it last, by its id; below 1: a default one, or none
    uint64_t turn = 0;  // and which piece of that stream's work it was
};

class DeviceMemory {
public:
    bool start(uint64_t bytes);                       // of each device. false: no address space for it
    uint64_t take(uint64_t bytes, int device, Here);  // 0: not enough memory
    bool give_back(uint64_t at);
    void forget_all(int device);
    Allocation* find(uint64_t at);               // the live allocation that holds this address
    const Allocation* freed(uint64_t at) const;  // a freed allocation that held it
    bool holds(uint64_t at) const { return at >= base_ && at < base_ + space_; }
    uint64_t used(int device) const { return used_[size_t(device)]; }
    uint64_t size() const { return size_; }   // of a device
    std::vector<GmRange> ranges();            // for a launch; checks whether allocations marked unwritten have changed
    void open();                              // allows access: before a kernel or a copy
    void close();                             // forbids access again: the host's own code must not touch device memory
    void settle();                            // the same, after the host has waited for the device
    std::map<int, Allocation> known() const;  // by number: the live ones, and the most recently freed ones
    std::map<uint64_t, Allocation> live;      // by lo

private:
    std::vector<Allocation> gone_;
    void shut(int& times);
    uint64_t place_for(uint64_t whole);
    std::array<uint64_t, kDevices> used_{};
    uint64_t base_ = 0, space_ = 0, size_ = 0, top_ = 0;
    int count_ = 0, depth_ = 0, closed_ = 0, settled_ = 0;
    bool is_open_ = false;
    double shut_at_ = 0, shut_cost_ = 0;
};
extern DeviceMemory device_memory;
void out_of_l2(uint64_t lo, uint64_t bytes);  // memory that was just allocated: nobody has touched it yet

// ---- the modelled clock of the host and of each stream, in seconds since aclInit

// How much of each stream's work, by the stream's id, is known to be done: of the host, by what it has waited for; of a
// stream, when it is as far as it has been given work; of an event, when it was recorded.
using Done = std::map<int, uint64_t>;

struct Stream {
    int id = 0;  // from 1; of the devices' default streams 0, -1, -2, ...
    int device = 0;
    double free_at = 0;
    int error = 0;          // of its first failed launch; returned by the next synchronisation
    uint64_t turns = 0;     // launches and copies that it was given
    Done done;              // of the others, by the events that it waits for
    uint64_t fetched = 0;   // which of its turns was its last copy to the host
    double fetched_at = 0;  // when that copy is complete
    Here fetch{};           // the call that requested it
};
struct HostClock {
    double now = 0;
    void api();  // adds the cost of a call that only talks to the device
    void launch(Stream&, double seconds);
    void transfer(uint64_t bytes, bool over_link);           // the host waits for it
    void transfer(uint64_t bytes, bool over_link, Stream&);  // it does not
    void unfetched(Stream&);                                 // reports a copy to the host that was not waited for
    void wait(const Stream&);
};
extern HostClock host_clock;
Stream* stream_of(void* handle);  // null: no such stream; this thread's default one for a null handle
int current_device();             // of this thread; -1: none is set
bool device_is_set();
bool host_knows(int stream, uint64_t turn);  // whether the host has waited for this much of a stream's work

// ---- findings of the host's own calls, and refusals
void host_finding(const char* code, bool error, Here, const Numbers&);
void host_refuse(int code, const char* call, const std::string& why);  // remembers the message and prints it once
// The same of a call that has left a finding, which says more: remembered for aclGetRecentErrMsg and not printed.
int host_failed(int code, const char* call, const char* finding);
const char* chip_name();

// ---- the program
bool in_program();                            // this process is a program started by `labkit run`
void program_fault(const std::string& json);  // writes the report, including the reason why the program ended

}  // namespace twin
