// A kernel's requests to its process: heap memory, and exit(). And what became of them.
#include <dirent.h>
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <new>
#include <string>
#include <system_error>

#include "core/machine.h"
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

// Whether this thread runs a kernel: on the stack that it was given.
static bool in_kernel() {
    const uint64_t here = uint64_t(__builtin_frame_address(0));
    return core && here <= core->stack_from && core->stack_from - here < (1 << 20);
}

static void (*g_no_memory)() = nullptr;
static std::terminate_handler g_before = nullptr;  // says what was thrown
static void nobody_caught() {
    bool memory = false;
    try {
        if (std::current_exception()) std::rethrow_exception(std::current_exception());
    } catch (const std::bad_alloc&) {
        memory = true;
    } catch (const std::system_error& e) {  // a thread that got no stack
        memory = e.code() == std::errc::resource_unavailable_try_again;
    } catch (...) {}
    if (memory && !in_kernel()) g_no_memory();
    if (g_before) g_before();
    std::abort();
}
void when_memory_fails(void (*call)()) {
    g_no_memory = call;
    g_before = std::set_terminate(nobody_caught);
}

// What a kernel forked, whatever session it has moved to, ends with this process: orphans come here (main), and their
// numbers stand under the thread that they belong to.
void end_children() {
    for (int turn = 0; turn < 200; turn++) {
        bool any = false;
        DIR* threads = opendir("/proc/self/task");
        if (!threads) return;
        while (dirent* thread = readdir(threads)) {
            std::ifstream list(std::string("/proc/self/task/") + thread->d_name + "/children");
            for (pid_t child; list >> child; any = true) kill(child, SIGKILL);
        }
        closedir(threads);
        if (!any) return;
        while (waitpid(-1, nullptr, WNOHANG) > 0) {}
        usleep(1000);
    }
}

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
