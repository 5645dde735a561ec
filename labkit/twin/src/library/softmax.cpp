// SoftMax and its variants. A row is widened, reduced over its original width and written over its whole width, padding
// included, as in CANN's implementation; in the fractal format (NZ) the padding of the last column block is not
// written.
#include "lanes/wide_math.h"
#include "library/call.h"

namespace twin {

namespace {

using wide::D;
constexpr uint32_t kColumns = 16;

// A row's place: one stretch, or blocks of 16 columns, `rows` of them one below the other.
struct Rows {
    const Softmax& s;
    void get(double* to, Loc l, uint32_t row) const {
        if (!s.fractal) return fetch(to, s.type, l, uint64_t(row) * s.width, s.width);
        for (uint32_t c = 0; c < s.width; c += kColumns)
            fetch(to + c, s.type, l, uint64_t(c) * s.rows + row * kColumns, kColumns);
    }
    void put(Loc l, uint32_t row, const double* from) const {
        if (!s.fractal) return keep(s.type, l, uint64_t(row) * s.width, from, s.width);
        for (uint32_t c = 0; c < s.own_width; c += kColumns)
            keep(s.type, l, uint64_t(c) * s.rows + row * kColumns, from + c, std::min(kColumns, s.own_width - c));
    }
};

// A row's statistic fills a block of 32 bytes, or is one number.
struct Stat {
    Dt type;
    Loc loc;
    bool narrow;
    uint32_t per() const { return narrow ? 1 : kBlock / size_of(type); }
    double get(uint32_t row) const {
        double v;
        fetch(&v, type, loc, uint64_t(row) * per(), 1);
        return v;
    }
    void put(uint32_t row, double v) const {
        double all[16];
        for (double& x : all) x = v;
        keep(type, loc, uint64_t(row) * per(), all, per());
    }
    uint64_t bytes(uint32_t rows) const { return uint64_t(rows) * per() * size_of(type); }
};

double largest(const double* x, uint32_t n) {
    double m = x[0];
    for (uint32_t i = 1; i < n; i++) m = x[i] > m || x[i] != x[i] ? x[i] : m;
    return m;
}
double larger(double a, double b) { return a != a || a > b ? a : b; }
double total(const double* x, uint32_t n) {
    double t = 0;
    for (uint32_t i = 0; i < n; i++) t += x[i];
    return t;
}
double exp1(double x) { return wide::exp(wide::splat(x))[0]; }
void exponentials(double* x, uint32_t n, double shift) {
    wide::each(n, x, [shift](D v) { return wide::exp(v - shift); }, x);
}
void scale(double* x, uint32_t n, double by) {
    for (uint32_t i = 0; i < n; i++) x[i] *= by;
}
void divide(double* x, uint32_t n, double by) {
    for (uint32_t i = 0; i < n; i++) x[i] /= by;
}

// Floats of scratch that a row takes at least.
uint32_t row_floats(Op op, const Softmax& s) {
    bool half = s.type == Dt::F16;
    if (s.fractal) return s.width + kColumns;
    if (op == Op::SimpleSoftMax) return half ? s.width : 0;
    if (op == Op::SoftmaxGrad || op == Op::SoftmaxGradFront) return half ? 3 * s.width + 64 : s.width + 64;
    return (half ? s.width : 0) + 64;
}

struct Passes {  // instructions over the rows, a piece at a time
    Call& c;
    double pieces;
    uint64_t rows, width;  // of a piece
    void flat(Dt t, Op op, double times) { c.charge(t, rows * width, op, times * pieces); }
    // An operation with one number for each row: one instruction for each 64 columns, the rows are its repeats.
    void by_row(Op op, double times) { c.charge(Dt::F32, rows * 64, op, times * pieces * double((width + 63) / 64)); }
    void reduce(Op op) {  // to 64 lanes, to 8, to 1, and back to a block
        by_row(op == Op::BlockReduceMax ? Op::Max : Op::Add, 1);
        c.charge(Dt::F32, rows * 64, op, pieces);
        c.charge(Dt::F32, rows * 8, op, pieces);
        c.charge(Dt::F32, rows * 8, Op::Brcb, pieces);
    }
};

// all: the rows that are computed, of which the scratch holds some at a time.
void charge(Op op, const Softmax& s, uint64_t all, Call& c) {
    uint64_t floats = std::max(1u, row_floats(op, s)), fit = c.scratch_bytes() / 4 / floats;
    uint64_t rows = std::max<uint64_t>(1, std::min<uint64_t>(fit ? fit : all, all));
    if (s.piece && s.tiled_rows == s.rows && s.tiled_width == s.width)
        rows = std::max<uint64_t>(1, std::min<uint64_t>(rows, s.piece));
    Passes p{c, double((all + rows - 1) / rows), rows, s.width};
    bool grad = op == Op::SoftmaxGrad || op == Op::SoftmaxGradFront;
    if (s.type == Dt::F16) p.flat(Dt::F32, Op::Cast, grad ? 3 : 2);
    if (grad) {
        p.flat(Dt::F32, Op::Mul, op == Op::SoftmaxGrad ? 2 : 1);
        p.reduce(Op::BlockReduceSum);
        if (op == Op::SoftmaxGrad) p.by_row(Op::Sub, 1);
        return;
    }
    p.by_row(Op::Sub, op == Op::SoftmaxFlashV3 ? 3 : 1);
    p.flat(Dt::F32, Op::Exp, 1);
    if (op != Op::SoftmaxFlashV2 && op != Op::SoftmaxFlashV3) p.by_row(Op::Div, 1);
    if (op == Op::LogSoftMax) {
        p.flat(Dt::F32, Op::Ln, 1);
        p.flat(Dt::F32, Op::Muls, 1);
    }
    if (op == Op::SimpleSoftMax) return;
    p.reduce(Op::BlockReduceMax);
    p.reduce(Op::BlockReduceSum);
    if (op == Op::SoftmaxFlashV3) p.reduce(Op::BlockReduceSum);
    if (s.update) c.charge(Dt::F32, rows * 8, Op::Exp, p.pieces), c.charge(Dt::F32, rows * 8, Op::Mul, 5 * p.pieces);
}

// SoftmaxFlashV3 subtracts a share of each chunk's mean. A chunk's mean is that of eight lanes of 64, and lanes are
// added in the order of the code in the documents: the first 512 elements chunk by chunk, the others lane by lane.
double centre(const Softmax& s, double* x) {
    double sums[8] = {}, global = 0, share = s.alpha / (1.0 - s.alpha);
    uint32_t base = s.own_width / s.chunks;
    for (uint32_t j = 0; j < s.own_width; j++) sums[j < 512 ? j / 64 : j % 64 / 8] += x[j];
    for (double& v : sums) global += v /= base;
    global /= 8;
    for (uint32_t j = 0; j < s.width; j++) x[j] -= (global - sums[std::min(j / base, 7u)]) * share;
    return global;
}

}  // namespace

void softmax(Op op, const Softmax& given, Here here) {
    Softmax s = given;
    bool tiled = s.rows == s.tiled_rows && s.width == s.tiled_width;
    uint32_t rows = s.fractal || !tiled ? std::min(s.rows, s.own_rows) : s.rows;
    if (!rows || !s.width) {  // an empty tiling, and no shape given
        core->report("adv-tiling", true, here, Numbers().add("api", api_name(op)));
        core->refuse(s.dst, s.dst.bytes);
        return;
    }
    s.own_width = std::min(s.own_width, s.width);
    bool front = op == Op::SoftmaxGradFront, grad = front || op == Op::SoftmaxGrad, simple = op == Op::SimpleSoftMax;
    bool flash = op == Op::SoftmaxFlash || op == Op::SoftmaxFlashV2 || op == Op::SoftmaxFlashV3,
         third = op == Op::SoftmaxFlashV3;
    bool update = flash && s.update;
    Stat sum{s.stat, s.sum, s.narrow}, max{s.stat, s.max, s.narrow}, exp_max{s.type, s.exp_max, s.narrow},
        in_sum{s.stat, s.in_sum, s.narrow};
    Stat in_max{s.stat, s.in_max, s.narrow}, alone{s.stat, s.reduce_max, true}, mean{s.stat, s.mean, false},
        in_mean{s.stat, s.in_mean, false};
    Stat fronts{s.type, s.dst, false};
    Rows at{s};

    uint64_t bytes = uint64_t(s.fractal ? s.rows : rows) * s.width * size_of(s.type);
    Call c(op, here);
    c.whole("srcK", s.width, s.fractal ? kColumns : kBlock / size_of(s.type));
    uint64_t floats = row_floats(op, s);
    // The sufficient size for SoftmaxFlashV2 of floats, as the host function returns it, does not grow with the row; in
    // fractals neither.
    uint64_t least = op == Op::SoftmaxFlashV2 && s.type == Dt::F32 ? std::min<uint64_t>(floats, kColumns * 4) : floats;
    c.scratch(s.tmp, least * 4, floats * 4 * rows);
    c.in(s.src, bytes);
    if (grad) c.in(s.grad, bytes, "grad");
    c.out(s.dst, front ? fronts.bytes(rows) : bytes);
    if (simple) {
        c.in(s.sum, sum.bytes(rows), "inSum").in(s.max, max.bytes(rows), "inMax");
    } else if (!grad && s.keep_stats) {
        c.out(s.sum, sum.bytes(rows), "sum").out(s.max, max.bytes(rows), "max");
    }
    if (update)
        c.out(s.exp_max, exp_max.bytes(rows), "expMax")
            .in(s.in_sum, in_sum.bytes(rows), "inSum")
            .in(s.in_max, in_max.bytes(rows), "inMax");
    if (s.reduce_max.bytes) c.out(s.reduce_max, alone.bytes(rows), "outReduceMax");
    if (third)
        c.out(s.mean, mean.bytes(rows), "mean")
            .least("splitMeanCnt", s.chunks, 1)
            .least("oriSrcK", s.own_width, s.chunks)
            .least("loopCnt", s.loops, 1);
    if (third && update) c.in(s.in_mean, in_mean.bytes(rows), "inMean");
    if (!c.begin()) return;

    std::vector<double> row(s.width + 64), other(grad ? s.width + 64 : 0);
    double* x = row.data();
    for (uint32_t i = 0; i < rows; i++) {
        at.get(x, s.src, i);
        if (grad) {
            double* g = other.data();
            at.get(g, s.grad, i);
            double dot = 0;
            for (uint32_t j = 0; j < s.own_width; j++) dot += g[j] * x[j];
            if (front) {
                fronts.put(i, dot);
                continue;
            }
            for (uint32_t j = 0; j < s.width; j++) x[j] *= g[j] - dot;
            at.put(s.dst, i, x);
            continue;
        }
        if (simple) {
            exponentials(x, s.width, max.get(i));
            divide(x, s.width, sum.get(i));
            at.put(s.dst, i, x);
            continue;
        }
        double before = update ? in_max.get(i) : 0, sum_before = update ? in_sum.get(i) : 0;
        double centred = third ? centre(s, x) : 0, share = third ? s.alpha / (1.0 - s.alpha) : 0;
        double mean_before = third && update ? in_mean.get(i) : 0;
        double now = third && update ? (centred + mean_before * (s.loops - 1.0)) / s.loops : centred;
        double shift = (centred - now) * share, shift_before = (mean_before - now) * share;
        double own = largest(x, s.own_width), m = own + shift;
        if (update) m = larger(before + (third ? shift_before : 0), m);
        exponentials(x, s.width, m - shift);
        double t = total(x, s.own_width);
        if (update) {
            double e = exp1(before - m + (third ? shift_before : 0));
            t += e * sum_before;
            exp_max.put(i, op == Op::SoftmaxFlash ? e * sum_before / t : e);
            if (s.reduce_max.bytes) alone.put(i, own);
        }
        if (op != Op::SoftmaxFlashV2 && !third) divide(x, s.width, t);
        if (op == Op::LogSoftMax) {
            wide::each(s.width, x, wide::log, x);
            scale(x, s.width, 0.43429448190325182765);  // the documented log is log10
        }
        at.put(s.dst, i, x);
        if (third) mean.put(i, now);
        if (s.keep_stats) sum.put(i, t), max.put(i, m);
    }
    charge(op, s, rows, c);
    c.end(bytes);
}

bool softmax_adjust(Dt t, Dt u, Loc r, Loc m, uint32_t from, Value to, uint32_t rows, uint32_t width, bool fractal,
                    uint32_t step, Here here) {
    uint64_t bytes = rows ? (uint64_t(rows - 1) * step + 1) * size_of(u) : 0;
    if (!bytes || !core->usable(m, bytes, true, here, "max") ||
        !core->usable(r, uint64_t(rows) * width * size_of(t), true, here, "softMaxRes"))
        return false;
    bool some = false;
    for (uint32_t i = 0; i < rows; i++) {
        Loc one = m;
        one.addr += i * step * size_of(u);
        core->touch_scalar(one, size_of(u), false, here);
        uint32_t seen = 0;
        std::memcpy(&seen, core->at(one), size_of(u));
        if (seen != (size_of(u) == 2 ? uint16_t(from) : from)) continue;
        some = true;
        Loc row = r;
        row.addr += (fractal ? i * kColumns : i * width) * size_of(t);
        for (uint32_t k = 0; k < (fractal ? width / kColumns : 1); k++, row.addr += rows * kColumns * size_of(t))
            duplicate(t, row, to, int32_t(fractal ? kColumns : width), here);
    }
    return some;
}

}  // namespace twin
