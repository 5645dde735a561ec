// Transpose with a tiling: NZ is the layout of 16 columns side by side, [columns / 16][rows][16].
//
// The tiling's fields have no names: their meaning in each scene follows CANN (kernels may fill them by hand). In all
// scenes rows come in multiples of 16, so the true number of rows is not stored anywhere; columns that only fill up the
// last 16 are not written.
#include "twin/library/layout.h"

#include <vector>

#include "library/call.h"
#include "vector/rearrange.h"

namespace twin {

namespace {

uint32_t up16(uint32_t n) { return (n + 15) / 16 * 16; }

struct Nz {  // where an element of a matrix in NZ lies
    uint64_t rows;
    uint64_t operator()(uint64_t row, uint64_t column) const {
        return column / 16 * rows * 16 + row * 16 + column % 16;
    }
};

class Mover {
public:
    Mover(Dt t, Loc d, Loc s, uint64_t elements)
        : size_(size_of(t)), to_(core->at(d)), from_(core->at(s), core->at(s) + elements * size_of(t)) {}
    void move(uint64_t to, uint64_t from) { std::memcpy(to_ + to * size_, &from_[from * size_], size_); }
private:
    uint32_t size_;
    uint8_t* to_;
    std::vector<uint8_t> from_;
};

struct Scene {
    uint32_t batches, heads, rows, columns;  // of one head: columns as they are
    uint64_t src, dst;                       // elements of the whole
    uint32_t scratch;                        // elements
};

Scene scene_of(int scene, const uint32_t (&p)[18]) {
    if (scene <= 2) {
        uint64_t all = uint64_t(p[1]) * p[2] * p[3] * p[4];
        return {p[1], p[2], p[4], p[3], all, all, 256};
    }
    uint32_t rows = scene == 3 ? p[9] : p[6] * 16;
    uint64_t apart = uint64_t(p[1]) * p[2] * up16(p[3]) * rows, joined = uint64_t(p[1]) * up16(p[2] * p[3]) * rows;
    return scene <= 4 ? Scene{p[1], p[2], rows, p[3], joined, apart, 512}
                      : Scene{p[1], p[2], rows, p[3], apart, joined, 512};
}

void heads_and_rows(Mover& m, const Scene& s, bool nz) {  // scenes 1 and 2: [B, A1, A2, A3] -> [B, A2, A1, A3]
    Nz in{s.rows}, out{s.heads};
    uint64_t head = uint64_t(s.rows) * s.columns, row = uint64_t(s.heads) * s.columns;
    for (uint64_t b = 0; b < s.batches; b++)
        for (uint64_t h = 0; h < s.heads; h++)
            for (uint64_t r = 0; r < s.rows; r++)
                for (uint64_t c = 0; c < s.columns; c++)
                    m.move(b * head * s.heads + r * row + (nz ? out(h, c) : h * s.columns + c),
                           (b * s.heads + h) * head + in(r, c));
}

// Scenes 3 to 6: one matrix of all heads' columns on one side, a matrix a head on the other.
void columns(Mover& m, const Scene& s, bool split, bool nz) {
    uint64_t wide = up16(s.heads * s.columns), narrow = up16(s.columns);
    Nz block{s.rows};
    for (uint64_t b = 0; b < s.batches; b++)
        for (uint64_t h = 0; h < s.heads; h++)
            for (uint64_t r = 0; r < s.rows; r++)
                for (uint64_t c = 0; c < s.columns; c++) {
                    uint64_t all = h * s.columns + c, whole = b * wide * s.rows,
                             own = (b * s.heads + h) * narrow * s.rows;
                    if (split) m.move(own + (nz ? block(r, c) : r * narrow + c), whole + block(r, all));
                    else m.move(whole + (nz ? block(r, all) : r * wide + all), own + block(r, c));
                }
}

}  // namespace

void transpose_scene(Dt t, Loc d, Loc s, Loc tmp, int scene, const uint32_t (&p)[18], Here here) {
    core->last = here;
    if (scene < 1 || scene > 7) return transpose_unknown(scene, d, here);
    uint32_t size = size_of(t);
    Call call(Op::Transpose, here);
    if (scene == 7) {
        uint64_t h = p[1], w = p[2];
        if (!h || !w) return;
        call.in(s, h * w * size).out(d, h * w * size).whole("height", h, 16).whole("width", w, kBlock / size);
        if (!call.begin()) return;
        Mover m(t, d, s, h * w);
        for (uint64_t i = 0; i < h; i++)
            for (uint64_t j = 0; j < w; j++) m.move(j * h + i, i * w + j);
        call.charge(t, 16 * w, Op::TransDataTo5HD, double(h / 16));
        return call.end(h * w * size);
    }
    Scene shape = scene_of(scene, p);
    if (!shape.src || !shape.dst) return;
    uint64_t least = uint64_t(shape.scratch) * size;
    call.in(s, shape.src * size)
        .out(d, shape.dst * size)
        .scratch(tmp, least, scene <= 2 ? uint64_t(shape.rows) * 16 * size : least);
    if (!call.begin()) return;
    Mover m(t, d, s, shape.src);
    if (scene <= 2) heads_and_rows(m, shape, scene == 2);
    else columns(m, shape, scene <= 4, scene == 3 || scene == 6);
    // Each stretch of 16 columns is transposed into the scratch and back; if columns shift, with a copy in between.
    double stretches = double(shape.batches) * shape.heads * (up16(shape.columns) / 16);
    call.charge(t, uint64_t(shape.rows) * 16, Op::TransDataTo5HD, 2 * stretches);
    if (scene >= 3) call.charge(t, uint64_t(shape.rows) * 16, Op::Copy, stretches);
    call.end(shape.dst * size);
}

}  // namespace twin
