// Many products in one call: the layout of a batch's matrices, and which matrix of A belongs to which of B.
#include <algorithm>
#include <cstring>

#include "matmul/call.h"

namespace twin {

namespace {

struct Extent {  // of a layout's five axes; s rows and d columns are a matrix's own
    int64_t b, s, n, g, d;
};
Extent extent_a(const MatmulState& s) {
    return {s.tiling.ALayoutInfoB, s.tiling.ALayoutInfoS, s.tiling.ALayoutInfoN, s.tiling.ALayoutInfoG,
            s.tiling.ALayoutInfoD};
}
Extent extent_b(const MatmulState& s) {
    return {s.tiling.BLayoutInfoB, s.tiling.BLayoutInfoS, s.tiling.BLayoutInfoN, s.tiling.BLayoutInfoG,
            s.tiling.BLayoutInfoD};
}
Extent extent_c(const MatmulState& s) {
    return {s.tiling.CLayoutInfoB, s.tiling.CLayoutInfoS1, s.tiling.CLayoutInfoN, s.tiling.CLayoutInfoG,
            s.tiling.CLayoutInfoS2};
}

bool woven(const MatmulSide& side) {
    return is_layout(side, LayoutMode::BSNGD) || is_layout(side, LayoutMode::SBNGD) ||
           is_layout(side, LayoutMode::BNGS1S2);
}

struct MatrixPlace {
    int64_t offset = 0, ld = 0;  // elements; ld 0: a matrix by itself
};
MatrixPlace matrix_place(const MatmulSide& side, const Extent& e, int64_t index, int64_t alone) {
    int64_t heads = e.n * e.g;
    if (is_layout(side, LayoutMode::BSNGD))
        return {index / heads * e.s * heads * e.d + index % heads * e.d, heads * e.d};
    if (is_layout(side, LayoutMode::SBNGD)) return {index * e.d, e.b * heads * e.d};
    if (is_layout(side, LayoutMode::BNGS1S2)) return {index * e.s * e.d, e.d};
    return {index * alone, 0};
}

// The products of one call: `count` of them, the first with matrix first_a, first_b, first_c.
struct Batch {
    int64_t count = 0, first_a = 0, first_b = 0, first_c = 0;
    int64_t group = 1;  // so many consecutive products are summed to one matrix of C
};

// The matrix that product i uses: its own axis if both operands have it, or the only matrix if there is one.
int64_t partner(int64_t i, const Extent& own, const Extent& other) {
    int64_t gs = std::max(own.g, other.g), ns = std::max(own.n, other.n), g = i % gs, n = i / gs % ns,
            b = i / (gs * ns);
    return ((b % own.b) * own.n + n % own.n) * own.g + g % own.g;
}

Batch batch_of(const MatmulState& s, const MatmulCall& call, int64_t loop) {
    Batch b;
    b.count = std::max(call.batch_a, call.batch_b);
    if (woven(s.kind->c) && s.tiling.CLayoutInfoG == 1)
        b.group = std::max<int64_t>(1, std::max(s.tiling.ALayoutInfoG, s.tiling.BLayoutInfoG));
    b.first_a = loop * call.batch_a;
    b.first_b = loop * call.batch_b;
    b.first_c = loop * (b.count / b.group);
    return b;
}

bool plausible(const MatmulState& s, const MatmulCores& cores, const MatmulCall& call, Here here) {
    auto no = [&](const char* field, int64_t value, const char* limit) {
        cores.caller->report("matmul-tiling", true, here,
                             Numbers().add("field", field).add("value", value).add("limit", limit));
        return false;
    };
    for (auto [name, side, e] :
         {std::tuple<const char*, const MatmulSide*, Extent>{"ALayoutInfo", &s.kind->a, extent_a(s)},
          {"BLayoutInfo", &s.kind->b, extent_b(s)},
          {"CLayoutInfo", &s.kind->c, extent_c(s)}})
        if (woven(*side))
            for (int64_t value : {e.b, e.s, e.n, e.g, e.d})
                if (value <= 0) return no(name, value, "> 0 (SetALayout, SetBLayout, SetCLayout)");
    int64_t most = std::max(call.batch_a, call.batch_b), least = std::min(call.batch_a, call.batch_b);
    if (least <= 0 || most % least) return no("batchA, batchB", least, "> 0, max % min == 0");
    return true;
}

int64_t elements_alone(const MatmulSide& side, int64_t rows, int64_t cols) {
    int64_t c0 = c0_of(side);
    return is_format(side, CubeFormat::NZ) ? up(rows, 16) * up(cols, c0) : rows * cols;
}

// Runs one product after the other; `give` receives each, together with its place in C.
template <typename Give>
void each(MatmulState& s, const MatmulCores& cores, const MatmulCall& call, int64_t loop, Here here, Give give) {
    Batch batch = batch_of(s, call, loop);
    Extent ea = extent_a(s), eb = extent_b(s), ec = extent_c(s);
    const MatmulKind& kind = *s.kind;
    int64_t a_alone = call.stride_a ? call.stride_a
                                    : elements_alone(kind.a, s.a.trans ? s.single_k : s.single_m,
                                                     s.a.trans ? s.single_m : s.single_k);
    int64_t b_alone = call.stride_b ? call.stride_b
                                    : elements_alone(kind.b, s.b.trans ? s.single_n : s.single_k,
                                                     s.b.trans ? s.single_k : s.single_n);
    Drain plain = drain_of(s, nullptr, atomic_of(cores, call.atomic), true, s.single_m, s.single_n, true);
    int64_t c_alone = plain.fractals ? parts(s.single_n, plain.c0) * plain.ld * plain.c0 : s.single_m * plain.ld;
    if (is_format(kind.c, CubeFormat::ND_ALIGN)) ec.d = up(ec.d, 32 / size_of(kind.c.type));
    bool by_axes = call.batch_a != call.batch_b && woven(kind.a) && woven(kind.b);
    for (int64_t i = 0; i < batch.count; i++) {
        int64_t ia = by_axes ? partner(i, ea, eb) : i / (batch.count / call.batch_a),
                ib = by_axes ? partner(i, eb, ea) : i / (batch.count / call.batch_b),
                ic = batch.first_c + i / batch.group;
        MatrixPlace a = matrix_place(kind.a, ea, batch.first_a + ia, a_alone),
                    b = matrix_place(kind.b, eb, batch.first_b + ib, b_alone),
                    c = matrix_place(kind.c, ec, ic, c_alone);
        BatchStep step{a.offset, b.offset, kind.bias_batch ? ic * s.single_n : 0, a.ld, b.ld};
        auto r = prepare(s, cores, step, here);
        if (!r) return;
        if (i % batch.group) r->p.bias = nullptr;
        Drain d = plain;
        if (c.ld && !d.fractals) d.ld = c.ld;
        if (i % batch.group) d.atomic = 1;
        give(r, c.offset * int64_t(size_of(kind.c.type)), d);
    }
}

void batch_to_gm(MatmulState& s, const MatmulCores& cores, const MatmulCall& call, int64_t loop, Gm to, Here here) {
    each(s, cores, call, loop, here, [&](const std::shared_ptr<Ready>& r, int64_t offset, Drain d) {
        Gm at = to;
        at.ptr += offset;
        d.to = at.ptr;
        run_to_gm(s, cores, r, at, d, here);
    });
}

}  // namespace

void matmul_batch(MatmulState& s, const MatmulCall& call, Gm to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !vetted(s, cores, "IterateBatch", here) || !plausible(s, cores, call, here)) return;
    send(cores);
    s.waiting = !call.sync && call.wait;
    batch_to_gm(s, cores, call, 0, to, here);
    if (call.sync) go_on(s, cores);
    s.at = -1;
}

void matmul_batch(MatmulState& s, const MatmulCall& call, Loc to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !vetted(s, cores, "IterateBatch", here) || !plausible(s, cores, call, here)) return;
    send(cores);
    std::vector<std::pair<std::shared_ptr<Ready>, Drain>> all;
    std::vector<int64_t> offsets;
    int64_t bytes = 0;
    each(s, cores, call, 0, here, [&](const std::shared_ptr<Ready>& r, int64_t offset, const Drain& d) {
        book_reads(*r, cores, here);
        pass_time(s, cores, work_of(s, *r), here);
        all.emplace_back(r, d);
        offsets.push_back(offset);
        bytes = std::max(bytes, offset + d.extent(r->p.m, r->p.n));
    });
    go_on(s, cores);
    auto fill = [all, offsets](uint8_t* at) {
        for (size_t i = 0; i < all.size(); i++) {
            Drain d = all[i].second;
            d.to = at + offsets[i];
            if (core->effects) all[i].first->p.run(d);
        }
    };
    s.at = -1;
    if (to.mem == Mem::UB) return into_ub(cores, to, bytes, true, here, fill);
    into_l1(cores, to, bytes, here, fill);
}

// Batch after batch into the workspace, which GetBatchTensorC hands out.
void matmul_n_batch(MatmulState& s, const MatmulCall& call, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !vetted(s, cores, "IterateNBatch", here) || !plausible(s, cores, call, here)) return;
    if (!s.workspace.ptr) return cores.caller->report("matmul-workspace", true, here, Numbers());
    send(cores);
    s.waiting = !call.sync && call.wait;
    for (int64_t loop = 0; loop < call.loops; loop++) batch_to_gm(s, cores, call, loop, s.workspace, here);
    s.fetched = 0;
    if (call.sync) go_on(s, cores);
}

Gm matmul_get_batch(MatmulState& s, const MatmulCall& call, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !s.workspace.ptr) return {};
    if (s.fetched == 0) go_on(s, cores);
    uint64_t bytes = uint64_t(std::max(call.batch_a, call.batch_b)) * uint64_t(s.single_m) * uint64_t(s.single_n) *
                     size_of(s.kind->c.type);
    Gm batch = s.workspace;
    batch.ptr += s.fetched;
    batch.base = batch.ptr;
    batch.bytes = bytes;
    s.fetched += bytes;
    return batch;
}

// The next batch of the workspace into UB, laid out as there.
void matmul_get_batch(MatmulState& s, const MatmulCall& call, Loc to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !s.workspace.ptr) return;
    if (s.fetched == 0) go_on(s, cores);
    Batch batch = batch_of(s, call, int64_t(s.fetched++));
    Drain d = drain_of(s, nullptr, 0, true, s.single_m, s.single_n, true);
    Extent ec = extent_c(s);
    int64_t size = size_of(s.kind->c.type),
            alone = d.fractals ? parts(s.single_n, d.c0) * d.ld * d.c0 : s.single_m * d.ld;
    if (is_format(s.kind->c, CubeFormat::ND_ALIGN)) ec.d = up(ec.d, 32 / size);
    MatrixPlace first = matrix_place(s.kind->c, ec, batch.first_c, alone),
                second = matrix_place(s.kind->c, ec, batch.first_c + 1, alone);
    // Rows of several matrices side by side where the layout weaves them, else all matrices one behind the other.
    bool woven_rows = first.ld > 0 && !is_layout(s.kind->c, LayoutMode::BNGS1S2);
    int64_t matrices = batch.count / batch.group, lines = woven_rows ? s.single_m : 1;
    int64_t length = (woven_rows ? matrices * ec.d : (matrices - 1) * (second.offset - first.offset) + alone) * size,
            line = first.ld * size;
    const uint8_t* from = s.workspace.ptr + first.offset * size;
    into_ub(cores, to, (lines - 1) * line + length, true, here, [=](uint8_t* at) {
        for (int64_t i = 0; i < lines; i++) std::memcpy(at + i * line, from + i * line, size_t(length));
    });
}

}  // namespace twin
