// Broadcast, Pad, UnPad; filling of GM.
#include "twin/library/fill.h"

#include <vector>

#include "library/call.h"
#include "library/rearrange_workspace.h"
#include "vector/rearrange.h"

namespace twin {

void broadcast(Dt t, Loc d, Loc s, Loc tmp, uint32_t dims, uint32_t axis, const uint32_t* to, const uint32_t* from,
               Here here) {
    core->last = here;
    uint64_t rows = dims == 2 ? to[0] : 1, width = to[dims - 1], n = rows * width,
             sn = uint64_t(from[0]) * (dims == 2 ? from[1] : 1);
    if (!n || !sn) return;
    uint32_t size = size_of(t), wide = size == 1 ? 2 : size, per = kBlock / wide;  // 8-bit elements go through half
    bool same = sn == n, one = sn == 1, column = dims == 2 && axis == 1;
    Room room = broadcast_room(rows, width, sn, column, size);
    Call call(Op::Broadcast, here);
    call.in(s, sn * size).out(d, n * size).scratch(tmp, room.least, room.most);
    if (!same && !one && !(column ? sn == rows : dims == 2 && sn == width)) {
        core->report("broadcast-shape", true, here,
                     Numbers()
                         .add("rows", (long long)rows)
                         .add("width", (long long)width)
                         .add("elements", (long long)sn)
                         .add("axis", axis));
        return core->refuse(d, n * size);
    }
    if (!same && !one && !column) call.whole("bytes of a row", width * size, kBlock);
    if (!call.begin()) return;
    std::vector<uint8_t> x(core->at(s), core->at(s) + sn * size);
    for (uint64_t i = 0; i < n; i++)
        std::memcpy(core->at(d) + i * size, &x[(same ? i : one ? 0 : column ? i / width : i % width) * size], size);
    Dt work = size == 1 ? Dt::F16 : t;
    if (size == 1) {
        call.charge(Dt::F16, sn, Op::Cast, 1);
        call.charge(Dt::F16, n, Op::Cast, 1);
    }
    if (same) call.charge(work, n, Op::Copy, 1);
    else if (one) call.charge(work, n, Op::Duplicate, 1);
    else if (column) {
        uint64_t pieces = (room.most + call.scratch_bytes() - 1) / call.scratch_bytes(),
                 piece = (rows + pieces - 1) / pieces, padded = whole_of(width, per);
        call.charge(work, piece * per, Op::Brcb, double(pieces));
        call.charge(work, piece * padded, Op::Copy, double(pieces));
        if (padded != width) call.charge(work, piece * padded, Op::GatherMask, double(pieces));
    } else {
        call.charge(work, n, Op::Or, 1);
    }
    call.end(n * size);
}

namespace {
struct Row {
    uint32_t width, data, left, right, block;  // elements
};
void report_row(const char* api, const Row& r, bool error, Here here) {
    core->report("pad-shape", error, here,
                 Numbers()
                     .add("api", api)
                     .add("width", r.width)
                     .add("data", r.data)
                     .add("left", r.left)
                     .add("right", r.right)
                     .add("block", r.block));
}
}  // namespace

// A matrix of `rows` rows. Rows of whole blocks keep their width, and the `right` columns after the `data` get the
// value, all in the last block; other rows are extended by `left` and `right` up to the next whole block, no further.
void pad(Dt t, Loc d, Loc s, Loc tmp, uint32_t rows, uint32_t width, uint32_t data, uint32_t left, uint32_t right,
         Value v, Here here) {
    core->last = here;
    if (!rows || !width || !core->usable(d, 0, false, here, "dstTensor")) return;
    uint32_t size = size_of(t), per = kBlock / size;
    bool whole = width % per == 0;
    uint32_t out = whole ? width : left + width + right;
    uint64_t sn = uint64_t(rows) * width * size, dn = uint64_t(rows) * out * size;
    bool fits = whole ? !left && right && right < per && data < width && data + per >= width && data + right <= width
                      : out == whole_of(width, per);
    if (!fits) {
        report_row("Pad", {width, whole ? data : width, left, right, per}, true, here);
        return core->refuse(d, dn);
    }
    Call call(Op::Pad, here);
    call.in(s, sn).out(d, dn);
    if (!whole) call.scratch(tmp, 2 * 16 * kBlock, (uint64_t(rows) * width + 15) / 16 * 16 * kBlock * 2);
    if (!call.begin()) return;
    std::vector<uint8_t> x(core->at(s), core->at(s) + sn);
    for (uint64_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < out; c++) {
            bool value = whole ? c >= data && c < data + right : c < left || c >= left + width;
            std::memcpy(core->at(d) + (r * out + c) * size,
                        value ? (const void*)&v.bits : &x[(r * width + c - (whole ? 0 : left)) * size], size);
        }
    if (whole) {
        call.charge(t, uint64_t(rows) * width, Op::Copy, 1);
        call.charge(t, uint64_t(rows) * per, Op::Duplicate, 1);
    } else {  // every element is spread to a block, and the row transposed back
        uint64_t piece = std::max<uint64_t>(16, call.scratch_bytes() / 2 / (16 * kBlock) * 16);
        double pieces = double(rows) * double((out + piece - 1) / piece);
        uint64_t some = std::min<uint64_t>(piece, out) * per;
        for (Op op : {Op::Brcb, Op::Copy, Op::TransDataTo5HD, Op::Copy}) call.charge(t, some, op, pieces);
    }
    call.end(dn);
}

// Takes fewer elements than a block has off the right of each row, at least one.
void unpad(Dt t, Loc d, Loc s, uint32_t rows, uint32_t width, uint32_t left, uint32_t right, Here here) {
    core->last = here;
    if (!rows || !width || !core->usable(d, 0, false, here, "dstTensor")) return;
    uint32_t size = size_of(t), per = kBlock / size;
    bool fits = width % per == 0 && right && right < per;
    // left has no effect on the device: the elements stay
    if (!fits || left) report_row("UnPad", {width, width, left, right, per}, !fits, here);
    if (!fits) return core->refuse(d, uint64_t(rows) * width * size);
    uint64_t kept = width - right, sn = uint64_t(rows) * width * size, dn = rows * kept * size;
    Call call(Op::UnPad, here);
    call.in(s, sn).out(d, dn);
    if (!call.begin()) return;
    std::vector<uint8_t> x(core->at(s), core->at(s) + sn);
    for (uint64_t r = 0; r < rows; r++) std::memcpy(core->at(d) + r * kept * size, &x[r * width * size], kept * size);
    call.charge(t, uint64_t(rows) * width, Op::GatherMask, 1);
    call.end(dn);
}

// One stretch of UB is filled and copied repeatedly. If it already holds the value it is not written, so that a second
// fill with the same value need not wait.
void fill_gm(Dt t, Gm d, Value v, uint64_t n, Here here) {
    core->last = here;
    if (!has(core->id.kind, Mem::UB) || !n) return;
    constexpr uint32_t kMost = 255 * kRepeat;
    Loc l = spare();
    uint32_t size = size_of(t), bytes = std::min(l.bytes, kMost) / kBlock * kBlock;
    if (!bytes)
        return core->report("adv-no-room", true, here,
                            Numbers().add("api", "Fill").add("need", kBlock).add("have", l.bytes));
    l.bytes = bytes;
    l.pos = 11;  // VECCALC
    std::vector<uint8_t> pattern(bytes);
    math::fill(t, pattern.data(), v.bits, bytes / size);
    bool holds = core->checks && core->memory[int(Mem::UB)].any_written(l.addr, l.addr + bytes) &&
                 !std::memcmp(core->at(l), pattern.data(), bytes);
    if (!holds) duplicate(t, l, v, int32_t(bytes / size), here);
    int id = event_id(Pipe::V, Pipe::MTE3, false, here);
    set_flag(Pipe::V, Pipe::MTE3, id, here);
    wait_flag(Pipe::V, Pipe::MTE3, id, here);
    for (uint64_t at = 0; at < n * size; at += bytes) {
        Dma dma;
        dma.len = uint32_t(std::min<uint64_t>(bytes, n * size - at));
        dma.src_stride = dma.dst_stride = dma.len;
        dma.pad = true;
        dma.elem = uint8_t(size);
        Gm part = d;
        part.ptr += at;
        copy_out(part, l, dma, here);
    }
    barrier(Pipe::MTE3, here);
}

}  // namespace twin
