// One card that several processes use at once. Each has a virtual clock of its own; what they share is when the card's
// engines are free, in memory that all of them map.
//
// The model: an engine does one kernel at a time, whichever process it came from, in the order in which they became
// ready: issued by their host, and the kernel before them on their stream done. So before a kernel takes its engine,
// its process waits (in real time) until no other can have one that is ready earlier: each publishes when its next
// kernel will be ready, or from when on it could be, and the earliest goes first, the lower seat where two are equal.
// Runs are the same on every machine, where a process has made its streams before it sits down. Not modelled: what a
// card needs to change from one process to another, and that they take the L2 from each other.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <thread>

namespace labdev {

constexpr int kSeats = 64;

template <int kEngines> struct CardMemory {  // all zero at the begin
    std::atomic<double> ready[kSeats];       // ns; a process that has left is at infinity
    double engines[kEngines];
    double heat;
};

template <int kEngines> class Seat {
public:
    // A forked child has the seat's memory, but the seat is its parent's.
    bool taken() const { return memory_ && owner_ == getpid(); }
    CardMemory<kEngines>* operator->() const { return memory_; }

    // False where the file cannot be mapped.
    bool take(const char* file, int seat, int seats) {
        if (taken() || seat < 0 || seat >= seats || seats > kSeats) return false;
        const int fd = open(file, O_RDWR | O_CLOEXEC);
        if (fd < 0) return false;
        void* at = MAP_FAILED;
        if (lseek(fd, 0, SEEK_END) >= off_t(sizeof(CardMemory<kEngines>)))
            at = mmap(nullptr, sizeof(CardMemory<kEngines>), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        close(fd);
        if (at == MAP_FAILED) return false;
        memory_ = static_cast<CardMemory<kEngines>*>(at), seat_ = seat, seats_ = seats, alone_ = false;
        owner_ = getpid();
        return true;
    }
    // Whether all others were heard of until the end.
    bool leave() {
        if (!taken()) return true;
        publish(std::numeric_limits<double>::infinity());
        munmap(memory_, sizeof *memory_);
        memory_ = nullptr;
        return !alone_;
    }
    void publish(double ready) {
        if (taken()) memory_->ready[seat_].store(ready, std::memory_order_release);
    }
    // Returns when no other process can have a kernel ready before `ready`. Where one of them stands still for long, it
    // is given up: leave() says so.
    void await_turn(double ready) {
        publish(ready);
        for (int other = 0; other < seats_ && !alone_; ++other) {
            if (other == seat_) continue;
            auto now = [&] { return memory_->ready[other].load(std::memory_order_acquire); };
            double seen = now();
            auto since = std::chrono::steady_clock::now();
            for (int turns = 0; seen < ready || (seen == ready && other < seat_); ++turns) {
                if (turns < 100) std::this_thread::yield();
                else std::this_thread::sleep_for(std::chrono::microseconds(20));
                if (const double next = now(); next != seen)
                    seen = next, turns = 0, since = std::chrono::steady_clock::now();
                else if (std::chrono::steady_clock::now() - since > std::chrono::seconds(60)) {
                    alone_ = true;
                    break;
                }
            }
        }
    }

private:
    CardMemory<kEngines>* memory_ = nullptr;
    int seat_ = 0, seats_ = 0;
    pid_t owner_ = 0;
    bool alone_ = false;
};

}  // namespace labdev
