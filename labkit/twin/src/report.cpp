#include "report.h"

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
    return "{\"code\":" + json_string(f.code) + ",\"error\":" + (f.error ? "true" : "false") + ",\"block\":" + std::to_string(f.block) + ",\"file\":" + json_string(f.file ? f.file : "") +
           ",\"line\":" + std::to_string(f.line) + ",\"count\":" + std::to_string(f.count) + ",\"numbers\":{" + f.numbers + "}}";
}

std::string launch_json(const Launch& l, Here here, double begun, const LaunchResult& r) {
    std::vector<std::string> findings, pipes;
    double busy[kPipes] = {}, cycles = 0;
    uint64_t instructions = 0;
    uint32_t ub = 0;
    for (const auto& c : r.cores) {
        for (const auto& f : c.findings) findings.push_back(finding_json(f));
        for (int p = 0; p < kPipes; p++) busy[p] += c.busy[p] / double(l.blocks) / chip.hz * 1e6;
        cycles = std::max(cycles, c.cycles);
        instructions += c.instructions;
        ub = std::max(ub, c.ub_peak);
    }
    for (const auto& f : r.across) findings.push_back(finding_json(f));
    for (double b : busy) pipes.push_back(json_number(b));
    return "{\"kernel\":" + json_string(l.kernel) + ",\"blocks\":" + std::to_string(l.blocks) + ",\"aic\":" + std::to_string(l.crew.aic) + ",\"aiv\":" + std::to_string(l.crew.aiv) +
           ",\"file\":" + json_string(here.file ? here.file : "") + ",\"line\":" + std::to_string(here.line) + ",\"begun_us\":" + json_number(begun * 1e6) +
           ",\"us\":" + json_number(r.seconds * 1e6) + ",\"core_us\":" + json_number(cycles / chip.hz * 1e6) + ",\"instructions\":" + std::to_string(instructions) +
           ",\"ub_used\":" + std::to_string(ub) + ",\"finished\":" + (r.finished ? "true" : "false") + ",\"busy\":" + json_list(pipes) + ",\"findings\":" + json_list(findings) + "}";
}

}  // namespace twin
