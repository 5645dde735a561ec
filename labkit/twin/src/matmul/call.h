// The steps of a Matmul call, for the calls of the Iterate family: operands, order between pipes and cores, time,
// results.
#pragma once
#include <functional>
#include <memory>

#include "matmul/prepare.h"

namespace twin {

// A product of the object's current shapes, its operands placed.
struct Ready {
    Product p;
    Placed a, b;
    std::vector<uint8_t> spare_a, spare_b;
};
struct BatchStep {  // elements from the matrices that were set to those of this product; distance of rows (0: as
                    // shaped)
    int64_t a = 0, b = 0, bias = 0, ld_a = 0, ld_b = 0;
};
std::shared_ptr<Ready> prepare(MatmulState&, const MatmulCores&, const BatchStep&, Here);  // null: refused and reported

// C as a whole, or a block of it packed by itself.
Drain drain_of(const MatmulState&, uint8_t* to, uint8_t atomic, bool packed, int64_t rows, int64_t cols,
               bool last_columns);

void send(const MatmulCores&);  // before an AIV's call
void book_reads(const Ready&, const MatmulCores&, Here);
void book_gm_rows(Core&, const Core::Ticket*, const Drain&, int64_t rows, int64_t cols, Here);
uint8_t atomic_of(const MatmulCores&, uint8_t asked);
Core::Ticket out_ticket(Core& cube, Here);
CubeWork work_of(const MatmulState&, const Ready&);
void pass_time(MatmulState&, const MatmulCores&, const CubeWork&, Here);
void go_on(const MatmulState&, const MatmulCores&);  // the caller has now waited for the results

// Writes bytes into the caller's UB by calling `effect`; ordered: the vector unit waits for them.
void into_ub(const MatmulCores&, Loc, int64_t bytes, bool ordered, Here, std::function<void(uint8_t*)> effect);
void vector_waits(Core&);  // waits for copies into UB
void into_l1(const MatmulCores&, Loc, int64_t bytes, Here, std::function<void(uint8_t*)> effect);  // of the cube core

// One block of C: its place, and its sums in the object's scratch memory.
struct Block {
    int64_t row = 0, col = 0, k = 0;  // indices
    int64_t r0 = 0, c0 = 0, k0 = 0, rows = 0, cols = 0, depth = 0;
};
Block block_at(const MatmulState&, int64_t index);
void compute_block(MatmulState&, const MatmulCores&, const Ready&, const Block&, bool onto, Here);
void store_block(const MatmulState&, const MatmulCores&, const Ready&, const Block&, const MatmulCall&, Gm, Here);
// The same where the kernel's own functions copy A or B into L1, or a block out of L0C.
bool fed_by_kernel(const MatmulState&);
void multiply_fed(MatmulState&, const MatmulCores&, const Ready&, const Block&, void* acc, bool onto, Here);
void store_by_kernel(const MatmulState&, const MatmulCores&, const Block&, const Drain&, Here);

void run_to_gm(MatmulState&, const MatmulCores&, const std::shared_ptr<Ready>&, Gm, const Drain&, Here);
void run_to_local(MatmulState&, const MatmulCores&, const std::shared_ptr<Ready>&, Loc, Drain, Here);

}  // namespace twin
