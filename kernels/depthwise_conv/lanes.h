// The vector kernels with channels on the lanes: x lies [batch, height, width, channels], as PyTorch's channels_last
// keeps it.
//
// UB holds a tile of x with `lanes` channels a position, the rows `pitch` positions apart, zero where there is no
// image. A tap's numbers are one repeat (64 float lanes) that is used for all positions; with 32 channels it holds them
// twice and serves two positions.
#pragma once
#include "conv.h"

constexpr uint32_t LANES = 64;             // float in one repeat
constexpr uint32_t UB_BYTES = 190 * 1024;
constexpr uint32_t FEWEST = 16;            // channels that a position has in UB at least: 32 bytes of a 16-bit type
constexpr uint32_t REPEATS = 240;          // of one instruction: at most 255

// How y is cut into tiles, and x with it.
struct Tile {
    uint32_t lanes, high, wide, pitch, deep;  // channels a position; rows and columns of y; a row of x; rows of x
    uint32_t groups, down, across, count;     // of channels; tiles of a plane; of all

    // bytes: in UB for a channel of a position of x, and of one of y. fixed: for everything else.
    __aicore__ inline void Choose(const Conv& c, uint32_t bytesX, uint32_t bytesY, uint32_t fixed, bool rowByRow,
                                  uint32_t parts)
    {
        lanes = LANES;
        while (lanes > FEWEST && lanes / 2 >= c.channels) lanes /= 2;
        for (; lanes >= FEWEST; lanes /= 2) {
            float least = 3e38f;
            uint32_t bestHigh = 0, bestWide = 0;
            for (across = 1; across <= c.outWidth; across++) {
                wide = CeilOf(c.outWidth, across);
                if (across > 1 && wide == CeilOf(c.outWidth, across - 1)) continue;
                uint32_t most = 0;
                while (most < (rowByRow ? 1 : c.outHeight) && Fits(c, most + 1, bytesX, bytesY, fixed)) most++;
                if (most == 0) continue;
                high = CeilOf(c.outHeight, CeilOf(c.outHeight, most));
                Measure(c);
                // cycles for each number of y: 19 instructions or so of 22 cycles and one for each repeat, and the
                // reading of x
                float cost = (18.0f * (22.0f * LANES / lanes + high * pitch) + 2.0f * deep * pitch) / (high * wide);
                if (cost < least) {
                    least = cost;
                    bestHigh = high;
                    bestWide = wide;
                }
                if (wide <= 4 || across >= 64 && bestHigh) break;
            }
            if (bestHigh) {
                high = bestHigh;
                wide = bestWide;
                break;
            }
        }
        groups = CeilOf(c.channels, lanes);
        while (high > 1 && groups * c.batch * CeilOf(c.outHeight, high) * CeilOf(c.outWidth, wide) < parts)
            high = CeilOf(high, 2);
        Measure(c);
        down = CeilOf(c.outHeight, high);
        across = CeilOf(c.outWidth, wide);
        count = groups * c.batch * down * across;
    }

    __aicore__ inline void Measure(const Conv& c)
    {
        pitch = ((wide - 1) * c.strideW + (c.kernelW - 1) * c.dilationW) / c.upW + 1 + (c.upW > 1 ? 1 : 0);
        deep = ((high - 1) * c.strideH + (c.kernelH - 1) * c.dilationH) / c.upH + 1 + (c.upH > 1 ? 1 : 0);
    }

    __aicore__ inline bool Fits(const Conv& c, uint32_t rows, uint32_t bytesX, uint32_t bytesY, uint32_t fixed)
    {
        high = rows;
        Measure(c);
        return static_cast<uint64_t>(lanes) * (static_cast<uint64_t>(deep) * pitch * bytesX +
                                               static_cast<uint64_t>(high) * MostOf(pitch, wide) * bytesY) +
                   fixed <=
               UB_BYTES;
    }
};

struct Place {  // of a tile
    uint32_t group, image, row, column, high, wide;

    __aicore__ inline Place() {}
    __aicore__ inline Place(const Conv& c, const Tile& t, uint32_t index)
    {
        column = index % t.across * t.wide;
        index /= t.across;
        row = index % t.down * t.high;
        index /= t.down;
        image = index % c.batch;
        group = index / c.batch;
        high = LeastOf(t.high, c.outHeight - row);
        wide = LeastOf(t.wide, c.outWidth - column);
    }
};

// dst = x * w for n numbers, w being one repeat that serves all. x lies 256 bytes behind a multiple of 512, or not, in
// turns, and w must lie the other way, or both are asked of the same banks: so w is there twice, and every second
// repeat of x goes with each.
// odd: whether x[0] lies behind.
__aicore__ inline void MulEvery(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& x,
                                const AscendC::LocalTensor<float>& w, uint32_t n, bool odd)
{
    uint32_t whole = n / LANES;
    for (uint32_t side = 0; side < 2; side++) {
        uint32_t repeats = (whole + 1 - side) / 2;
        for (uint32_t r = 0; r < repeats; r += REPEATS) {
            uint32_t at = (2 * r + side) * LANES;
            AscendC::Mul(dst[at], x[at], w[odd == (side == 1) ? LANES : 0], static_cast<uint64_t>(LANES),
                         static_cast<uint8_t>(LeastOf(REPEATS, repeats - r)),
                         AscendC::BinaryRepeatParams(1, 1, 1, 16, 16, 0));
        }
    }
    if (n > whole * LANES) {
        AscendC::Mul(dst[whole * LANES], x[whole * LANES], w, static_cast<uint64_t>(n - whole * LANES),
                     static_cast<uint8_t>(1), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 0));
    }
}
__aicore__ inline void AddEvery(const AscendC::LocalTensor<float>& dst, const AscendC::LocalTensor<float>& x,
                                const AscendC::LocalTensor<float>& w, uint32_t n)
{
    uint32_t whole = n / LANES;
    for (uint32_t r = 0; r < whole; r += REPEATS) {
        AscendC::Add(dst[r * LANES], x[r * LANES], w, static_cast<uint64_t>(LANES),
                     static_cast<uint8_t>(LeastOf(REPEATS, whole - r)), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 0));
    }
    if (n > whole * LANES) {
        AscendC::Add(dst[whole * LANES], x[whole * LANES], w, static_cast<uint64_t>(n - whole * LANES),
                     static_cast<uint8_t>(1), AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 0));
    }
}

// Between GM, a position's channels c.channels apart, and UB, `lanes` apart: `count` positions of `wide` channels.
// Positions that lie without gaps on both sides go as one piece.
template <typename T>
__aicore__ inline void BringPositions(const AscendC::LocalTensor<T>& to, const AscendC::GlobalTensor<T>& from,
                                      uint32_t rows, uint32_t count, uint32_t rowApart, uint32_t pitch,
                                      uint32_t channels, uint32_t wide, uint32_t lanes)
{
    if (wide == channels && wide == lanes) {
        LoadRows(to, from, rows, count * wide, rowApart, pitch * lanes);
        return;
    }
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t at = 0; at < count; at += MOST_ROWS) {
            LoadRows(to[(r * pitch + at) * lanes],
                     from[static_cast<uint64_t>(r) * rowApart + static_cast<uint64_t>(at) * channels],
                     LeastOf(MOST_ROWS, count - at), wide, channels, lanes);
        }
    }
}
template <typename T>
__aicore__ inline void SendPositions(const AscendC::GlobalTensor<T>& to, const AscendC::LocalTensor<T>& from,
                                     uint32_t rows, uint32_t count, uint32_t rowApart, uint32_t pitch,
                                     uint32_t channels, uint32_t wide, uint32_t lanes)
{
    if (wide == channels && wide == lanes) {
        StoreRows(to, from, rows, count * wide, rowApart, pitch * lanes);
        return;
    }
    for (uint32_t r = 0; r < rows; r++) {
        for (uint32_t at = 0; at < count; at += MOST_ROWS) {
            StoreRows(to[static_cast<uint64_t>(r) * rowApart + static_cast<uint64_t>(at) * channels],
                      from[(r * pitch + at) * lanes], LeastOf(MOST_ROWS, count - at), wide, channels, lanes);
        }
    }
}

// A tile of x into UB. Where there is no image, the buffer keeps the zeros it has; it is zeroed anew when the image
// lies otherwise in it.
template <typename T> struct Window {
    AscendC::LocalTensor<T> at;
    Reach rows, columns;
    bool fresh = true;

    // The buffer is free: MTE2 has waited for V. slot: whose flag orders the zeros.
    __aicore__ inline void Load(const AscendC::GlobalTensor<T>& x, const Conv& c, const Tile& t, const Place& p,
                                int32_t slot)
    {
        Reach down(p.row, p.high, c.strideH, c.padH, c.kernelH, c.dilationH, c.upH, c.height),
            along(p.column, p.wide, c.strideW, c.padW, c.kernelW, c.dilationW, c.upW, c.width);
        uint32_t first = p.group * t.lanes, wide = LeastOf(t.lanes, c.channels - first);
        if (fresh || !(down == rows && along == columns)) {
            Zero(at, t.deep * t.pitch * t.lanes);
            Order<AscendC::HardEvent::V_MTE2>(slot);
        }
        fresh = false;
        rows = down;
        columns = along;
        if (down.end > down.begin && along.end > along.begin) {
            BringPositions(
                at[((down.begin - down.origin) * t.pitch + (along.begin - along.origin)) * t.lanes],
                x[((static_cast<uint64_t>(p.image) * c.height + down.begin) * c.width + along.begin) * c.channels +
                  first],
                down.end - down.begin, static_cast<uint32_t>(along.end - along.begin), c.width * c.channels, t.pitch,
                c.channels, wide, t.lanes);
        }
    }
};

// The taps of `lanes` channels, each as one repeat, twice, and the bias: brought as they lie and turned by Gather.
// `lanes` of them lie there, or, where a repeat serves several positions, as often as fits.
template <typename T> class Taps {
    static constexpr bool WIDEN = sizeof(T) != sizeof(float);
    AscendC::GlobalTensor<T> weightGm, biasGm;
    AscendC::LocalTensor<T> in;
    AscendC::LocalTensor<float> raw, taps;
    AscendC::LocalTensor<uint32_t> offsets;
    uint32_t count, lanes, channels, kernelW;
    bool flip, bias;

public:
    static __aicore__ inline uint32_t Bytes(const Conv& c)
    {
        return (c.kernelH * c.kernelW + 1) * LANES * (sizeof(T) + (WIDEN ? 12 : 8)) + 2 * LANES * sizeof(float) + 1024;
    }

    __aicore__ inline void Init(Room& room, GM_ADDR weight, GM_ADDR b, const Conv& c, uint32_t width)
    {
        count = c.kernelH * c.kernelW;
        lanes = width;
        channels = c.channels;
        kernelW = c.kernelW;
        flip = c.flip != 0;
        bias = c.bias != 0;
        weightGm.SetGlobalBuffer((__gm__ T*)weight, static_cast<uint64_t>(channels) * count);
        if (bias) biasGm.SetGlobalBuffer((__gm__ T*)b, channels);
        in = room.Take<T>(AscendC::TPosition::VECIN, (count + 1) * LANES);
        if (WIDEN) raw = room.Take<float>(AscendC::TPosition::VECCALC, (count + 1) * LANES);
        offsets = room.Take<uint32_t>(AscendC::TPosition::VECCALC, 2 * LANES);
        room.Whole();
        taps = room.Take<float>(AscendC::TPosition::VECCALC, (count + 1) * 2 * LANES);
        for (uint32_t i = 0; i < LANES; i++) {
            offsets.SetValue(i, i % lanes * count * sizeof(float));
            offsets.SetValue(LANES + i, i % lanes * sizeof(float));
        }
        Order<AscendC::HardEvent::S_V>(2);
    }

    __aicore__ inline AscendC::LocalTensor<float> At(uint32_t kh, uint32_t kw)
    {
        return taps[(flip ? count - 1 - kh * kernelW - kw : kh * kernelW + kw) * 2 * LANES];
    }
    __aicore__ inline AscendC::LocalTensor<float> Bias() { return taps[count * 2 * LANES]; }

    // Flag 2 is this class's own.
    __aicore__ inline void Fetch(uint32_t group)
    {
        uint32_t first = group * lanes, wide = LeastOf(lanes, channels - first);
        Zero(in, (count + 1) * LANES);
        Order<AscendC::HardEvent::V_MTE2>(2);
        LoadRows(in, weightGm[static_cast<uint64_t>(first) * count], 1, wide * count, wide * count, LANES * count);
        if (bias) LoadRows(in[count * LANES], biasGm[first], 1, wide, wide, LANES);
        Order<AscendC::HardEvent::MTE2_V>(2);
        AscendC::LocalTensor<float> from = Widened(in, raw, static_cast<int32_t>((count + 1) * LANES));
        for (uint32_t k = 0; k < 2 * count; k++)
            AscendC::Gather(taps[k * LANES], from, offsets, static_cast<uint32_t>(k / 2 * sizeof(float)), LANES);
        for (uint32_t side = 0; bias && side < 2; side++)
            AscendC::Gather(taps[(2 * count + side) * LANES], from[count * LANES], offsets[LANES],
                            static_cast<uint32_t>(0), LANES);
    }
};
