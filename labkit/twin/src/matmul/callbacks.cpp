// Matmul with callbacks: functions of the kernel fill the tiles in L1 and empty L0C.
#include <algorithm>
#include <cstring>

#include "core/l1_proxy.h"
#include "matmul/call.h"

namespace twin {

namespace {

// A tile of A or B in L1: `tall` x `wide` as stored, at `loc`.
struct Tile {
    int64_t row = -1, col = -1;
    Loc loc;
    View view;
};

// The tiles that one operand has in L1, and the function that fills them.
class Feed {
public:
    Feed(MatmulCopyIn copy, const MatmulOperand& o, const MatmulSide& side, int64_t tall, int64_t wide, int64_t depth,
         uint32_t at)
        : copy_(copy), o_(o), side_(side), tall_(tall), wide_(wide), at_(at) {
        bytes_ = uint32_t(up(up(tall, 16) * up(wide, 16) * bits_of(side) / 8, 512));
        tiles_.resize(size_t(std::max<int64_t>(1, depth)));
    }
    uint32_t end() const { return at_ + bytes_ * uint32_t(tiles_.size()); }

    // Tile (row, col) of the operand as the product sees it: rows x cols of it are there.
    const View& tile(const MatmulState& s, Core& cube, int64_t row, int64_t col, int64_t rows, int64_t cols,
                     Here here) {
        for (Tile& t : tiles_)
            if (t.row == row && t.col == col) return t.view;
        Tile& t = tiles_[next_++ % tiles_.size()];
        t.row = row, t.col = col;
        t.loc = {at_ + bytes_ * uint32_t((next_ - 1) % tiles_.size()),
                 bytes_,
                 0,
                 0,
                 Mem::L1,
                 uint8_t(AscendC::TPosition::A1)};
        {
            OnCore on_cube(&cube);
            copy_(t.loc, o_.in == MatmulOperand::In::Gm ? o_.gm.ptr : nullptr, int(row), int(col), int(rows), int(cols),
                  s.user_info, s.self_data);
            cube.join_all();
        }
        (void)here;
        int64_t c0 = c0_of(side_), stored = o_.trans ? cols : rows;
        t.view = View::nz(cube.at(t.loc), side_.type, up(stored, 16), uint32_t(c0));
        if (o_.trans) {
            std::swap(t.view.tile_rows, t.view.tile_cols);
            std::swap(t.view.row, t.view.col);
            std::swap(t.view.tile_row, t.view.tile_col);
        }
        t.view.nibbles = side_.nibbles;
        return t.view;
    }
    int64_t tall() const { return tall_; }
    int64_t wide() const { return wide_; }
private:
    MatmulCopyIn copy_;
    const MatmulOperand& o_;
    const MatmulSide& side_;
    int64_t tall_, wide_;
    uint32_t at_, bytes_ = 0;
    std::vector<Tile> tiles_;
    size_t next_ = 0;
};

}  // namespace

bool fed_by_kernel(const MatmulState& s) { return s.kind->copy_a || s.kind->copy_b; }

void multiply_fed(MatmulState& s, const MatmulCores& cores, const Ready& r, const Block& b, void* acc, bool onto,
                  Here here) {
    const auto& t = s.tiling;
    const Product& p = r.p;
    int64_t step_m = s.kind->mdl ? std::max(1, t.stepM) : 1, step_n = s.kind->mdl ? std::max(1, t.stepN) : 1;
    int64_t step_ka = s.kind->mdl ? std::max(1, t.stepKa) : 1, step_kb = s.kind->mdl ? std::max(1, t.stepKb) : 1;
    uint32_t at = uint32_t(up(cores.cube->top[int(Mem::L1)], 512));
    Feed a(s.kind->copy_a, s.a, s.kind->a, step_m * t.baseM, step_ka * t.baseK, t.depthA1 / (step_m * step_ka), at);
    Feed bb(s.kind->copy_b, s.b, s.kind->b, step_kb * t.baseK, step_n * t.baseN, t.depthB1 / (step_n * step_kb),
            s.kind->copy_a ? a.end() : at);
    const uint32_t end = s.kind->copy_b ? bb.end() : a.end(), room = chip.size[int(Mem::L1)];
    if (end > room) {
        cores.caller->report("matmul-tiling", true, here,
                             Numbers()
                                 .add("field", "L1's bytes, with depthA1 * baseM * baseK and depthB1 * baseN * baseK,")
                                 .add("value", end)
                                 .add("limit", "<= " + std::to_string(room) + " (L1)"));
        return;
    }
    Product bias_only = p;
    bias_only.k = 0;
    if (!onto && p.bias) {
        std::vector<float> zero(size_t(std::max(b.rows, b.cols)), 0.f);
        bias_only.a = View::rows(zero.data(), Dt::F32, 0);
        bias_only.b = View::rows(zero.data(), Dt::F32, 0);
        bias_only.integer = p.integer;
        if (p.integer) bias_only.a = View::rows(zero.data(), Dt::I8, 0), bias_only.b = bias_only.a;
        bias_only.multiply(0, b.rows, b.c0, b.cols, 0, 1, acc, b.cols, false);
        onto = true;
    }
    for (int64_t k = 0; k < b.depth; k += t.baseK) {
        int64_t kk = (b.k0 + k) / t.baseK, depth = std::min<int64_t>(t.baseK, b.depth - k);
        std::vector<uint8_t> spare_a, spare_b;
        View left, right;
        if (s.kind->copy_a) {
            int64_t tr = b.row / step_m, tc = kk / step_ka, r0 = tr * a.tall(), c0 = tc * a.wide();
            const View& tile = a.tile(s, *cores.cube, tr, tc, std::min(a.tall(), s.single_m - r0),
                                      std::min(a.wide(), s.single_k - c0), here);
            left = part_of(tile, b.r0 - r0, b.k0 + k - c0, b.rows, depth, spare_a);
        } else {
            left = part_of(p.a, b.r0, b.k0 + k, b.rows, depth, spare_a);
        }
        if (s.kind->copy_b) {
            int64_t tr = kk / step_kb, tc = b.col / step_n, r0 = tr * bb.tall(), c0 = tc * bb.wide();
            const View& tile = bb.tile(s, *cores.cube, tr, tc, std::min(bb.tall(), s.single_k - r0),
                                       std::min(bb.wide(), s.single_n - c0), here);
            right = part_of(tile, b.k0 + k - r0, b.c0 - c0, depth, b.cols, spare_b);
        } else {
            right = part_of(p.b, b.k0 + k, b.c0, depth, b.cols, spare_b);
        }
        gemm(left, right, Out::rows(acc, b.cols), uint32_t(b.rows), uint32_t(b.cols), uint32_t(depth), onto || k > 0,
             p.hf32);
    }
}

void store_by_kernel(const MatmulState& s, const MatmulCores& cores, const Block& b, const Drain& d, Here here) {
    Core& cube = *cores.cube;
    Drain l0c;
    l0c.type = s.kind->a.type == Dt::I8 ? Dt::I32 : Dt::F32;
    l0c.fractals = true;
    l0c.ld = up(b.rows, 16);
    Loc loc{cube.top[int(Mem::L0C)],         uint32_t(l0c.extent(b.rows, b.cols)), 0, 0, Mem::L0C,
            uint8_t(AscendC::TPosition::CO1)};
    if (!cube.usable(loc, loc.bytes, false, here, "C", 64)) return;
    auto t = cube.issue(Pipe::M, Op::Matmul, here);
    cube.book(t, loc, loc.bytes, true);
    l0c.to = cube.at(loc);
    Product plain;
    plain.integer = l0c.type == Dt::I32;
    plain.drain(s.scratch.data, b.cols, b.rows, b.cols, b.c0, l0c);
    cube.join_all();
    AscendC::DataCopyOutParams params;
    params.cBurstNum = uint16_t(up(b.cols, 16) / 16);
    params.burstLen = uint16_t(b.rows * 16 * 4 / 32);
    params.dstStride = uint32_t(d.fractals ? d.ld * d.c0 * size_of(d.type) / 32 : d.ld);
    params.oriNSize = d.fractals ? 0 : uint16_t(b.cols);
    params.enUnitFlag = s.kind->unit_flag;
    params.quantScalar = s.scale;
    params.curM = int(b.row), params.curN = int(b.col);
    OnCore on_cube(&cube);
    s.kind->copy_out(d.to, loc, &params, s.user_info, s.self_data);
    cube.join_all();
}

}  // namespace twin
