// Bank conflicts in UB: the cycles that a repeat takes longer than its arithmetic.
//
// Bits 8:5 of a UB address select a group of banks, bits 17:16 one of three banks in it. In one cycle a group serves
// one 32-byte block to be read and one to be written; a bank that is receiving the previous repeat's results cannot be
// read. (asc-devkit 9.1, 05_best_practices/04_memory_access/bank_conflict_ub and bank_conflict_nd2nz.)
#pragma once
#include <initializer_list>

#include "core/machine.h"

namespace twin {

struct Strided {  // an operand: its first byte; blocks of 32 bytes from block to block and from repeat to repeat
    uint32_t addr;
    uint16_t blk = 1, rep = 8;
};

// The mean over `repeats` repeats of eight blocks each.
double bank_cycles(const Strided& dst, std::initializer_list<Strided> sources, uint64_t repeats);

}  // namespace twin
