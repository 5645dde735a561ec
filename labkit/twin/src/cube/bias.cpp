// Conversion of a half bias while it is copied into the bias table, which holds floats.
#include "core/machine.h"
#include "lanes/math.h"
#include "twin/cube/fixpipe.h"

namespace twin {

void copy_bias_half(Loc d, Loc s, uint32_t count, uint32_t len, uint32_t src_gap, uint32_t dst_gap, Here here) {
    if (!placed(s, {Mem::L1}, "DataCopy", "src", here) || !placed(d, {Mem::BT}, "DataCopy", "dst", here) || !count ||
        !len)
        return;
    uint64_t piece = len * 64ull, src_step = piece + src_gap * 32ull, dst_step = piece * 2 + dst_gap * 64ull;
    uint64_t reads = (count - 1) * src_step + piece, writes = (count - 1) * dst_step + piece * 2;
    if (!core->usable(s, reads, true, here, "src") || !core->usable(d, writes, false, here, "dst", 64))
        return core->refuse(d, writes);
    auto t = core->issue(Pipe::MTE1, Op::Copy, here);
    for (uint32_t i = 0; i < count; i++) {
        Loc from = s, to = d;
        from.addr += uint32_t(i * src_step);
        to.addr += uint32_t(i * dst_step);
        core->book(t, from, uint32_t(piece), false);
        core->book(t, to, uint32_t(piece * 2), true);
    }
    core->perform(t, [=, from = (const uint8_t*)core->at(s), to = core->at(d)] {
        for (uint32_t i = 0; i < count; i++)
            math::cast(Dt::F32, Dt::F16, Round::None, to + i * dst_step, from + i * src_step, piece / 2);
    });
    core->retire(t, std::max(chip.to_bt.floor, double(count * piece * 2) / chip.to_bt.rate), count * piece);
}

}  // namespace twin
