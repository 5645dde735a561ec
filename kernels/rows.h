// What the operators on rows share on the device: sizes, and the way from 16-bit types to float and back.
#pragma once
#include "kernel_operator.h"

constexpr uint32_t BLOCK_BYTES = 32;  // UB: where a tensor, and a row of a tile, may begin
constexpr uint32_t LINE_BYTES = 512;  // GM: pieces that begin there move fastest
constexpr uint32_t MOST_ROWS = 4095;  // that one copy takes

__aicore__ inline uint32_t CeilOf(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
__aicore__ inline uint32_t LeastOf(uint32_t a, uint32_t b) { return a < b ? a : b; }

// Tensors one behind the other in UB.
struct Room {
    uint32_t at = 0;

    // The next tensor begins 256 bytes behind a multiple of 512: in one instruction with one that begins there, no bank group is asked twice.
    __aicore__ inline void Apart() { at = CeilOf(at, LINE_BYTES) * LINE_BYTES + LINE_BYTES / 2; }

    __aicore__ inline void Whole() { at = CeilOf(at, LINE_BYTES) * LINE_BYTES; }  // and this one at a multiple

    template <typename T> __aicore__ inline AscendC::LocalTensor<T> Take(AscendC::TPosition where, uint32_t count)
    {
        uint32_t here = at, bytes = CeilOf(count * sizeof(T), BLOCK_BYTES) * BLOCK_BYTES;
        at += bytes;
        return AscendC::LocalTensor<T>(where, here, bytes / sizeof(T));
    }
};

// 16-bit types are widened into `room` and narrowed out of it; float stays where it is.
template <typename T> __aicore__ inline AscendC::LocalTensor<float> Widened(const AscendC::LocalTensor<T>& x, const AscendC::LocalTensor<float>& room, int32_t n)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        return x;
    } else {
        AscendC::Cast(room, x, AscendC::RoundMode::CAST_NONE, n);
        return room;
    }
}
template <typename T> __aicore__ inline AscendC::LocalTensor<float> RoomFor(const AscendC::LocalTensor<T>& y, const AscendC::LocalTensor<float>& room)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        return y;
    } else {
        return room;
    }
}
template <typename T> __aicore__ inline void Narrow(const AscendC::LocalTensor<T>& y, const AscendC::LocalTensor<float>& wide, int32_t n)
{
    if constexpr (sizeof(T) != sizeof(float)) AscendC::Cast(y, wide, AscendC::RoundMode::CAST_RINT, n);
}

template <typename T> __aicore__ inline void WidenInto(const AscendC::LocalTensor<float>& to, const AscendC::LocalTensor<T>& x, int32_t n)  // also float is copied
{
    if constexpr (sizeof(T) == sizeof(float)) {
        AscendC::Adds(to, x, 0.0f, n);
    } else {
        AscendC::Cast(to, x, AscendC::RoundMode::CAST_NONE, n);
    }
}
template <typename T> __aicore__ inline void Zero(const AscendC::LocalTensor<T>& x, int32_t n)
{
    if constexpr (sizeof(T) == sizeof(float)) {
        AscendC::Duplicate(x, 0.0f, n);
    } else {  // bits, so that all 16-bit types go one way
        AscendC::Duplicate(x.template ReinterpretCast<int16_t>(), static_cast<int16_t>(0), n);
    }
}

// The first of `times` rows, repeated: what is there doubles with every copy.
__aicore__ inline void Repeat(const AscendC::LocalTensor<float>& row, uint32_t pitch, uint32_t times)
{
    for (uint32_t have = 1; have < times; have *= 2) {
        AscendC::Adds(row[have * pitch], row, 0.0f, static_cast<int32_t>(LeastOf(have, times - have) * pitch));
    }
}

// tall x wide elements between GM, whose rows lie `apart`, and UB, where they lie `pitch`. Behind a row's end come zeros up to 32 bytes.
// Rows that touch on both sides go as one.
template <typename T>
__aicore__ inline void LoadRows(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from, uint32_t tall, uint32_t wide, uint32_t apart, uint32_t pitch)
{
    constexpr uint32_t BLOCK = BLOCK_BYTES / sizeof(T);
    if (apart == wide && pitch == wide) {
        wide = apart = pitch = tall * wide;
        tall = 1;
    }
    uint32_t filled = CeilOf(wide, BLOCK) * BLOCK;
    AscendC::DataCopyPad(to, from, AscendC::DataCopyExtParams(tall, wide * sizeof(T), (apart - wide) * sizeof(T), (pitch - LeastOf(filled, pitch)) / BLOCK, 0),
                         AscendC::DataCopyPadExtParams<T>(true, 0, static_cast<uint8_t>(filled - wide), 0));
}
template <typename T>
__aicore__ inline void StoreRows(const AscendC::GlobalTensor<T>& to, const AscendC::LocalTensor<T>& from, uint32_t tall, uint32_t wide, uint32_t apart, uint32_t pitch)
{
    constexpr uint32_t BLOCK = BLOCK_BYTES / sizeof(T);
    if (apart == wide && pitch == wide) {
        wide = apart = pitch = tall * wide;
        tall = 1;
    }
    uint32_t gap = pitch - LeastOf(CeilOf(wide, BLOCK) * BLOCK, pitch);
    AscendC::DataCopyPad(to, from, AscendC::DataCopyExtParams(tall, wide * sizeof(T), gap / BLOCK, (apart - wide) * sizeof(T), 0));
}
