// Welford's running mean and variance: one step for many columns at once, and their union at the end.
#include "library/call.h"

namespace twin {

namespace {

using Row = std::vector<double>;
Row row_of(Dt t, Loc l, uint32_t n) {
    Row r(n + wide::kLanes);
    fetch(r.data(), t, l, 0, n);
    return r;
}

void update(const Welford& w, Here here) {
    constexpr uint32_t kStep = 256;  // bytes of one temporary vector
    Call c(Op::WelfordUpdate, here);
    uint32_t written = w.in_place ? w.length : w.active;  // not in place, the rest of the results is left as it is
    uint64_t all = 4ull * written, temps = w.type == Dt::F16 ? 3 : w.reuse ? 1 : 2;
    c.in(w.x, w.active * size_of(w.type), "inputX").in(w.in_mean, all, "inputMean").in(w.in_var, all, "inputVariance");
    c.out(w.mean, all, "outputMean").out(w.var, all, "outputVariance");
    c.whole("abLength", w.length, kBlock / 4).scratch(w.tmp, temps * kStep, temps * std::max<uint64_t>(all, kStep));
    if (!c.begin()) return;
    Row x = row_of(w.type, w.x, w.active), mean = row_of(Dt::F32, w.in_mean, written),
        var = row_of(Dt::F32, w.in_var, written);
    for (uint32_t i = 0; i < w.active; i++) {
        // step by step in float, as kernels and their golden data do it: running sums accumulate each rounding
        float off = float(x[i]) - float(mean[i]), share = off * w.rate, now = float(mean[i]) + share,
              rest = float(x[i]) - now, spread = off * rest;
        mean[i] = now;
        var[i] = float(var[i]) + spread;
    }
    keep(Dt::F32, w.mean, 0, mean.data(), written);
    keep(Dt::F32, w.var, 0, var.data(), written);
    uint64_t piece = std::max<uint64_t>(kStep / 4, c.scratch_bytes() / temps / kStep * (kStep / 4));
    for (uint64_t at = 0; at < w.active; at += piece) {
        uint64_t n = std::min<uint64_t>(piece, w.active - at);
        c.charge(Dt::F32, n, Op::Mul, 6);
        if (w.type == Dt::F16) c.charge(Dt::F32, n, Op::Cast, 1);
    }
    c.end(w.active * size_of(w.type));
}

// The count of column i: from its tensor, from the two given numbers, or, with no tail, the same for all.
void finalize(const Welford& w, Here here) {
    constexpr uint32_t kOut = kBlock / 4, kStep = 64;
    Call c(Op::WelfordFinalize, here);
    uint64_t all = 4ull * w.length;
    c.in(w.in_mean, all, "inputMean").in(w.in_var, all, "inputVariance");
    if (w.counts.bytes) c.in(w.counts, all, "counts");
    c.out(w.mean, kBlock, "outputMean").out(w.var, kBlock, "outputVariance");
    c.whole("abLength", w.length, kOut).scratch(w.tmp, 16 * kStep, 8 * (kStep + std::max(w.length, kStep)));
    if (!c.begin()) return;
    Row means = row_of(Dt::F32, w.in_mean, w.length), vars = row_of(Dt::F32, w.in_var, w.length), counts(w.length);
    bool even = !w.counts.bytes && !w.tail_count;
    if (w.counts.bytes) fetch(counts.data(), Dt::I32, w.counts, 0, w.length);
    else
        for (uint32_t i = 0; i < w.length; i++) counts[i] = even ? w.rounds : i < w.head ? w.head_count : w.tail_count;
    double mean[kOut] = {}, var[kOut] = {};
    for (uint32_t i = 0; i < w.length; i++) mean[0] += even ? means[i] * w.rate : means[i] * counts[i] * w.whole;
    for (uint32_t i = 0; i < w.length; i++)
        var[0] += (vars[i] + counts[i] * (means[i] - mean[0]) * (means[i] - mean[0])) * w.whole;
    keep(Dt::F32, w.mean, 0, mean, kOut);
    keep(Dt::F32, w.var, 0, var, kOut);
    c.charge(Dt::F32, w.length, Op::Mul, even ? 6 : 9);
    c.charge(Dt::F32, w.length, Op::WholeReduceSum, 2);
    c.end(all);
}

}  // namespace

void welford(Op op, const Welford& w, Here here) {
    if (w.length) (op == Op::WelfordUpdate ? update : finalize)(w, here);
}

}  // namespace twin
