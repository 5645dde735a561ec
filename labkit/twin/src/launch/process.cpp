// A kernel's requests to its process: heap memory, and exit().
#include <dlfcn.h>

#include <cstdlib>
#include <new>

#include "launch/launch.h"

// A kernel's operator new is routed here, so that a failing allocation can be reported with its place.
static thread_local void* g_refused = nullptr;
static void* allocate(size_t n, void* caller) {
    if (void* p = std::malloc(n ? n : 1)) return p;
    g_refused = caller;
    throw std::bad_alloc();
}
void* operator new(size_t n) { return allocate(n, __builtin_return_address(0)); }
void* operator new[](size_t n) { return allocate(n, __builtin_return_address(0)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete[](void* p, size_t) noexcept { std::free(p); }

// Distinguishes a kernel that calls exit() from one that returns, and records where it did so.
static void (*g_leaving)(void* caller) = nullptr;
template <typename F> [[noreturn]] static void leave(F real, int status, void* caller) {
    if (twin::core && g_leaving) g_leaving(caller);
    real(status);
    __builtin_unreachable();
}
extern "C" void exit(int status) noexcept {
    leave(reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "exit")), status, __builtin_return_address(0));
}
extern "C" void _exit(int status) {
    leave(reinterpret_cast<void (*)(int)>(dlsym(RTLD_NEXT, "_exit")), status, __builtin_return_address(0));
}

namespace twin {

void when_leaving(void (*call)(void* caller)) { g_leaving = call; }

// Offset of an address in the kernel's library; the program that displays the finding converts it to a line.
Numbers refused_place() {
    void* pc = g_refused;
    Dl_info info{};
    Numbers n;
    if (pc && dladdr(pc, &info) && info.dli_fname)
        n.add("object", info.dli_fname).add("code", (unsigned long)((char*)pc - (char*)info.dli_fbase - 1));
    return n;
}

}  // namespace twin
