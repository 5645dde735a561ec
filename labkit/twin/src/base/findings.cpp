#include "base/findings.h"

#include <cstdio>
#include <cstring>

namespace twin {

std::string json_string(const std::string& s) {
    std::string r = "\"";
    for (unsigned char c : s) {
        if (c == '"' || c == '\\') {
            r += '\\';
            r += char(c);
        } else if (c < 0x20) {
            char buf[8];
            std::snprintf(buf, sizeof buf, "\\u%04x", c);
            r += buf;
        } else {
            r += char(c);
        }
    }
    return r + '"';
}

Numbers& Numbers::add(const char* key, const std::string& v) { return raw(key, json_string(v)); }

Numbers& Numbers::raw(const char* key, const std::string& v) {
    if (!text_.empty()) text_ += ',';
    text_ += json_string(key) + ':' + v;
    return *this;
}

size_t Findings::find(const char* code, Here here) const {
    const char* file = here.file ? here.file : "";
    for (const auto& f : list_)
        if (f.line == here.line && f.code == code && !std::strcmp(f.file, file)) return size_t(&f - list_.data());
    return kMost;
}

size_t Findings::add(const char* code, bool error, Here here, const Numbers& numbers) {
    if (size_t known = find(code, here); known != kMost) {
        list_[known].count++;
        return known;
    }
    const char* file = here.file ? here.file : "";
    if (list_.size() < kMost) list_.push_back({code, error, block_, file, here.line, numbers.text()});
    return list_.size() - 1;
}

}  // namespace twin
