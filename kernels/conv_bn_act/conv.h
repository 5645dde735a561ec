// A convolution's numbers, and how the cube's kernel cuts it: chosen on the host, read by the kernels.
#pragma once
#include <cstdint>

struct Conv {
    uint32_t batch, channels, height, width;  // of x; with `fold` each row of y has its own picture of one row, see below
    uint32_t outChannels, outHeight, outWidth;
    uint32_t kernelH, kernelW, strideH, strideW, padH, padW;
    uint32_t last, relu;  // 1: x and y lie [batch, height, width, channels], else as PyTorch has them; 1: max(0, y)
    // Few channels: the kernel's rows become channels, and the kernel has one row. foldH is what kernelH was (0: nothing is folded).
    uint32_t foldH, foldStride, foldPad, foldHeight;
    // A unit is `rows` positions of one picture and `cols` channels of y, made in tiles of `tile` positions; its sum runs over chunks of
    // `group` * 16 channels of x, of which at most `high` rows of the picture are needed.
    uint32_t rows, cols, tile, group, high;
};

// Few channels fill a block of 16 badly: with the rows of the kernel beside them fewer products are with zeros. Only where a channel's
// rows lie one behind the other, and rows are at most one Mmad's.
inline void Fold(Conv* c)
{
    if (c->last || c->channels * c->kernelH > 32 || c->channels >= 16 || c->kernelH < 2) return;
    c->foldH = c->kernelH;
    c->foldStride = c->strideH;
    c->foldPad = c->padH;
    c->foldHeight = c->height;
    c->channels *= c->kernelH;
    c->height = c->outHeight;
    c->kernelH = c->strideH = 1;
    c->padH = 0;
}

// All units of whole multiples of 16 positions or of whole rows are tried, up to what one accumulator in L0C holds (`most` floats); the
// cheapest is taken. The cost of a core is its units times the slowest of its pipes, in cycles: what the products take, the ways L1 to L0
// (256 and 128 bytes a cycle), GM to L1 (about 150, or three for each row) and out of L0C (70). False: nothing fits L1.
inline bool ChooseCut(Conv* c, uint32_t cores)
{
    constexpr uint32_t L1 = 456 * 1024, MOST_LINES = 16384;
    auto up = [](uint64_t a, uint64_t unit) { return (a + unit - 1) / unit; };
    auto least = [](uint64_t a, uint64_t b) { return a < b ? a : b; };
    uint64_t most = 16384, positions = uint64_t(c->outHeight) * c->outWidth, taps = c->kernelH * c->kernelW, blocks = up(c->channels, 16);
    uint32_t tallest = c->last ? 1024 : 512;
    double cheapest = 0;
    c->rows = 0;
    for (uint32_t cols = 16; cols <= 256 && cols < c->outChannels + 16; cols += 16) {
        uint64_t tile = least(most / cols / 16 * 16, tallest);
        for (uint32_t tried = 1; tried <= 48 + 24; tried++) {
            uint64_t rows = tried <= 48 ? tried * 16 : (tried - 48) * uint64_t(c->outWidth);  // of a unit
            if (rows >= positions + 16 || (tried > 48 && rows > positions)) continue;
            uint64_t span = least(rows % c->outWidth == 0 ? rows / c->outWidth : (rows + c->outWidth - 2) / c->outWidth + 1, c->outHeight);
            uint64_t high = least((span - 1) * c->strideH + c->kernelH, c->height), line = high * c->width;
            if (line > MOST_LINES || high > 255) continue;
            uint64_t image = up(c->foldH ? high * up(c->width, 16) * 16 : line, 16) * 16 * 32, weight = taps * cols * 32;  // of a block of 16 channels
            uint64_t fits = L1 / (2 * ((c->last ? 1 : 2) * image + weight)), group = least(fits, least(blocks, 65535 / 16 / taps));
            if (group == 0) continue;
            uint64_t chunks = up(blocks, group);
            group = up(blocks, chunks);
            if (chunks > 1 && rows > tile) continue;
            uint64_t tiles = up(rows, tile), each = up(up(rows, tiles), 16) * 16, deep = blocks * taps;
            uint64_t bands = up(positions, rows), units = bands * c->batch * up(c->outChannels, cols);
            double product = double(deep) * tiles * each * cols / 256, l0 = double(deep) * tiles * (each / 8.0 + cols / 4.0 + 4) * 1.27;
            double in = c->last ? double(blocks) * line * 3 : double(blocks) * line * 32 / 150;
            if (units < c->batch * bands * 2 || chunks > 1) in += double(deep) * cols * 32 / 150;
            double out = double(rows) * cols * (c->last ? 2 / 70.0 : 2 / 70.0 + 2 / 128.0);
            if (!c->last) {
                out += double(blocks) * line * 32 / 128;
                product += double(blocks) * line / 16;
            }
            double slowest = product > l0 ? product : l0;
            slowest = slowest > in ? slowest : in;
            slowest = slowest > out ? slowest : out;
            double cost = double(up(units, cores)) * (slowest + 300) + in + out;
            if (c->rows == 0 || cost < cheapest) {
                cheapest = cost;
                c->rows = uint32_t(rows);
                c->cols = cols;
                c->tile = uint32_t(each);
                c->group = uint32_t(group);
                c->high = uint32_t(high);
            }
        }
    }
    return c->rows > 0;
}
