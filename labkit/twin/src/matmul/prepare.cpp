#include "matmul/prepare.h"

#include <algorithm>
#include <cstring>

namespace twin {

using In = MatmulOperand::In;

MatmulCores cores_of(const MatmulState& s, Here here) {
    Core* me = core;
    me->last = here;
    if (!s.kind->client) {
        if (me->id.kind == Kind::AIC) return {me, me, false};
        if (!me->id.mixed) me->stop("matmul-core", here, Numbers());
        return {};
    }
    if (me->id.kind == Kind::AIC) return {};
    if (!me->cube) me->stop("matmul-alone", here, Numbers().add("core", "AIV"));
    // its work for an AIV is ordered with other cores as the AIV is
    me->cube->phase = std::max(me->cube->phase, me->phase);
    me->cube->ordered = me->cube->ordered || me->ordered;
    me->cube->far = me->cube->far || me->far;
    return {me, me->cube, s.kind->a.share && s.kind->b.share && me->id.sub > 0};
}

bool matmul_register(const MatmulKind& kind, Here here) {
    core->last = here;
    if (!kind.client) return true;
    if (core->id.kind == Kind::AIC) {
        if (!core->id.mixed) core->stop("matmul-alone", here, Numbers().add("core", "AIC"));
        return kind.both;
    }
    if (!core->cube) core->stop("matmul-alone", here, Numbers().add("core", "AIV"));
    return true;
}

bool vetted(const MatmulState& s, const MatmulCores& cores, const char* call, Here here) {
    Core& me = *cores.caller;
    auto missing = [&](const char* what) {
        me.report("matmul-empty", true, here, Numbers().add("call", call).add("what", what));
        return false;
    };
    if (!s.ready) return missing("REGIST_MATMUL_OBJ / Init");
    if (s.a.in == In::Nothing) return missing("SetTensorA");
    if (s.b.in == In::Nothing) return missing("SetTensorB");
    if (s.kind->sparse && !s.sparse_index.ptr) return missing("SetSparseIndex");
    const auto& t = s.tiling;
    bool fine = true;
    auto check = [&](bool ok, const char* field, int64_t value, const char* limit) {
        if (ok || !fine) return;
        me.report("matmul-tiling", true, here, Numbers().add("field", field).add("value", value).add("limit", limit));
        fine = false;
    };
    for (auto [field, value] :
         {std::pair<const char*, int32_t>{"baseM", t.baseM}, {"baseN", t.baseN}, {"baseK", t.baseK}})
        check(value > 0 && value % 8 == 0, field, value, "> 0, % 8 == 0");
    for (auto [field, value] : {std::pair<const char*, int32_t>{"singleCoreM", s.single_m},
                                {"singleCoreN", s.single_n},
                                {"singleCoreK", s.single_k},
                                {"M", s.m},
                                {"N", s.n},
                                {"Ka", s.ka},
                                {"Kb", s.kb}})
        check(value > 0, field, value, "> 0");
    int64_t a1 = int64_t(t.baseM) * t.baseK * bits_of(s.kind->a) / 8,
            b1 = int64_t(t.baseN) * t.baseK * bits_of(s.kind->b) / 8;
    check(a1 <= chip.size[int(Mem::L0A)], "baseM * baseK * sizeof(A)", a1, "<= 65536 (L0A)");
    check(b1 <= chip.size[int(Mem::L0B)], "baseN * baseK * sizeof(B)", b1, "<= 65536 (L0B)");
    check(int64_t(t.baseM) * t.baseN * 4 <= chip.size[int(Mem::L0C)], "baseM * baseN * 4",
          int64_t(t.baseM) * t.baseN * 4, "<= 131072 (L0C)");
    int64_t l1 = (s.a.in == In::Gm ? t.depthA1 * a1 : 0) + (s.b.in == In::Gm ? t.depthB1 * b1 : 0);
    check(l1 <= chip.size[int(Mem::L1)], "depthA1 * baseM * baseK * sizeof(A) + depthB1 * baseN * baseK * sizeof(B)",
          l1, "<= 524288 (L1)");
    return fine;
}

namespace {

uint8_t* nowhere() {
    static uint8_t one[64];
    return one;
}

// Locates an operand, after checking that `bytes` from the given step on exist.
const uint8_t* reach(const MatmulOperand& o, const MatmulCores& cores, int64_t offset, int64_t bytes, const char* what,
                     Placed& p, Here here) {
    Core& me = *cores.caller;
    p.bytes = bytes;
    if (o.in == In::Gm) {
        p.in_gm = true;
        p.gm = o.gm;
        p.gm.ptr += offset;
        p.gm.bytes = 0;  // the view's length is only the kernel's declaration; the tensor's size counts
        return me.gm_usable(p.gm, uint64_t(bytes), false, here, true) ? p.gm.ptr : nullptr;
    }
    p.loc = o.loc;
    p.loc.addr += uint32_t(offset);
    p.loc.bytes = uint32_t(std::max<int64_t>(0, int64_t(o.loc.bytes) - offset));
    if (has(me.id.kind, p.loc.mem)) return me.usable(p.loc, uint64_t(bytes), true, here, what) ? me.at(p.loc) : nullptr;
    if (!has(cores.cube->id.kind, p.loc.mem)) {
        me.report("matmul-place", true, here, Numbers().add("what", what));
        return nullptr;
    }
    p.loc.buf = 0;  // the buffer number is the AIV's; the cube core knows its L1 only by address
    return cores.cube->usable(p.loc, uint64_t(bytes), true, here, what) ? cores.cube->at(p.loc) : nullptr;
}

// rows x cols as stored, `ld` elements (or, for NZ, rows) from line to line in GM; given: everywhere, where it is not
// 0.
bool place(const MatmulOperand& o, const MatmulSide& side, const MatmulCores& cores, int64_t rows, int64_t cols,
           int64_t ld, int64_t given, int64_t step, std::vector<uint8_t>& spare, const char* what, Placed& p,
           Here here) {
    int64_t c0 = c0_of(side), bits = bits_of(side);
    bool trans = o.trans;
    if (o.in == In::Value) {  // one row of the same value, used for every row
        spare.assign(size_t(std::max(rows, cols)) * size_of(side.type) + 8, 0);
        for (size_t i = 0; i < size_t(std::max(rows, cols)); i++)
            std::memcpy(&spare[i * size_of(side.type)], &o.value.bits, size_of(side.type));
        p.view = View::rows(spare.data(), side.type, 0);
        return true;
    }
    bool fractals = is_format(side, CubeFormat::NZ), local = o.in == In::Local;
    if (local && !fractals && o.loc.mem == Mem::L1 && !is_format(side, CubeFormat::VECTOR)) fractals = true;
    if (given) ld = given;
    else if (fractals) ld = local ? up(rows, trans && bits < 16 ? c0 : 16) : up(ld, 16);
    else if (local) ld = is_format(side, CubeFormat::VECTOR) ? cols : up(cols, c0);
    int64_t elements = fractals ? (parts(cols, c0) - 1) * ld * c0 + rows * c0 : (rows - 1) * ld + cols;
    const uint8_t* at = reach(o, cores, step * bits / 8, (elements * bits + 7) / 8, what, p, here);
    if (!at) at = nowhere();
    if (p.in_gm && !fractals && bits >= 8) p.row = cols * bits / 8, p.apart = ld * bits / 8, p.rows = rows;
    View v;
    if (!fractals) {
        v = trans ? View::columns(at, side.type, ld) : View::rows(at, side.type, ld);
    } else {
        v = View::nz(at, side.type, ld, uint32_t(c0));
        if (trans) {
            std::swap(v.tile_rows, v.tile_cols);
            std::swap(v.row, v.col);
            std::swap(v.tile_row, v.tile_col);
        }
    }
    v.nibbles = side.nibbles;
    p.view = v;
    return at != nowhere();
}

}  // namespace

bool place_a(MatmulState& s, const MatmulCores& cores, int64_t step, int64_t given, std::vector<uint8_t>& spare,
             Placed& p, Here here) {
    bool vector = is_format(s.kind->a, CubeFormat::VECTOR) || is_format(s.kind->a, CubeFormat::SCALAR),
         trans = s.a.trans, nz = is_format(s.kind->a, CubeFormat::NZ);
    int64_t m = vector ? 1 : s.single_m, rows = trans ? s.single_k : m, cols = trans ? m : s.single_k;
    int64_t ld = nz ? (trans ? s.ka : s.m) : trans ? s.m : s.ka;
    return place(s.a, s.kind->a, cores, rows, cols, ld, given, step, spare, "A", p, here);
}

// Sparse B keeps two of every four elements along K ([n][k / 2], or fractals of that), with two bits for each: its
// position among the first three, or the last three, of the four. The bits are [k / 64][n up to 16][8] bytes in GM.
// Once expanded, it is a product like any other.
static bool place_sparse_b(MatmulState& s, const MatmulCores& cores, std::vector<uint8_t>& spare, Placed& p,
                           Here here) {
    int64_t n = s.single_n, k = s.single_k, tall = up(s.n, 16), line = s.kb / 2;
    bool nz = is_format(s.kind->b, CubeFormat::NZ);
    Placed bits;
    MatmulOperand index;
    index.in = In::Gm;
    index.gm = s.sparse_index;
    auto place = [&](int64_t row, int64_t i) { return nz ? i / 32 * tall * 32 + row * 32 + i % 32 : row * line + i; };
    const uint8_t* kept = reach(s.b, cores, 0, place(n - 1, k / 2 - 1) + 1, "B", p, here);
    const uint8_t* where = reach(index, cores, 0, (parts(k, 64) - 1) * tall * 8 + n * 8, "SetSparseIndex", bits, here);
    if (!kept || !where) return false;
    spare.assign(size_t(n * k), 0);
    for (int64_t row = 0; row < n; row++)
        for (int64_t i = 0; i < k / 2; i++) {
            uint8_t four = where[i / 32 * tall * 8 + row * 8 + i / 4 % 8];
            spare[size_t(row * k + i / 2 * 4 + i % 2 + (four >> (i % 4 * 2) & 3))] += kept[place(row, i)];
        }
    p.view = View::columns(spare.data(), Dt::I8, k);
    return true;
}

bool place_b(MatmulState& s, const MatmulCores& cores, int64_t step, int64_t given, std::vector<uint8_t>& spare,
             Placed& p, Here here) {
    if (s.kind->sparse) return place_sparse_b(s, cores, spare, p, here);
    bool trans = s.b.trans, nz = is_format(s.kind->b, CubeFormat::NZ);
    int64_t rows = trans ? s.single_n : s.single_k, cols = trans ? s.single_k : s.single_n;
    int64_t ld = nz ? (trans ? s.n : s.kb) : trans ? s.kb : s.n;
    return place(s.b, s.kind->b, cores, rows, cols, ld, given, step, spare, "B", p, here);
}

bool place_bias(MatmulState& s, const MatmulCores& cores, int64_t step, Product& out, Here here) {
    out.bias = nullptr;
    if (!s.has_bias || !s.kind->bias_on) return true;
    Placed p;
    int64_t size = size_of(s.kind->bias.type);
    out.bias_type = s.kind->bias.type;
    out.bias = reach(s.bias, cores, step * size, s.single_n * size, "bias", p, here);
    return out.bias != nullptr;
}

bool place_scales(MatmulState& s, const MatmulCores& cores, Product& out, Here here) {
    out.quantised = s.quant_scalar || s.quant_vector;
    bool needed = size_of(s.kind->c.type) == 1 || (out.integer && s.kind->c.type != Dt::I32);
    if (needed && !out.quantised) {
        cores.caller->report("matmul-quant", true, here, Numbers());
        return false;
    }
    if (!needed) out.quantised = false;
    out.scale = s.scale;
    out.scales = nullptr;
    if (!needed || !s.quant_vector) return true;
    Placed p;
    out.scales = reinterpret_cast<const uint64_t*>(reach(s.quant, cores, 0, s.single_n * 8, "SetQuantVector", p, here));
    return out.scales != nullptr;
}

}  // namespace twin
