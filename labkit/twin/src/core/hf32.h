// How the cube rounds fp32 operands when the kernel has asked for HF32: they lose their lowest 12 bits.
#pragma once
#include <stdint.h>

namespace twin {

enum class Hf32 : uint8_t { Off, Even, Zero };  // Even: to nearest, ties to even; Zero: towards zero

}  // namespace twin
