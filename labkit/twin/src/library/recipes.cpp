// The cost and the scratch of each call of the advanced API: facts counted in CANN 9.1's implementation for dav-2201
// (impl/adv_api/detail and impl/adv_api/tiling of asc-devkit).
#include <cstdlib>

#include "library/call.h"

namespace twin {

namespace {

constexpr Op M = Op::Mul, C = Op::Cast, E = Op::Exp, L = Op::Ln, Q = Op::Sqrt, V = Op::Div, D = Op::Duplicate;
constexpr Op K = Op::Compare, S = Op::Select;

//   op             scratch  nodes   extra casts torn steps
// clang-format off
const Recipe kRecipes[] = {
    {Op::Tanh,      8, 4,    4, 1,   0,    2, 0, {{M, 5}, {E, 1}, {V, 1}}},
    {Op::Sin,       16, 12,  8, 3,   0,    2, 0, {{M, 25}, {C, 2}}},
    {Op::Cos,       16, 12,  8, 3,   0,    2, 0, {{M, 32}, {C, 2}}},
    {Op::Tan,       20, 16,  10, 4,  0,    2, 0, {{M, 31}, {C, 1}, {V, 1}}},
    {Op::Asin,      12, 8,   6, 2,   0,    2, 3, {{M, 51}, {C, 2}, {Q, 2}, {V, 1}}},
    {Op::Acos,      12, 8,   6, 2,   0,    2, 3, {{M, 53}, {C, 2}, {Q, 2}, {V, 1}}},
    {Op::Atan,      24, 20,  12, 5,  0,    2, 0, {{M, 77}, {V, 4}}},
    {Op::Sinh,      8, 4,    4, 1,   0,    2, 0, {{M, 4}, {E, 2}}},
    {Op::Cosh,      12, 8,   6, 2,   0,    2, 0, {{M, 2}, {D, 1}, {E, 1}, {V, 1}}},
    {Op::Asinh,     12, 12,  3, 3,   0,    3, 0, {{M, 8}, {Q, 1}, {L, 1}, {V, 1}}},
    {Op::Acosh,     8, 4,    2, 1,   0,    2, 0, {{M, 4}, {Q, 1}, {L, 1}, {V, 1}}},
    {Op::Atanh,     8, 4,    4, 1,   0,    2, 0, {{M, 4}, {L, 1}, {V, 1}}},
    {Op::Erf,       16, 12,  8, 3,   0,    2, 0, {{M, 23}, {V, 1}}},
    {Op::Erfc,      32, 28,  16, 7,  0,    2, 0, {{M, 37}, {E, 1}, {V, 2}}},
    {Op::ExpTaylor, 16, 12,  8, 3,   0,    2, 0, {{M, 5}, {C, 1}, {E, 1}}},  // and four for each term, see adv_exp()
    {Op::Log,       0, 0,    0, 0,   0,    0, 0, {{L, 1}}},
    {Op::Log2,      4, 0,    2, 0,   0,    2, 0, {{L, 1}, {M, 1}}},
    {Op::Log10,     0, 0,    0, 0,   0,    0, 0, {{L, 1}, {M, 1}}},
    {Op::Lgamma,    52, 32,  26, 8,  0,    2, 0, {{M, 180}, {C, 3}, {L, 4}, {V, 2}, {D, 23}, {K, 18}, {S, 14}}},
    {Op::Digamma,   32, 28,  16, 7,  0,    2, 0, {{M, 120}, {C, 4}, {L, 2}, {V, 23}, {D, 40}, {K, 10}, {S, 7}}},
    {Op::Power,     28, 16,  14, 4,  256,  3, 0, {{M, 23}, {C, 4}, {E, 1}, {L, 1}, {K, 11}, {S, 3}, {D, 2}}},
    {Op::Floor,     4, 0,    2, 0,   0,    1, 0, {{C, 1}}},
    {Op::Ceil,      4, 4,    2, 1,   0,    1, 0, {{C, 1}}},
    {Op::Round,     4, 0,    1, 0,   0,    2, 0, {{C, 1}}},
    {Op::Trunc,     4, 4,    2, 1,   0,    2, 0, {{C, 1}}},
    {Op::Frac,      8, 0,    4, 0,   0,    2, 2, {{C, 1}, {M, 1}}},
    {Op::Fmod,      16, 4,   8, 1,   0,    3, 2, {{V, 1}, {C, 1}, {M, 2}}},
    {Op::Sign,      6, 12,   3, 3,   0,    0, 3, {{D, 3}, {K, 2}, {S, 2}, {M, 1}}},
    {Op::Xor,       2, 0,    1, 1,   0,    0, 1, {{M, 4}}},
    {Op::ClampMax,  0, 0,    1, 1,   0,    0, 0, {{M, 1}}},
    {Op::ClampMin,  0, 0,    1, 1,   0,    0, 0, {{M, 1}}},
    {Op::AxpyWide,  8, 0,    4, 1,   0,    3, 0, {{M, 2}}},
    {Op::Gelu,      4, 8,    6, 3,   0,    0, 0, {{M, 10}, {E, 2}, {V, 1}}},
    {Op::FasterGelu, 2, 4,   6, 3,   0,    0, 0, {{M, 2}, {E, 1}, {V, 1}}},
    {Op::FasterGeluV2, 6, 12, 6, 3,  0,    0, 0, {{M, 12}, {V, 1}}},
    {Op::Silu,      0, 0,    0, 0,   0,    0, 3, {{M, 2}, {E, 1}, {V, 1}}},
    {Op::Swish,     0, 0,    0, 0,   0,    0, 3, {{M, 2}, {E, 1}, {V, 1}}},
    {Op::Sigmoid,   2, 4,    1, 1,   0,    0, 0, {{M, 2}, {E, 1}, {D, 1}, {V, 1}}},
    {Op::SwiGLU,    12, 0,   6, 0,   0,    3, 2, {{M, 3}, {E, 1}, {V, 1}}},
    {Op::GeGLU,     8, 0,    4, 0,   0,    3, 2, {{M, 6}, {E, 1}, {V, 1}}},
    {Op::ReGlu,     12, 0,   6, 0,   0,    3, 0, {{M, 2}}},
};
// clang-format on

}  // namespace

const Recipe& recipe(Op op) {
    for (const Recipe& r : kRecipes)
        if (r.op == op) return r;
    std::abort();
}

}  // namespace twin
