// Where a thread was when a signal stopped it. Used by the runner and by programs; each decides itself what happens
// then.
#pragma once
#include <signal.h>

#include <cstdint>
#include <string>

namespace twin {

struct Stopped {
    uint64_t address = 0;  // the address that could not be accessed; 0: the fault is of another kind
    uint64_t pc = 0;
    uint64_t stack = 0;              // the stack pointer; 0: unknown
    const uint64_t* link = nullptr;  // where a call to an invalid address stored its return address; null: unknown
};
// Decodes what the host's operating system passes to a signal handler. If the stack walk itself faults on a corrupted
// stack, control returns here.
Stopped stopped_at(int signal, const siginfo_t* info, void* context);
// The location in the learner's own code: of the fault, or of the call that led to it. If none is found: pc.
uint64_t own_place(uint64_t pc, const uint64_t* link, bool (*own)(void* pc));
struct Object {  // the library that holds a pc, empty where none does, and the pc's offset in it
    const char* file = "";
    uint64_t offset = 0;
};
// To be called where the fault is: a thread that stopped inside the loader keeps its lock for ever.
Object object_of(uint64_t pc);
std::string object_json(const Object&);  // as members of a JSON object
// Loads the unwinder beforehand: a signal handler must not load libraries.
void warm_walk();

}  // namespace twin
