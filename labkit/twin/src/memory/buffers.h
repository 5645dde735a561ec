// Buffers of TPipe, pools and queues: what pipe.cpp (who has which memory) and queues.cpp (the life of a tensor) share.
#pragma once
#include "core/machine.h"

namespace twin {

constexpr uint64_t round32(uint64_t n) { return (n + 31) / 32 * 32; }
const char* position_name(uint8_t pos);

// `num` buffers that follow one another in core->buffers, without memory; the first one's number.
uint16_t reserve_buffers(uint32_t num, int owner);
// Gives a buffer its memory. What an earlier pipe left there is no more.
void place_buffer(uint16_t index, uint8_t pos, uint32_t addr, uint32_t len, Here);
Loc loc_of(uint16_t index, uint8_t pos);

// Event ids, as TPipe counts them; -1: all eight are held.
int8_t take_event(Pipe from, Pipe to);
void give_event(Core::Held&);
// The wait for what FreeTensor set, on the pipe that fills the buffer.
void wait_idle(Core::Buffer&);

void end_queues(int pipe);    // they are no more; first says what they still hold

}  // namespace twin
