// Early ends of a program: a crash in a kernel or in the host's code, exit() inside a kernel, a time-out. The thread
// that faulted records where it is; a separate thread writes the report and ends the process.
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <thread>

#include "core/crash_site.h"
#include "host/host.h"
#include "launch/report.h"

namespace twin {

namespace {

constexpr int kLeft = -1;  // in place of a signal: a kernel called exit

struct Fault {
    int signal = 0;
    uint64_t address = 0, pc = 0;
    Core* where = nullptr;
} g_fault;
volatile sig_atomic_t g_time_up = 0;
sem_t g_event;
pthread_t g_main;
void* g_twin = nullptr;  // this library

// Code of the learner or of what their code includes: neither in the twin nor in a system library.
bool own_code(void* pc) {
    Dl_info info{};
    return pc && dladdr(pc, &info) && info.dli_fbase != g_twin && info.dli_fname &&
           !std::strstr(info.dli_fname, ".so.") && !std::strstr(info.dli_fname, "linux-vdso");
}

[[noreturn]] void faulted(int signal, uint64_t address, uint64_t pc, const uint64_t* link) {
    static volatile sig_atomic_t taken = 0;
    if (__sync_lock_test_and_set(&taken, 1) == 0) {
        g_fault = {signal, address, own_place(pc, link, own_code), core};
        sem_post(&g_event);
    }
    for (;;) pause();
}

void on_fault(int signal, siginfo_t* info, void* context) {
    Stopped s = stopped_at(signal, info, context);
    faulted(signal, s.address, s.pc, s.link);
}

void on_time_up(int) {
    g_time_up = 1;
    sem_post(&g_event);
}

std::string fault_json(const char* kind) {
    Core* c = g_fault.where;
    Here last = c ? c->last : Here{nullptr, 0};
    std::vector<std::string> findings;
    if (c)
        for (const Finding& f : c->findings.list()) findings.push_back(finding_json(f));
    const Allocation* a = device_memory.find(g_fault.address);
    return "{\"kind\":" + json_string(kind) + ",\"signal\":" + std::to_string(g_fault.signal) +
           ",\"address\":" + std::to_string(g_fault.address) + "," + object_json(object_of(g_fault.pc)) +
           ",\"host\":" + (c ? "false" : "true") +
           ",\"device_memory\":" + (device_memory.holds(g_fault.address) ? "true" : "false") +
           ",\"allocation\":" + std::to_string(a ? a->number : 0) + ",\"block\":" + std::to_string(c ? c->block : 0) +
           ",\"file\":" + json_string(last.file ? last.file : "") + ",\"line\":" + std::to_string(last.line) +
           ",\"findings\":" + json_list(findings) + "}";
}

void take_time_up(int how) {  // by this thread alone: a signal would cut short the sleep() of another, and main end
                              // well
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    pthread_sigmask(how, &one, nullptr);
}

void watch() {
    take_time_up(SIG_UNBLOCK);
    while (sem_wait(&g_event) != 0) {}
    const char* kind = g_fault.signal == kLeft ? "exit" : "crash";
    if (g_time_up && !g_fault.signal) {
        kind = "time-out";
        unsigned long one = running_thread();
        pthread_kill(one ? pthread_t(one) : g_main, SIGUSR1);
        timespec soon{};
        clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_sec += 2;
        while (sem_timedwait(&g_event, &soon) != 0 && errno == EINTR) {}
    }
    if (g_fault.where) std::fwrite(g_fault.where->output.data(), 1, g_fault.where->output.size(), stdout);
    if (ftrylockfile(stdout) == 0) {  // a stopped thread may hold it for ever
        std::fflush(stdout);
        funlockfile(stdout);
    }
    program_fault(fault_json(kind));
    _exit(3);
}

}  // namespace

void spare_stack() {
    static thread_local std::unique_ptr<char[]> spare;
    if (spare) return;
    spare.reset(new char[65536]);
    stack_t s{};
    s.ss_sp = spare.get();
    s.ss_size = 65536;
    sigaltstack(&s, nullptr);
}

void watch_faults() {
    Dl_info info{};
    dladdr((void*)&watch_faults, &info);
    g_twin = info.dli_fbase;
    g_main = pthread_self();
    sem_init(&g_event, 0, 0);
    warm_walk();
    spare_stack();
    when_leaving([](void* caller) { faulted(kLeft, 0, uint64_t(caller) - 1, nullptr); });
    struct sigaction a{};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGUSR1}) sigaction(s, &a, nullptr);
    struct sigaction t{};
    t.sa_handler = on_time_up;
    t.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &t, nullptr);
    take_time_up(SIG_BLOCK);
    std::thread(watch).detach();
}

}  // namespace twin
