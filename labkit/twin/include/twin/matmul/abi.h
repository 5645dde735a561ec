// The interface between the Matmul templates and the compiled runtime: the kind of an object (fixed at compile time)
// and its state. Everything that can be data is data, so that a kernel with a Matmul compiles quickly.
#pragma once
#include "kernel_tiling/kernel_tiling.h"
#include "twin/base/abi.h"

namespace twin {

struct MatmulSide {  // one of A, B, C, bias
    Dt type = Dt::F16;
    bool nibbles = false;                     // int4b_t
    uint8_t pos = 0, format = 0, layout = 0;  // TPosition, CubeFormat, LayoutMode
    bool trans = false, share = false;        // ISTRANS, IBSHARE
};

// Callbacks of the kernel's own, in terms of the machine's operands.
using MatmulCopyIn = void (*)(const Loc& l1, const void* gm, int row, int col, int height, int width, uint64_t tiling,
                              uint64_t data);
using MatmulCopyOut = void (*)(const void* gm, const Loc& l0c, const void* params, uint64_t tiling, uint64_t data);

struct MatmulKind {
    MatmulSide a, b, c, bias;
    bool client = false;  // called on the AIV, done by the AIC of its block
    bool mdl = false, unit_flag = false, bias_on = true, bias_batch = true, n_batch = false;
    bool channel_split = false, partial = false, both = false, sparse = false;  // both: AIC and AIV run the same code
    int8_t order = -1;    // 0 M first, 1 N first, -1 as in the tiling
    int8_t triangle = 0;  // 1 upper, -1 lower: blocks of C that are left out
    MatmulCopyIn copy_a = nullptr, copy_b = nullptr;
    MatmulCopyOut copy_out = nullptr;
};

struct MatmulOperand {
    enum class In : uint8_t { Nothing, Gm, Local, Value } in = In::Nothing;
    bool trans = false;
    Gm gm;
    Loc loc;
    Value value{0};
};

struct MatmulScratch {  // results between Iterate and GetTensorC; belongs to one object and is not copied
    void* data = nullptr;
    size_t bytes = 0;
    MatmulScratch() = default;
    MatmulScratch(const MatmulScratch&) {}
    MatmulScratch& operator=(const MatmulScratch&) { return *this; }
    ~MatmulScratch();
};

struct MatmulState {
    const MatmulKind* kind = nullptr;
    AscendC::tiling::TCubeTiling tiling;
    bool ready = false;
    int32_t m = 0, n = 0, ka = 0, kb = 0, kc = 0;      // of the whole matrices; kc: row length of C where not n
    int32_t single_m = 0, single_n = 0, single_k = 0;  // of this core's product
    MatmulOperand a, b, bias, quant;
    bool has_bias = false, quant_vector = false, quant_scalar = false;
    uint64_t scale = 0;
    Gm workspace, sparse_index;
    int32_t batch_a = 1, batch_b = 1, batch_out = 1;
    bool hf32 = false, hf32_zero = false;
    uint64_t user_info = 0, self_data = 0;
    bool given = false;  // an operand or this core's shape, for the product to come
    int32_t at = -1;     // which block Iterate stands on; -1 before the first
    bool async = false, waiting = false;
    uint64_t ready_at = 0;  // stamp: when the results of a call are there
    uint64_t fetched = 0;   // elements of the workspace handed out so far
    MatmulScratch scratch;
};

// One call of an Iterate family function.
struct MatmulCall {
    uint8_t atomic = 0;  // 1 add, 2 max, 3 min
    bool sequential = false, sync = true, wait = false, fake = false, partial_sum = false;
    uint32_t batch_a = 1, batch_b = 1, loops = 1;
    uint32_t stride_a = 0, stride_b = 0;  // elements between matrices of a batch; 0: as the layout says
};

// false: this core returns from the kernel here (the AIC of a mixed kernel, which serves the AIVs).
bool matmul_register(const MatmulKind&, Here);
void matmul_init(MatmulState&, const AscendC::tiling::TCubeTiling*, Here);
void matmul_org(MatmulState&, int m, int n, int ka, int kb, int kc, Here);
void matmul_single(MatmulState&, int m, int n, int k);  // negative: unchanged
void matmul_set(MatmulState&, MatmulOperand& side, const MatmulOperand&, Here);
void matmul_set_bias(MatmulState&, const MatmulOperand&, Here);
bool matmul_iterate(MatmulState&, const MatmulCall&, Here);
bool matmul_iterate(MatmulState&, const MatmulCall&, Loc l0c, Here);
void matmul_get(MatmulState&, const MatmulCall&, Gm, Here);
void matmul_get(MatmulState&, const MatmulCall&, Loc, Here);
Gm matmul_get(MatmulState&, const MatmulCall&, Here);
void matmul_all(MatmulState&, const MatmulCall&, Gm, Here);
void matmul_all(MatmulState&, const MatmulCall&, Loc, Here);
void matmul_batch(MatmulState&, const MatmulCall&, Gm, Here);
void matmul_batch(MatmulState&, const MatmulCall&, Loc, Here);
void matmul_n_batch(MatmulState&, const MatmulCall&, Here);
Gm matmul_get_batch(MatmulState&, const MatmulCall&, Here);
void matmul_get_batch(MatmulState&, const MatmulCall&, Loc, Here);
void matmul_wait(MatmulState&, bool fetched, Here);  // for results; fetched: for copies of them into UB
void matmul_end(MatmulState&);

}  // namespace twin
