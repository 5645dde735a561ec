#include <algorithm>
#include <cstring>

#include "cube/fixpipe.h"
#include "lanes/math.h"

namespace twin {

namespace {

float factor(uint64_t bits) {
    uint32_t kept = uint32_t(bits) & ~0x1fffu;  // 1 sign, 8 exponent, 10 fraction
    float f;
    std::memcpy(&f, &kept, 4);
    return f;
}

int32_t nearest(float x) {  // ties to even, within 9 bits; NaN: 0
    if (!(x == x)) return 0;
    if (x >= 255.0f) return 255;
    if (x <= -256.0f) return -256;
    return int32_t((x + 0x1.8p23f) - 0x1.8p23f);
}

// Converts an int32 sum to the float that is multiplied by the factor.
float lead_in(int32_t x, uint64_t bits) {
    if (bits >> 36 & 1) x = std::max(-32768, std::min(32767, x >> ((bits >> 32 & 15) + 1)));
    return float(x);
}

uint8_t to_byte(float scaled, uint64_t bits) {
    int32_t offset = int32_t(bits >> 37 & 511);
    offset = offset & 256 ? offset - 512 : offset;
    int32_t v = nearest(scaled) + offset;
    return bits >> 46 & 1 ? uint8_t(int8_t(std::max(-128, std::min(127, v)))) : uint8_t(std::max(0, std::min(255, v)));
}

}  // namespace

void convert_line(const Quantities& q, Quant mode, bool relu, Dt to, Dt from, uint8_t* d, uint8_t* s, uint32_t first,
                  uint32_t count) {
    float* f = reinterpret_cast<float*>(s);
    int32_t* i = reinterpret_cast<int32_t*>(s);
    if (mode == Quant::None || mode == Quant::ToHalf || mode == Quant::ToBf16) {
        if (relu && from == Dt::F32)
            for (uint32_t n = 0; n < count; n++) f[n] = f[n] < 0 ? 0.0f : f[n];
        if (relu && from == Dt::I32)
            for (uint32_t n = 0; n < count; n++) i[n] = std::max(0, i[n]);
        if (mode == Quant::None) std::memcpy(d, s, count * 4);
        else math::cast(to, Dt::F32, Round::Rint, d, s, count);
        return;
    }
    for (uint32_t n = 0; n < count; n++) {
        uint64_t bits = q.at(first + n);
        float x = from == Dt::I32 ? lead_in(i[n], bits) : f[n];
        f[n] = x < 0 && relu ? 0.0f : x * factor(bits);
    }
    if (to == Dt::F16) return math::cast(Dt::F16, Dt::F32, Round::Rint, d, s, count);
    for (uint32_t n = 0; n < count; n++) d[n] = to_byte(f[n], q.at(first + n));
}

}  // namespace twin
