// Constant tables of a kernel (const __gm__ int32_t assist[256] = ...): on the device they lie in GM together with the
// code, here in the read-only segment of the loaded file.
#include <elf.h>
#include <link.h>

#include "core/machine.h"

namespace twin {

namespace {
struct Wanted {
    uint64_t lo, hi;
    bool found;
};
int look(dl_phdr_info* info, size_t, void* data) {
    Wanted& w = *static_cast<Wanted*>(data);
    for (int i = 0; i < info->dlpi_phnum && !w.found; i++) {
        const ElfW(Phdr)& h = info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + h.p_vaddr;
        w.found = h.p_type == PT_LOAD && !(h.p_flags & PF_W) && w.lo >= at && w.hi <= at + h.p_memsz;
    }
    return w.found;
}
}  // namespace

bool constant_data(uint64_t lo, uint64_t hi) {
    Wanted w{lo, hi, false};
    dl_iterate_phdr(look, &w);
    return w.found;
}

}  // namespace twin
