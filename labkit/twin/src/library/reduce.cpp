// Reductions of a matrix. Sums, means and products are computed in double and rounded at the end. If a sum exceeds
// half's range it is infinite, as it is inside CANN's mean.
#include "library/reduce.h"

#include "library/call.h"

namespace twin {

namespace {

FoldKind kind_of(Op op, Dt t) {
    if (t == Dt::U8) return FoldKind::Bits;
    if (op == Op::ReduceProd) return FoldKind::Product;
    return op == Op::ReduceSum || op == Op::ReduceMean ? FoldKind::Sum : FoldKind::Extreme;
}

uint64_t scratch_of(Op op, const Fold& f) {
    uint32_t size = size_of(f.type);
    if (op == Op::Sum) return f.last <= 256 / size ? 0 : sum_scratch(size, f.last);
    if (op == Op::Mean) return f.last <= 256 / size && !(f.wide && size == 2) ? 0 : mean_scratch(size, f.last, f.wide);
    if (op == Op::ReduceXorSum) return xor_scratch(f.last, f.reuse);
    return fold_scratch(kind_of(op, f.type), size, f.first, f.last, f.columns, f.reuse);
}

bool nan(double x) { return x != x; }

// Reduces `n` numbers, `step` apart.
double folded(Op op, const Fold& f, const double* x, size_t n, size_t step) {
    double t = op == Op::ReduceProd ? 1 : 0;
    switch (op) {
    case Op::ReduceProd:
        for (size_t i = 0; i < n; i++) t *= x[i * step];
        return t;
    case Op::ReduceMax:
    case Op::ReduceMin:
    case Op::ReduceAny:
    case Op::ReduceAll: {
        bool most = op == Op::ReduceMax || op == Op::ReduceAny;
        if (f.type == Dt::U8) {  // bits, which for 0 and 1 is the same
            unsigned bits = unsigned(x[0]);
            for (size_t i = 1; i < n; i++) bits = most ? bits | unsigned(x[i * step]) : bits & unsigned(x[i * step]);
            return bits;
        }
        t = x[0];
        for (size_t i = 1; i < n; i++) {
            double v = x[i * step];
            if (nan(v) || (most ? v > t : v < t)) t = nan(t) ? t : v;
        }
        return t;
    }
    default: break;
    }
    for (size_t i = 0; i < n; i++) t += x[i * step];
    if (op == Op::Mean && !f.wide) {
        double kept = t;
        alignas(8) uint8_t raw[8];
        wide::narrow(f.type, raw, &t, 1);
        wide::widen(f.type, &kept, raw, 1);
        if (kept - kept != 0) return kept;  // overflow or NaN
    }
    return op == Op::Mean || op == Op::ReduceMean ? t / double(n) : t;
}

void charge(Op op, const Fold& f, Call& c) {
    uint32_t lanes = 256 / size_of(f.type);
    uint64_t all = uint64_t(f.first) * f.stride;
    double rows = f.first;
    Op join = op == Op::ReduceProd                         ? Op::Mul
              : op == Op::ReduceMax || op == Op::ReduceAny ? Op::Max
              : op == Op::ReduceMin || op == Op::ReduceAll ? Op::Min
                                                           : Op::Add;
    if (op == Op::ReduceXorSum) {
        c.charge(f.type, f.last, Op::And, 4);
        c.charge(Dt::F32, f.last, Op::Cast, 1);
        c.charge(Dt::F32, f.last, Op::WholeReduceSum, 2);
        c.charge(Dt::F32, 1, Op::Cast, 1);
    } else if (op == Op::Sum || op == Op::Mean) {  // row by row
        Dt t = f.wide ? Dt::F32 : f.type;
        if (t != f.type) c.charge(t, f.last, Op::Cast, rows);
        for (uint64_t n = f.last; n > 1; n = (n + lanes - 1) / lanes) c.charge(t, n, Op::WholeReduceSum, rows);
        if (op == Op::Mean) c.charge(t, t == f.type ? f.first : 1, Op::Muls, t == f.type ? 1 : 3 * rows);
    } else if (f.columns) {  // halves of the rows onto each other
        c.charge(f.type, all / 2, join, 1);
        for (uint64_t k = half_way(f.first); k > 1; k /= 2) c.charge(f.type, k / 2 * f.stride, join, 1);
    } else if (f.type == Dt::U8 || op == Op::ReduceProd) {  // row by row, halves onto each other
        if (f.type == Dt::U8) c.charge(Dt::F16, f.last, Op::Cast, 2 * rows);
        for (uint64_t k = half_way(f.last); k >= 8; k /= 2)
            c.charge(f.type == Dt::U8 ? Dt::F16 : f.type, k, join, rows);
    } else {
        if (f.last > lanes) c.charge(f.type, uint64_t(f.first) * lanes, join, (f.last + lanes - 1) / lanes);
        c.charge(f.type, uint64_t(f.first) * lanes, Op::BlockReduceSum, 1);
        c.charge(f.type, f.first * 8, Op::BlockReduceSum, 1);
    }
    if (op == Op::ReduceMean) c.charge(f.type, f.columns ? f.last : f.first, Op::Muls, 1);
}

void exclusive_or(const Fold& f, double* x) {
    auto *a = reinterpret_cast<const int16_t*>(core->at(f.src)),
         *b = reinterpret_cast<const int16_t*>(core->at(f.other));
    for (uint32_t i = 0; i < f.last; i++) x[i] = int16_t(a[i] ^ b[i]);
}

}  // namespace

void fold(Op op, const Fold& f, Here here) {
    if (!f.first || !f.last) return;
    bool bits = op == Op::ReduceXorSum;
    uint32_t size = size_of(f.type), results = f.columns ? f.last : f.first;
    uint64_t all = (uint64_t(f.first - 1) * f.stride + f.last) * size;
    Call c(op, here);
    c.in(f.src, all, bits ? "src0" : "src").out(f.dst, uint64_t(results) * size);
    if (bits) c.in(f.other, all, "src1");
    else c.whole("inner", f.stride, kBlock / size).least("inner", f.stride, f.last);
    uint64_t least = scratch_of(op, f);
    c.scratch(f.tmp, least, least);
    if (!c.begin()) return;
    std::vector<double> x(all / size + wide::kLanes), z(results);
    if (bits) exclusive_or(f, x.data());
    else fetch(x.data(), f.type, f.src, 0, all / size);
    for (uint32_t i = 0; i < results; i++)
        z[i] = f.columns ? folded(op, f, x.data() + i, f.first, f.stride)
                         : folded(op, f, x.data() + uint64_t(i) * f.stride, f.last, 1);
    keep(f.type, f.dst, 0, z.data(), results);
    charge(op, f, c);
    c.end(all);
}

}  // namespace twin
