// What UB's banks cost an instruction: the cycles a repeat takes longer than its arithmetic.
//
// A UB address names a group of banks by its bits 8:5 and one of three banks in it by bits 17:16. In one cycle a group serves
// one block of 32 bytes to be read, and one to be written; and a bank that takes the results of the repeat before cannot be
// read. (asc-devkit 9.1, 05_best_practices/04_memory_access/bank_conflict_ub and bank_conflict_nd2nz.)
#pragma once
#include <initializer_list>

#include "core/machine.h"

namespace twin {

struct Strided {  // an operand: its first byte; blocks of 32 bytes from block to block and from repeat to repeat
    uint32_t addr;
    uint16_t blk = 1, rep = 8;
};

// Of `repeats` repeats of eight blocks each, the mean.
double bank_cycles(const Strided& dst, std::initializer_list<Strided> sources, uint64_t repeats);

}  // namespace twin
