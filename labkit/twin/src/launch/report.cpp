#include "launch/report.h"

#include <algorithm>
#include <cstdio>

namespace twin {

std::string json_list(const std::vector<std::string>& items) {
    std::string r = "[";
    for (size_t i = 0; i < items.size(); i++) r += (i ? "," : "") + items[i];
    return r + "]";
}

std::string json_number(double v) {
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", v);
    return text;
}

std::string finding_json(const Finding& f) {
    return "{\"code\":" + json_string(f.code) + ",\"error\":" + (f.error ? "true" : "false") +
           ",\"block\":" + std::to_string(f.block) + ",\"file\":" + json_string(f.file ? f.file : "") +
           ",\"line\":" + std::to_string(f.line) + ",\"count\":" + std::to_string(f.count) + "," +
           (f.skipped ? "\"skipped\":true," : "") + "\"numbers\":{" + f.numbers + "}}";
}

// Which cores of a block have this pipe; core as in TimelineEvent.
static bool has_pipe(uint8_t core, Pipe p) {
    bool cube = core == 2;
    if (p == Pipe::V) return !cube;
    return cube || (p != Pipe::M && p != Pipe::MTE1 && p != Pipe::FIX);
}

// One core's times and sums, in the order of CORE_FIELDS on the Python side.
static std::string core_json(const CoreResult& c) {
    const Counters& n = c.counters;
    std::vector<std::string> all{std::to_string(c.block), std::to_string(c.core), json_number(c.begin / chip.hz * 1e6),
                                 json_number(c.cycles / chip.hz * 1e6)};
    for (double b : c.busy) all.push_back(json_number(b / chip.hz * 1e6));
    for (uint64_t i : n.instructions) all.push_back(std::to_string(i));
    for (uint64_t m : n.moves) all.push_back(std::to_string(m));
    for (uint64_t b : n.bytes) all.push_back(std::to_string(b));
    for (uint64_t v :
         {n.read_hit, n.read_miss, n.vector16, n.vector32, n.vector_other, n.fractals16, n.fractals8, n.fractals32})
        all.push_back(std::to_string(v));
    for (double t : {n.bank_cycles, n.vector_startup, n.unit_wait}) all.push_back(json_number(t / chip.hz * 1e6));
    return json_list(all);
}

std::string figures_json(const LaunchResult& r, bool finished) {
    std::vector<std::string> findings, pipes, cores;
    double cycles = 0;
    uint64_t instructions = 0;
    uint32_t ub = 0, top = 0;
    for (const auto& c : r.cores) {
        for (const auto& f : c.findings) findings.push_back(finding_json(f));
        cores.push_back(core_json(c));
        cycles = std::max(cycles, c.begin + c.cycles);
        instructions += c.instructions;
        ub = std::max(ub, c.ub_peak);
        top = std::max(top, c.ub_top);
    }
    for (const auto& f : r.across) findings.push_back(finding_json(f));
    for (int p = 0; p < kPipes; p++) {
        double busy = 0;
        int cores = 0;
        for (const auto& c : r.cores)
            if (has_pipe(c.core, Pipe(p))) {
                busy += c.busy[p];
                cores++;
            }
        pipes.push_back(json_number(busy / std::max(1, cores) / chip.hz * 1e6));
    }
    return "\"finished\":" + std::string(finished ? "true" : "false") + ",\"us\":" + json_number(r.seconds * 1e6) +
           ",\"core_us\":" + json_number(cycles / chip.hz * 1e6) +
           ",\"extrapolated\":" + (r.extrapolated ? "true" : "false") +
           ",\"instructions\":" + std::to_string(instructions) + ",\"ub_used\":" + std::to_string(ub) +
           ",\"ub_top\":" + std::to_string(top) + ",\"busy\":" + json_list(pipes) + ",\"cores\":" + json_list(cores) +
           ",\"findings\":" + json_list(findings);
}

std::string launch_json(const Launch& l, Here here, double begun, const LaunchResult& r) {
    return "{\"kernel\":" + json_string(l.kernel) + ",\"blocks\":" + std::to_string(l.blocks) +
           ",\"aic\":" + std::to_string(l.mix.aic) + ",\"aiv\":" + std::to_string(l.mix.aiv) +
           ",\"file\":" + json_string(here.file ? here.file : "") + ",\"line\":" + std::to_string(here.line) +
           ",\"begun_us\":" + json_number(begun * 1e6) + "," + figures_json(r, r.finished) + "}";
}

}  // namespace twin
