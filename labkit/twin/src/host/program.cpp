// A program with its own main(): its launches and the findings of its host calls are written as one JSON file when it
// ends. `labkit run` starts it with LABKIT_TWIN_REPORT and the settings below; without them it refuses to start.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "acl/acl_base.h"
#include "host/host.h"
#include "launch/report.h"
#include "twin/host/aclrtlaunch.h"
#include "twin/launch/launch.h"

namespace twin {

namespace {

struct Program {
    std::string report, soc = "Ascend910B1";
    int threads = 1;
    bool checks = true;
    Schedule schedule = Schedule::Program;
    uint32_t seed = 0;  // of an adversarial schedule
    bool keep_l2 = true;
    bool spoil = false;    // what launches write, to see whether the program looks at it
    std::vector<Held> l2;  // what the launches so far left in it
    std::vector<std::string> launches;
    size_t unlisted = 0;
    Findings findings;  // of the host's calls
} g_program;
std::mutex g_lock, g_device;  // g_device: of the launch that runs, whichever host thread it comes from
bool g_running = false;

constexpr size_t kMostLaunches = 2000;  // at most so many are listed one by one in the report

const char* setting(const char* name) {
    const char* v = std::getenv(name);
    return v && *v ? v : nullptr;
}

std::string allocation_json(const Allocation& a) {
    return "{\"number\":" + std::to_string(a.number) + ",\"bytes\":" + std::to_string(a.hi - a.lo) +
           ",\"file\":" + json_string(a.here.file ? a.here.file : "") + ",\"line\":" + std::to_string(a.here.line) +
           "}";
}

void write_report(const std::string& fault) {
    std::lock_guard<std::mutex> hold(g_lock);
    if (g_program.report.empty()) return;
    std::string partial = g_program.report + ".partial", whole = g_program.report + ".json";
    std::ofstream out(partial, std::ios::binary);
    std::vector<std::string> host, allocations;
    for (const Finding& f : g_program.findings.list()) host.push_back(finding_json(f));
    for (const auto& [number, a] : device_memory.known()) allocations.push_back(allocation_json(a));
    out << "{\"launches\":" << json_list(g_program.launches) << ",\"unlisted\":" << g_program.unlisted
        << ",\"findings\":" << json_list(host) << ",\"allocations\":" << json_list(allocations)
        << ",\"host_us\":" << json_number(host_clock.now * 1e6);
    if (!fault.empty()) out << ",\"fault\":" << fault;
    out << "}\n";
    out.close();
    std::rename(partial.c_str(), whole.c_str());
    g_program.report.clear();
}

void show(const LaunchResult& r) {
    for (const auto& b : r.cores) {
        std::fwrite(b.output.data(), 1, b.output.size(), stdout);
        if (!b.output.empty() && b.output.back() != '\n') std::fputc('\n', stdout);
    }
    std::fflush(stdout);
}

// Memory that a kernel wrote counts as written; if the kernel ran on a stream of its own, the host may read it only
// after a synchronisation.
void note_writes(const LaunchResult& r, const Stream& stream) {
    for (const auto& b : r.cores)
        for (const auto& w : b.writes)
            if (Allocation* a = device_memory.find(w.lo)) {
                a->written = true;
                a->stream = stream.id;
                a->turn = stream.turns;
            }
}

// The last byte of all that a launch wrote, turned over.
void spoil_writes(const LaunchResult& r) {
    for (const auto& b : r.cores)
        for (const auto& w : b.writes) *reinterpret_cast<uint8_t*>(w.hi - 1) ^= 0x55;
}

}  // namespace

bool in_program() { return g_running; }
const char* chip_name() { return g_program.soc.c_str(); }

void host_finding(const char* code, bool error, Here here, const Numbers& n) {
    std::lock_guard<std::mutex> hold(g_lock);
    g_program.findings.add(code, error, here, n);
}

void program_fault(const std::string& json) { write_report(json); }

// Called before the program's own constructors run; only the program itself links the object file that calls it.
void program_begin() {
    const char* report = setting("LABKIT_TWIN_REPORT");
    const char* table = setting("LABKIT_TWIN_CHIP");
    if (!report || !table) {
        std::fprintf(stderr, "This program was built for the lab's twin. Start it with: labkit run\n");
        _exit(2);
    }
    g_program.report = std::string(report) + "/" + std::to_string(getpid());
    std::ofstream(g_program.report + ".running") << "";  // tells the process that watches for time-outs when it began
    if (const char* v = setting("LABKIT_TWIN_SOC")) g_program.soc = v;
    if (const char* v = setting("LABKIT_TWIN_THREADS")) g_program.threads = std::max(1, std::atoi(v));
    if (const char* v = setting("LABKIT_TWIN_CHECKS")) g_program.checks = *v != '0';
    if (const char* v = setting("LABKIT_TWIN_SCHEDULE")) read_schedule(v, g_program.schedule, g_program.seed);
    if (const char* v = std::getenv("LABKIT_TWIN_L2")) g_program.keep_l2 = std::strcmp(v, "cold") != 0;
    if (const char* v = setting("LABKIT_TWIN_SPOIL")) g_program.spoil = *v != '0';
    try {
        chip.load(table);
        device_memory.start(uint64_t(chip.get("memory.hbm")));
    } catch (const std::exception& e) {
        std::fprintf(stderr, "twin: %s\n", e.what());
        _exit(2);
    }
    g_running = true;
    watch_faults();
    if (setting("LABKIT_TWIN_CONFINE")) confine({".", report});
    std::atexit([] { write_report(""); });
}

// ---- launches. The cube cores' compilation of the program is a library beside it, loaded by the first launch that
// needs it.

static std::map<std::string, void (*)(void*)> g_calls[2];
static bool g_loading_cube = false;

bool know_call(const char* type, void (*body)(void*)) {
    g_calls[g_loading_cube][type] = body;
    return true;
}

static void (*cube_body(const char* type))(void*) {
    static void* library = nullptr;
    if (!library) {
        char self[4096] = {};
        const char* named = std::getenv("LABKIT_CUBE_LIBRARY");
        ssize_t n = readlink("/proc/self/exe", self, sizeof self - 16);
        std::string path = named ? named : std::string(self, n > 0 ? size_t(n) : 0) + ".cube.so";
        g_loading_cube = true;
        library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        g_loading_cube = false;
        if (!library) throw std::runtime_error(dlerror());
    }
    auto it = g_calls[1].find(type);
    if (it == g_calls[1].end()) throw std::runtime_error("the launch was not compiled for cube cores");
    return it->second;
}

// `kernel<<<...>>>` inside a compiled host function: runs at once, here.
void run_blocks(const char* name, uint32_t blocks, int aic, int aiv, void* handle, const char* call, void* closure,
                Here here) {
    std::lock_guard<std::mutex> alone(g_device);
    Launch l;
    l.kernel = name;
    l.blocks = blocks;
    l.mix = {uint32_t(aic), uint32_t(aiv)};
    auto add_body = [&](Kind kind, void (*body)(void*)) {
        l.body[int(kind)] = [=] {
            spare_stack();
            body(closure);
        };
        l.in_order = l.in_order || runs_in_order(reinterpret_cast<const void*>(body));
    };
    if (aiv) add_body(Kind::AIV, g_calls[0].at(call));
    if (aic) add_body(Kind::AIC, cube_body(call));
    if (!g_running) {
        run(l, int(std::thread::hardware_concurrency()));
        return;
    }
    if (!device_is_set()) host_finding("host-context", true, here, Numbers().add("call", name));
    Stream* stream = stream_of(handle);
    if (!stream) return host_refuse(ACL_ERROR_RT_STREAM_CONTEXT, name, "launched on something that is no stream");
    if (!blocks || blocks > 65535)
        return host_finding("host-blocks", true, here, Numbers().add("call", name).add("blocks", blocks));
    l.keep_events = 0;
    l.checks = g_program.checks;
    l.schedule = g_program.schedule;
    l.seed = g_program.seed;
    l.keep_l2 = g_program.keep_l2;
    l.l2 = std::move(g_program.l2);
    device_memory.open();
    l.ranges = device_memory.ranges();
    LaunchResult r = run(l, g_program.threads);
    if (g_program.spoil) spoil_writes(r);
    device_memory.close();
    g_program.l2 = std::move(r.l2);
    show(r);
    double begun = std::max(stream->free_at, host_clock.now);
    host_clock.launch(*stream, r.seconds);
    note_writes(r, *stream);
    if (!r.finished && !stream->error) stream->error = ACL_ERROR_RT_AICORE_EXCEPTION;
    std::lock_guard<std::mutex> hold(g_lock);
    if (g_program.launches.size() < kMostLaunches) g_program.launches.push_back(launch_json(l, here, begun, r));
    else g_program.unlisted++;
}

void out_of_l2(uint64_t lo, uint64_t bytes) {
    std::lock_guard<std::mutex> alone(g_device);
    uint64_t hi = lo + bytes;
    std::vector<Held> left;
    for (const Held& h : g_program.l2) {
        uint64_t end = h.lo + h.bytes;
        if (h.lo < std::min(end, lo)) left.push_back({h.lo, std::min(end, lo) - h.lo, h.dirty});
        if (end > std::max(h.lo, hi)) left.push_back({std::max(h.lo, hi), end - std::max(h.lo, hi), h.dirty});
    }
    g_program.l2 = std::move(left);
}

void wrong_count(const char* kernel, unsigned given, unsigned wanted, Here here) {
    host_finding("host-arguments", true, here, Numbers().add("call", kernel).add("given", given).add("wanted", wanted));
    std::exit(1);
}

}  // namespace twin
