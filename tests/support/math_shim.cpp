// C names for tests/twin/lanes/test_math.py (ctypes): operations and types by their names in the twin's own enums.
#include <string.h>

#include "lanes/math.h"

using namespace twin;

namespace {
Op op(const char* name) {
    static const char* names[] = {
#define X(name) #name,
        TWIN_OPS(X)
#undef X
    };
    for (int i = 0; i < (int)Op::Count; ++i)
        if (!strcmp(names[i], name)) return (Op)i;
    return Op::Count;
}
}  // namespace

extern "C" {
bool m_supports(const char* o, int t) { return math::supports(op(o), (Dt)t); }
bool m_supports_compare(int mode, int t) { return math::supports_compare((Cmp)mode, (Dt)t); }
bool m_supports_cast(int to, int from, int mode) { return math::supports_cast((Dt)to, (Dt)from, (Round)mode); }
void m_unary(const char* o, int t, void* d, const void* s, size_t n) { math::unary(op(o), (Dt)t, d, s, n); }
void m_binary(const char* o, int t, void* d, const void* a, const void* b, size_t n) {
    math::binary(op(o), (Dt)t, d, a, b, n);
}
void m_scalar(const char* o, int t, void* d, const void* s, uint64_t v, size_t n) {
    math::scalar(op(o), (Dt)t, d, s, v, n);
}
void m_cast(int to, int from, int mode, void* d, const void* s, size_t n) {
    math::cast((Dt)to, (Dt)from, (Round)mode, d, s, n);
}
void m_cast_scaled(void* d, const void* s, float scale, size_t n) { math::cast_scaled(d, (const int32_t*)s, scale, n); }
void m_compare(int mode, int t, void* d, const void* a, const void* b, size_t n) {
    math::compare((Cmp)mode, (Dt)t, (uint8_t*)d, a, b, n);
}
void m_compare_scalar(int mode, int t, void* d, const void* a, uint64_t v, size_t n) {
    math::compare_scalar((Cmp)mode, (Dt)t, (uint8_t*)d, a, v, n);
}
void m_select(int t, void* d, const void* bits, const void* a, const void* b, size_t n) {
    math::select((Dt)t, d, (const uint8_t*)bits, a, b, n);
}
void m_select_scalar(int t, void* d, const void* bits, const void* a, uint64_t v, size_t n) {
    math::select_scalar((Dt)t, d, (const uint8_t*)bits, a, v, n);
}
void m_fill(int t, void* d, uint64_t v, size_t n) { math::fill((Dt)t, d, v, n); }
void m_sum(int t, void* d, const void* s, size_t n) { math::reduce_sum((Dt)t, d, s, n); }
void m_max(int t, void* d, uint32_t* index, const void* s, size_t n) { math::reduce_max((Dt)t, d, index, s, n); }
void m_min(int t, void* d, uint32_t* index, const void* s, size_t n) { math::reduce_min((Dt)t, d, index, s, n); }
void m_runs(const char* o, int t, void* d, const void* s, size_t group, size_t count) {
    math::reduce_runs(op(o), (Dt)t, d, s, group, count);
}
float m_half_to_float(uint16_t h) { return half_to_float(h); }
uint16_t m_float_to_half(float x) { return float_to_half(x); }
}
