#include "core/crash_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <setjmp.h>
#include <ucontext.h>

#include "base/findings.h"

namespace twin {

static thread_local sigjmp_buf t_walk;
static thread_local volatile bool t_walking = false;  // walking a stack that may be corrupted

Stopped stopped_at(int signal, const siginfo_t* info, void* context) {
    if (t_walking) siglongjmp(t_walk, 1);
    Stopped s;
    auto* u = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
    s.pc = uint64_t(u->uc_mcontext.gregs[REG_RIP]);
    s.stack = uint64_t(u->uc_mcontext.gregs[REG_RSP]);
    s.link = (const uint64_t*)s.stack;
#elif defined(__aarch64__)
    s.pc = u->uc_mcontext.pc;
    s.stack = u->uc_mcontext.sp;
    s.link = (const uint64_t*)&u->uc_mcontext.regs[30];
#endif
    if (signal == SIGSEGV || signal == SIGBUS) s.address = uint64_t(info->si_addr);
    return s;
}

uint64_t own_place(uint64_t pc, const uint64_t* link, bool (*own)(void*)) {
    if (own((void*)pc)) return pc;
    t_walking = true;
    if (sigsetjmp(t_walk, 1) == 0) {
        Dl_info info{};
        if (link && !dladdr((void*)pc, &info) && own((void*)*link)) {
            t_walking = false;
            return *link - 1;
        }
        void* frames[64];
        int n = backtrace(frames, 64);
        for (int i = 0; i < n; i++)
            if (own(frames[i])) {
                pc = uint64_t(frames[i]) - 1;
                break;
            }
    }
    t_walking = false;
    return pc;
}

Object object_of(uint64_t pc) {
    Dl_info info{};
    bool known = pc && dladdr((void*)pc, &info) && info.dli_fname;
    return known ? Object{info.dli_fname, pc - uint64_t(info.dli_fbase)} : Object{};
}

std::string object_json(const Object& o) {
    return "\"object\":" + json_string(o.file) + ",\"offset\":" + std::to_string(o.offset);
}

void warm_walk() {
    void* warm[2];
    backtrace(warm, 2);
}

}  // namespace twin
