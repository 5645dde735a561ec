// Preparation of a Matmul call: which core computes, whether everything is set and plausible, where the operands lie.
#pragma once
#include "matmul/matmul.h"

namespace twin {

// The cores of one call. For an object of mixed kernels the caller is an AIV and the cube the AIC of its block.
struct MatmulCores {
    Core* caller = nullptr;
    Core* cube = nullptr;
    bool twice = false;  // the second AIV of a pair that shares A and B: the first one has the work done
    explicit operator bool() const { return cube != nullptr; }
};
MatmulCores cores_of(const MatmulState&, Here);  // empty: this core does not take part

// Checks that the object is initialised and that its tiling is possible. Reports and returns false otherwise.
bool vetted(const MatmulState&, const MatmulCores&, const char* call, Here);

// One matrix of a call: `step` elements behind the one that was set (batches), rows `given` elements apart (0: as
// the object's shapes say).
struct Placed {
    View view;
    bool in_gm = false;
    Gm gm;
    Loc loc;
    int64_t bytes = 0, row = 0, apart = 0, rows = 0;  // in GM: rows of so many bytes; 0 where that is not known
};
bool place_a(MatmulState&, const MatmulCores&, int64_t step, int64_t given, std::vector<uint8_t>& spare, Placed&, Here);
bool place_b(MatmulState&, const MatmulCores&, int64_t step, int64_t given, std::vector<uint8_t>& spare, Placed&, Here);
bool place_bias(MatmulState&, const MatmulCores&, int64_t step, Product&, Here);
bool place_scales(MatmulState&, const MatmulCores&, Product&, Here);

}  // namespace twin
