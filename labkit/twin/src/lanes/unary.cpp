// One operand: Abs Exp Ln Sqrt Rsqrt Reciprocal Relu Not.
#include "lanes/elementary.h"
#include "lanes/lanes.h"
#include "lanes/math.h"

namespace twin::math {
namespace {

struct Abs {
    F operator()(F x) const { return magnitude(x); }
};
struct Exp {
    F operator()(F x) const { return exp(x); }
};
struct Ln {
    F operator()(F x) const { return ln(x); }
};
struct Sqrt {
    F operator()(F x) const { return sqrt(x); }
};
struct Rsqrt {
    F operator()(F x) const { return 1.0f / sqrt(x); }
};
struct Reciprocal {
    F operator()(F x) const { return 1.0f / x; }
};
struct Relu {
    template <class V> V operator()(V x) const { return x <= V{} ? V{} : x; }
};  // keeps NaN
struct Not {
    template <class V> V operator()(V x) const { return ~x; }
};

template <class Fn> void floats(Dt t, void* d, const void* s, size_t n) {
    t == Dt::F16 ? map<Half>(Fn{}, d, n, s) : map<Single>(Fn{}, d, n, s);
}

}  // namespace

void unary(Op op, Dt t, void* d, const void* s, size_t n) {
    require(op, t);
    switch (op) {
    case Op::Abs: return floats<Abs>(t, d, s, n);
    case Op::Exp: return floats<Exp>(t, d, s, n);
    case Op::Ln: return floats<Ln>(t, d, s, n);
    case Op::Sqrt: return floats<Sqrt>(t, d, s, n);
    case Op::Rsqrt: return floats<Rsqrt>(t, d, s, n);
    case Op::Reciprocal: return floats<Reciprocal>(t, d, s, n);
    case Op::Relu: return t == Dt::I32 ? map<Whole<int32_t>>(Relu{}, d, n, s) : floats<Relu>(t, d, s, n);
    case Op::Not: return map<Whole<uint16_t>>(Not{}, d, n, s);
    default: refuse("such unary operation", t);
    }
}

}  // namespace twin::math
