// twin-runner: the child process in which kernels run, so that a faulty kernel cannot damage the parent.
//
//   twin-runner <control fd> <arena fd> <arena base> <arena bytes> <chip file> <memory limit in bytes>
//   twin-runner confined DIR ... runs the command that follows, which may change files in DIR alone
//   twin-runner confine          what a kernel is kept from here: a line for each thing that does not work
//
// Protocol on the control socket, one launch at a time. In: lines of key=value, ended by "end". Out: 8 bytes of JSON
// length, 8 bytes of timeline length, the JSON, the timeline (TimelineEvent records). If a kernel crashes or runs out
// of time, an answer is sent as well; the process then ends and the parent starts another.
#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/crash_site.h"
#include "launch/report.h"

using namespace twin;

namespace {

int g_control = -1;
int g_stdout = -1;  // the kernel's output through the C library goes to this memfd

timespec after(double seconds) {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    double whole = std::floor(seconds);
    t.tv_sec += time_t(whole);
    t.tv_nsec += long((seconds - whole) * 1e9);
    if (t.tv_nsec >= 1000000000) t.tv_sec++, t.tv_nsec -= 1000000000;
    return t;
}

// Nobody is left who could read the answer.
bool parent_gone() {
    pollfd control{g_control, POLLRDHUP, 0};
    return poll(&control, 1, 0) > 0 && (control.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

double processor_seconds() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

// ---- a fault or a time-out stops one of the threads that run cores; it records where, and the main thread answers.
struct Fault {
    int signal = 0;
    uint64_t address = 0, pc = 0, stack = 0;
    Core* where = nullptr;
    Object object;
} g_fault;
sem_t g_event;

// In place of a signal: the kernel called exit; the twin itself got no memory.
constexpr int kLeft = -1, kNoMemory = -2;

const char* g_kernels[2] = {"", ""};  // the libraries that are running

bool in_kernel(void* pc) {
    Dl_info info{};
    return dladdr(pc, &info) && info.dli_fname &&
           (!std::strcmp(info.dli_fname, g_kernels[0]) || !std::strcmp(info.dli_fname, g_kernels[1]));
}

[[noreturn]] void faulted(int signal, const Stopped& s) {
    static volatile sig_atomic_t taken = 0;
    if (__sync_lock_test_and_set(&taken, 1) == 0) {
        uint64_t stack = core ? core->past_stack(s.address, s.stack) : 0;
        g_fault = {signal, s.address, own_place(s.pc, s.link, in_kernel), stack, core, {}};
        // here, not in the main thread: the loader's lock may be this thread's, for ever
        g_fault.object = object_of(g_fault.pc);
        sem_post(&g_event);
    }
    for (;;) pause();  // the process ends as soon as the main thread has answered
}

void on_fault(int signal, siginfo_t* info, void* context) { faulted(signal, stopped_at(signal, info, context)); }

void catch_faults() {
    // Faults in a kernel's threads need a stack of their own: the thread's may be the one that overflowed.
    struct sigaction a{};
    a.sa_sigaction = on_fault;
    a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    when_leaving([](void* caller) { faulted(kLeft, {0, uint64_t(caller) - 1}); });
    when_memory_fails([] { faulted(kNoMemory, {}); });
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGUSR1}) sigaction(s, &a, nullptr);
}

struct Request {
    std::string so, cube_so, entry, kernel;  // cube_so: the same source compiled for the AIC, where there is one
    std::vector<std::vector<uint8_t>> values;
    Launch launch;
    double timeout = 10;
    int threads = 1;
    uint64_t tiling_key = 0;
};

std::vector<uint8_t> from_hex(const std::string& s) {
    std::vector<uint8_t> r(s.size() / 2);
    auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    for (size_t i = 0; i < r.size(); i++) r[i] = uint8_t(digit(s[2 * i]) * 16 + digit(s[2 * i + 1]));
    return r;
}

bool read_line(std::string& line) {
    static char buffer[65536];
    static size_t have = 0, at = 0;
    line.clear();
    for (;;) {
        if (at == have) {
            ssize_t n = read(g_control, buffer, sizeof buffer);
            if (n <= 0) return false;
            have = size_t(n);
            at = 0;
        }
        char* end = static_cast<char*>(std::memchr(buffer + at, '\n', have - at));
        size_t take = end ? size_t(end - buffer) - at : have - at;
        line.append(buffer + at, take);
        at += take + (end ? 1 : 0);
        if (end) return true;
    }
}

bool read_request(Request& r) {
    r = Request{};
    std::string line;
    while (read_line(line)) {
        if (line == "end") return true;
        size_t eq = line.find('=');
        std::string key = line.substr(0, eq), value = line.substr(eq + 1);
        if (key == "so") r.so = value;
        else if (key == "cube_so") r.cube_so = value;
        else if (key == "core_mix") r.launch.mix = {uint32_t(value.at(0) - '0'), uint32_t(value.at(2) - '0')};
        else if (key == "entry") r.entry = value;
        else if (key == "kernel") r.launch.kernel = r.kernel = value;
        else if (key == "blocks") r.launch.blocks = uint32_t(std::stoul(value));
        else if (key == "timeout") r.timeout = std::stod(value);
        else if (key == "threads") r.threads = std::stoi(value);
        else if (key == "keep") r.launch.keep_events = std::stoul(value);
        else if (key == "effects") r.launch.effects = value == "1";
        else if (key == "checks") r.launch.checks = value == "1";
        else if (key == "schedule") read_schedule(value.c_str(), r.launch.schedule, r.launch.seed);
        else if (key == "key") r.tiling_key = std::stoull(value);
        else if (key == "whatif")
            r.launch.what_ifs.push_back({value.substr(0, value.find(' ')), std::stod(value.substr(value.find(' ')))});
        else if (key == "keep_l2") r.launch.keep_l2 = value == "1";
        else if (key == "l2") {  // base bytes dirty
            std::istringstream in(value);
            Held h{};
            in >> h.lo >> h.bytes >> h.dirty;
            r.launch.l2.push_back(h);
        } else if (key == "value") r.values.push_back(from_hex(value));
        else if (key == "range") {  // argument base bytes written
            std::istringstream in(value);
            GmRange g{};
            uint64_t bytes = 0;
            in >> g.argument >> g.lo >> bytes >> g.written;
            g.hi = g.lo + bytes;
            r.launch.ranges.push_back(g);
        }
    }
    return false;
}

void write_all(const void* p, size_t n) {
    auto* b = static_cast<const char*>(p);
    while (n) {
        ssize_t w = send(g_control, b, n, MSG_NOSIGNAL);
        if (w <= 0) _exit(1);
        b += w;
        n -= size_t(w);
    }
}

std::string taken_output() {
    if (ftrylockfile(stdout) == 0) {  // a stopped thread may hold it for ever
        std::fflush(stdout);
        funlockfile(stdout);
    }
    off_t n = lseek(g_stdout, 0, SEEK_END);
    std::string text(size_t(n > 65536 ? 65536 : n), '\0');
    if (n > 0 && pread(g_stdout, &text[0], text.size(), 0) < 0) text.clear();
    if (ftruncate(g_stdout, 0) == 0) lseek(g_stdout, 0, SEEK_SET);
    return text;
}

void answer(const LaunchResult& r, const std::string& fault = "") {
    std::vector<std::string> buffers;
    std::vector<TimelineEvent> events;
    std::string output;
    for (const auto& c : r.cores) {
        events.insert(events.end(), c.events.begin(), c.events.end());
        output += c.output;
        if (!c.output.empty() && c.output.back() != '\n') output += '\n';
    }
    if (!r.cores.empty())
        for (const auto& v : r.cores[0].buffers)
            buffers.push_back("[" + std::to_string(v.addr) + "," + std::to_string(v.bytes) + "," +
                              std::to_string(v.pos) + "," + std::to_string(v.kind) + "," + std::to_string(v.group) +
                              "," + std::to_string(v.index) + "]");
    for (auto& e : events) {
        e.start = e.start / chip.hz * 1e6;
        e.end = e.end / chip.hz * 1e6;
    }
    std::vector<std::string> ifs;
    for (const auto& w : r.what_ifs)
        ifs.push_back("[" + json_string(w.what) + "," + json_number(w.amount) + "," + json_number(w.seconds * 1e6) +
                      "]");
    std::vector<std::string> held;
    for (const Held& h : r.l2)
        held.push_back("[" + std::to_string(h.lo) + "," + std::to_string(h.bytes) + "," + std::to_string(h.dirty) +
                       "]");
    std::string json = "{" + figures_json(r, r.finished && fault.empty()) + ",\"l2\":" + json_list(held) +
                       ",\"what_ifs\":" + json_list(ifs) + ",\"buffers\":" + json_list(buffers) +
                       ",\"output\":" + json_string(output + taken_output()) +
                       (fault.empty() ? "" : ",\"fault\":" + fault) + "}";
    uint64_t sizes[2] = {json.size(), events.size() * sizeof(TimelineEvent)};
    write_all(sizes, sizeof sizes);
    write_all(json.data(), json.size());
    write_all(events.data(), sizes[1]);
}

std::string fault_json(const char* kind) {
    Here last = g_fault.where ? g_fault.where->last : Here{nullptr, 0};
    return "{\"kind\":" + json_string(kind) + ",\"signal\":" + std::to_string(g_fault.signal) +
           ",\"address\":" + std::to_string(g_fault.address) + ",\"stack\":" + std::to_string(g_fault.stack) +
           ",\"limit\":" + std::to_string(Core::kStack) + "," + object_json(g_fault.object) +
           ",\"block\":" + std::to_string(g_fault.where ? g_fault.where->block : 0) +
           ",\"file\":" + json_string(last.file ? last.file : "") + ",\"line\":" + std::to_string(last.line) + "}";
}

using KernelEntry = void (*)(const void* const*);

KernelEntry find_entry(const std::string& so, const std::string& name, std::string& why) {
    static std::map<std::string, void*> loaded;  // the name of a library is a hash of its content, so it is loaded once
    void*& handle = loaded[so];
    if (!handle) handle = dlopen(so.c_str(), RTLD_NOW | RTLD_LOCAL);
    void* entry = handle ? dlsym(handle, name.c_str()) : nullptr;
    const char* error = entry ? nullptr : dlerror();
    if (!entry) why = error ? error : "no such entry";
    return reinterpret_cast<KernelEntry>(entry);
}

void give_fault_stack() {  // the signal handler needs its own stack: the kernel's may be the one that overflowed
    static thread_local std::unique_ptr<char[]> spare;
    if (spare) return;
    spare.reset(new char[65536]);
    stack_t s{};
    s.ss_sp = spare.get();
    s.ss_size = 65536;
    sigaltstack(&s, nullptr);
}

uint64_t g_memory = 0;  // heap limit of a launch
void limit_heap(rlim_t bytes) {
    rlimit most{bytes, RLIM_INFINITY};
    setrlimit(RLIMIT_DATA, &most);
}

// The variables of a kernel's library as they were when it was loaded. On the device no launch, and no block, can rely
// on what another has left in them: what a launch changes is reported and set back.
class Variables {
public:
    explicit Variables(void* entry) {
        Dl_info info{};
        if (!dladdr(entry, &info)) return;
        name_ = info.dli_fname;
        base_ = uint64_t(info.dli_fbase);
        dl_iterate_phdr(
            [](dl_phdr_info* lib, size_t, void* me) {
                auto& v = *static_cast<Variables*>(me);
                if (lib->dlpi_addr != v.base_) return 0;
                uint64_t fixed = 0;  // up to here the loader has made it read-only
                for (int i = 0; i < lib->dlpi_phnum; i++)
                    if (lib->dlpi_phdr[i].p_type == PT_GNU_RELRO)
                        fixed = v.base_ + lib->dlpi_phdr[i].p_vaddr + lib->dlpi_phdr[i].p_memsz;
                for (int i = 0; i < lib->dlpi_phnum; i++) {
                    const auto& p = lib->dlpi_phdr[i];
                    if (p.p_type != PT_LOAD || !(p.p_flags & PF_W)) continue;
                    v.from_ = std::max(v.base_ + p.p_vaddr, fixed);
                    uint64_t end = v.base_ + p.p_vaddr + p.p_memsz;
                    if (v.from_ < end) v.first_.assign((uint8_t*)v.from_, (uint8_t*)end);
                }
                return 1;
            },
            this);
    }
    void restore(LaunchResult& result, bool report) {
        auto* now = reinterpret_cast<uint8_t*>(from_);
        size_t found = 0;
        for (size_t i = 0; report && i < first_.size() && found < 64; i++) {
            if (now[i] == first_[i]) continue;
            Findings one;
            one.clear(0);
            one.add("static-state", true, {name_, -int(from_ + i - base_)}, Numbers());
            result.across.push_back(one.list().front());
            found++;
            i = i / 8 * 8 + 7;
        }
        if (found || !report) std::copy(first_.begin(), first_.end(), now);
    }

private:
    const char* name_ = "";
    uint64_t base_ = 0, from_ = 0;
    std::vector<uint8_t> first_;
};

Variables& variables_of(void* entry) {
    static std::map<void*, Variables> all;  // by where the library begins
    Dl_info info{};
    dladdr(entry, &info);
    return all.try_emplace(info.dli_fbase, entry).first->second;
}

// Runs the launch in a thread of its own while this one waits for its end, its fault or its deadline.
void serve(const Request& q) {
    std::string why;
    KernelEntry entry[2] = {};
    g_kernels[0] = q.so.c_str();
    g_kernels[1] = q.cube_so.c_str();
    std::vector<const void*> args;
    for (auto& v : q.values) args.push_back(v.data());

    LaunchResult result;
    std::thread worker([&] {
        // without effects the kernel uses no heap, but the traces need memory
        limit_heap(q.launch.effects ? g_memory : RLIM_INFINITY);
        give_fault_stack();  // loading runs the static constructors
        if (q.launch.mix.aiv) entry[int(Kind::AIV)] = find_entry(q.so, q.entry, why);
        if (q.launch.mix.aic) entry[int(Kind::AIC)] = find_entry(q.cube_so, q.entry, why);
        if (!why.empty()) return void(sem_post(&g_event));
        ub_pointers = false;
        for (KernelEntry e : entry)
            if (e) {
                variables_of(reinterpret_cast<void*>(e));
                ub_pointers = ub_pointers || watches_ub_pointers(reinterpret_cast<const void*>(e));
            }
        Launch launch = q.launch;
        set_tiling_key(q.tiling_key);
        for (int k = 0; k < 2; k++)
            launch.body[k] = [&, k] {
                give_fault_stack();
                entry[k](args.data());
            };
        for (KernelEntry e : entry)
            launch.in_order = launch.in_order || (e && runs_in_order(reinterpret_cast<const void*>(e)));
        result = run(launch, q.threads);
        sem_post(&g_event);
    });
    // Late is what has had its time of the processor: on a busy machine it may not have begun. Nothing in a kernel
    // sleeps; what does all the same ends after several times as long.
    const double had = processor_seconds();
    const auto began = std::chrono::steady_clock::now();
    int woke;
    for (;;) {
        timespec deadline = after(std::min(0.25 * q.timeout, 1.0));
        while ((woke = sem_timedwait(&g_event, &deadline)) != 0 && errno == EINTR) {}
        if (woke == 0) break;
        if (parent_gone()) {
            end_children();
            _exit(3);
        }
        const double passed = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        if (passed >= 6 * q.timeout) break;
        if (passed >= q.timeout && processor_seconds() - had > 0.75 * q.timeout) break;
    }
    if (woke == 0 && !g_fault.signal) {
        worker.join();
        limit_heap(RLIM_INFINITY);
        if (why.empty()) {
            for (KernelEntry e : entry)
                if (e) variables_of(reinterpret_cast<void*>(e)).restore(result, q.launch.checks && q.launch.effects);
            return answer(result);
        }
        LaunchResult none;
        none.finished = false;
        return answer(none, "{\"kind\":\"load\",\"what\":" + json_string(why) + "}");
    }
    const char* kind = g_fault.signal == kLeft ? "exit" : g_fault.signal == kNoMemory ? "memory" : "crash";
    if (woke != 0) {  // time is up: ask one thread that runs a core where it is
        kind = "time-out";
        if (unsigned long one = running_thread()) {
            pthread_kill(pthread_t(one), SIGUSR1);
            timespec soon = after(2);
            while (sem_timedwait(&g_event, &soon) != 0 && errno == EINTR) {}
        }
    }
    limit_heap(RLIM_INFINITY);  // the answer needs some; not before: other threads of the kernel still run
    LaunchResult none;
    none.finished = false;
    if (g_fault.where) {
        CoreResult b;
        b.findings = g_fault.where->findings.list();
        b.output = g_fault.where->output;
        none.cores.push_back(std::move(b));
    }
    answer(none, fault_json(kind));
    end_children();
    _exit(3);
}

// A compiler's process, which keeps its temporary files in the folder too. A g++ that is ccache by another name has its
// own cache elsewhere: here it is the compiler alone.
[[noreturn]] void become(const char* folder, char** command) {
    setenv("TMPDIR", folder, 1);
    setenv("CCACHE_DISABLE", "1", 1);
    confine({folder});
    execvp(command[0], command);
    std::fprintf(stderr, "%s: %s\n", command[0], std::strerror(errno));
    _exit(127);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && argv[1] == std::string("confine")) {
        for (const std::string& why : confine({})) std::printf("%s\n", why.c_str());
        return 0;
    }
    if (argc > 3 && argv[1] == std::string("confined")) become(argv[2], argv + 3);
    if (argc != 7) {
        std::fprintf(stderr,
                     "usage: twin-runner <control fd> <arena fd> <arena base> <arena bytes> <chip file> <memory limit "
                     "in bytes>\n");
        return 2;
    }
    g_control = std::stoi(argv[1]);
    int arena = std::stoi(argv[2]);
    uint64_t base = std::stoull(argv[3]), bytes = std::stoull(argv[4]), limit = std::stoull(argv[6]);
    chip.load(argv[5]);
    if (arena >= 0) {
        void* p = mmap((void*)base, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                       arena, 0);
        if (p != (void*)base) {
            std::perror("twin-runner: the device memory cannot be mapped");
            return 2;
        }
    }
    device_from = base;
    device_bytes = bytes;
    g_memory = limit;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    rlimit none{0, 0};
    setrlimit(RLIMIT_CORE, &none);
    rlimit printed{1 << 20, 1 << 20};  // a loop that prints must not fill the host's memory
    setrlimit(RLIMIT_FSIZE, &printed);
    signal(SIGXFSZ, SIG_IGN);
    g_stdout = memfd_create("kernel output", 0);
    dup2(g_stdout, 1);
    dup2(g_stdout, 2);
    // Keep freed memory: returning it to the system and requesting it again costs more than a small launch.
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_ARENA_MAX, 2);
    sem_init(&g_event, 0, 0);
    warm_walk();
    catch_faults();
    confine({});
    Request q;
    while (read_request(q)) serve(q);
    end_children();
    return 0;
}
