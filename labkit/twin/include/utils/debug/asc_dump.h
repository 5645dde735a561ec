// Elements of any memory, printed by address.
#pragma once
#include "kernel_operator.h"

namespace twin {
void dump(Dt, const void* address, uint32_t desc, uint32_t n, Here);
}

template <typename T> void asc_dump(const T* input, uint32_t desc, uint32_t dump_size, TWIN_HERE) {
    ::twin::dump(::twin::dt<T>(), (const void*)input, desc, dump_size, here);
}
template <typename T> void asc_dump_gm(const T* input, uint32_t desc, uint32_t dump_size, TWIN_HERE) {
    asc_dump(input, desc, dump_size, here);
}
template <typename T> void asc_dump_ubuf(const T* input, uint32_t desc, uint32_t dump_size, TWIN_HERE) {
    asc_dump(input, desc, dump_size, here);
}
template <typename T> void asc_dump_cbuf(const T* input, uint32_t desc, uint32_t dump_size, TWIN_HERE) {
    asc_dump(input, desc, dump_size, here);
}
template <typename T> void asc_dump_l1buf(const T* input, uint32_t desc, uint32_t dump_size, TWIN_HERE) {
    asc_dump(input, desc, dump_size, here);
}
