#include "cube/gemm.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "lanes/lanes.h"
#include "lanes/transpose_16x16.h"

namespace twin {

namespace {

using math::F;
using math::I;
using math::kLanes;

// columns of a panel: two vectors of AVX-512 or AVX2, four of NEON or SSE
constexpr uint32_t kWide = kLanes == 16 ? 32 : 16;
constexpr uint32_t kTall = kLanes == 16 ? 8 : 4;  // rows held in registers
constexpr uint32_t kDeep = 256;                   // k of a block: a panel of B stays in the first-level cache
constexpr uint32_t kRows = 128, kColumns = 512;   // the parts of A and B that stay in the second-level cache
constexpr uint32_t kVectors = kWide / kLanes;
// Integer sums go through fp32: 256 products of at most 2^14 stay below 2^24 and are exact.

// What is added up. Exact: products of two half, which float holds whole, so that adding alone rounds.
enum class Sums { Float, Exact, Integer };

#if TWIN_AVX512 || (TWIN_AVX2 && defined(__FMA__)) || TWIN_NEON
constexpr bool kFused = true;
#else
constexpr bool kFused = false;  // a call of the C library for each element: twenty times as long
#endif

inline F fused(F a, F b, F c) {  // a*b + c, rounded once, on every host
#if TWIN_AVX512
    return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif TWIN_AVX2 && defined(__FMA__)
    return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif TWIN_NEON
    return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    for (size_t i = 0; i < kLanes; i++) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
    return c;
#endif
}

// ---------------------------------------------------------------- operands to fp32

float one(const View& v, ptrdiff_t e) {
    switch (v.type) {
    case Dt::F16: return half_to_float(static_cast<const uint16_t*>(v.data)[e]);
    case Dt::BF16: {
        uint32_t u = uint32_t(static_cast<const uint16_t*>(v.data)[e]) << 16;
        float f;
        std::memcpy(&f, &u, 4);
        return f;
    }
    case Dt::I8: {
        int8_t b = static_cast<const int8_t*>(v.data)[v.nibbles ? e / 2 : e];
        return v.nibbles ? float(e & 1 ? b >> 4 : int8_t(uint8_t(b) << 4) >> 4) : float(b);
    }
    case Dt::U8: return static_cast<const uint8_t*>(v.data)[e];
    default: return static_cast<const float*>(v.data)[e];
    }
}

// n contiguous elements.
void run(const View& v, ptrdiff_t e, uint32_t n, float* d) {
    uint32_t i = 0;
    if (v.type == Dt::F16) {
        const uint16_t* s = static_cast<const uint16_t*>(v.data) + e;
        for (; i + kLanes <= n; i += kLanes) math::store(d + i, math::half_to_lanes(s + i));
    } else if (v.type == Dt::BF16) {
        const uint16_t* s = static_cast<const uint16_t*>(v.data) + e;
        for (; i + kLanes <= n; i += kLanes)
            math::store(d + i, __builtin_convertvector(math::load<math::Narrow<uint16_t>>(s + i), math::U) << 16);
    } else if (v.type == Dt::F32) {
        std::memcpy(d, static_cast<const float*>(v.data) + e, n * 4);
        return;
    } else if (v.type == Dt::I8 && !v.nibbles) {
        const int8_t* s = static_cast<const int8_t*>(v.data) + e;
        for (; i + kLanes <= n; i += kLanes)
            math::store(d + i, __builtin_convertvector(math::load<math::Narrow<int8_t>>(s + i), F));
    }
    for (; i < n; i++) d[i] = one(v, e + i);
}

void round_hf32(float* d, uint32_t n, Hf32 mode) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t u;
        std::memcpy(&u, d + i, 4);
        if ((u & 0x7f800000u) == 0x7f800000u) continue;
        u = (u + 0x7ffu + (mode == Hf32::Even ? u >> 12 & 1 : 0)) & ~0xfffu;
        std::memcpy(d + i, &u, 4);
    }
}

// rows x cols elements within one tile.
void piece(const View& v, ptrdiff_t e, uint32_t rows, uint32_t cols, float* d, ptrdiff_t ld) {
    if (v.col == 1) {
        for (uint32_t r = 0; r < rows; r++) run(v, e + r * v.row, cols, d + r * ld);
        return;
    }
    bool wide16 = v.type == Dt::F16 || v.type == Dt::BF16;
    for (uint32_t r = 0; r < rows; r += 16)
        for (uint32_t c = 0; c < cols; c += 16) {
            uint32_t h = std::min(16u, rows - r), w = std::min(16u, cols - c);
            ptrdiff_t at = e + r * v.row + c * v.col;
            float* to = d + r * ld + c;
            if (wide16 && v.row == 1 && h == 16 && w == 16) {
                alignas(64) uint16_t turned[256];
                transpose_16x16(static_cast<const uint16_t*>(v.data) + at, v.col, turned);
                View t = View::rows(turned, v.type, 16);
                for (uint32_t i = 0; i < 16; i++) run(t, i * 16, 16, to + i * ld);
                continue;
            }
            alignas(64) float lines[16][16];
            for (uint32_t j = 0; j < w; j++) {
                if (v.row == 1) run(v, at + j * v.col, h, lines[j]);
                else
                    for (uint32_t i = 0; i < h; i++) lines[j][i] = one(v, at + j * v.col + i * v.row);
            }
            for (uint32_t i = 0; i < h; i++)
                for (uint32_t j = 0; j < w; j++) to[i * ld + j] = lines[j][i];
        }
}

// ---------------------------------------------------------------- the kernel

template <Sums sums> struct Sum {
    static F load(const void* c, ptrdiff_t e, bool first) {
        return first ? F{} : math::load<F>(static_cast<const float*>(c) + e);
    }
    static void store(void* c, ptrdiff_t e, F sum, bool) { math::store(static_cast<float*>(c) + e, math::settle(sum)); }
};
template <> struct Sum<Sums::Integer> {
    static F load(const void*, ptrdiff_t, bool) { return F{}; }
    static void store(void* c, ptrdiff_t e, F sum, bool first) {
        int32_t* at = static_cast<int32_t*>(c) + e;
        I add = __builtin_convertvector(sum, I);
        if (!first) {
            I old = math::load<I>(at), wrapped = (I)((math::U)old + (math::U)add);
            I over = ((old ^ wrapped) & (add ^ wrapped)) >> 31;
            add = over ? (old >> 31) ^ 0x7fffffff : wrapped;
        }
        math::store(at, add);
    }
};

// kRowsNow rows x kWide columns: A row by row (a_ld apart), a panel of B, k steps.
template <int rows, Sums sums>
void tile(const float* a, ptrdiff_t a_ld, const float* b, uint32_t k, const Out& c, bool first) {
    F sum[rows][kVectors];
    for (int r = 0; r < rows; r++)
        for (uint32_t v = 0; v < kVectors; v++) {
            ptrdiff_t e = r * c.row + ptrdiff_t(v * kLanes / 16) * c.block + ptrdiff_t(v * kLanes % 16);
            sum[r][v] = Sum<sums>::load(c.data, e, first);
        }
    for (uint32_t i = 0; i < k; i++) {
        F column[kVectors];
        for (uint32_t v = 0; v < kVectors; v++) column[v] = math::load<F>(b + i * kWide + v * kLanes);
        for (int r = 0; r < rows; r++) {
            F x = math::splat(a[r * a_ld + i]);
            for (uint32_t v = 0; v < kVectors; v++)
                sum[r][v] = sums == Sums::Float || kFused ? fused(x, column[v], sum[r][v]) : sum[r][v] + x * column[v];
        }
    }
    for (int r = 0; r < rows; r++)
        for (uint32_t v = 0; v < kVectors; v++) {
            ptrdiff_t e = r * c.row + ptrdiff_t(v * kLanes / 16) * c.block + ptrdiff_t(v * kLanes % 16);
            Sum<sums>::store(c.data, e, sum[r][v], first);
        }
}

Out offset(const Out& c, uint32_t row, uint32_t col) {  // floats and int32_t are of one size
    return {static_cast<float*>(c.data) + row * c.row + ptrdiff_t(col / 16) * c.block + col % 16, c.row, c.block};
}

template <Sums sums>
void rows_of_tiles(const float* a, ptrdiff_t a_ld, const float* b, uint32_t k, uint32_t m, const Out& c, bool first) {
    uint32_t r = 0;
    for (; r + kTall <= m; r += kTall) tile<kTall, sums>(a + r * a_ld, a_ld, b, k, offset(c, r, 0), first);
    for (; kTall > 4 && r + 4 <= m; r += 4) tile<4, sums>(a + r * a_ld, a_ld, b, k, offset(c, r, 0), first);
    for (; r < m; r++) tile<1, sums>(a + r * a_ld, a_ld, b, k, offset(c, r, 0), first);
}

// A panel that reaches past the last column works on a copy.
template <Sums sums> void edge(const float* a, ptrdiff_t a_ld, const float* b, uint32_t k, uint32_t m, uint32_t n,
                               const Out& c, bool first) {
    alignas(64) float copy[kRows * kWide] = {};
    Out own = Out::rows(copy, kWide);
    auto each = [&](auto f) {
        for (uint32_t r = 0; r < m; r++)
            for (uint32_t j = 0; j < n; j += 16)
                f(copy + r * kWide + j, offset(c, r, j).data, std::min(16u, n - j) * 4);
    };
    if (!first) each([](void* mine, void* theirs, size_t bytes) { std::memcpy(mine, theirs, bytes); });
    rows_of_tiles<sums>(a, a_ld, b, k, m, own, first);
    each([](void* mine, void* theirs, size_t bytes) { std::memcpy(theirs, mine, bytes); });
}

struct Packed {
    struct Free {
        void operator()(float* p) const { std::free(p); }
    };
    std::unique_ptr<float, Free> a{make((kRows + 1) * (kDeep + 16))}, b{make(kDeep * kColumns)};
    static float* make(size_t n) { return static_cast<float*>(std::aligned_alloc(64, n * sizeof(float))); }
};

template <Sums sums> void product(const View& a, const View& b, const Out& c, uint32_t m, uint32_t n, uint32_t k,
                                  bool accumulate, Hf32 hf32) {
    static thread_local Packed packed;
    constexpr ptrdiff_t kLine = kDeep + 16;  // lines of A start in different sets of the cache
    for (uint32_t j = 0; j < n; j += kColumns) {
        uint32_t width = std::min(kColumns, n - j);
        for (uint32_t p = 0; p < k; p += kDeep) {
            uint32_t deep = std::min(kDeep, k - p);
            for (uint32_t q = 0; q < width; q += kWide) {
                float* panel = packed.b.get() + q * kDeep;
                uint32_t have = std::min(kWide, width - q);
                if (have < kWide) std::memset(panel, 0, sizeof(float) * kWide * deep);
                unfold(b, p, deep, j + q, have, panel, kWide, hf32);
            }
            for (uint32_t i = 0; i < m; i += kRows) {
                uint32_t tall = std::min(kRows, m - i);
                unfold(a, i, tall, p, deep, packed.a.get(), kLine, hf32);
                for (uint32_t q = 0; q < width; q += kWide) {
                    const float* panel = packed.b.get() + q * kDeep;
                    uint32_t have = std::min(kWide, width - q);
                    bool first = p == 0 && !accumulate;
                    if (have == kWide)
                        rows_of_tiles<sums>(packed.a.get(), kLine, panel, deep, tall, offset(c, i, j + q), first);
                    else edge<sums>(packed.a.get(), kLine, panel, deep, tall, have, offset(c, i, j + q), first);
                }
            }
        }
    }
}

}  // namespace

void unfold(const View& v, uint32_t r0, uint32_t rows, uint32_t c0, uint32_t cols, float* d, ptrdiff_t ld, Hf32 hf32) {
    for (uint32_t r = r0; r < r0 + rows;) {
        uint32_t tr = r / v.tile_rows, ir = r % v.tile_rows, h = std::min(v.tile_rows - ir, r0 + rows - r);
        for (uint32_t c = c0; c < c0 + cols;) {
            uint32_t tc = c / v.tile_cols, ic = c % v.tile_cols, w = std::min(v.tile_cols - ic, c0 + cols - c);
            piece(v, tr * v.tile_row + tc * v.tile_col + ir * v.row + ic * v.col, h, w,
                  d + ptrdiff_t(r - r0) * ld + (c - c0), ld);
            c += w;
        }
        r += h;
    }
    if (hf32 != Hf32::Off && v.type == Dt::F32)
        for (uint32_t r = 0; r < rows; r++) round_hf32(d + r * ld, cols, hf32);
}

void gemm(const View& a, const View& b, const Out& c, uint32_t m, uint32_t n, uint32_t k, bool accumulate, Hf32 hf32) {
    bool integer = a.type == Dt::I8 || a.type == Dt::U8, exact = !kFused && a.type == Dt::F16 && b.type == Dt::F16;
    (integer ? product<Sums::Integer>
     : exact ? product<Sums::Exact>
             : product<Sums::Float>)(a, b, c, m, n, k, accumulate, hf32);
}

}  // namespace twin
