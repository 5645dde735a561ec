// State that the cube's instructions share: the registers of its pipes, and checks of where a tensor lies.
#pragma once
#include <initializer_list>
#include <vector>

#include "core/hazard.h"
#include "core/registers.h"
#include "core/trace.h"

namespace twin {

constexpr uint32_t kFractal = 512;

// Set by SetFmatrix, SetLoadData*, SetFixPipe*, SetHF32*: they keep their value until the kernel ends.
struct CubeState {
    struct Map {
        uint16_t height = 0, width = 0;
        uint8_t pad[4] = {};
    } left, right;
    uint64_t padding = 0;
    uint32_t boundary = 0;
    uint16_t repeat_stride = 0;
    uint8_t repeat_times = 1, repeat_mode = 0;

    bool hf32 = false, hf32_to_zero = false;
    Hf32 rounding() const { return !hf32 ? Hf32::Off : hf32_to_zero ? Hf32::Zero : Hf32::Even; }
    std::vector<uint8_t> sparse_index;  // LoadDataWithSparse keeps it beside L0B, a quarter of its size

    uint64_t fix_scalar = 0;
    Loc fix_quantities{0, 0, 0, 0, Mem::FB, 16};
    uint16_t fix_nds = 1, fix_nd_src = 0;
    uint32_t fix_nd_dst = 0;

    // Loads of more fractals than the tensor was declared for. Whether that is rounding is known when they are
    // multiplied.
    struct Load {
        Loc to;
        uint64_t bytes;
        Here here;
    };
    std::vector<Load> loads;

    // The newest Mmad: its number on its pipe, and where in L0C it writes how many fractals.
    struct Product {
        uint32_t number = 0, fractals = 0;
        uint64_t lo = 0, hi = 0;
        Here here{nullptr, 0};
    } product;

    // One flag for each 512 bytes of L0C: set by an Mmad with unitFlag 3, cleared by a Fixpipe with unitFlag 3.
    std::vector<bool> unit_flags;
    VectorClock unit_set, unit_cleared;
    Stamp unit_set_at = 0, unit_cleared_at = 0;
};

// Is the operand in a memory that this instruction can access? Reports it if not.
bool placed(Loc, std::initializer_list<Mem>, const char* op, const char* what, Here);

// The destination of a multiplication. A default-constructed tensor has all bits zero, that is, it denotes address 0 of
// L0C; on the device kernels with this mistake work by accident.
Loc results(Loc, Here);

// A tensor in L0 that the kernel placed itself. Kernels declare m x n elements, `least` bytes, and multiply in whole
// fractals, which is more: that is no overrun.
inline Loc in_l0(Loc l, uint64_t need, uint64_t least) {
    if (!l.buf && l.bytes >= least && (l.mem == Mem::L0A || l.mem == Mem::L0B || l.mem == Mem::L0C))
        l.bytes = uint32_t(std::max<uint64_t>(l.bytes, need));
    return l;
}

}  // namespace twin
