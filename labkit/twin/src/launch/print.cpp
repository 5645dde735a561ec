// Printing, dumping and assertions of kernels.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/machine.h"

namespace twin {

static constexpr size_t kMostOutput = 64 << 10;

static void print(const std::string& text) {
    if (core->output.size() > kMostOutput) return;
    size_t from = 0;
    while (from < text.size()) {
        size_t to = text.find('\n', from);
        if (core->output.empty() || core->output.back() == '\n')
            core->output += "[block " + std::to_string(core->block) + "] ";
        core->output += text.substr(from, to == std::string::npos ? to : to - from + 1);
        if (to == std::string::npos) break;
        from = to + 1;
    }
    if (core->output.size() <= kMostOutput) return;
    size_t end = kMostOutput;
    while (end && (uint8_t(core->output[end]) & 0xC0) == 0x80) end--;  // not in the middle of a character
    core->output.resize(end);
    core->output += "\n... (output cut here)\n";
}

void say(const char* fmt, ...) {
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    if (core) {
        std::string text(size_t(std::max(0, std::vsnprintf(nullptr, 0, fmt, again))), '\0');
        std::vsnprintf(&text[0], text.size() + 1, fmt, args);
        print(text);
    } else {  // in the host's part of a program
        std::vprintf(fmt, args);
    }
    va_end(again);
    va_end(args);
}

static std::string element(Dt t, const uint8_t* p) {
    char text[32];
    switch (t) {
    case Dt::F16:
    case Dt::BF16: {
        uint16_t h;
        std::memcpy(&h, p, 2);
        uint32_t u = uint32_t(h) << 16;
        float f;
        std::memcpy(&f, &u, 4);
        std::snprintf(text, sizeof text, "%g", double(t == Dt::F16 ? half_to_float(h) : f));
        return text;
    }
    case Dt::F32: {
        float f;
        std::memcpy(&f, p, 4);
        std::snprintf(text, sizeof text, "%g", double(f));
        return text;
    }
    default: break;
    }
    uint64_t u = 0;
    std::memcpy(&u, p, size_of(t));
    bool is_signed = t == Dt::I8 || t == Dt::I16 || t == Dt::I32 || t == Dt::I64;
    int unused = 64 - int(size_of(t)) * 8;
    return is_signed ? std::to_string(int64_t(u << unused) >> unused) : std::to_string(u);
}

static void dump_bytes(Dt t, const char* where, const uint8_t* p, uint32_t desc, uint32_t n, Here here) {
    std::string text = "DumpTensor desc=" + std::to_string(desc) + " line " + std::to_string(here.line) + " " + where +
                       " " + name_of(t) + "[" + std::to_string(n) + "]:";
    for (uint32_t i = 0; i < n && text.size() <= kMostOutput; i++)  // what is more is not shown
        text += (i % 16 ? " " : "\n  ") + element(t, p + i * size_of(t));
    print(text + "\n");
}

void dump(Dt t, Loc l, uint32_t desc, uint32_t n, Here here) {
    if (!core->usable(l, uint64_t(n) * size_of(t), true, here, "DumpTensor", 1)) return;
    core->touch_scalar(l, n * size_of(t), false, here);
    dump_bytes(t, name_of(l.mem), core->at(l), desc, n, here);
}
void dump(Dt t, Gm g, uint32_t desc, uint32_t n, Here here) {
    if (!core->gm_usable(g, uint64_t(n) * size_of(t), false, here, true)) return;
    dump_bytes(t, "GM", g.ptr, desc, n, here);
}

// The address decides which memory it is and what is checked.
void dump(Dt t, const void* address, uint32_t desc, uint32_t n, Here here) {
    auto* p = static_cast<const uint8_t*>(address);
    for (int m = 0; m < int(Mem::Count); m++) {
        Loc start{0, chip.size[m], 0, 0, Mem(m), 0};
        if (!has(core->id.kind, Mem(m)) || p < core->at(start) || p >= core->at(start) + chip.size[m]) continue;
        start.addr = uint32_t(p - core->at(start));
        start.bytes = chip.size[m] - start.addr;
        return dump(t, start, desc, n, here);
    }
    dump(t, Gm{const_cast<uint8_t*>(p), p, 0}, desc, n, here);
}

void fail_assert(const char* expr, const char*, Here here) {
    if (core) core->stop("assert", here, Numbers().add("expr", expr));
    std::fprintf(stderr, "%s:%d: Assertion `%s' failed.\n", here.file, here.line, expr);
    std::abort();
}

}  // namespace twin
