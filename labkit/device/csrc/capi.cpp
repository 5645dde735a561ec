// The C ABI of the device: what Python reaches through ctypes, and what kernels' launchers may link against.
#include <algorithm>
#include <cstring>

#include "arena.h"
#include "clock.h"
#include "operators.h"

using labdev::arena;
using labdev::virtual_clock;

namespace {

std::string& last_error() {
    static std::string text;
    return text;
}

bool valid(int device) { return device >= 0 && device < virtual_clock().devices(); }

// A stream's handle, as guard.h makes it; null is the current device's stream 0. valid: else it is nobody's.
int device_of(const void* stream) { return stream ? int(uintptr_t(stream) >> 32) : labdev::current_device(); }
int stream_of(const void* stream) {
    return int(std::clamp<int64_t>(int64_t(uintptr_t(stream) & 0xFFFFFFFF) - 1, 0, int64_t(INT16_MAX) + 1));
}
bool valid(const void* stream) { return valid(device_of(stream)) && stream_of(stream) <= INT16_MAX; }

// A length of time: what is none (negative, infinite, not a number) would stay in the clock until it is reset.
double length(double ns) { return ns > 0 && ns < 1e18 ? ns : 0; }

struct RateName {
    const char* name;
    double labdev::Rates::* rate;
};
constexpr RateName kRates[] = {
    {"host_dispatch", &labdev::Rates::host_dispatch},
    {"host_api", &labdev::Rates::host_api},
    {"launch", &labdev::Rates::launch},
    {"copy_latency", &labdev::Rates::copy_latency},
    {"link", &labdev::Rates::link},
    {"peer", &labdev::Rates::peer},
    {"peer_latency", &labdev::Rates::peer_latency},
    {"clock", &labdev::Rates::clock},
    {"aic", &labdev::Rates::aic},
    {"aiv", &labdev::Rates::aiv},
    {"hbm", &labdev::Rates::hbm},
    {"l2_read", &labdev::Rates::l2_read},
    {"l2_write", &labdev::Rates::l2_write},
    {"core", &labdev::Rates::core},
    {"l2", &labdev::Rates::l2},
    {"back", &labdev::Rates::back},
    {"turn", &labdev::Rates::turn},
    {"spread", &labdev::Rates::spread},
    {"ragged", &labdev::Rates::ragged},
    {"exposed", &labdev::Rates::exposed},
    {"cube_load", &labdev::Rates::cube_load},
    {"int64_repeat", &labdev::Rates::int64_repeat},
    {"strided", &labdev::Rates::strided},
    {"strided_row", &labdev::Rates::strided_row},
};
struct CostName {
    const char* name;
    double labdev::ClassCosts::* cost;
};
constexpr CostName kCosts[] = {
    {"fixed", &labdev::ClassCosts::fixed},
    {"block", &labdev::ClassCosts::block},
    {"repeat", &labdev::ClassCosts::repeat},
    {"row", &labdev::ClassCosts::row},
};

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

// ---- setting up

// Maps the arena for `devices` devices. 0, or 1 with the reason in lab_error().
int lab_open(size_t bytes, int devices) {
    virtual_clock().configure(devices);
    return arena().open(bytes, devices, last_error()) ? 0 : 1;
}
const char* lab_error() { return last_error().c_str(); }
void lab_set_capacity(size_t chip_bytes, size_t host_bytes) { arena().set_capacity(chip_bytes, host_bytes); }
// One number of the cost model, see Rates in clock.h. 0, or 1 for a name that it does not have.
int lab_set_param(const char* name, double value) {
    for (const RateName& r : kRates)
        if (!std::strcmp(r.name, name)) {
            virtual_clock().rates().*r.rate = value;
            return 0;
        }
    const char* dot = std::strchr(name, '.');  // "softmax.row": of a class of operators
    for (int i = 0; dot && i < int(labdev::OpClass::Count); ++i)
        for (const CostName& c : kCosts)
            if (!std::strncmp(name, labdev::kClassNames[i], size_t(dot - name)) &&
                !labdev::kClassNames[i][dot - name] && !std::strcmp(dot + 1, c.name)) {
                virtual_clock().rates().classes[i].*c.cost = value;
                return 0;
            }
    return 1;
}

// What an operator would be charged for, from shapes alone: nothing is launched. The state of the L2 before it: 0
// empty, 1 its arguments have just been used, 2 others of its kind have run before it on other memory. traffic: bytes
// missed, held, written and pushed out; taken as given where the first is not negative (a fit asks often).
struct LabOperand {
    int64_t sizes[8], strides[8];
    int32_t dims, item, floating, reads, writes, same;  // same: the operand whose memory this is; -1: its own
};
double lab_operator_ns(const char* name, const LabOperand* operands, int count, const int64_t* along, int dims,
                       int64_t groups, int causal, int state, double* traffic, const char** kind) {
    labdev::Call call;
    call.kind = labdev::class_of(name);
    call.causal = causal != 0;
    call.groups = groups;
    call.along.assign(along, along + dims);
    uint64_t end = 0;
    for (int i = 0; i < count; ++i) {
        const LabOperand& from = operands[i];
        labdev::Operand o;
        std::vector<int64_t> sizes(from.sizes, from.sizes + from.dims), strides(from.strides, from.strides + from.dims);
        o.shape(sizes, strides);
        o.item = from.item;
        o.floating = from.floating != 0;
        o.reads = from.reads != 0;
        o.writes = from.writes != 0;
        o.bytes = double(o.numel) * o.item;
        for (int d = 0; d < o.dims; ++d)
            if (o.strides[d] == 0 && o.sizes[d]) o.bytes /= double(o.sizes[d]);
        o.at = from.same >= 0 ? call.operands[size_t(from.same)].at : end;
        if (from.same < 0) end += (uint64_t(o.bytes) + labdev::L2::kChunk) & ~(labdev::L2::kChunk - 1);
        call.operands.push_back(o);
    }
    labdev::settle(name, call);
    const labdev::Rates& rates = virtual_clock().rates();
    if (traffic[0] < 0) {
        labdev::L2 l2;
        l2.resize(rates.l2);
        labdev::Traffic before;
        if (state == 1)
            for (const labdev::Operand& o : call.operands)
                if (o.reads) l2.read(o.at, o.bytes, before);
        for (double filled = 0; state == 2 && filled < 2 * rates.l2 && end; filled += double(end)) {
            labdev::Call other = call;
            for (labdev::Operand& o : other.operands) o.at += (uint64_t(1) << 50) + uint64_t(filled);
            labdev::pass(l2, other);
        }
        const labdev::Traffic t = labdev::pass(l2, call);
        const double found[] = {t.missed, t.held, t.written, t.back};
        std::copy(found, found + 4, traffic);
    }
    if (kind) *kind = labdev::kClassNames[int(labdev::CostModel(rates).kind(call))];
    return labdev::CostModel(rates).ns(call, {traffic[0], traffic[1], traffic[2], traffic[3]});
}

// ---- memory

int lab_arena_fd() { return arena().fd(); }
void* lab_arena_base() { return arena().base(); }
size_t lab_arena_size() { return arena().size(); }
// The allocation that holds p. 1 and its start, its length as asked for, and whether anything was ever stored in it;
// 0 when p is not in device memory.
int lab_block(const void* p, void** base, size_t* bytes, int* written) {
    labdev::BlockInfo info;
    if (!arena().find(p, info)) return 0;
    *base = info.base;
    *bytes = info.bytes;
    *written = info.written;
    return 1;
}
int lab_device_of(const void* p) {  // -1: not in device memory
    labdev::BlockInfo info;
    return arena().find(p, info) ? info.device : -1;
}
void lab_mark_written(const void* p) { arena().mark_written(p); }
// Statistics in the order of MemoryStats; returns how many there are.
int lab_memory(int device, uint64_t* out, int room) {
    if (!valid(device)) return 0;
    const labdev::MemoryStats s = arena().stats(device);
    const int n = int(sizeof s / sizeof(uint64_t));
    std::memcpy(out, &s, sizeof(uint64_t) * size_t(std::min(n, room)));
    return n;
}
// The numbers of PoolCounts: 9 times 3 times 4.
int lab_pool_counts(int device, int64_t* out) {
    if (!valid(device)) return 0;
    const labdev::PoolCounts counts = arena().counts(device);
    std::memcpy(out, counts.counts, sizeof counts.counts);
    return 1;
}
void lab_reset_accumulated(int device) {
    if (valid(device)) arena().reset_accumulated(device);
}
// Copies up to `room` of the allocator's blocks; returns how many it has, or copied.
long lab_blocks(int device, labdev::BlockState* out, long room) {
    if (!valid(device)) return 0;
    const auto all = arena().blocks(device);
    if (!out) return long(all.size());
    const long n = std::min(room, long(all.size()));
    std::copy_n(all.begin(), n, out);
    return n;
}
size_t lab_capacity() { return arena().capacity(); }
void lab_set_memory_fraction(int device, double fraction) {
    if (valid(device)) arena().set_fraction(device, fraction);
}
void lab_reset_peak(int device) {
    if (valid(device)) arena().reset_peak(device);
}
void lab_empty_cache() { arena().empty_cache(); }
// What a sanitizer is told: from now on, or no longer; the oldest of it, see watch.h.
void lab_watch(int on) { labdev::watch().begin(on != 0); }
long lab_watched(labdev::Watched* out, long room) {
    return long(labdev::watch().take(out, size_t(std::max(0l, room))));
}
void lab_erase_stream(const void* p, const void* stream) {
    if (valid(stream)) arena().erase_stream(p, stream_of(stream));
}
int lab_forked() { return arena().forked(); }

// ---- devices and streams

int lab_device_count() { return virtual_clock().devices(); }
int lab_get_device() { return labdev::current_device(); }
int lab_set_device(int device) {
    if (!valid(device)) return 1;
    labdev::set_current_device(device);
    return 0;
}
int lab_current_stream(int device) { return labdev::current_stream(device); }
void lab_synchronize(int device) {
    if (valid(device)) virtual_clock().synchronize(device);
}
double lab_event_time(const void* event) {  // ns; negative when it was not recorded
    const auto* e = static_cast<const labdev::Event*>(event);
    return e && e->recorded ? e->time : -1;
}
int lab_event_is_old(const void* event) {  // recorded before the clock was put back to zero
    return event && virtual_clock().is_old(*static_cast<const labdev::Event*>(event));
}
void lab_event_synchronize(const void* event) {
    if (event) virtual_clock().synchronize(*static_cast<const labdev::Event*>(event));
}

// This process' rank in the default process group; size 0 if there is none any more.
void lab_set_rank(int rank, int size) { labdev::rank_of_process() = {rank, size}; }

// Work.wait(): the current stream waits for the collectives on these bytes; null: for all that are under way.
void lab_land(int device, const void* begin, uint64_t bytes) {
    if (!valid(device)) return;
    if (begin) virtual_clock().land(device, labdev::current_stream(device), begin, size_t(bytes));
    else virtual_clock().land_all(device, labdev::current_stream(device));
}

// ---- clock and timeline

// Charges a kernel that runs outside ATen: the host for the launch, the current stream for device_ns.
void lab_launch(const char* name, double device_ns, double bytes, double flops) {
    const int device = labdev::current_device();
    virtual_clock().launch(device, labdev::current_stream(device),
                           {virtual_clock().intern(name), labdev::Engine::Cores, length(device_ns), bytes, flops});
}
// Charges one kernel that does the work of several operators, on the current stream: `busy` ns of computing on `cores`
// cores, while its arguments and results pass the L2. A product's way in from the L2 is in its `busy`.
struct LabSpan {
    const void* at;
    double bytes;
    int32_t reads, writes;
};
double lab_launch_fused(const char* name, const LabSpan* spans, int count, const double* parts, int engine,
                        double flops, double* traffic) {
    const int device = labdev::current_device();
    labdev::Call call;
    double bytes = 0;
    for (int i = 0; i < count; ++i) {
        labdev::Operand o;
        o.at = uint64_t(static_cast<const char*>(spans[i].at) - static_cast<const char*>(arena().base()));
        o.bytes = spans[i].bytes;
        o.reads = spans[i].reads != 0;
        o.writes = spans[i].writes != 0;
        bytes += o.bytes * (int(o.reads) + int(o.writes));
        call.operands.push_back(o);
    }
    const labdev::Rates& rates = virtual_clock().rates();
    const labdev::CostModel model(rates);
    const labdev::Traffic t = virtual_clock().with_l2(device, [&](labdev::L2& l2) { return labdev::pass(l2, call); });
    const double cores = parts[3] > 0 ? parts[3] : 1;  // it divides
    labdev::Parts p{parts[0], parts[1], 0, parts[2], cores};
    const bool cube = engine != int(labdev::Engine::Vector);
    p.moved = cube ? model.moving({t.missed, 0, 0, t.back}, 1e9) : model.moving(t, p.cores);
    const double hidden = std::min(p.busy, p.moved) * (cube ? rates.exposed : 0);
    const double ns = length(p.fixed + p.begin + std::max(p.busy, p.moved) + hidden);
    const double found[] = {t.missed, t.held, t.written, t.back};
    std::copy(found, found + 4, traffic);
    virtual_clock().launch(
        device, labdev::current_stream(device),
        {virtual_clock().intern(name), labdev::Engine(engine), ns, bytes, flops, nullptr, nullptr, int(p.cores), p});
    return ns;
}
// The same on a stream given by its handle (see guard.h), through the host queue or bypassing it.
void lab_launch_on(const void* stream, const char* name, double device_ns, double bytes, int queued) {
    if (!valid(stream)) return;
    virtual_clock().launch(device_of(stream), stream_of(stream),
                           {virtual_clock().intern(name), labdev::Engine::Cores, length(device_ns), bytes, 0},
                           queued != 0);
}
// ---- launches from an operator's C++ side (twin/include/torch_npu)

void* lab_stream_handle(int device, long long stream) {
    return reinterpret_cast<void*>((uintptr_t(device) << 32) | uintptr_t(stream + 1));
}
// The Python callback that runs the kernel; it returns null, or an error text that stays valid until the next call.
using Launcher = const char* (*)(int adapter, const char* kernel, uint32_t blocks, const void* stream, int queued,
                                 const char* file, int line, int count, const void* const* values,
                                 const uint32_t* sizes);
static Launcher launcher = nullptr;
void lab_set_launcher(Launcher function) { launcher = function; }
const char* lab_kernel_launch(int adapter, const char* kernel, uint32_t blocks, const void* stream, int queued,
                              const char* file, int line, int count, const void* const* values, const uint32_t* sizes) {
    if (!launcher) return "labkit.register() has not loaded this adapter";
    return launcher(adapter, kernel, blocks, stream, queued, file, line, count, values, sizes);
}
// How many operators wait in the host queue in front of a stream; the newest one's name is lab_record_name(*last).
uint32_t lab_waiting(const void* stream, uint32_t* last) {
    *last = 0;
    if (!valid(stream)) return 0;
    *last = virtual_clock().last_queued(device_of(stream), stream_of(stream));
    return virtual_clock().waiting(device_of(stream), stream_of(stream));
}
void lab_drain(const void* stream) {
    if (valid(stream)) virtual_clock().drain(device_of(stream), stream_of(stream));
}
// Noise on every time from now on; levels in the order of NoiseLevels, null switches it off.
void lab_noise(uint64_t seed, const double* levels) {
    if (!levels) return virtual_clock().stop_noise();
    virtual_clock().start_noise(seed, {levels[0], levels[1], levels[2], levels[3], levels[4], levels[5]});
}
double lab_host_ns() { return virtual_clock().host(); }
double lab_busy_until_ns(int device) { return valid(device) ? virtual_clock().busy_until(device) : 0; }
void lab_host_work(double ns) { virtual_clock().spend(length(ns)); }
// The L2: forget what it holds; find it empty at every operator from now on (a benchmark's choice); note that a kernel
// launched by other means has passed over these bytes; how many of them it holds.
void lab_clear_l2() { virtual_clock().clear_l2(); }
void lab_cold_l2(int on) { virtual_clock().cold_l2(on != 0); }
void lab_touch_l2(const void* p, size_t bytes, int writes) {
    const int device = lab_device_of(p);
    if (!valid(device)) return;
    virtual_clock().with_l2(device, [&](labdev::L2& l2) {
        labdev::Traffic t;
        const uint64_t at = uint64_t(static_cast<const char*>(p) - static_cast<const char*>(arena().base()));
        writes ? l2.write(at, double(bytes), t) : l2.read(at, double(bytes), t);
    });
}
double lab_held_l2(const void* p, size_t bytes) {
    const int device = lab_device_of(p);
    if (!valid(device)) return 0;
    return virtual_clock().with_l2(device, [&](labdev::L2& l2) {
        return l2.held(uint64_t(static_cast<const char*>(p) - static_cast<const char*>(arena().base())), double(bytes));
    });
}
// Device 0 becomes a card that several processes use: 1 when it could; see card.h. Bytes of the file, all zero.
int lab_sit_down(const char* file, int seat, int seats) { return virtual_clock().sit_down(file, seat, seats); }
int lab_leave_card() { return virtual_clock().leave_card(); }
size_t lab_card_bytes() { return sizeof(labdev::CardMemory<int(labdev::Engine::Count)>); }
int lab_reset_clock() {  // 0: not while it sits at a card
    if (!virtual_clock().reset()) return 0;
    arena().forget_waiting();
    return 1;
}
uint64_t lab_launches() { return virtual_clock().launches(); }
// Copies the newest `room` records, oldest first; returns how many that were. Without a place to copy to: how many
// there are.
long lab_records(labdev::Record* out, long room) {
    if (!out) return long(virtual_clock().kept());
    const auto records = virtual_clock().newest(size_t(std::max(0l, room)));
    std::copy(records.begin(), records.end(), out);
    return long(records.size());
}
// The name of a record. Valid until the next call on this thread.
const char* lab_record_name(uint32_t id) {
    static thread_local std::string name;
    name = virtual_clock().name(id);
    return name.c_str();
}

}  // extern "C"
#pragma GCC visibility pop
