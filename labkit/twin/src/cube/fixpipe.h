// Fixpipe's conversion of numbers that leave L0C.
#pragma once
#include "core/machine.h"
#include "twin/cube/fixpipe.h"

namespace twin {

// One parameter for all columns, or one a column. Bits of a parameter: 0-31 the factor, a float of which the unit keeps
// 10 bits of fraction; 32-35 a right shift less 1, used when bit 36 is set (REQ8, DEQF16); 37-45 an offset; 46 the
// result is signed.
struct Quantities {
    uint64_t scalar = 0;
    const uint64_t* each = nullptr;
    Loc lies{};
    uint64_t at(uint32_t column) const { return each ? each[column] : scalar; }
};

// `count` results into `d` from fp32 or int32 at `s`, columns first, first + 1, ...
void convert_line(const Quantities&, Quant, bool relu, Dt to, Dt from, uint8_t* d, uint8_t* s, uint32_t first,
                  uint32_t count);

}  // namespace twin
