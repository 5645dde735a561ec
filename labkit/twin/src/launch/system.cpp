// Registers of the core, workspace, the trap.
#include "twin/launch/system.h"

#include <sys/mman.h>

#include "core/machine.h"

namespace twin {

void init_soc_state() {
    core->registers.atomic = AtomicMode();
    core->vec.full();
}

void trap(Here here) { core->stop("trap", here, Numbers()); }

__attribute__((noinline)) int64_t program_counter() { return int64_t(__builtin_return_address(0)) & 0xffffffffffffll; }

// The twin keeps inf and NaN, and saturates integers; other settings are stored but not modelled.
void set_control(int bit, int64_t value, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_issue);
    int64_t mask = 1ll << bit;
    core->registers.control = value ? core->registers.control | mask : core->registers.control & ~mask;
    if (bool(value) != (bit == 48))
        core->report("saturation", false, here, Numbers().add("bit", bit).add("value", (long long)(value != 0)));
}
int64_t get_control(int bit) { return core->registers.control >> bit & 1; }

static constexpr uint64_t kReserved = 16 << 20;

void set_workspace(uint8_t* p, bool force) {
    if (force || !core->registers.workspace) core->registers.workspace = p;
}

uint8_t* system_workspace() {
    if (core->registers.workspace) return core->registers.workspace;
    static uint8_t* own = static_cast<uint8_t*>(
        mmap(nullptr, kReserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    return own;  // stands for the workspace that the framework provides
}

// The user part starts after the reserved 16 MB, as on the device. If the caller allocated less than that, the start of
// the allocation is returned, as in CANN's debugging on the CPU.
uint8_t* user_workspace(uint8_t* given) {
    uint8_t* base = core->registers.workspace ? core->registers.workspace : given;
    uint64_t at = uint64_t(base);
    if (core->ranges)
        for (const GmRange& r : *core->ranges)
            if (at >= r.lo && at < r.hi) return at + kReserved < r.hi ? base + kReserved : base;
    return base;
}

}  // namespace twin
