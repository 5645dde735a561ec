// A convolution's numbers, and how the cube's kernel cuts it: chosen on the host, read by the kernels.
#pragma once
#include <cstdint>

struct Conv {
    uint32_t batch, channels, height, width;  // of x
    uint32_t outChannels, outHeight, outWidth;
    uint32_t kernelH, kernelW, strideH, strideW, padH, padW;
    uint32_t relu;          // 1: max(0, y)
    uint32_t turnX, turnY;  // 1: x (y) lies channel by channel, as PyTorch has it; 0: [batch, height, width, channels]
    uint32_t pixel, line, picture;  // turnX = 0: elements from column to column of x, from row to row, from picture to picture
    // The kernel's rows as channels, each row of y with its own picture of one row. foldH is what kernelH was (0: nothing is folded).
    uint32_t foldH, foldStride, foldPad, foldHeight;
    // A unit is `rows` positions of one picture and `cols` channels of y, made in tiles of `tile` positions; its sum runs over chunks of
    // `group` * 16 channels of x, of which at most `high` rows of the picture are needed. L0C has room for `sums` tiles of y.
    uint32_t rows, cols, tile, group, high, sums;
};

// Another convolution with the same result. Few channels fill a block of 16 badly: with the rows of the kernel beside them fewer products
// are with zeros. In channels_last a row is then one channel, as many times as wide. A kernel of 1 x 1 sees only every stride-th pixel.
inline void Fold(Conv* c)
{
    c->pixel = c->channels;
    c->line = c->width * c->channels;
    c->picture = c->height * c->line;
    if (!c->turnX && c->kernelH == 1 && c->kernelW == 1 && c->padH == 0 && c->padW == 0) {
        c->pixel *= c->strideW;
        c->line *= c->strideH;
        c->height = c->outHeight;
        c->width = c->outWidth;
        c->strideH = c->strideW = 1;
        return;
    }
    bool few = c->channels < 16 && c->kernelH > 1 && c->kernelH <= 32;
    if (c->turnX ? !few || c->channels * c->kernelH > 32 : !few || c->channels > c->kernelH) return;
    if (!c->turnX) {
        uint32_t side = c->channels;
        if (c->strideW * side > 63 || c->kernelW * side > 255 || c->padW * side > 255 || c->width * side > 16384) return;
        c->width *= side;
        c->kernelW *= side;
        c->strideW *= side;
        c->padW *= side;
        c->channels = c->turnX = 1;
    }
    c->foldH = c->kernelH;
    c->foldStride = c->strideH;
    c->foldPad = c->padH;
    c->foldHeight = c->height;
    c->channels *= c->kernelH;
    c->height = c->outHeight;
    c->kernelH = c->strideH = 1;
    c->padH = 0;
}

// All units of whole multiples of 16 positions or of whole rows of y are tried; the cheapest is taken. The cost of a core is its units
// times the slowest of its pipes, in cycles: what the products take, the ways L1 to L0 (256 and 128 bytes a cycle), GM to L1 (about 150,
// or three for each pixel) and out of L0C (70 to GM, 128 to L1). False: nothing fits L1.
inline bool ChooseCut(Conv* c, uint32_t cores)
{
    constexpr uint32_t L1 = 512 * 1024, FIXED = 16 * 1024 + 512, OUT = 32 * 1024, MOST_LINES = 16384;
    auto up = [](uint64_t a, uint64_t unit) { return (a + unit - 1) / unit; };
    auto least = [](uint64_t a, uint64_t b) { return a < b ? a : b; };
    uint64_t positions = uint64_t(c->outHeight) * c->outWidth, taps = c->kernelH * c->kernelW, blocks = up(c->channels, 16);
    uint64_t room = L1 - FIXED - (c->turnY ? OUT : 0), tallest = c->turnY ? 512 : 752;
    bool turns = c->turnX || c->turnY;
    double cheapest = 0;
    c->rows = 0;
    for (uint32_t sums = turns ? 1 : 2; sums <= 2; sums++) {
        uint64_t most = turns && sums == 2 ? 8192 : 16384;  // floats of a tile
        for (uint32_t cols = 16; cols <= 256 && cols < c->outChannels + 16; cols += 16) {
            uint64_t tile = least(most / cols / 16 * 16, tallest);
            for (uint32_t tried = 1; tried <= 48 + 24; tried++) {
                uint64_t rows = tried <= 48 ? tried * 16 : (tried - 48) * uint64_t(c->outWidth);  // of a unit
                if (rows >= positions + 16 || (tried > 48 && rows > positions)) continue;
                uint64_t span = least(rows % c->outWidth == 0 ? rows / c->outWidth : (rows + c->outWidth - 2) / c->outWidth + 1, c->outHeight);
                uint64_t high = least((span - 1) * c->strideH + c->kernelH, c->height), line = high * c->width;
                if (line > MOST_LINES || high > 255) continue;
                uint64_t image = up(c->foldH ? high * up(c->width, 16) * 16 : line, 16) * 16 * 32, weight = taps * cols * 32;  // of 16 channels
                uint64_t group = least(room / (2 * ((c->turnX ? 2 : 1) * image + weight)), least(blocks, 65535 / 16 / taps));
                if (group == 0) continue;
                uint64_t chunks = up(blocks, group);
                group = up(blocks, chunks);
                if (chunks > 1 && rows > tile) continue;
                uint64_t tiles = up(rows, tile), each = up(up(rows, tiles), 16) * 16, deep = blocks * taps;
                uint64_t bands = up(positions, rows), units = bands * c->batch * up(c->outChannels, cols);
                double product = double(deep) * tiles * (each * cols / 256.0 + 2), l0 = double(deep) * tiles * (each / 8.0 + cols / 4.0 + 4) * 1.27;
                double in = c->turnX ? double(blocks) * line * 32 / 150 : line * (3 + double(blocks) * 32 / 150);
                if (units < c->batch * bands * 2 || chunks > 1) in += double(deep) * cols * 32 / 150;
                double out = double(rows) * cols * 2 / 70, wait = 0;
                if (c->turnY) {
                    out += double(rows) * cols * 2 / 128;
                    l0 += double(rows) * cols * 2 / 128;
                    wait = sums == 1 ? double(rows) * cols * 2 / 128 : 0;
                } else {
                    wait = sums == 1 ? double(rows) * cols * 2 / 70 : 0;
                }
                if (c->turnX) {
                    out += double(blocks) * line * 32 / 128;
                    l0 += double(blocks) * line * 32 / 256;
                    product += double(blocks) * line / 16;
                }
                double slowest = product > l0 ? product : l0;
                slowest = slowest > in ? slowest : in;
                slowest = slowest > out ? slowest : out;
                double cost = double(up(units, cores)) * (slowest + wait + 300) + in + out;
                if (c->rows == 0 || cost < cheapest) {
                    cheapest = cost;
                    c->rows = uint32_t(rows);
                    c->cols = cols;
                    c->tile = uint32_t(each);
                    c->group = uint32_t(group);
                    c->high = uint32_t(high);
                    c->sums = sums;
                }
            }
        }
    }
    return c->rows > 0;
}
