// Records of 8 bytes, as Sort32 leaves them: the score in the low bytes, its index in the high four.
#pragma once
#include "vector/rearrange.h"

namespace twin {

struct Record {
    float score;    // used to compare; a half is exact in float
    uint32_t bits;  // what is stored: a half leaves its upper two bytes 0
    uint32_t index;
};

inline float score_of(Dt t, uint32_t bits) {
    if (t == Dt::F16) return half_to_float(uint16_t(bits));
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
}
inline Record record_at(Dt t, const uint8_t* p) {
    Record r;
    std::memcpy(&r.bits, p, 4);
    std::memcpy(&r.index, p + 4, 4);
    if (t == Dt::F16) r.bits &= 0xffff;
    r.score = score_of(t, r.bits);
    return r;
}
inline Record record_of(Dt t, const uint8_t* score, const uint8_t* index) {
    Record r;
    r.bits = 0;
    std::memcpy(&r.bits, score, size_of(t));
    std::memcpy(&r.index, index, 4);
    r.score = score_of(t, r.bits);
    return r;
}
inline void put_record(uint8_t* p, const Record& r) {
    std::memcpy(p, &r.bits, 4);
    std::memcpy(p + 4, &r.index, 4);
}
// Larger scores first, NaN before all; of equal ones the earlier stays in front (the callers are stable).
inline bool before(const Record& a, const Record& b) {
    return a.score > b.score || (a.score != a.score && b.score == b.score);
}

constexpr uint32_t kRecord = 8, kRun = 32;  // bytes of a record; records that Sort32 sorts at once

}  // namespace twin
