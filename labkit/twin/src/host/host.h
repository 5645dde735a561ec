// The host side of a program with its own main(): its device memory, its streams, and the report that it writes.
// Everything here belongs to the program's process; the runner, which serves single launches, does not use it.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "launch/launch.h"

namespace twin {

// A result of aclrtMalloc. [lo, hi) is what the program asked for; no other allocation lies within a page of it.
struct Allocation {
    uint64_t lo, hi;
    int number;    // from 1, in the order of the calls
    bool written;  // something was stored in it
    Here here;
    int looked = 0;        // number of launches that found it unchanged since the allocation
    void* busy = nullptr;  // the stream of a kernel that wrote it and that was not synchronised since
};

class DeviceMemory {
public:
    bool start(uint64_t bytes);           // false: the address space could not be reserved
    uint64_t take(uint64_t bytes, Here);  // 0: not enough memory
    bool give_back(uint64_t at);
    void forget_all();
    Allocation* find(uint64_t at);               // the live allocation that holds this address
    const Allocation* freed(uint64_t at) const;  // a freed allocation that held it
    bool holds(uint64_t at) const { return at >= base_ && at < base_ + space_; }
    uint64_t used() const { return used_; }
    uint64_t size() const { return size_; }
    std::vector<GmRange> ranges();            // for a launch; checks whether allocations marked unwritten have changed
    void open();                              // allows access: before a kernel or a copy
    void close();                             // forbids access again: the host's own code must not touch device memory
    void settle();                            // the same, after the host has waited for the device
    void waited(void* stream);                // the host has waited for a stream (null: for all)
    std::map<int, Allocation> known() const;  // by number: the live ones, and the most recently freed ones
    std::map<uint64_t, Allocation> live;      // by lo

private:
    std::vector<Allocation> gone_;
    void shut(int& times);
    uint64_t base_ = 0, space_ = 0, size_ = 0, top_ = 0, used_ = 0;
    int count_ = 0, depth_ = 0, closed_ = 0, settled_ = 0;
    bool is_open_ = false;
    double shut_at_ = 0, shut_cost_ = 0;
};
extern DeviceMemory device_memory;
void out_of_l2(uint64_t lo, uint64_t bytes);  // memory that was just allocated: nobody has touched it yet

// ---- the modelled clock of the host and of each stream, in seconds since aclInit
struct Stream {
    int id = 0;
    double free_at = 0;
    int error = 0;          // of its first failed launch; returned by the next synchronisation
    double fetched_at = 0;  // when its last copy to the host is complete
    Here fetch{};           // the call that requested that copy
};
struct HostClock {
    double now = 0;
    void api();  // adds the cost of a call that only talks to the device
    void launch(Stream&, double seconds);
    void transfer(uint64_t bytes, bool over_link, bool waits, void* stream);
    void unfetched(const Stream&);  // reports a copy to the host that was not waited for
    void wait(const Stream&);
};
extern HostClock host_clock;
Stream* stream_of(void* handle);  // null: no such stream; the default one for a null handle
bool device_is_set();

// ---- findings of the host's own calls, and refusals
void host_finding(const char* code, bool error, Here, const Numbers&);
void host_refuse(int code, const char* call, const std::string& why);  // remembers the message and prints it once
const char* chip_name();

// ---- the program
bool in_program();                            // this process is a program started by `labkit run`
void program_fault(const std::string& json);  // writes the report, including the reason why the program ended

}  // namespace twin
