// DataCopy with Nd2NzParams: rows in GM become columns of 32-byte blocks in L1.
#include <cstring>

#include "core/l1_proxy.h"
#include "memory/copy.h"
#include "twin/cube/load.h"

namespace twin {

void copy_nd2nz(uint32_t elem, Loc d, Gm s, const Nd2Nz& p, Here here) {
    if (Core* owner = l1_owner_of(d)) {
        L1Proxy proxy(owner, d);
        return copy_nd2nz(elem, d, s, p, here);
    }
    if (!p.nds || !p.rows || !p.cols) return;
    if (!placed(d, {Mem::L1}, "DataCopy with Nd2NzParams", "dst", here)) return core->refuse(d, d.bytes);
    uint32_t row = p.cols * elem, lines = (row + 31) / 32;
    uint64_t src_row = p.src_row * elem, src_matrix = p.src_matrix * elem, dst_matrix = p.dst_matrix * elem;
    uint64_t column = (p.rows - 1) * uint64_t(p.dst_row) * 32 + 32,
             writes = (p.nds - 1) * dst_matrix + (lines - 1) * uint64_t(p.dst_col) * 32 + column;
    uint64_t reads = (p.nds - 1) * src_matrix + (p.rows - 1) * src_row + row;
    if (p.nds > 4095 || p.rows > 16384 || !p.dst_row || p.dst_row > 16384 || p.dst_col > 16384 ||
        (lines > 1 && !p.dst_col)) {
        core->report(
            "nd2nz-params", true, here,
            Numbers().add("nds", p.nds).add("rows", p.rows).add("c0_stride", p.dst_col).add("n_stride", p.dst_row));
        return core->refuse(d, writes);
    }
    if (dst_matrix % 32 && p.nds > 1) {
        core->report("local-align", true, here,
                     Numbers()
                         .add("what", "dst")
                         .add("memory", "L1")
                         .add("addr", d.addr + dst_matrix)
                         .add("off", dst_matrix % 32)
                         .add("align", 32u)
                         .add("halves", 16u)
                         .add("floats", 8u)
                         .add("down", d.addr + dst_matrix / 32 * 32)
                         .add("up", d.addr + (dst_matrix + 31) / 32 * 32));
        return core->refuse(d, writes);
    }
    if (!core->usable(d, writes, false, here, "dst") || !core->gm_usable(s, reads, false, here, true))
        return core->refuse(d, writes);
    core->settle_exposed();
    if (!core->cache.empty()) check_stale(s, reads, here);
    auto t = core->issue(Pipe::MTE2, Op::CopyInNz, here);
    for (uint32_t m = 0; m < p.nds; m++) {
        const uint8_t* from = s.ptr + m * src_matrix;
        if (src_row == row) core->book_gm(t, from, uint64_t(p.rows) * row, false);
        else
            for (uint32_t r = 0; r < p.rows; r++) core->book_gm(t, from + r * src_row, row, false);
        core->note_gm_read(uint64_t(from), row, src_row, p.rows, here, true);
        // What lies between the columns may be another copy's.
        bool dense = p.dst_row == 1 && p.dst_col == p.rows;
        for (uint32_t c = 0; c < (dense ? 1 : lines); c++) {
            Loc part = d;
            part.addr += uint32_t(m * dst_matrix + uint64_t(c) * p.dst_col * 32);
            core->book(t, part, uint32_t(dense ? (lines - 1) * uint64_t(p.dst_col) * 32 + column : column), true);
        }
    }
    core->perform(t, [=, to = core->at(d)] {
        uint32_t whole = row / 32, rest = row % 32;
        for (uint32_t m = 0; m < p.nds; m++)
            for (uint32_t r = 0; r < p.rows; r++) {
                const uint8_t* from = s.ptr + m * src_matrix + r * src_row;
                uint8_t* line = to + m * dst_matrix + uint64_t(r) * p.dst_row * 32;
                for (uint32_t c = 0; c < whole; c++, line += p.dst_col * 32ull) std::memcpy(line, from + c * 32, 32);
                if (!rest) continue;
                std::memcpy(line, from + whole * 32, rest);
                std::memset(line + rest, 0, 32 - rest);
            }
    });
    core->retire(t, {uint64_t(s.ptr), src_row, row, p.nds * p.rows, Route::ToL1Nz, false, s.l2_bypass});
}

}  // namespace twin
