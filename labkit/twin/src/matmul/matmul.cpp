// The Matmul object's calls.
#include "twin/matmul/matmul.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "matmul/call.h"

namespace twin {

using In = MatmulOperand::In;

MatmulScratch::~MatmulScratch() { std::free(data); }

// ---------------------------------------------------------------- setting up

void matmul_init(MatmulState& s, const AscendC::tiling::TCubeTiling* t, Here here) {
    core->last = here;
    auto& known = core->matmuls;
    if (core->id.mixed && std::find(known.begin(), known.end(), &s) == known.end()) known.push_back(&s);
    if (core->group) note_matmuls(*core);
    s.tiling = *t;
    s.ready = true;
    s.m = t->M, s.n = t->N, s.ka = t->Ka, s.kb = t->Kb, s.kc = 0;
    s.single_m = t->singleCoreM, s.single_n = t->singleCoreN, s.single_k = t->singleCoreK;
    s.given = false;
    s.at = -1;
}

void matmul_org(MatmulState& s, int m, int n, int ka, int kb, int kc, Here here) {
    core->last = here;
    bool other = s.m != m || s.n != n || s.ka != ka || s.kb != kb || s.kc != kc;
    if (s.given && other && core->checks) core->report("matmul-late", false, here, Numbers());
    s.m = m, s.n = n, s.ka = ka, s.kb = kb, s.kc = kc;
    s.at = -1;
}

void matmul_single(MatmulState& s, int m, int n, int k) {
    if (m > 0) s.single_m = m;
    if (n > 0) s.single_n = n;
    if (k > 0) s.single_k = k;
    s.given = true;
    s.at = -1;
}

void matmul_set(MatmulState& s, MatmulOperand& side, const MatmulOperand& o, Here here) {
    const MatmulSide& kind = &side == &s.a ? s.kind->a : s.kind->b;
    core->last = here;
    // 16-bit operands in GM can be transposed at run time; for others the copy is chosen when the kernel is compiled.
    bool turned = o.in == In::Gm && bits_of(kind) == 16 && is_layout(kind, LayoutMode::NONE);
    if (o.trans && !kind.trans)
        core->report("matmul-trans", !turned, here, Numbers().add("what", &side == &s.a ? "A" : "B"));
    side = o;
    s.given = true;
    s.at = -1;
}

void matmul_set_bias(MatmulState& s, const MatmulOperand& o, Here) {
    s.bias = o;
    s.has_bias = true;
    s.given = true;
    s.at = -1;
}

void matmul_end(MatmulState& s) {
    s.at = -1;
    s.given = false;
}

Walk walk_of(const MatmulState& s) {
    Walk w;
    w.m_blocks = parts(s.single_m, s.tiling.baseM);
    w.n_blocks = parts(s.single_n, s.tiling.baseN);
    w.k_blocks = s.kind->partial ? parts(s.single_k, s.tiling.baseK) : 1;
    w.n_first = s.kind->order >= 0 ? s.kind->order == 1 : s.tiling.iterateOrder == 1;
    if (s.kind->mdl) {
        w.step_m = std::max(1, s.tiling.stepM);
        w.step_n = std::max(1, s.tiling.stepN);
    }
    return w;
}

// ---------------------------------------------------------------- all of C

void matmul_all(MatmulState& s, const MatmulCall& call, Gm to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || call.fake || !vetted(s, cores, "IterateAll", here)) return;
    s.waiting = !call.sync && call.wait;
    send(cores);
    auto r = prepare(s, cores, {}, here);
    if (!r) return;
    if (s.kind->copy_a || s.kind->copy_b || s.kind->copy_out || call.sequential || s.kind->partial) {
        Walk w = walk_of(s);
        Gm at = to;
        book_reads(*r, cores, here);
        for (int64_t i = 0; i < w.count(); i++) {
            Block b = block_at(s, i);
            if (r->p.left_out(b.row, b.col)) continue;
            compute_block(s, cores, *r, b, false, here);
            store_block(s, cores, *r, b, call, at, here);
            if (call.sequential) at.ptr += int64_t(s.tiling.baseM) * s.tiling.baseN * size_of(s.kind->c.type);
        }
        pass_time(s, cores, work_of(s, *r), here);
    } else {
        run_to_gm(s, cores, r, to, drain_of(s, to.ptr, atomic_of(cores, call.atomic), false, r->p.m, r->p.n, true),
                  here);
    }
    if (call.sync) go_on(s, cores);
    s.at = -1;
}

void matmul_all(MatmulState& s, const MatmulCall& call, Loc to, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores || !vetted(s, cores, "IterateAll", here)) return;
    send(cores);
    auto r = prepare(s, cores, {}, here);
    if (!r) return;
    run_to_local(s, cores, r, to, drain_of(s, nullptr, 0, false, r->p.m, r->p.n, true), here);
    if (call.sync) go_on(s, cores);
    s.at = -1;
}

void matmul_wait(MatmulState& s, bool fetched, Here here) {
    MatmulCores cores = cores_of(s, here);
    if (!cores) return;
    if (fetched) return vector_waits(*cores.caller);
    // An asynchronous call is answered only if it asked for an answer.
    if (s.kind->client && !s.waiting) cores.caller->stop("matmul-wait", here, Numbers());
    s.waiting = false;
    go_on(s, cores);
}

}  // namespace twin
