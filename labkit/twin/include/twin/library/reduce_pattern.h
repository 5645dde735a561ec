// Which axes are reduced (R) and which are not (A), as an enum for hosts and Normalize, and as types for the kernel's
// functions.
#pragma once
#include <stdint.h>

namespace AscendC {

enum class ReducePattern : uint32_t {
    AR = 0,
    RA = 1,
    R,
    ARA,
    ARAR,
    ARARA,
    ARARAR,
    ARARARA,
    ARARARAR,
    ARARARARA,
    RAR,
    RARA,
    RARAR,
    RARARA,
    RARARAR,
    RARARARA
};

namespace Pattern {
namespace Reduce {
struct R {};
struct AR {};
struct RA {};
struct ARA {};
struct ARAR {};
struct ARARA {};
struct ARARAR {};
struct ARARARA {};
struct ARARARAR {};
struct ARARARARA {};
struct RAR {};
struct RARA {};
struct RARAR {};
struct RARARA {};
struct RARARAR {};
struct RARARARA {};
}  // namespace Reduce
}  // namespace Pattern

}  // namespace AscendC
