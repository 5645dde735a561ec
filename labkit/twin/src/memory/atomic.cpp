// Atomic stores.
#include "memory/atomic.h"

#include <dlfcn.h>

#include <cstring>
#include <mutex>
#include <set>
#include <type_traits>

#include "core/machine.h"
#include "twin/memory/atomic.h"

namespace twin {

namespace {

template <typename T> T combine(Atomic op, T a, T b) {
    if (op == Atomic::Add) {
        if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
        else return a + b;
    }
    return (op == Atomic::Max) == (b > a) ? b : a;
}

template <typename T> void store(Atomic op, uint8_t* dst, const uint8_t* src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        T a, b;
        std::memcpy(&a, dst + i * sizeof(T), sizeof(T));
        std::memcpy(&b, src + i * sizeof(T), sizeof(T));
        a = combine(op, a, b);
        std::memcpy(dst + i * sizeof(T), &a, sizeof(T));
    }
}

float widen(Dt t, uint16_t v) {
    if (t == Dt::F16) return half_to_float(v);
    uint32_t u = uint32_t(v) << 16;
    float f;
    std::memcpy(&f, &u, 4);
    return f;
}
uint16_t narrow(Dt t, float f) {
    if (t == Dt::F16) return float_to_half(f);
    uint32_t u;
    std::memcpy(&u, &f, 4);
    return uint16_t((f != f ? (u | 0x400000u) : u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
void store16(Atomic op, Dt t, uint8_t* dst, const uint8_t* src, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint16_t a, b;
        std::memcpy(&a, dst + i * 2, 2);
        std::memcpy(&b, src + i * 2, 2);
        a = narrow(t, combine(op, widen(t, a), widen(t, b)));
        std::memcpy(dst + i * 2, &a, 2);
    }
}

}  // namespace

void check_atomic(const Gm& g, uint64_t bytes, Dt stored, Here here) {
    const AtomicMode& mode = core->registers.atomic;
    auto floating = [](Dt t) { return t == Dt::F32 || t == Dt::F16 || t == Dt::BF16; };
    // An unsigned sum has the bits of a signed one; floats that are not negative are ordered as their bits are.
    bool alike = stored == Dt::Count || stored == mode.type ||
                 (size_of(stored) == size_of(mode.type) &&
                  (mode.op != Atomic::Add || (!floating(stored) && !floating(mode.type))));
    if (!alike)
        core->report(
            "atomic-type", true, here,
            Numbers().add("stored", name_of(stored)).add("mode", name_of(mode.type)).add("set_line", mode.here.line));
    core->want_stored(g, bytes, "atomic-uninit", here);
}

void atomic_store(const AtomicMode& mode, uint8_t* dst, const uint8_t* src, size_t bytes) {
    size_t n = bytes / size_of(mode.type);
    switch (mode.type) {
    case Dt::F32: return store<float>(mode.op, dst, src, n);
    case Dt::I32: return store<int32_t>(mode.op, dst, src, n);
    case Dt::I16: return store<int16_t>(mode.op, dst, src, n);
    case Dt::I8: return store<int8_t>(mode.op, dst, src, n);
    default: return store16(mode.op, mode.type, dst, src, n);
    }
}

void set_atomic(int op, Dt t, Here here) {
    core->last = here;
    core->trace.spend(chip.scalar_issue);
    core->registers.atomic = {Atomic(op), t, here};
}
void set_atomic_type(Dt t, Here here) {
    core->last = here;
    core->registers.atomic.type = t;
}
static std::mutex g_lock;
// start address of each such library; it may be filled before this file's globals are constructed
static std::set<const void*>& in_order() {
    static std::set<const void*> all;
    return all;
}

static const void* library_of(const void* place) {
    Dl_info info{};
    return dladdr(place, &info) ? info.dli_fbase : nullptr;
}

bool play_in_order(const void* place) {
    std::lock_guard<std::mutex> hold(g_lock);
    in_order().insert(library_of(place));
    return true;
}
bool runs_in_order(const void* code) {
    std::lock_guard<std::mutex> hold(g_lock);
    return in_order().count(library_of(code)) > 0;
}

void get_atomic(int& op, int& type) {
    op = int(core->registers.atomic.op);
    type = int(core->registers.atomic.type);
}

}  // namespace twin
