#include "clock.h"

#include <algorithm>
#include <limits>

#include "arena.h"

namespace labdev {
namespace {
constexpr size_t kRecords = 1 << 17;  // 13 MB: more than a page of trace shows, less than a training run would fill
constexpr unsigned kStreamPool = 32;  // streams a device hands out before it starts again with the first, as PyTorch's
thread_local int tls_device = 0;
thread_local std::vector<int> tls_streams;
}  // namespace

VirtualClock& virtual_clock() {
    // never destroyed: the last tensors may be freed after static destructors
    static VirtualClock* one = new VirtualClock();
    return *one;
}

RankOfProcess& rank_of_process() {
    static RankOfProcess one;
    return one;
}

int current_device() { return tls_device; }
void set_current_device(int device) { tls_device = device; }

int current_stream(int device) { return size_t(device) < tls_streams.size() ? tls_streams[size_t(device)] : 0; }

void set_current_stream(int device, int stream) {
    if (tls_streams.size() <= size_t(device)) tls_streams.resize(size_t(device) + 1, 0);
    tls_streams[size_t(device)] = stream;
}

void VirtualClock::configure(int devices) {
    std::lock_guard<std::mutex> lock(mutex_);
    devices_.resize(size_t(devices));
}

uint32_t VirtualClock::intern(const std::string& name) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto [it, fresh] = ids_.emplace(name, uint32_t(names_.size()));
    if (fresh) names_.push_back(name);
    return it->second;
}

std::string VirtualClock::name(uint32_t id) const {
    std::lock_guard<std::mutex> lock(mutex_);
    return id < names_.size() ? names_[id] : std::string();
}

VirtualClock::Stream& VirtualClock::stream(int device, int id) {
    auto& streams = devices_[size_t(device)].streams;
    if (size_t(id) >= streams.size()) streams.resize(size_t(id) + 1);  // a handle that was made from plain numbers
    return streams[size_t(id)];
}

double VirtualClock::ready(int device, int id, Engine engine, uint32_t name, double* host) {
    std::lock_guard<std::mutex> lock(mutex_);
    *host = host_cost(name);
    return std::max({host_ + *host, stream(device, id).busy, devices_[size_t(device)].engines[int(engine)]});
}

int VirtualClock::group_stream(int device, const void* group) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto& groups = devices_[size_t(device)].groups;
    // behind the streams that a program can ask for
    return groups.emplace(group, int(kStreamPool + 1 + groups.size())).first->second;
}

void VirtualClock::hold(int device, int id, double time, const uint32_t* name) {
    std::lock_guard<std::mutex> lock(mutex_);
    Stream& s = stream(device, id);
    s.busy = std::max(s.busy, time);
    if (name) ++s.issued, s.last = *name;
}

void VirtualClock::fly(int device, const void* begin, size_t bytes, double time) {
    std::lock_guard<std::mutex> lock(mutex_);
    devices_[size_t(device)].flights.push_back({uintptr_t(begin), uintptr_t(begin) + bytes, time});
    ++flying_;
}

void VirtualClock::wait_for_flights(int device, int id, const void* begin, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t first = uintptr_t(begin), end = bytes == SIZE_MAX ? UINTPTR_MAX : first + bytes;
    Stream& s = stream(device, id);
    auto& flights = devices_[size_t(device)].flights;
    for (size_t i = 0; i < flights.size();) {
        const Flight f = flights[i];
        if (f.begin < end && first < f.end) s.busy = std::max(s.busy, f.time);
        if (f.time > host_) {
            ++i;
            continue;
        }
        flights[i] = flights.back();  // over for every stream: what the host issues from now on begins later
        flights.pop_back();
        --flying_;
    }
}

double VirtualClock::launch(int device, int id, const Work& work, bool queued, double not_before) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const bool shared = card_.taken() && device == 0;
    host_ += work.host > 0 ? work.host : host_cost(work.name);
    Stream& s = stream(device, id);
    if (queued) ++s.issued, s.last = work.name;
    double* engines = shared ? card_->engines : devices_[size_t(device)].engines;
    const bool both = work.engine == Engine::Cores;
    if (shared) card_.await_turn(std::max(host_, s.busy));
    double& first = engines[int(both ? Engine::Vector : work.engine)];
    double& second = both ? engines[int(Engine::Cube)] : first;
    const double reached = std::max({host_, s.busy, first, second}), start = std::max(reached, not_before);
    double ns = work.ns;
    if (noise_.on()) {
        const double noisy = noise_.device_ns(ns);
        if (work.engine != Engine::Link) ns = noisy;  // its ranks have agreed on how long it takes
        const double last = std::max(engines[int(Engine::Vector)], engines[int(Engine::Cube)]);
        if (work.engine < Engine::CopyIn)  // a chip of which one kind of core works does not rest
            ns = noise_.heated(shared ? card_->heat : devices_[size_t(device)].heat, start - last, ns);
    }
    s.busy = first = second = start + ns;
    tell_card();
    const Record record{work.name,  int16_t(device), int16_t(id), uint32_t(work.engine), 0, host_, start, s.busy,
                        work.bytes, work.flops,      work.parts};
    if (ring_.size() < kRecords) ring_.push_back(record);
    else ring_[launches_ % kRecords] = record;
    ++launches_;
    lock.unlock();
    if (Observer* o = observer_) o->launched(record, work, begin, reached, queued);
    return record.end;
}

void VirtualClock::spend(double ns) {
    std::lock_guard<std::mutex> lock(mutex_);
    host_ += ns;
    tell_card();
}

void VirtualClock::spend_api() { spend(rates_.host_api); }

void VirtualClock::wait(double time, int device, int id) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double end = host_ = std::max(host_, time);
    tell_card();
    Stream& s = stream(device, id);
    s.drained = s.issued;
    lock.unlock();
    watch().note(Watched::SyncStream, stream_number(device, id));
    tell(Api::SynchronizeStream, begin, end, end, device, id);
}

double VirtualClock::host() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return host_;
}

double VirtualClock::busy_until(int device) const {
    std::lock_guard<std::mutex> lock(mutex_);
    double last = 0;
    for (const Stream& s : devices_[size_t(device)].streams) last = std::max(last, s.busy);
    return last;
}

void VirtualClock::clear_l2() {
    std::lock_guard<std::mutex> lock(mutex_);
    for (Device& device : devices_) device.l2.clear();
}

void VirtualClock::cold_l2(bool cold) {
    std::lock_guard<std::mutex> lock(mutex_);
    cold_ = cold;
}

// ---- streams and events

int VirtualClock::new_stream(int device) {
    std::lock_guard<std::mutex> lock(mutex_);
    Device& d = devices_[size_t(device)];
    const unsigned slot = d.next_stream++ % kStreamPool + 1;
    if (slot >= d.streams.size()) d.streams.emplace_back();
    watch().note(Watched::NewStream, stream_number(device, int(slot)));
    return int(slot);
}

void VirtualClock::synchronize(int device) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    double last = 0;
    for (Stream& s : devices_[size_t(device)].streams) {
        last = std::max(last, s.busy);
        s.drained = s.issued;
    }
    const double end = host_ = std::max(host_ + rates_.host_api, last);
    tell_card();
    lock.unlock();
    watch().note(Watched::SyncDevice, uint64_t(device));
    tell(Api::SynchronizeDevice, begin, end, last, device, -1);
}

void VirtualClock::synchronize(int device, int id) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    Stream& s = stream(device, id);
    const double busy = s.busy, end = host_ = std::max(host_ + rates_.host_api, busy);
    tell_card();
    s.drained = s.issued;
    lock.unlock();
    watch().note(Watched::SyncStream, stream_number(device, id));
    tell(Api::SynchronizeStream, begin, end, busy, device, id);
}

bool VirtualClock::idle(int device, int id) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double end = host_ += rates_.host_api;  // a loop that polls advances the clock, so it ends
    Stream& s = stream(device, id);
    const bool done = s.busy <= end;
    if (done) s.drained = s.issued;  // what the device has done has left the host's queue
    tell_card();  // the others at it wait for what this process could still issue at the time that it last told
    lock.unlock();
    tell(Api::QueryStream, begin, end, 0, device, id);
    return done;
}

void VirtualClock::record(Event& event, int device, int id) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double end = host_ += rates_.host_api;
    Stream& s = stream(device, id);
    const double time = s.busy = std::max(s.busy, end);  // on an idle stream it occurs when the host records it
    event = {time, true, device, id, s.issued, epoch_};
    tell_card();
    lock.unlock();
    watch().note(Watched::Record, &event, stream_number(device, id));
    tell(Api::RecordEvent, begin, end, 0, device, id);
    if (Observer* o = observer_) o->ordered(false, device, id, end, time);
}

void VirtualClock::block(const Event& event, int device, int id) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double end = host_ += rates_.host_api;
    double& busy = stream(device, id).busy;
    const double time = busy = std::max(busy, time_of(event));
    tell_card();
    lock.unlock();
    watch().note(Watched::Wait, &event, stream_number(device, id));
    tell(Api::WaitEvent, begin, end, 0, device, id);
    if (Observer* o = observer_) o->ordered(true, device, id, end, time);
}

Event VirtualClock::now(int device, int id) {
    std::lock_guard<std::mutex> lock(mutex_);
    return {stream(device, id).busy, true, device, id, 0, epoch_};
}

bool VirtualClock::query(const Event& event) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double end = host_ += rates_.host_api;
    const bool done = time_of(event) <= end;
    if (done) left_queue(event);
    tell_card();
    const int device = event.device, id = event.stream;
    lock.unlock();
    tell(Api::QueryEvent, begin, end, 0, device, id);
    return done;
}

void VirtualClock::synchronize(const Event& event) {
    std::unique_lock<std::mutex> lock(mutex_);
    const double begin = host_;
    const double time = time_of(event), end = host_ = std::max(host_ + rates_.host_api, time);
    tell_card();
    left_queue(event);
    const int device = event.device, id = event.stream;
    lock.unlock();
    watch().note(Watched::SyncEvent, &event);
    tell(Api::SynchronizeEvent, begin, end, time, device, id);
}

bool VirtualClock::is_old(const Event& event) const { return event.recorded && event.epoch != epoch_; }

// ---- the host queue

void VirtualClock::drain(int device, int id) {
    std::lock_guard<std::mutex> lock(mutex_);
    Stream& s = stream(device, id);
    s.drained = s.issued;
}

uint32_t VirtualClock::waiting(int device, int id) {
    std::lock_guard<std::mutex> lock(mutex_);
    const Stream& s = stream(device, id);
    return s.issued - s.drained;
}

uint32_t VirtualClock::last_queued(int device, int id) {
    std::lock_guard<std::mutex> lock(mutex_);
    return stream(device, id).last;
}

// ---- noise

void VirtualClock::start_noise(uint64_t seed, const NoiseLevels& levels) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (Device& device : devices_) device.heat = 0;
    noise_.start(seed, levels);
}

void VirtualClock::stop_noise() {
    std::lock_guard<std::mutex> lock(mutex_);
    noise_.stop();
}

// ---- a card of several processes

void VirtualClock::tell_card() {
    if (!card_.taken()) return;
    double least = std::numeric_limits<double>::infinity();
    for (const Stream& s : devices_[0].streams) least = std::min(least, s.busy);
    card_.publish(std::max(host_, least));
}

bool VirtualClock::sit_down(const char* file, int seat, int seats) {
    std::lock_guard<std::mutex> lock(mutex_);
    return card_.take(file, seat, seats);
}

bool VirtualClock::leave_card() {
    std::lock_guard<std::mutex> lock(mutex_);
    return card_.leave();
}

// ---- timeline

bool VirtualClock::reset() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (card_.taken()) return false;
    ++epoch_;
    host_ = 0;
    for (Device& device : devices_) {
        for (Stream& s : device.streams) s.busy = 0;
        device.flights.clear();
        device.heat = 0;
        std::fill(std::begin(device.engines), std::end(device.engines), 0.0);
    }
    flying_ = 0;
    ring_.clear();
    launches_ = 0;
    return true;
}

size_t VirtualClock::kept() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return ring_.size();
}

std::vector<Record> VirtualClock::newest(size_t many) const {
    std::lock_guard<std::mutex> lock(mutex_);
    std::vector<Record> found;
    const uint64_t count = std::min(many, ring_.size());
    found.reserve(count);
    for (uint64_t number = launches_ - count; number < launches_; ++number) found.push_back(ring_[number % kRecords]);
    return found;
}

uint64_t VirtualClock::launches() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return launches_;
}

}  // namespace labdev
