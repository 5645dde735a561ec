// A fractal of 16 x 16 elements of 16 bits, turned over: rows `ld` elements apart become columns of a dense result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace twin {

// static: units compiled for other instruction sets keep their own copy.
#if __has_builtin(__builtin_shufflevector)
typedef uint16_t Row8 __attribute__((vector_size(16)));  // of the width that every processor here can interleave
static inline void transpose_16x16(const uint16_t* s, ptrdiff_t ld, uint16_t* d) {
    Row8 a[16][2], b[16][2];
    for (int i = 0; i < 16; i++) std::memcpy(a[i], s + i * ld, 32);
    // Four rounds of the perfect shuffle of rows i and i + 8 turn rows into columns.
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++)
            for (int half = 0; half < 2; half++) {
                b[2 * i + half][0] = __builtin_shufflevector(a[i][half], a[i + 8][half], 0, 8, 1, 9, 2, 10, 3, 11);
                b[2 * i + half][1] = __builtin_shufflevector(a[i][half], a[i + 8][half], 4, 12, 5, 13, 6, 14, 7, 15);
            }
        std::memcpy(a, b, sizeof a);
    }
    std::memcpy(d, a, sizeof a);
}
#else
static inline void transpose_16x16(const uint16_t* s, ptrdiff_t ld, uint16_t* d) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) d[j * 16 + i] = s[i * ld + j];
}
#endif

}  // namespace twin
