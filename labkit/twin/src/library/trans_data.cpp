// TransData. On the NCDHW side planes h x w are padded to whole blocks, on the other side they are not; channels and N
// that only fill up a 16 become 0.
#include "twin/library/trans_data.h"

#include <vector>

#include "library/call.h"
#include "library/rearrange_workspace.h"

namespace twin {

void trans_data(Dt t, Loc d, Loc s, Loc tmp, const Ncdhw& x, bool fractal, bool back, Here here) {
    core->last = here;
    uint64_t n = x.n, c = x.c, depth = x.d, plane = uint64_t(x.h) * x.w, padded = whole_of(plane, 16),
             cs = whole_of(c, 16), ns = fractal ? whole_of(n, 16) : n;
    if (!n || !c || !depth || !plane) return;
    // elements on the NCDHW side and on the other
    uint64_t outer = n * c * depth * padded, inner = ns * cs * depth * plane;
    uint64_t room = trans_data_room(n, c, depth, plane, fractal, back);
    Call call(Op::TransData, here);
    call.in(s, (back ? inner : outer) * 2, "srcTensor")
        .out(d, (back ? outer : inner) * 2, "dstTensor")
        .scratch(tmp, room, room);
    if (!call.begin()) return;
    std::vector<uint16_t> from((back ? inner : outer)), to((back ? outer : inner));
    std::memcpy(from.data(), core->at(s), from.size() * 2);
    for (uint64_t i = 0; i < n; i++)
        for (uint64_t j = 0; j < c; j++)
            for (uint64_t k = 0; k < depth; k++)
                for (uint64_t p = 0; p < plane; p++) {
                    uint64_t at = ((i * c + j) * depth + k) * padded + p, c1 = j / 16, c0 = j % 16;
                    uint64_t there = fractal ? (((k * (cs / 16) + c1) * plane + p) * ns + i) * 16 + c0
                                             : (((i * depth + k) * (cs / 16) + c1) * plane + p) * 16 + c0;
                    if (back) to[at] = from[there];
                    else to[there] = from[at];
                }
    std::memcpy(core->at(d), to.data(), to.size() * 2);
    // Each 16 x 16 elements are transposed: once for blocks of channels, once more for blocks of N; planes are shifted
    // by copies.
    double groups = double(fractal ? cs / 16 : n * (cs / 16));
    call.charge(t, depth * padded * 16 * (fractal ? ns : 1), Op::TransDataTo5HD, groups);
    if (fractal) call.charge(t, c * depth * padded * 16, Op::TransDataTo5HD, double(ns / 16));
    call.charge(t, inner, Op::Copy, fractal && padded != plane && !back ? 2 : 1);
    if (fractal || !back)
        call.charge(t, fractal ? std::max(c * depth * padded, depth * plane * ns) : depth * padded, Op::Duplicate, 1);
    call.end(to.size() * 2);
}

}  // namespace twin
