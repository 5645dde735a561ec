#include "launch/soft_sync.h"

#include <algorithm>

namespace twin {

static const GmRange* tensor_of(const Gm& gm) {
    for (size_t i = 0; core->ranges && i < core->ranges->size(); i++) {
        const GmRange& r = (*core->ranges)[i];
        if (uint64_t(gm.ptr) >= r.lo && uint64_t(gm.ptr) < r.hi) return &r;
    }
    return nullptr;
}

bool SoftSync::room(const Gm& gm, uint64_t need_gm, const Loc& ub, uint64_t need_ub) const {
    auto want = [&](const char* what, uint64_t need, uint64_t have) {
        if (have < need)
            core->report("sync-space", true, here,
                         Numbers()
                             .add("call", call)
                             .add("what", what)
                             .add("need", need)
                             .add("have", have)
                             .add("blocks", core->id.blocks));
        return have >= need;
    };
    uint64_t at = uint64_t(gm.ptr), have = 0;
    if (const GmRange* home = tensor_of(gm)) have = home->hi - at;
    if (have && gm.bytes)
        have = std::min(have, uint64_t(gm.base) + std::max<uint64_t>(gm.bytes, at - uint64_t(gm.base)) - at);
    uint64_t local = ub.pos < kNowhere && ub.mem == Mem::UB ? ub.bytes : 0;
    if (ub.buf) {
        const Core::Buffer& b = core->buffers[ub.buf];
        local = std::min<uint64_t>(local, ub.addr < b.addr + b.len ? b.addr + b.len - ub.addr : 0);
    }
    bool in_gm = want("gmWorkspace", need_gm, have), in_ub = want("ubWorkspace", need_ub, local);
    return in_gm && in_ub;
}

void SoftSync::zeroed(const Gm& gm, uint64_t offset, uint64_t bytes) const {
    const GmRange* home = tensor_of(gm);
    if (!core->checks || !home) return;
    uint64_t lo = uint64_t(gm.ptr) + offset, hi = lo + bytes, unset = 0, foreign = 0;
    bool trusted = home->written || core->phase || core->ordered;  // zeroed by the host, or before another meeting
    if (core->delayed.on) core->delayed.flush();                   // the call waits for all pipes before it looks
    for (uint64_t at = lo; at < hi; at += kMark) {
        bool own = trusted;
        for (const GmWrite& w : core->gm_writes) {
            if (own) break;
            own = w.lo <= at && at + sizeof(int32_t) <= w.hi;
        }
        unset += !own;
        foreign += own && *reinterpret_cast<const int32_t*>(at) != 0;
    }
    if (unset || foreign)
        core->report("sync-unset", true, here,
                     Numbers().add("call", call).add("marks", unset + foreign).add("of", bytes / kMark));
}

}  // namespace twin
