// A half on the host.
#pragma once
#include "twin/base/float16.h"

namespace Ops::Base {
struct fp16_t {
    uint16_t val = 0;
    fp16_t() = default;
    template <typename T> fp16_t(T v) : val(::half(float(v)).bits) {}
    operator float() const {
        ::half h;
        h.bits = val;
        return float(h);
    }
    float toFloat() const { return float(*this); }
};
}  // namespace Ops::Base
