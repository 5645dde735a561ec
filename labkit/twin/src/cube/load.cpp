// LoadData 2D, LoadDataWithTranspose, LoadDataWithSparse, Fill: fractals from L1 (or GM) into L0A, L0B and L1.
#include <cstring>

#include "lanes/transpose_16x16.h"
#include "memory/copy.h"
#include "twin/cube/load.h"

namespace twin {

bool placed(Loc l, std::initializer_list<Mem> allowed, const char* op, const char* what, Here here) {
    core->last = here;
    if (l.pos >= kNowhere || !has(core->id.kind, l.mem)) return true;  // usable() reports these
    std::string wanted;
    for (Mem m : allowed) {
        if (m == l.mem) return true;
        wanted += (wanted.empty() ? "" : ", ") + std::string(name_of(m));
    }
    core->report("local-place", true, here,
                 Numbers().add("op", op).add("what", what).add("memory", name_of(l.mem)).add("wanted", wanted));
    return false;
}

namespace {

double cycles(Mem to, uint64_t bytes) {
    const auto& r = to == Mem::L0B ? chip.to_l0b : chip.to_l0a;
    return r.start + double(bytes) / r.rate;
}

// Records `times` pieces of `piece` bytes, `stride` bytes from start to start; adjacent pieces as one access.
void book_pieces(const Core::Ticket& t, Loc l, uint64_t first, uint32_t times, int64_t stride, uint32_t piece,
                 bool write) {
    Loc part = l;
    part.addr += uint32_t(first);
    if (stride >= int64_t(piece) || times == 1) return core->book_rows(t, part, piece, uint64_t(stride), times, write);
    for (uint32_t i = 0; i < times; i++, part.addr += uint32_t(stride)) core->book(t, part, piece, write);
}

Loc loaded(Loc d, uint64_t writes, Here here) {
    auto& loads = core->cube_state.loads;
    if (!d.buf && d.mem != Mem::L1 && d.bytes < writes && loads.size() < 256) loads.push_back({d, writes, here});
    return in_l0(d, writes, 0);
}

// Unwritten bytes go where the instruction takes their values: it runs on their shadow as well.
template <typename F> void carry_through(F load, Loc s, uint64_t reads, Loc d, uint64_t writes) {
    if (!core->instruction.partial()) return;
    int origin = core->instruction.dark.front().origin;
    core->instruction.dark.clear();
    Shadow from = core->shadow(s.mem, s.addr, reads), to(writes, 0);
    load(from.data(), to.data());
    core->leave(d.mem, d.addr, to, origin);
}

// Transposes a square of 16, 32 or 64 elements a side, stored as consecutive fractals, into `to`.
void turn_square(uint32_t bits, const uint8_t* s, uint8_t* d, uint64_t fractal_step) {
    if (bits == 16) return transpose_16x16(reinterpret_cast<const uint16_t*>(s), 16, reinterpret_cast<uint16_t*>(d));
    if (bits == 8) {
        for (int c = 0; c < 32; c++) {
            uint8_t* line = d + (c / 16) * fractal_step + (c % 16) * 32;
            for (int r = 0; r < 32; r++) line[r] = s[r * 32 + c];
        }
    } else if (bits == 32) {  // two fractals of 16 x 8 side by side
        auto from = reinterpret_cast<const uint32_t*>(s);
        for (int c = 0; c < 16; c++)
            for (int r = 0; r < 16; r++)
                std::memcpy(d + (r / 8) * fractal_step + (c * 8 + r % 8) * 4, from + (c / 8) * 128 + r * 8 + c % 8, 4);
    } else {
        auto nibble = [&](int r, int c) { return uint8_t(s[(r * 64 + c) / 2] >> (c % 2 * 4) & 15); };
        for (int c = 0; c < 64; c++)
            for (int r = 0; r < 64; r += 2)
                d[(c / 16) * fractal_step + ((c % 16) * 64 + r) / 2] = uint8_t(nibble(r, c) | nibble(r + 1, c) << 4);
    }
}

}  // namespace

void load_2d(uint32_t bits, Loc d, Loc s, const Fractals& f, Here here) {
    if (!(f.times)) return;
    if (!placed(s, {Mem::L1}, "LoadData", "src", here) || !placed(d, {Mem::L0A, Mem::L0B}, "LoadData", "dst", here))
        return core->refuse(d, d.bytes);
    uint64_t reads = (uint64_t(f.start) + uint64_t(f.times - 1) * f.stride + 1) * kFractal;
    uint64_t writes = (uint64_t(f.times - 1) * (1 + f.gap) + 1) * kFractal;
    d = loaded(d, writes, here);
    if (f.turned && bits != 16) {
        core->report("load-turned", true, here, Numbers().add("bits", bits));
        return core->refuse(d, writes);
    }
    if (!core->usable(s, reads, true, here, "src") || !core->usable(d, writes, false, here, "dst", kFractal))
        return core->refuse(d, writes);
    auto t = core->issue(Pipe::MTE1, Op::LoadData, here);
    book_pieces(t, s, uint64_t(f.start) * kFractal, f.stride ? f.times : 1, int64_t(f.stride) * kFractal, kFractal,
                false);
    book_pieces(t, d, 0, f.times, (1 + int64_t(f.gap)) * kFractal, kFractal, true);
    auto load = [=](const uint8_t* from, uint8_t* to) {
        for (uint32_t i = 0; i < f.times; i++) {
            const uint8_t* one = from + (uint64_t(f.start) + uint64_t(i) * f.stride) * kFractal;
            uint8_t* place = to + uint64_t(i) * (1 + f.gap) * kFractal;
            if (f.turned) turn_square(16, one, place, 0);
            else std::memcpy(place, one, kFractal);
        }
    };
    carry_through(load, s, reads, d, writes);
    core->perform(t, [=, from = (const uint8_t*)core->at(s), to = core->at(d)] { load(from, to); });
    core->retire(t, cycles(d.mem, f.times * kFractal), f.times * kFractal);
}

void load_2d(uint32_t, Loc d, Gm s, const Fractals& f, Here here) {
    if (!(f.times)) return;
    if (!placed(d, {Mem::L1, Mem::L0A, Mem::L0B}, "LoadData", "dst", here)) return core->refuse(d, d.bytes);
    bool down = f.down && d.mem == Mem::L1;  // the other paths support only one direction
    uint64_t span = uint64_t(f.times - 1) * f.stride;
    uint64_t writes = (uint64_t(f.times - 1) * (1 + f.gap) + 1) * kFractal;
    d = loaded(d, writes, here);
    if (down && span > f.start) {
        core->report("load-below", true, here, Numbers().add("start", unsigned(f.start)).add("span", span));
        return core->refuse(d, writes);
    }
    Gm lowest = s;
    lowest.ptr += (down ? f.start - span : f.start) * kFractal;
    if (!core->usable(d, writes, false, here, "dst", d.mem == Mem::L1 ? 32 : kFractal)) return core->refuse(d, writes);
    if (!core->gm_usable(lowest, (span + 1) * kFractal, false, here, true)) return core->refuse(d, writes);
    core->settle_exposed();
    if (!core->cache.empty()) check_stale(lowest, (span + 1) * kFractal, here);
    auto t = core->issue(Pipe::MTE2, Op::LoadData, here);
    if (f.stride == 1) core->book_gm(t, lowest.ptr, uint64_t(f.times) * kFractal, false);
    else
        for (uint32_t i = 0; i < f.times; i++)
            core->book_gm(t, lowest.ptr + uint64_t(i) * f.stride * kFractal, kFractal, false);
    core->note_gm_read(uint64_t(lowest.ptr), kFractal, uint64_t(f.stride) * kFractal, f.times, here, true);
    book_pieces(t, d, 0, f.times, (1 + int64_t(f.gap)) * kFractal, kFractal, true);
    core->perform(t, [=, to = core->at(d)] {
        for (uint32_t i = 0; i < f.times; i++) {
            int64_t index = int64_t(f.start) + (down ? -1 : 1) * int64_t(i) * f.stride;
            std::memcpy(to + uint64_t(i) * (1 + f.gap) * kFractal, s.ptr + index * int64_t(kFractal), kFractal);
        }
    });
    bool dense = f.stride == 1;
    core->retire(t, {uint64_t(lowest.ptr), uint64_t(f.stride) * kFractal, dense ? f.times * kFractal : kFractal,
                     dense ? 1u : f.times, Route::ToL1, false, s.l2_bypass});
}

void load_turned(uint32_t bits, Loc d, Loc s, const Fractals& f, Here here) {
    const char* op = "LoadDataWithTranspose";
    if (!(f.times)) return;
    if (!placed(s, {Mem::L1}, op, "src", here) || !placed(d, {Mem::L0A, Mem::L0B}, op, "dst", here))
        return core->refuse(d, d.bytes);
    uint32_t parts = bits == 16 ? 1 : bits == 4 ? 4 : 2, square = parts * kFractal;
    uint64_t inner = (1 + uint64_t(parts > 1 ? f.inner_gap : 0)) * kFractal, outer = (1 + uint64_t(f.gap)) * kFractal;
    uint64_t span = uint64_t(f.times - 1) * f.stride;
    uint64_t writes = (f.times - 1) * outer + (parts - 1) * inner + kFractal;
    d = loaded(d, writes, here);
    if (bits == 4 && d.mem == Mem::L0A) {
        core->report("load-turned", true, here, Numbers().add("bits", bits));
        return core->refuse(d, writes);
    }
    if (f.down && span > f.start) {
        core->report("load-below", true, here, Numbers().add("start", unsigned(f.start)).add("span", span));
        return core->refuse(d, writes);
    }
    uint64_t lowest = (f.down ? f.start - span : f.start) * uint64_t(square);
    if (!core->usable(s, lowest + (span + 1) * square, true, here, "src") ||
        !core->usable(d, writes, false, here, "dst", kFractal))
        return core->refuse(d, writes);
    auto t = core->issue(Pipe::MTE1, Op::LoadDataWithTranspose, here);
    book_pieces(t, s, lowest, f.stride ? f.times : 1, int64_t(f.stride) * square, square, false);
    for (uint32_t part = 0; part < parts; part++)
        book_pieces(t, d, part * inner, f.times, int64_t(outer), kFractal, true);
    auto load = [=](const uint8_t* from, uint8_t* to) {
        for (uint32_t i = 0; i < f.times; i++) {
            int64_t index = int64_t(f.start) + (f.down ? -1 : 1) * int64_t(i) * f.stride;
            turn_square(bits, from + index * int64_t(square), to + i * outer, inner);
        }
    };
    carry_through(load, s, lowest + (span + 1) * square, d, writes);
    core->perform(t, [=, from = (const uint8_t*)core->at(s), to = core->at(d)] { load(from, to); });
    core->retire(t, cycles(d.mem, uint64_t(f.times) * square), uint64_t(f.times) * square);
}

void load_sparse(Loc d, Loc s, Loc index, const Fractals& f, Here here) {
    constexpr uint32_t kIndex = kFractal / 4;  // two bits an element
    const char* op = "LoadDataWithSparse";
    if (!(f.times)) return;
    if (!placed(s, {Mem::L1}, op, "src", here) || !placed(index, {Mem::L1}, op, "idx", here) ||
        !placed(d, {Mem::L0B}, op, "dst", here))
        return core->refuse(d, d.bytes);
    uint64_t fractals = uint64_t(f.start) + f.times, writes = f.times * kFractal;
    d = loaded(d, writes, here);
    if (!core->usable(s, fractals * kFractal, true, here, "src") ||
        !core->usable(index, fractals * kIndex, true, here, "idx") ||
        !core->usable(d, writes, false, here, "dst", kFractal))
        return core->refuse(d, writes);
    core->cube_state.sparse_index.resize(chip.size[int(Mem::L0B)] / 4);
    auto t = core->issue(Pipe::MTE1, Op::LoadDataWithSparse, here);
    book_pieces(t, s, uint64_t(f.start) * kFractal, f.times, kFractal, kFractal, false);
    book_pieces(t, index, uint64_t(f.start) * kIndex, f.times, kIndex, kIndex, false);
    book_pieces(t, d, 0, f.times, kFractal, kFractal, true);
    core->perform(t, [=, from = (const uint8_t*)core->at(s), names = (const uint8_t*)core->at(index), to = core->at(d),
                      kept = core->cube_state.sparse_index.data() + d.addr / 4] {
        std::memcpy(to, from + uint64_t(f.start) * kFractal, writes);
        std::memcpy(kept, names + uint64_t(f.start) * kIndex, uint64_t(f.times) * kIndex);
    });
    core->retire(t, cycles(d.mem, writes + f.times * kIndex), writes);
}

void fill_local(uint32_t elem, Loc d, uint64_t value, uint16_t times, uint16_t blocks, uint16_t gap, Here here) {
    if (!(times && blocks)) return;
    if (!placed(d, {Mem::L1, Mem::L0A, Mem::L0B}, "Fill", "dst", here)) return core->refuse(d, d.bytes);
    uint32_t unit = d.mem == Mem::L1 ? 32 : kFractal, piece = blocks * unit;
    uint64_t stride = (uint64_t(blocks) + gap) * unit, writes = (times - 1) * stride + piece;
    d = loaded(d, writes, here);
    if (times > 32767 || blocks > 32767 || gap > 32767) {
        core->report("fill-params", true, here,
                     Numbers().add("times", unsigned(times)).add("blocks", unsigned(blocks)).add("gap", unsigned(gap)));
        return core->refuse(d, writes);
    }
    if (!core->usable(d, writes, false, here, "dst", unit)) return core->refuse(d, writes);
    auto t = core->issue(d.mem == Mem::L1 ? Pipe::MTE2 : Pipe::MTE1, Op::Fill, here);
    book_pieces(t, d, 0, times, int64_t(stride), piece, true);
    core->perform(t, [=, to = core->at(d)] {
        for (uint32_t i = 0; i < times; i++)
            for (uint32_t at = 0; at < piece; at += elem) std::memcpy(to + i * stride + at, &value, elem);
    });
    core->retire(t, cycles(d.mem, uint64_t(times) * piece), uint64_t(times) * piece);
}

void set_feature_map(uint16_t height, uint16_t width, const uint8_t* pad, bool right) {
    auto& map = right ? core->cube_state.right : core->cube_state.left;
    map.height = height;
    map.width = width;
    std::memcpy(map.pad, pad, sizeof map.pad);
}
void set_padding(uint64_t value) { core->cube_state.padding = value; }
void set_load_boundary(uint32_t bytes) { core->cube_state.boundary = bytes; }
void set_load_repeat(uint16_t stride, uint8_t times, uint8_t mode) {
    core->cube_state.repeat_stride = stride;
    core->cube_state.repeat_times = times;
    core->cube_state.repeat_mode = mode;
}

}  // namespace twin
