#include "library/call.h"

namespace twin {

Loc spare() {
    constexpr uint32_t kMessages = 64;  // end of UB, reserved in mixed kernels for messages to the cube core
    Loc l;
    uint32_t end = chip.size[int(Mem::UB)] - kMessages;
    l.addr = core->top[int(Mem::UB)];
    l.bytes = l.addr < end ? end - l.addr : 0;
    l.pos = uint8_t(kSpare);
    return l;
}

// The function that a learner called.
const char* api_name(Op op) {
    switch (op) {
    case Op::LayerNormRstd: return "LayerNorm";
    case Op::ExpTaylor: return "Exp";
    case Op::AxpyWide: return "Axpy";
    case Op::SelectBytes: return "Select";
    default: return name_of(op);
    }
}

Call& Call::scratch(Loc l, uint64_t least, uint64_t most) {
    least_ = least;
    scratch_.loc = l;
    scratch_.bytes = least ? std::min<uint64_t>(l.bytes, std::max(least, most)) : 0;
    return *this;
}

bool Call::scratch_ok() {
    if (!least_) return true;
    bool own = scratch_.loc.pos == kSpare;
    if (!own && scratch_.loc.pos >= kNowhere) return core->usable(scratch_.loc, least_, false, here_, "tmp");
    if (scratch_.loc.bytes < least_) {
        Numbers n;
        n.add("api", api_name(op_)).add("need", least_).add("have", scratch_.loc.bytes);
        if (own) core->report("adv-no-room", true, here_, n);
        else core->report("adv-tmp-small", true, here_, n);
        return false;
    }
    if (own) scratch_.loc.pos = 11;  // VECCALC
    return core->usable(scratch_.loc, scratch_.bytes, false, here_, "tmp");
}

// Checks the results against all operands: a result lies exactly on a source or apart from it; scratch lies apart from
// all.
bool Call::apart() {
    auto meet = [](const Part& a, const Part& b) {
        return a.loc.mem == b.loc.mem && a.loc.addr < b.loc.addr + b.bytes && b.loc.addr < a.loc.addr + a.bytes;
    };
    for (int i = 0; i < count_; i++) {
        const Part& d = parts_[i];
        if (least_ && meet(d, scratch_)) {
            core->report("adv-tmp-overlap", true, here_,
                         Numbers()
                             .add("api", api_name(op_))
                             .add("what", d.what)
                             .add("addr", d.loc.addr)
                             .add("tmp", scratch_.loc.addr)
                             .add("bytes", scratch_.bytes));
            return false;
        }
        for (int j = 0; d.write && j < count_; j++) {
            const Part& s = parts_[j];
            bool on = d.loc.addr == s.loc.addr && !(s.write && d.write && i != j);
            if (i == j || on || !meet(d, s)) continue;
            core->report("overlap", true, here_,
                         Numbers().add("dst", d.loc.addr).add("src", s.loc.addr).add("bytes", d.bytes));
            return false;
        }
    }
    return true;
}

void Call::refuse() {
    for (int i = 0; i < count_; i++)
        if (parts_[i].write) core->refuse(parts_[i].loc, parts_[i].bytes);
}

bool Call::begin() {
    bool ok = true;
    for (int i = 0; i < count_ && ok; i++)
        ok = core->usable(parts_[i].loc, parts_[i].bytes, parts_[i].read, here_, parts_[i].what);
    if (ok && odd_.what) {
        core->report(
            "adv-shape", true, here_,
            Numbers().add("api", api_name(op_)).add("what", odd_.what).add("value", odd_.value).add("unit", odd_.unit));
        ok = false;
    }
    if (ok && short_.what) {
        core->report("adv-short", true, here_,
                     Numbers()
                         .add("api", api_name(op_))
                         .add("what", short_.what)
                         .add("value", short_.value)
                         .add("least", short_.unit));
        ok = false;
    }
    ok = ok && scratch_ok() && apart();
    if (!ok) {
        refuse();
        return false;
    }
    ticket_ = core->issue(Pipe::V, op_, here_);
    for (int i = 0; i < count_; i++)
        if (parts_[i].read) core->book(ticket_, parts_[i].loc, uint32_t(parts_[i].bytes), false);
    for (int i = 0; i < count_; i++)
        if (parts_[i].write) core->book(ticket_, parts_[i].loc, uint32_t(parts_[i].bytes), true);
    if (scratch_.bytes) core->book(ticket_, scratch_.loc, uint32_t(scratch_.bytes), true);
    return true;
}

void Call::charge(Dt t, uint64_t n, Op op, double times) {
    if (!n || times <= 0) return;
    double repeats = double((n * size_of(t) + kRepeat - 1) / kRepeat);
    issues_ += times;
    cycles_ += times * (chip.vector_startup + repeats * chip.per_repeat[int(op)][int(t)]);
}

void Call::charge(const Recipe& r, Dt t, uint64_t n, uint64_t piece) {
    Dt in = size_of(t) == 2 && r.casts ? Dt::F32 : t;
    auto once = [&](uint64_t some, double times) {
        for (const Step& s : r.steps) charge(in, some, s.op, s.times * times);
        if (size_of(t) == 2) charge(Dt::F32, some, Op::Cast, r.casts * times);
    };
    once(piece, double(n / piece));
    if (n % piece) once(n % piece, 1);
}

void Call::end(uint64_t bytes) {
    double scalar = std::max(0.0, issues_ - 1) * chip.scalar_issue;  // the first was counted with the call
    core->trace.spend(scalar);
    core->retire(ticket_, cycles_, bytes);
}

}  // namespace twin
