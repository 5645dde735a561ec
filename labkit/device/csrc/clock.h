// The virtual clock: when the host issues work, and when the device does it.
//
// Time here is computed, never measured: the host's clock advances by a fixed cost per call, each stream is busy until
// a time that the cost model says, and waiting moves the host's clock forward. So launch-bound chains, bubbles and
// overlap show as they do on hardware, and every run of a program gives the same numbers on every machine.
// All times are nanoseconds since the clock's zero; rates are per nanosecond (bytes/ns is GB/s).
#pragma once
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "noise.h"

namespace labdev {

// The cost model's constants of the chip and its host. Filled from the chip's table by lab_set_param().
struct Rates {
    double host_dispatch = 0;  // ns the host spends on issuing one operator or launch
    double host_api = 0;       // ns for a call that issues no kernel: record an event, make a view
    double launch = 0;         // ns a kernel takes however small it is
    double copy_latency = 0;   // ns before a copy over the link moves its first byte
    double hbm = 1;            // bytes/ns a kernel gets from device memory
    double link = 1;           // bytes/ns between host and device, each direction
    double vector = 1;         // bytes/ns that all vector cores together put through
    double cube_half = 1;      // flop/ns of all cube cores, fp16 and bf16
    double cube_float = 1;     // flop/ns, fp32
    double peer = 1;           // bytes/ns between two devices, each direction
    double peer_latency = 0;   // ns of a collective without bytes
};

// The parts of a device that work in parallel. Each executes one kernel at a time: two matrix products on two streams
// do not run at twice the chip's rate.
enum class Engine : uint8_t {
    Vector,
    Cube,
    Cores,
    CopyIn,
    CopyOut,
    Link,
    Count
};  // Cores: vector and cube together; Link: to other devices

struct Work {
    uint32_t name;  // from VirtualClock::intern()
    Engine engine;
    double ns;
    double bytes = 0, flops = 0;
};

struct Record {  // one piece of device work; also read by Python, see library.py
    uint32_t name;
    int16_t device, stream;
    uint32_t engine, reserved;
    double host, start, end;  // host: when the host had issued it
    double bytes, flops;
};

struct Event {
    double time = 0;
    bool recorded = false;
    int device = 0, stream = 0;
    uint32_t issued = 0;  // operators in front of it on the stream
};

class VirtualClock {
public:
    void configure(int devices);
    int devices() const { return int(devices_.size()); }
    Rates& rates() { return rates_; }

    uint32_t intern(const std::string& name);
    std::string name(uint32_t id) const;

    // The host issues `work` to a stream and continues; returns when the device will have finished it. queued: through
    // torch_npu's host queue, as operators of PyTorch are; a kernel's own launch is not.
    // not_before: the other side's data is available from then on.
    double launch(int device, int stream, const Work& work, bool queued = true, double not_before = 0);
    // The earliest begin of work that the host issues now.
    double ready(int device, int stream, Engine engine);
    // The host queue in front of a stream. On hardware a launch on a raw stream overtakes the operators that wait
    // there.
    void drain(int device, int stream);
    uint32_t waiting(int device, int stream);        // operators issued since it was drained
    uint32_t last_queued(int device, int stream);    // the newest one's name
    void spend(double ns);                           // the host is busy
    void spend_api();                                // the host is busy for one API call
    void wait(double time, int device, int stream);  // the host blocks until `time`, when work of the stream is done
    double host() const;
    double busy_until(int device) const;

    int new_stream(int device);
    void synchronize(int device);
    void synchronize(int device, int stream);
    bool idle(int device, int stream);
    void record(Event& event, int device, int stream);
    void block(const Event& event, int device, int stream);  // the stream waits for the event
    Event now(int device, int stream);                       // when the stream will be idle, at no cost
    bool query(const Event& event);
    void synchronize(const Event& event);

    void start_noise(uint64_t seed, const NoiseLevels& levels);
    void stop_noise();
    void reset();                         // time zero, timeline empty; streams stay
    std::vector<Record> records() const;  // oldest first
    uint64_t launches() const;            // since reset(), more than records() keeps

private:
    struct Stream {
        double busy = 0;  // time until which it is busy
        // operators that entered the host's queue and left it; the newest one's name
        uint32_t issued = 0, drained = 0, last = 0;
    };
    struct Device {
        std::vector<Stream> streams = std::vector<Stream>(1);  // 0 is the default stream
        double engines[int(Engine::Count)] = {};
        unsigned next_stream = 0;
        double heat = 0;
    };
    Stream& stream(int device, int id);

    mutable std::mutex mutex_;
    Rates rates_;
    double host_ = 0;
    Noise noise_;
    std::vector<Device> devices_ = std::vector<Device>(1);
    std::vector<Record> ring_;
    uint64_t launches_ = 0;
    std::vector<std::string> names_;
    std::unordered_map<std::string, uint32_t> ids_;
};

VirtualClock& virtual_clock();  // the one of this process

// The device and, per device, the stream that this thread issues to.
int current_device();
void set_current_device(int device);
int current_stream(int device);
void set_current_stream(int device, int stream);

}  // namespace labdev
