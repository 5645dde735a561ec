#pragma once
#include <cstdio>

inline bool read_file(const char* name, void* to, size_t bytes) {
    std::FILE* f = std::fopen(name, "rb");
    bool ok = f && std::fread(to, 1, bytes, f) == bytes;
    if (f) std::fclose(f);
    return ok;
}
inline void write_file(const char* name, const void* from, size_t bytes) {
    if (std::FILE* f = std::fopen(name, "wb")) {
        std::fwrite(from, 1, bytes, f);
        std::fclose(f);
    }
}
