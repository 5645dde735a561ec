// A fractal of 16 x 16 elements of 16 bits, turned over: rows `ld` elements apart become columns of a dense result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace twin {

#if __has_builtin(__builtin_shufflevector)
typedef uint16_t Row16 __attribute__((vector_size(32)));
inline void transpose_16x16(const uint16_t* s, ptrdiff_t ld, uint16_t* d) {
    Row16 a[16], b[16];
    for (int i = 0; i < 16; i++) std::memcpy(&a[i], s + i * ld, 32);
    // Four rounds of the perfect shuffle of rows i and i + 8 turn rows into columns.
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 8; i++) {
            b[2 * i] = __builtin_shufflevector(a[i], a[i + 8], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            b[2 * i + 1] = __builtin_shufflevector(a[i], a[i + 8], 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30,
                                                   15, 31);
        }
        std::memcpy(a, b, sizeof a);
    }
    std::memcpy(d, a, sizeof a);
}
#else
inline void transpose_16x16(const uint16_t* s, ptrdiff_t ld, uint16_t* d) {
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) d[j * 16 + i] = s[i * ld + j];
}
#endif

}  // namespace twin
