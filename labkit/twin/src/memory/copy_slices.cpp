// DataCopy with SliceInfo: on the device, too, a loop of plain copies over the rows that the slices name.
#include "memory/copy.h"
#include "twin/memory/copy.h"

namespace twin {

namespace {

// Where each row of a slice begins, in elements; the innermost dimension varies within a row.
std::vector<uint64_t> rows(const Slice* s, uint32_t dims) {
    std::vector<uint64_t> at{s[0].start};
    uint64_t size = 1;
    for (uint32_t i = 1; i < dims; i++) {
        size *= s[i - 1].shape;
        std::vector<uint64_t> next;
        for (uint64_t k = s[i].start; k <= s[i].end; k += 1 + s[i].gap)
            for (uint64_t a : at) next.push_back(a + k * size);
        at = std::move(next);
    }
    return at;
}

bool plausible_slices(const Slice* gm, const Slice* ub, uint32_t dims, uint32_t elem, size_t gm_rows, size_t ub_rows,
                      Here here) {
    const char* wrong = nullptr;
    if (dims < 1 || dims > 8) wrong = "dimValue";
    else if (gm[0].burst != ub[0].burst) wrong = "burstLen";
    else if (gm_rows != ub_rows) wrong = "endIndex";
    else if (ub[0].gap * elem % 32) wrong = "stride";
    for (uint32_t i = 1; !wrong && i < dims; i++)
        if (gm[i].burst != 1 || ub[i].burst != 1) wrong = "burstLen";
    if (wrong)
        core->report("copy-slice", true, here,
                     Numbers().add("field", wrong).add("dims", dims).add("gm_rows", gm_rows).add("ub_rows", ub_rows));
    return !wrong;
}

template <typename F> void each_row(const Slice* gm, const Slice* ub, uint32_t dims, uint32_t elem, Here here, F copy) {
    core->last = here;
    bool counted = dims >= 1 && dims <= 8;
    std::vector<uint64_t> g = counted ? rows(gm, dims) : std::vector<uint64_t>(),
                          u = counted ? rows(ub, dims) : std::vector<uint64_t>();
    if (!plausible_slices(gm, ub, dims, elem, g.size(), u.size(), here)) return;
    Dma d;
    d.len = gm[0].burst * 32;
    uint32_t piece = d.len / elem + gm[0].gap;
    d.blocks = piece ? (gm[0].end - gm[0].start + 1 + gm[0].gap) / piece : 0;
    d.elem = uint8_t(elem);
    d.pad = gm[0].gap * elem % 32 != 0;  // such a gap takes the unaligned copy, as on the device
    for (size_t i = 0; i < g.size(); i++) copy(g[i] * elem, u[i] * elem, d);
}

Loc moved(Loc l, uint64_t by) {
    l.addr += uint32_t(by);
    l.bytes = by < l.bytes ? uint32_t(l.bytes - by) : 0;
    return l;
}
Gm moved(Gm g, uint64_t by) {
    g.ptr += by;
    return g;
}

}  // namespace

void slice_in(Loc dst, Gm src, const Slice* ds, const Slice* ss, uint32_t dims, uint32_t elem, Here here) {
    each_row(ss, ds, dims, elem, here, [&](uint64_t gm, uint64_t ub, Dma d) {
        d.src_stride = d.len + ss[0].gap * elem;
        d.dst_stride = d.len + ds[0].gap * elem;
        copy_in(moved(dst, ub), moved(src, gm), d, here);
    });
}

void slice_out(Gm dst, Loc src, const Slice* ds, const Slice* ss, uint32_t dims, uint32_t elem, Here here) {
    each_row(ds, ss, dims, elem, here, [&](uint64_t gm, uint64_t ub, Dma d) {
        d.src_stride = d.len + ss[0].gap * elem;
        d.dst_stride = d.len + ds[0].gap * elem;
        copy_out(moved(dst, gm), moved(src, ub), d, here);
    });
}

}  // namespace twin
