// Element-wise functions of the advanced API.
#include "lanes/wide_special.h"
#include "library/call.h"

namespace twin {

namespace {

using namespace wide;

D sigmoid(D x) { return 1.0 / (1.0 + exp(-x)); }
D swish(D x, D beta) {  // x / (1 + e^(-beta x)), 0 where the exponential has overflown
    D y = x / (1.0 + exp(-(beta * x)));
    return x == -__builtin_inf() ? D{} : y;
}
D gelu(D x) { return swish(x, 1.5957691216057308 + (1.5957691216057308 * 0.044715) * x * x); }
D faster_gelu_v2(D x) {
    D a = magnitude(x * 0.7071);
    D c = (a > 1.769 ? splat(1.769) : a) - 1.769;
    D x1 = -0.1444 * (c * c) + 0.5, shifted = x + 1e-12;
    return x * (shifted / magnitude(shifted) * x1 + 0.5);
}
D sign(D x) { return x > 0.0 ? splat(1.0) : x < 0.0 ? splat(-1.0) : D{}; }

// d = f(a): the lanes of one operand.
void evaluate(Op op, double* d, const double* a, size_t n) {
    switch (op) {
    case Op::Tanh: return each(n, d, tanh, a);
    case Op::Sin: return each(n, d, wide::sin, a);
    case Op::Cos: return each(n, d, wide::cos, a);
    case Op::Tan: return each(n, d, wide::tan, a);
    case Op::Asin: return each(n, d, asin, a);
    case Op::Acos: return each(n, d, acos, a);
    case Op::Atan: return each(n, d, atan, a);
    case Op::Sinh: return each(n, d, sinh, a);
    case Op::Cosh: return each(n, d, cosh, a);
    case Op::Asinh: return each(n, d, asinh, a);
    case Op::Acosh: return each(n, d, acosh, a);
    case Op::Atanh: return each(n, d, atanh, a);
    case Op::Erf: return each(n, d, erf, a);
    case Op::Erfc: return each(n, d, erfc, a);
    case Op::Log: return each(n, d, log, a);
    case Op::Log2: return each(n, d, [](D x) { return log(x) * (1 / kLn2); }, a);
    case Op::Log10: return each(n, d, [](D x) { return log(x) * 0.43429448190325182765; }, a);
    case Op::Lgamma: return each(n, d, lgamma, a);
    case Op::Digamma: return each(n, d, digamma, a);
    case Op::Floor: return each(n, d, floor, a);
    case Op::Ceil: return each(n, d, ceil, a);
    case Op::Round: return each(n, d, round_even, a);
    case Op::Trunc: return each(n, d, trunc, a);
    case Op::Frac: return each(n, d, [](D x) { return x - trunc(x); }, a);
    case Op::Sign: return each(n, d, sign, a);
    case Op::Gelu: return each(n, d, gelu, a);
    case Op::FasterGelu: return each(n, d, [](D x) { return swish(x, splat(1.702)); }, a);
    case Op::FasterGeluV2: return each(n, d, faster_gelu_v2, a);
    case Op::Silu: return each(n, d, [](D x) { return swish(x, splat(1.0)); }, a);
    case Op::Sigmoid: return each(n, d, sigmoid, a);
    default: std::abort();
    }
}

// d = f(a, b): `v` is the scalar parameter of a function of two tensors.
void evaluate(Op op, double* d, const double* a, const double* b, double v, size_t n) {
    switch (op) {
    case Op::Power: return each(n, d, pow, a, b);
    case Op::Fmod: return each(n, d, fmod, a, b);
    case Op::ClampMax: return each(n, d, [](D x, D top) { return x > top ? top : x; }, a, b);
    case Op::ClampMin: return each(n, d, [](D x, D low) { return x < low ? low : x; }, a, b);
    case Op::Swish: return each(n, d, swish, a, b);
    case Op::SwiGLU: return each(n, d, [v](D x, D gate) { return x * swish(gate, splat(v)); }, a, b);
    case Op::GeGLU: return each(n, d, [](D x, D gate) { return x * gelu(gate); }, a, b);
    case Op::ReGlu:
        return each(n, d, [](D x, D gate) { return x * (gate > 0.0 ? gate : gate == gate ? D{} : gate); }, a, b);
    default: std::abort();
    }
}

// Functions that CANN computes in half directly, one vector instruction after the other: each instruction rounds.
class HalfSteps {
public:
    HalfSteps(size_t n) : n_(n) {}
    template <class F, class... S> void step(double* d, F f, const S*... a) {
        each(n_, d, f, a...);
        uint16_t half[kTile];
        narrow(Dt::F16, half, d, n_);
        widen(Dt::F16, d, half, n_);
    }
    void times(double* d, const double* a, double v) {
        v = as_half(v);
        step(d, [v](D x) { return x * v; }, a);
    }
    void logistic(double* d) {  // 1 + e^d
        step(d, wide::exp, d);
        step(d, [](D e) { return e + 1.0; }, d);
    }
    static double as_half(double v) {
        uint16_t bits;
        narrow(Dt::F16, &bits, &v, 1);
        return wide::value_of(Dt::F16, bits);
    }

private:
    size_t n_;
};

bool half_steps(Op op, double* d, const double* a, const double* b, size_t n) {
    HalfSteps h(n);
    alignas(64) double s[kTile], u[kTile];
    auto over = [](D x, D y) { return x / y; };
    auto product = [](D x, D y) { return x * y; };
    switch (op) {
    case Op::Sigmoid:
        h.times(s, a, -1);
        h.logistic(s);
        h.step(d, [](D x) { return 1.0 / x; }, s);
        return true;
    case Op::Silu:
    case Op::FasterGelu:
    case Op::Swish:
        if (op == Op::Swish) h.step(s, [](D x, D beta) { return x * -beta; }, a, b);
        else h.times(s, a, op == Op::Silu ? -1 : -1.702);
        h.logistic(s);
        h.step(d, over, a, s);
        return true;
    case Op::Gelu:  // y = 1.5957691 (x + 0.044715 x^3); x / (1 + e^-|y|) * e^min(y, 0)
        h.step(s, product, a, a);
        h.step(s, product, a, s);
        h.times(s, s, 0.044715);
        h.step(s, [](D x, D y) { return x + y; }, a, s);
        h.times(s, s, 1.5957691216057308);
        h.step(u, [](D y) { return wide::exp(y > 0.0 ? D{} : y); }, s);
        each(n, s, [](D y) { return -magnitude(y); }, s);
        h.logistic(s);
        h.step(s, over, a, s);
        h.step(d, product, s, u);
        return true;
    case Op::Log10:
        h.step(s, wide::log, a);
        h.times(d, s, 0.43429448190325182765);
        return true;
    default: return false;
    }
}

// Whole powers wrap as the multiplication does; a negative exponent leaves 0 but for the bases 1 and -1.
int32_t whole_power(int32_t base, int32_t exponent) {
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    uint32_t result = 1, square = uint32_t(base);
    for (uint32_t e = uint32_t(exponent); e; e >>= 1, square *= square)
        if (e & 1) result *= square;
    return int32_t(result);
}

struct Operand {  // a tensor, or a scalar that stands for one
    Loc loc;
    uint64_t bits;
    bool scalar;
};

template <class T, class F> void integers(Loc d, const Operand& a, const Operand& b, uint32_t n, F f) {
    T s[2];
    std::memcpy(&s[0], &a.bits, sizeof(T));
    std::memcpy(&s[1], &b.bits, sizeof(T));
    auto* out = reinterpret_cast<T*>(core->at(d));
    auto* x = a.scalar ? &s[0] : reinterpret_cast<const T*>(core->at(a.loc));
    auto* y = b.scalar ? &s[1] : reinterpret_cast<const T*>(core->at(b.loc));
    for (uint32_t i = 0; i < n; i++) out[i] = f(x[a.scalar ? 0 : i], y[b.scalar ? 0 : i]);
}

// A piece is what fits the scratch. CANN rounds it down to 32 elements, and cannot run with less.
constexpr uint64_t kGrain = 32;
uint64_t piece_of(const Recipe& r, uint64_t width, const Call& c, uint64_t n) {
    return width ? std::max<uint64_t>(kGrain, (c.scratch_bytes() - r.extra) / width / kGrain * kGrain)
                 : std::max<uint64_t>(n, 1);
}

void scratch_for(Call& c, const Recipe& r, uint64_t width, Loc tmp, uint64_t n) {
    uint64_t grain = r.op == Op::Sigmoid ? 1 : kGrain;
    c.scratch(tmp, width ? r.extra + width * grain : 0,
              width ? r.extra + width * ((n + kGrain - 1) / kGrain * kGrain) : 0);
}

void torn_in_place(const Recipe& r, Dt t, Loc d, Loc s, Here here) {
    if (d.addr == s.addr && d.mem == s.mem && (r.torn & (size_of(t) == 2 ? 1 : 2)))
        core->report("adv-in-place", false, here, Numbers().add("api", name_of(r.op)));
}

uint64_t width_of(Op op, Dt t, bool tensors) {
    const Recipe& r = recipe(op);
    if (op != Op::Power || size_of(t) == 2) return size_of(t) == 2 ? r.scratch16 : r.scratch32;
    return (t == Dt::I32 ? 24 : 16) + (tensors ? 0 : 4);
}

void pair(Op op, Dt t, Loc d, const Operand& a, const Operand& b, double v, Loc tmp, uint32_t n, Here here) {
    if (!n) return;
    const Recipe& r = recipe(op);
    uint64_t bytes = uint64_t(n) * size_of(t), width = width_of(op, t, !a.scalar && !b.scalar);
    Call c(op, here);
    if (!a.scalar) c.in(a.loc, bytes, "src0");
    if (!b.scalar) c.in(b.loc, bytes, a.scalar ? "src" : "src1");
    scratch_for(c, r, width, tmp, n);
    if (!c.out(d, bytes).begin()) return;
    if (!a.scalar) torn_in_place(r, t, d, a.loc, here);
    if (!b.scalar) torn_in_place(r, t, d, b.loc, here);
    if (op == Op::Xor) {
        integers<uint16_t>(d, a, b, n, [](uint16_t x, uint16_t y) { return uint16_t(x ^ y); });
    } else if (t == Dt::I32) {
        integers<int32_t>(d, a, b, n, whole_power);
    } else {
        alignas(64) double x[kTile], y[kTile];
        for (double& e : x) e = a.scalar ? wide::value_of(t, a.bits) : 0;
        for (double& e : y) e = b.scalar ? wide::value_of(t, b.bits) : 0;
        for (uint32_t i = 0; i < n; i += kTile) {
            size_t some = std::min<size_t>(kTile, n - i);
            if (!a.scalar) fetch(x, t, a.loc, i, some);
            if (!b.scalar) fetch(y, t, b.loc, i, some);
            alignas(64) double z[kTile];
            if (t != Dt::F16 || r.casts || !half_steps(op, z, x, y, some)) evaluate(op, z, x, y, v, some);
            keep(t, d, i, z, some);
        }
    }
    c.charge(r, t == Dt::I32 ? Dt::F32 : t, n, piece_of(r, width, c, n));
    c.end(bytes);
}

void single(const Recipe& r, uint64_t width, Dt t, Loc d, Loc a, Loc tmp, uint32_t n, Here here) {
    if (!n) return;
    uint64_t bytes = uint64_t(n) * size_of(t);
    Call c(r.op, here);
    scratch_for(c, r, width, tmp, n);
    if (!c.in(a, bytes).out(d, bytes).begin()) return;
    torn_in_place(r, t, d, a, here);
    alignas(64) double x[kTile];
    for (uint32_t i = 0; i < n; i += kTile) {
        size_t some = std::min<size_t>(kTile, n - i);
        fetch(x, t, a, i, some);
        if (t != Dt::F16 || r.casts || !half_steps(r.op, x, x, nullptr, some)) evaluate(r.op, x, x, some);
        keep(t, d, i, x, some);
    }
    c.charge(r, t, n, piece_of(r, width, c, n));
    c.end(bytes);
}

}  // namespace

void adv_map(Op op, Dt t, Loc d, Loc a, Loc tmp, uint32_t n, Here here) {
    single(recipe(op), width_of(op, t, true), t, d, a, tmp, n, here);
}
// Gelu and similar functions take 16-bit numbers directly, or in float with one more tensor of scratch.
void adv_gelu(Op op, Dt t, Loc d, Loc a, Loc tmp, uint32_t n, bool in_float, Here here) {
    Recipe r = recipe(op);
    if (in_float && size_of(t) == 2) {
        r.casts = 2;
        r.scratch16 = uint8_t(r.scratch16 * 2 + 4);
    }
    single(r, size_of(t) == 2 ? r.scratch16 : r.scratch32, t, d, a, tmp, n, here);
}
void adv_map(Op op, Dt t, Loc d, Loc a, Loc b, Loc tmp, uint32_t n, Here here) {
    pair(op, t, d, {a, 0, false}, {b, 0, false}, 0, tmp, n, here);
}
void adv_map(Op op, Dt t, Loc d, Loc a, Value v, Loc tmp, uint32_t n, Here here) {
    pair(op, t, d, {a, 0, false}, {{}, v.bits, true}, 0, tmp, n, here);
}
void adv_map(Op op, Dt t, Loc d, Value v, Loc b, Loc tmp, uint32_t n, Here here) {
    pair(op, t, d, {{}, v.bits, true}, {b, 0, false}, 0, tmp, n, here);
}
void adv_glu(Op op, Dt t, Loc d, Loc a, Loc b, float beta, Loc tmp, uint32_t n, Here here) {
    pair(op, t, d, {a, 0, false}, {b, 0, false}, beta, tmp, n, here);
}

void adv_exp(Dt t, Loc d, Loc a, Loc tmp, uint32_t n, uint32_t terms, Here here) {
    if (!terms) return unary(Op::Exp, t, d, a, int32_t(n), here);
    if (!n) return;
    const Recipe& r = recipe(Op::ExpTaylor);
    uint64_t bytes = uint64_t(n) * size_of(t), width = size_of(t) == 2 ? r.scratch16 : r.scratch32;
    Call c(Op::ExpTaylor, here);
    scratch_for(c, r, width, tmp, n);
    if (!c.in(a, bytes).out(d, bytes).begin()) return;
    alignas(64) double x[kTile];
    for (uint32_t i = 0; i < n; i += kTile) {
        size_t some = std::min<size_t>(kTile, n - i);
        fetch(x, t, a, i, some);
        each(
            some, x,
            [terms](D v) {
                D whole = floor(v), rest = v - whole, power = splat(1.0), sum = power;
                for (uint32_t k = 1; k <= terms; k++) sum += power = power * rest / double(k);
                return magnitude(v) < __builtin_inf() ? exp(whole) * sum : exp(v);
            },
            x);
        keep(t, d, i, x, some);
    }
    uint64_t piece = piece_of(r, width, c, n);
    c.charge(r, t, n, piece);
    for (uint32_t k = 2; k <= terms; k++)
        c.charge(Dt::F32, std::min<uint64_t>(n, piece), Op::Mul, 4.0 * double((n + piece - 1) / piece));
    c.end(bytes);
}

void adv_axpy(Dt to, Dt from, Loc d, Loc a, Value v, Loc tmp, uint32_t n, Here here) {
    if (!n) return;
    const Recipe& r = recipe(Op::AxpyWide);
    uint64_t bytes = uint64_t(n) * size_of(to), width = from == Dt::F32 ? 0 : to == Dt::F32 ? 4 : r.scratch16;
    Call c(Op::AxpyWide, here);
    scratch_for(c, r, width, tmp, n);
    if (!c.in(a, uint64_t(n) * size_of(from)).inout(d, bytes).begin()) return;
    alignas(64) double x[kTile], y[kTile];
    double scalar = wide::value_of(from, v.bits);
    for (uint32_t i = 0; i < n; i += kTile) {
        size_t some = std::min<size_t>(kTile, n - i);
        fetch(x, from, a, i, some);
        fetch(y, to, d, i, some);
        each(some, y, [scalar](D s, D sum) { return scalar * s + sum; }, x, y);
        keep(to, d, i, y, some);
    }
    if (from == Dt::F32) c.charge(Dt::F32, n, Op::Axpy, 1);
    else c.charge(r, from, n, piece_of(r, width, c, n));
    c.end(bytes);
}

}  // namespace twin
