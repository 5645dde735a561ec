#include "base/arena.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace twin {

uint8_t* map_memory(size_t bytes) {
    // in units of 4 GiB: above what a program without PIE takes, below heaps and libraries
    static std::atomic<uint64_t> next{0x10};
    for (int tries = 0; tries < 4096; tries++) {
        void* at = reinterpret_cast<void*>(next++ << 32);
        void* got = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got == at) return static_cast<uint8_t*>(got);
        if (got != MAP_FAILED)
            munmap(got, bytes);  // before Linux 4.17 the address is only a hint, and memory elsewhere was returned
    }
    throw std::bad_alloc();
}

}  // namespace twin
