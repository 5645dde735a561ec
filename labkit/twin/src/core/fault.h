// Where a thread was when a signal stopped it: for the runner and for programs, each of which decides what then happens.
#pragma once
#include <signal.h>

#include <cstdint>

namespace twin {

struct Stopped {
    uint64_t address = 0;            // that could not be reached; 0: that is not what happened
    uint64_t pc = 0;
    const uint64_t* link = nullptr;  // where a call that jumped to no code left its way back; null: not known
};
// What the kernel of the host tells a signal handler. Comes back from a walk over a broken stack, if that is what failed.
Stopped stopped_at(int signal, const siginfo_t* info, void* context);
// The learner's own code: where it is, or where it called whatever failed further in. pc where none is found.
uint64_t own_place(uint64_t pc, const uint64_t* link, bool (*own)(void* pc));
// Loads the unwinder, which a signal handler must not.
void warm_walk();

}  // namespace twin
