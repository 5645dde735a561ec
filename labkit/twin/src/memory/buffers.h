// Buffers of TPipe, pools and queues: shared by pipe.cpp (memory allocation) and queues.cpp (life of a tensor).
#pragma once
#include "core/machine.h"

namespace twin {

constexpr uint64_t round32(uint64_t n) { return (n + 31) / 32 * 32; }
const char* position_name(uint8_t pos);

// Reserves `num` consecutive entries in core->buffers, without memory yet; returns the first index.
uint16_t reserve_buffers(uint32_t num, int owner);
// Assigns memory to a buffer. Buffers of an earlier TPipe at that place end.
void place_buffer(uint16_t index, uint8_t pos, uint32_t addr, uint32_t len, Here);
Loc loc_of(uint16_t index, uint8_t pos);

// Event ids as TPipe hands them out; -1: all eight are in use.
int8_t take_event(Pipe from, Pipe to);
void give_event(Core::Held&);
// Waits for the event that FreeTensor set, on the pipe that fills the buffer.
void wait_idle(Core::Buffer&);

void end_queues(int pipe);  // ends them; first reports what they still hold

}  // namespace twin
