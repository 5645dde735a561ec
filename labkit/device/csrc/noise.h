// Run-to-run variation of measured times, for the lessons on measuring: off unless switched on.
//
// It depends only on the seed and on what was launched, not on the host's libm: the same program with the same seed
// gives the same times on every machine.
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_set>

namespace labdev {

struct NoiseLevels {
    double jitter = 0;      // standard deviation of a kernel's time, as a share of it
    double outliers = 0;    // share of the launches that are delayed by other activity of the machine
    double outlier_ns = 0;  // length of that delay
    double first_ns = 0;    // host time of an operator's first launch: its binary is compiled or loaded
    double hot_ns = 0;      // device time, idle time taken off, after which the chip lowers its clock
    double slower = 1;      // factor by which kernels are then slower
};

class Noise {
public:
    void start(uint64_t seed, const NoiseLevels& levels) {
        *this = Noise(), on_ = true, state_ = seed, levels_ = levels;
    }
    void stop() { on_ = false; }
    bool on() const { return on_; }

    double host_ns(uint32_t name, double ns) {
        if (levels_.first_ns > 0 && seen_.insert(name).second) ns += levels_.first_ns;
        if (uniform() < levels_.outliers) ns += levels_.outlier_ns * (0.5 + uniform());
        return std::max(0.25 * ns, ns * (1 + levels_.jitter * normal()));
    }
    double device_ns(double ns) { return std::max(0.5 * ns, ns * (1 + levels_.jitter * normal())); }
    // Adds a kernel that starts after `idle` ns of idle time to the chip's heat; returns its time at the resulting
    // clock rate.
    double heated(double& heat, double idle, double ns) {
        heat = std::max(0.0, heat - std::max(0.0, idle));
        if (levels_.hot_ns > 0 && heat > levels_.hot_ns) ns *= levels_.slower;
        heat += ns;
        return ns;
    }

private:
    double uniform() {  // splitmix64
        uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return double((z ^ (z >> 31)) >> 11) * 0x1p-53;
    }
    double normal() {  // twelve uniform numbers have a standard deviation of one
        double sum = -6;
        for (int i = 0; i < 12; ++i) sum += uniform();
        return sum;
    }

    bool on_ = false;
    uint64_t state_ = 0;
    NoiseLevels levels_;
    std::unordered_set<uint32_t> seen_;
};

}  // namespace labdev
