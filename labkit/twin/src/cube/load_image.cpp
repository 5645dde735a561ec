// LoadData 3D (image to column): unfolds a feature map into the matrix that a convolution multiplies, block by block
// into L0A or L0B.
//
// The matrix has a row for each position of the filter and a column for each element under the filter. The order of
// columns is: blocks of 32 bytes of channels (C1), filter rows, filter columns, channels within the block. A last block
// with fewer channels is stored, and unfolded, correspondingly narrower. L1 holds [C1][height][width][C0].
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/machine.h"
#include "lanes/transpose_16x16.h"
#include "twin/cube/load.h"

namespace twin {

namespace {

struct Image {
    Img2col p;
    uint32_t bits, c0;          // elements of 32 bytes
    uint32_t out_w, out_h;      // positions of the filter
    uint32_t whole, tail;       // channels in full blocks, and those of the last one
    uint32_t boundary, origin;  // L1's wrap-around, and where the map starts
    const uint8_t* l1;
    uint64_t pad_line[4];  // 32 bytes of padding

    uint32_t taps() const { return uint32_t(p.filter_w) * p.filter_h; }
    uint32_t columns() const { return (whole + tail) * taps(); }
    uint32_t rows() const { return out_w * out_h; }
    const uint8_t* at(uint64_t offset) const {
        uint64_t a = origin + offset;
        return l1 + (boundary ? a % boundary : a);
    }
    // The pixel under tap `tap` at place `row`; -1: padding.
    int64_t pixel(uint32_t row, uint32_t tap) const {
        int y = int(row / out_w) * p.stride_h - p.pad[2] + int(tap / p.filter_w) * p.dilation_h;
        int x = int(row % out_w) * p.stride_w - p.pad[0] + int(tap % p.filter_w) * p.dilation_w;
        return y < 0 || x < 0 || y >= p.height || x >= p.width ? -1 : int64_t(y) * p.width + x;
    }
    // 32 bytes of the matrix: row `row`, from column k on (a multiple of c0).
    void line(uint32_t row, uint32_t k, uint8_t* d) const {
        if (row >= rows() || k >= columns()) {
            std::memset(d, 0, 32);
            return;
        }
        uint32_t full = whole * taps();
        if (k < full) {
            uint32_t block = k / c0, tap = block % taps();
            int64_t at_pixel = pixel(row, tap);
            uint64_t plane = uint64_t(block / taps()) * p.height * p.width;
            std::memcpy(d, at_pixel < 0 ? (const uint8_t*)pad_line : at((plane + uint64_t(at_pixel)) * 32), 32);
            return;
        }
        uint32_t step = tail * bits / 8;  // the narrow block: several taps share a line
        uint64_t plane = uint64_t(whole) * p.height * p.width * bits / 8;
        for (uint32_t b = 0, tap = (k - full) / tail; b < 32; b += step, tap++) {
            int64_t at_pixel = tap < taps() ? pixel(row, tap) : -2;
            if (at_pixel == -2) std::memset(d + b, 0, step);
            else
                std::memcpy(d + b, at_pixel < 0 ? (const uint8_t*)pad_line : at(plane + uint64_t(at_pixel) * step),
                            step);
        }
    }
};

// The part of the matrix that one instruction loads, in lines of 32 bytes; repeats lie side by side in the result.
struct Cut {
    uint32_t rows, lines;                // of one repeat, rows rounded up to 16
    uint32_t times, row_step, col_step;  // from repeat to repeat
    bool along_rows;
    uint32_t all_rows() const { return rows * (along_rows ? times : 1); }
    uint32_t all_lines() const { return lines * (along_rows ? 1 : times); }
};

// Stores the part in the cube's layout: for L0A in Zz, optionally transposed; for L0B in Zn, whose fractals are
// transposed anyway.
void unfold_into(const Image& image, const Cut& cut, bool turned, bool right, uint8_t* to) {
    alignas(64) uint8_t block[kFractal];
    uint64_t high = cut.all_rows() / 16, wide = cut.all_lines(), c0 = image.c0, tall = (wide * c0 + 15) / 16;
    for (uint32_t i = 0; i < high; i++)
        for (uint32_t j = 0; j < wide; j++) {
            uint32_t repeat = cut.along_rows ? i * 16 / cut.rows : j / cut.lines;
            uint32_t row = image.p.m_start + repeat * cut.row_step + i * 16 - (cut.along_rows ? repeat * cut.rows : 0);
            uint32_t k = image.p.k_start + repeat * cut.col_step +
                         (j - (cut.along_rows ? 0 : repeat * cut.lines)) * image.c0;
            for (uint32_t r = 0; r < 16; r++) image.line(row + r, k, block + r * 32);
            if (!turned) {
                std::memcpy(to + (i * wide + j) * kFractal, block, kFractal);
            } else if (image.bits == 16) {
                transpose_16x16(reinterpret_cast<uint16_t*>(block), 16,
                                reinterpret_cast<uint16_t*>(to + (right ? i * wide + j : j * high + i) * kFractal));
            } else {  // 32 bits: 16 columns of the cut fill a fractal of 16 x 8 for the first 8 rows, and one for the
                      // others
                for (uint32_t half = 0; half < 2; half++) {
                    uint64_t across = i * 2 + half, down = j * 8 / 16;
                    uint8_t* fractal = to + (right ? across * tall + down : down * high * 2 + across) * kFractal +
                                       (j % 2) * 256;
                    for (uint32_t c = 0; c < 8; c++)
                        for (uint32_t r = 0; r < 8; r++)
                            std::memcpy(fractal + c * 32 + r * 4, block + (half * 8 + r) * 32 + c * 4, 4);
                }
            }
        }
}

bool plausible(const Img2col& p, uint32_t bits, bool right, Here here) {
    uint32_t c0 = 256 / bits, rest = p.channels % c0;
    const char* why = nullptr;
    if (!p.stride_w || !p.stride_h || !p.dilation_w || !p.dilation_h) why = "stride";
    else if (rest && (rest < (bits == 4 ? 8u : 4u) || (rest & (rest - 1)))) why = "channels";
    else if (p.k_start % c0) why = "kStartPt";
    else if (int(p.width) + p.pad[0] + p.pad[1] < (p.filter_w - 1) * p.dilation_w + 1 ||
             int(p.height) + p.pad[2] + p.pad[3] < (p.filter_h - 1) * p.dilation_h + 1)
        why = "filter";
    else if (bits < 16 && (right || p.turned)) why = "type";
    if (why)
        core->report("load-image", true, here,
                     Numbers()
                         .add("why", why)
                         .add("channels", unsigned(p.channels))
                         .add("c0", c0)
                         .add("bits", bits)
                         .add("k_start", unsigned(p.k_start)));
    return !why;
}

// What is read of L1: in each plane of channels from the first to the last pixel under the filter, in bytes behind src.
struct Span { uint64_t from, to; };
std::vector<Span> spans_of(const Image& image, const Cut& cut) {
    const Img2col& p = image.p;
    std::vector<Span> found;
    uint32_t first_row = p.m_start,
             last_row = std::min<uint32_t>(p.m_start + (cut.times - 1) * cut.row_step + cut.rows, image.rows());
    if (first_row >= last_row) return found;
    int64_t from, to;
    if (image.taps() == 1 && p.stride_w == 1 && p.stride_h == 1 && image.out_w == p.width) {
        from = first_row, to = last_row;
    } else {
        int64_t bottom = std::min<int64_t>(p.height - 1, int64_t((last_row - 1) / image.out_w) * p.stride_h - p.pad[2] +
                                                             (p.filter_h - 1) * p.dilation_h);
        int64_t right = std::min<int64_t>(
            p.width, int64_t(image.out_w - 1) * p.stride_w - p.pad[0] + (p.filter_w - 1) * p.dilation_w + 1);
        from = std::max(0, int(first_row / image.out_w) * p.stride_h - p.pad[2]) * int64_t(p.width);
        to = bottom * p.width + right;
    }
    uint32_t span = image.c0 * image.taps(), end = p.k_start + (cut.times - 1) * cut.col_step + cut.lines * image.c0;
    uint32_t planes = image.whole / image.c0 + (image.tail ? 1 : 0);
    for (uint32_t plane = p.k_start / span; plane < planes && plane * span < end && from < to; plane++) {
        uint32_t pixel = plane < image.whole / image.c0 ? 32 : image.tail * image.bits / 8;
        uint64_t base = uint64_t(plane) * p.height * p.width * 32;
        found.push_back({base + uint64_t(from) * pixel, base + uint64_t(to) * pixel});
    }
    return found;
}

}  // namespace

void load_3d(uint32_t bits, Loc d, Loc s, const Img2col& asked, Here here) {
    if (!placed(s, {Mem::L1}, "LoadData", "src", here) || !placed(d, {Mem::L0A, Mem::L0B}, "LoadData", "dst", here))
        return core->refuse(d, d.bytes);
    if (!has(core->id.kind, Mem::L1)) return void(core->usable(s, 0, false, here, "src"));
    CubeState& state = core->cube_state;
    auto& map = asked.right ? state.right : state.left;
    Image image;
    image.p = asked;
    Img2col& p = image.p;
    if (p.set_map) {
        map = {p.height, p.width, {p.pad[0], p.pad[1], p.pad[2], p.pad[3]}};
    } else {
        p.height = map.height;
        p.width = map.width;
        std::memcpy(p.pad, map.pad, sizeof p.pad);
    }
    if (p.set_pad) state.padding = p.pad_value;
    if (!p.height || !p.width || !p.channels || !p.k_extent || !p.m_extent || !p.filter_w || !p.filter_h ||
        !state.repeat_times)
        return;

    bool right = d.mem == Mem::L0B, turned = p.turned || right;
    image.bits = bits;
    image.c0 = 256 / bits;
    image.tail = p.channels % image.c0;
    image.whole = p.channels - image.tail;
    Cut cut;
    cut.rows = (p.m_extent + 15u) / 16 * 16;
    cut.lines = (p.k_extent + image.c0 - 1) / image.c0;
    cut.times = state.repeat_times;
    cut.along_rows = state.repeat_mode == 0;
    cut.row_step = cut.along_rows ? state.repeat_stride * 16u : 0;
    cut.col_step = cut.along_rows ? 0 : state.repeat_stride * image.c0;
    uint64_t writes = cut.all_rows() / 16 * uint64_t(cut.all_lines()) * kFractal;
    if (bits == 32 && turned) writes = cut.all_rows() / 8 * ((uint64_t(cut.all_lines()) * 8 + 15) / 16) * kFractal;
    d = in_l0(d, writes, 0);
    if (!plausible(p, bits, right, here)) return core->refuse(d, writes);
    image.out_w = uint32_t(p.width + p.pad[0] + p.pad[1] - (p.filter_w - 1) * p.dilation_w - 1) / p.stride_w + 1;
    image.out_h = uint32_t(p.height + p.pad[2] + p.pad[3] - (p.filter_h - 1) * p.dilation_h - 1) / p.stride_h + 1;
    image.boundary = state.boundary;
    image.origin = s.addr;
    // The feature map may be larger than what lies in L1; only the pixels under the filter must exist.
    std::vector<Span> spans = spans_of(image, cut);
    uint64_t reads = spans.empty() ? 0 : spans.back().to;
    if (image.boundary) reads = s.addr < image.boundary ? std::min<uint64_t>(reads, image.boundary - s.addr) : 0;
    if (!core->usable(s, reads, true, here, "src") || !core->usable(d, writes, false, here, "dst", kFractal))
        return core->refuse(d, writes);
    auto t = core->issue(Pipe::MTE1, Op::LoadData, here);
    for (const Span& span : spans) {
        Loc part = s;
        part.addr += uint32_t(span.from);
        if (!image.boundary || part.addr + (span.to - span.from) <= image.boundary)
            core->book(t, part, uint32_t(span.to - span.from), false);
    }
    core->instruction.opaque = true;  // pixels go to several places
    core->book(t, d, uint32_t(writes), true);
    Loc l1 = s;
    l1.addr = 0;
    image.l1 = core->at(l1);
    uint32_t elem = bits < 8 ? 1 : bits / 8;
    for (uint32_t b = 0; b < 32; b += elem) std::memcpy((uint8_t*)image.pad_line + b, &state.padding, elem);
    core->perform(t, [=, to = core->at(d)] { unfold_into(image, cut, turned, right, to); });
    const auto& rate = right ? chip.to_l0b : chip.to_l0a;
    core->retire(t, rate.start + double(writes) / rate.rate, writes);
}

}  // namespace twin
