// One half at a time, for the scalar unit's half and for tests: IEEE 754 binary16, to nearest even, NaN payloads kept.
#include <string.h>

#include "twin/base/abi.h"

namespace twin {

float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, body = (uint32_t)(h & 0x7fff) << 13, bits;
    float x;
    if (body >= 0x7c00u << 13) {  // inf, NaN (made quiet)
        bits = body + (224u << 23) + (body > 0x7c00u << 13 ? (body & 0x400000u) ^ 0x400000u : 0);
    } else if (body >= 0x400u << 13) {
        bits = body + (112u << 23);  // the biases differ by 127 - 15
    } else {
        x = (float)(h & 0x7fff) * 0x1p-24f;  // subnormal: a count of fp16's smallest step
        memcpy(&bits, &x, sizeof bits);
    }
    bits |= sign;
    memcpy(&x, &bits, sizeof x);
    return x;
}

uint16_t float_to_half(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
    if (a > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
    if (a >= 0x477ff000) return (uint16_t)(sign | 0x7c00);  // 65520 and more rounds to inf
    if (a >= 113u << 23) return (uint16_t)(sign | (a + 0xfff + (a >> 13 & 1) - (112u << 23)) >> 13);
    float step;  // below 2^-14: 0.5 + x has its last place at 2^-24, so the sum rounds as fp16 would
    memcpy(&step, &a, sizeof step);
    step += 0.5f;
    memcpy(&a, &step, sizeof a);
    return (uint16_t)(sign | (a - 0x3f000000));
}

}  // namespace twin
