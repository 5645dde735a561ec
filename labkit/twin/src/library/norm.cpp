// Normalizations: rows of numbers to mean 0 and variance 1, then times gamma plus beta.
//
// Which elements count in a row's sums follows CANN: LayerNorm includes the padding (if it is zero the mean is right,
// but the variance is too large by mean^2 for each padded element), the others only the original length. Every result
// is written over the whole width; its padding has no meaning.
#include "library/call.h"

namespace twin {

namespace {

struct Counts {  // instructions of CANN's implementation: over all elements, one a row, sums of all rows, over the
                 // statistics
    Op op;
    uint8_t casts, flat, root, each, reduce, small;
};
constexpr Counts kCounts[] = {
    {Op::LayerNorm, 2, 7, 1, 4, 2, 0},         {Op::LayerNormRstd, 2, 6, 0, 4, 2, 4},
    {Op::DeepNorm, 3, 5, 0, 4, 4, 4},          {Op::RmsNorm, 2, 1, 0, 2, 2, 5},
    {Op::BatchNorm, 2, 3, 0, 6, 0, 4},         {Op::GroupNorm, 2, 2, 0, 4, 2, 4},
    {Op::Normalize, 2, 2, 0, 4, 0, 4},         {Op::LayerNormGrad, 4, 14, 0, 5, 6, 9},
    {Op::LayerNormGradBeta, 2, 1, 0, 2, 0, 0},
};

void charge(Op op, const Norm& n, Call& c) {
    const Counts* k = kCounts;
    while (k->op != op) k++;
    bool columns = op == Op::BatchNorm;  // pieces are columns of all rows
    uint64_t all = columns ? n.width : n.rows, piece = std::min<uint64_t>(std::max(1u, n.piece), all);
    double pieces = double((all + piece - 1) / piece);
    uint64_t rows = columns ? n.rows : piece, width = columns ? piece : n.width;
    if (n.type == Dt::F16) c.charge(Dt::F32, rows * width, Op::Cast, k->casts * pieces);
    c.charge(Dt::F32, rows * width, Op::Mul, k->flat * pieces);
    c.charge(Dt::F32, rows * width, Op::Sqrt, k->root * pieces);
    c.charge(Dt::F32, rows * width, Op::Div, k->root * pieces);
    c.charge(Dt::F32, width, Op::Mul, k->each * pieces * double(rows));
    c.charge(Dt::F32, width, Op::Add, k->reduce * pieces * double(rows) / 2);
    c.charge(Dt::F32, rows * 64, Op::WholeReduceSum, k->reduce * pieces / 2);
    c.charge(Dt::F32, columns ? width : rows, Op::Div, k->small * pieces);
}

double mean_of(const double* x, uint32_t count, double length) {
    double t = 0;
    for (uint32_t i = 0; i < count; i++) t += x[i];
    return t / length;
}
double variance_of(const double* x, uint32_t count, double length, double mean) {
    double t = 0;
    for (uint32_t i = 0; i < count; i++) t += (x[i] - mean) * (x[i] - mean);
    return t / length;
}
double deviation(double variance, double eps) { return __builtin_sqrt(variance + eps); }
double one(Dt t, Loc l, uint64_t i) {
    double v;
    fetch(&v, t, l, i, 1);
    return v;
}

using Row = std::vector<double>;
Row row_of(Dt t, Loc l, uint64_t at, uint32_t n) {
    Row r(n + wide::kLanes);
    fetch(r.data(), t, l, at, n);
    return r;
}

struct Scales {  // gamma and beta, or 1 and 0
    Row gamma, beta;
    Scales(const Norm& n, uint32_t own) : gamma(n.width, 1.0), beta(n.width, 0.0) {
        if (!n.no_gamma && n.gamma.bytes) fetch(gamma.data(), n.scale, n.gamma, 0, own);
        if (!n.no_beta && n.beta.bytes) fetch(beta.data(), n.scale, n.beta, 0, own);
    }
    void apply(double* x, uint32_t n, double mean, double over) const {
        for (uint32_t i = 0; i < n; i++) x[i] = (x[i] - mean) / over * gamma[i] + beta[i];
    }
};

void over_rows(Op op, const Norm& n) {
    bool rms = op == Op::RmsNorm, deep = op == Op::DeepNorm, given = op == Op::Normalize,
         rstd = op == Op::LayerNormRstd;
    Dt stat = given || rstd ? Dt::F32 : n.type;
    uint32_t count = op == Op::LayerNorm ? n.width : n.own;
    Scales scales(n, given || rstd ? n.own : n.width);
    for (uint32_t r = 0; r < n.rows; r++) {
        uint64_t at = uint64_t(r) * n.width;
        Row x = row_of(n.type, n.x, at, n.width);
        if (deep) {
            Row g = row_of(n.type, n.gx, at, n.width);
            for (uint32_t i = 0; i < n.width; i++) x[i] = n.alpha * x[i] + g[i];
        }
        double mean = rms ? 0 : given ? one(stat, n.mean, r) : mean_of(x.data(), count, n.own);
        double var = given ? one(stat, n.var, r) : variance_of(x.data(), count, n.own, mean),
               over = deviation(var, n.eps), inverse = 1 / over;
        scales.apply(x.data(), n.width, mean, over);
        keep(n.type, n.out, at, x.data(), n.width);
        if (given) keep(stat, n.res, r, &inverse, 1);
        if (given || rms) continue;
        keep(stat, n.mean, r, &mean, 1);
        keep(stat, n.var, r, rstd ? &inverse : &var, 1);
    }
}

void over_batch(const Norm& n) {
    std::vector<Row> x;
    for (uint32_t b = 0; b < n.rows; b++) x.push_back(row_of(n.type, n.x, uint64_t(b) * n.width, n.width));
    Row mean(n.width), var(n.width), gamma = row_of(n.scale, n.gamma, 0, n.rows),
                                     beta = row_of(n.scale, n.beta, 0, n.rows);
    for (uint32_t i = 0; i < n.width; i++) {
        for (uint32_t b = 0; b < n.rows; b++) mean[i] += x[b][i];
        mean[i] /= n.rows;
        for (uint32_t b = 0; b < n.rows; b++) var[i] += (x[b][i] - mean[i]) * (x[b][i] - mean[i]);
        var[i] /= n.rows;
        for (uint32_t b = 0; b < n.rows; b++)
            x[b][i] = (x[b][i] - mean[i]) / deviation(var[i], n.eps) * gamma[b] + beta[b];
    }
    for (uint32_t b = 0; b < n.rows; b++) keep(n.type, n.out, uint64_t(b) * n.width, x[b].data(), n.width);
    keep(n.type, n.mean, 0, mean.data(), n.width);
    keep(n.type, n.var, 0, var.data(), n.width);
}

void over_groups(const Norm& n) {
    uint32_t channels = n.group * n.groups;
    Row gamma = row_of(n.scale, n.gamma, 0, channels), beta = row_of(n.scale, n.beta, 0, channels);
    for (uint32_t g = 0; g * n.group < n.rows; g++) {
        std::vector<Row> x;
        double mean = 0, var = 0, length = double(n.group) * n.own;
        for (uint32_t d = 0; d < n.group; d++) {
            x.push_back(row_of(n.type, n.x, uint64_t(g * n.group + d) * n.width, n.width));
            mean += mean_of(x[d].data(), n.own, length);
        }
        for (uint32_t d = 0; d < n.group; d++) var += variance_of(x[d].data(), n.own, length, mean);
        for (uint32_t d = 0; d < n.group; d++) {
            uint32_t channel = (g * n.group + d) % channels;
            for (uint32_t i = 0; i < n.width; i++)
                x[d][i] = i < n.own ? (x[d][i] - mean) / deviation(var, n.eps) * gamma[channel] + beta[channel] : 0;
            keep(n.type, n.out, uint64_t(g * n.group + d) * n.width, x[d].data(), n.width);
        }
        keep(n.type, n.mean, g, &mean, 1);
        keep(n.type, n.var, g, &var, 1);
    }
}

void gradient(const Norm& n) {
    Row gamma = row_of(n.scale, n.gamma, 0, n.width);
    for (uint32_t r = 0; r < n.rows; r++) {
        uint64_t at = uint64_t(r) * n.width;
        Row dy = row_of(n.type, n.dy, at, n.width), x = row_of(n.type, n.x, at, n.width), res(n.width);
        double over = deviation(one(n.type, n.var, r), n.eps), mean = one(n.type, n.mean, r), h = n.own;
        double pd_var = 0, pd_mean = 0, centred = 0;
        for (uint32_t i = 0; i < n.width; i++) {
            dy[i] *= gamma[i];
            x[i] -= mean;
            res[i] = x[i] / over;
            pd_var -= 0.5 * dy[i] * x[i] / (over * over * over);
            pd_mean -= dy[i] / over;
            centred -= 2 * x[i];
        }
        pd_mean += pd_var * centred / h;
        for (uint32_t i = 0; i < n.width; i++) x[i] = dy[i] / over + pd_var * 2 / h * x[i] + pd_mean / h;
        keep(n.type, n.out, at, x.data(), n.width);
        keep(n.type, n.res, at, res.data(), n.width);
    }
}

void gradient_of_scales(const Norm& n) {
    Row gamma(n.own), beta(n.own);
    for (uint32_t r = 0; r < n.rows; r++) {
        Row dy = row_of(n.type, n.dy, uint64_t(r) * n.width, n.own),
            res = row_of(n.type, n.x, uint64_t(r) * n.width, n.own);
        for (uint32_t i = 0; i < n.own; i++) {
            gamma[i] += dy[i] * res[i];
            beta[i] += dy[i];
        }
    }
    keep(n.type, n.out, 0, gamma.data(), n.own);
    keep(n.type, n.beta, 0, beta.data(), n.own);
}

void operands(Call& c, Op op, const Norm& n) {
    uint64_t size = size_of(n.type), all = uint64_t(n.rows) * n.width * size,
             row = uint64_t(n.width) * size_of(n.scale);
    switch (op) {
    case Op::RmsNorm: c.in(n.x, all, "src").in(n.gamma, row, "gamma").out(n.out, all); return;
    case Op::BatchNorm:
        c.in(n.x, all, "inputX")
            .in(n.gamma, n.rows * size, "gamma")
            .in(n.beta, n.rows * size, "beta")
            .out(n.out, all, "output")
            .out(n.mean, row, "outputMean")
            .out(n.var, row, "outputVariance");
        return;
    case Op::GroupNorm: {
        uint64_t stats = n.rows / n.group * size, scales = uint64_t(n.group) * n.groups * size;
        c.in(n.x, all, "inputX")
            .in(n.gamma, scales, "gamma")
            .in(n.beta, scales, "beta")
            .out(n.out, all, "output")
            .out(n.mean, stats, "outputMean")
            .out(n.var, stats, "outputVariance");
        return;
    }
    case Op::LayerNormGrad:
        c.in(n.dy, all, "inputDy")
            .in(n.x, all, "inputX")
            .in(n.var, n.rows * size, "inputVariance")
            .in(n.mean, n.rows * size, "inputMean")
            .in(n.gamma, row, "inputGamma")
            .out(n.out, all, "outputPdX")
            .out(n.res, all, "resForGamma");
        return;
    case Op::LayerNormGradBeta:
        c.in(n.x, all, "resForGamma")
            .in(n.dy, all, "inputDy")
            .out(n.out, n.own * size, "outputPdGamma")
            .out(n.beta, n.own * size, "outputPdBeta");
        return;
    default: break;
    }
    bool given = op == Op::Normalize, floats = given || op == Op::LayerNormRstd;
    uint64_t stats = n.rows * (floats ? 4 : size);
    if (floats) row = uint64_t(n.own) * size_of(n.scale);
    c.in(n.x, all, "inputX");
    if (op == Op::DeepNorm) c.in(n.gx, all, "gx");
    if (!n.no_gamma) c.in(n.gamma, row, "gamma");
    if (!n.no_beta) c.in(n.beta, row, "beta");
    if (given) c.in(n.mean, stats, "inputMean").in(n.var, stats, "inputVariance").out(n.res, stats, "outputRstd");
    else c.out(n.mean, stats, "outputMean").out(n.var, stats, floats ? "outputRstd" : "outputVariance");
    c.out(n.out, all, "output");
}

// Normalize has no tiling: it takes as many rows at once as fit, besides gamma and beta in float if they are not.
void fit(Norm& n) {
    uint64_t row = 8ull * n.width, scales = size_of(n.scale) == 2 ? row : 0;
    n.scratch = std::max<uint64_t>(4ull * n.rows, scales + row);
    n.piece = n.tmp.bytes < n.scratch
                  ? 1
                  : uint32_t(std::min<uint64_t>((n.tmp.bytes - scales) / std::max<uint64_t>(1, row), n.rows));
}

}  // namespace

void norm(Op op, const Norm& given, Here here) {
    Norm n = given;
    if (!n.rows && (op == Op::LayerNormRstd || op == Op::Normalize)) return;
    if (op == Op::Normalize) fit(n);
    Call c(op, here);
    if (!n.piece || !n.rows || !n.width) {
        core->report("adv-tiling", true, here, Numbers().add("api", api_name(op)));
        if (n.out.bytes) core->refuse(n.out, n.out.bytes);
        return;
    }
    operands(c, op, n);
    c.whole("hLength", n.width, kBlock / size_of(n.type)).scratch(n.tmp, n.scratch, n.scratch);
    if (!c.begin()) return;
    if (op == Op::BatchNorm) over_batch(n);
    else if (op == Op::GroupNorm) over_groups(n);
    else if (op == Op::LayerNormGrad) gradient(n);
    else if (op == Op::LayerNormGradBeta) gradient_of_scales(n);
    else over_rows(op, n);
    charge(op, n, c);
    c.end(uint64_t(n.rows) * n.width * size_of(n.type));
}

}  // namespace twin
