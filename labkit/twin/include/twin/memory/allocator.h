// LocalMemAllocator, for kernels that place their tensors themselves.
#pragma once
#include "twin/core/tensor.h"

namespace twin {
Loc local_alloc(Mem, uint8_t pos, uint32_t at, uint64_t bytes, Here);
uint8_t* local_array(const void* declaration, uint64_t bytes, Here);
void on_stack(Here);
// What labkit puts behind an array of a function's own: small ones cost nothing.
#define TWIN_ON_STACK(array) \
    if (sizeof(array) > 4096) ::twin::on_stack(::twin::Here())
// What labkit makes of `__ubuf__ T name[n];` in a function: a reference to an array in UB. As with a static variable,
// each declaration has one place for the whole kernel. declaration: an address of its own. On a core without UB there
// is nothing behind the reference.
template <typename Array> Array& local_array(const void* declaration, TWIN_HERE) {
    return *(Array*)local_array(declaration, sizeof(Array), here);
}
}  // namespace twin

namespace AscendC {

// Allocates addresses from 0 upwards without gaps. Nothing is rounded, so after a length that is no multiple of 32
// bytes the next tensor is misaligned. One allocator for each memory.
template <Hardware hard = Hardware::UB> class LocalMemAllocator {
    static constexpr TPosition kPosition = hard == Hardware::L1       ? TPosition::A1
                                           : hard == Hardware::L0A    ? TPosition::A2
                                           : hard == Hardware::L0B    ? TPosition::B2
                                           : hard == Hardware::L0C    ? TPosition::CO1
                                           : hard == Hardware::BIAS   ? TPosition::C2
                                           : hard == Hardware::FIXBUF ? TPosition::C2PIPE2GM
                                                                      : TPosition::VECCALC;
public:
    LocalMemAllocator() = default;
    uint32_t GetCurAddr() const { return used_; }
    template <TPosition pos, class T> LocalTensor<T> Alloc(uint32_t tileSize, TWIN_HERE) {
        ::twin::Loc loc = ::twin::local_alloc(::twin::mem_of(pos), uint8_t(pos), used_, ::twin::bytes_of<T>(tileSize),
                                              here);
        used_ = loc.addr + loc.bytes;
        return LocalTensor<T>(loc);
    }
    template <TPosition pos, class T, uint32_t tileSize> LocalTensor<T> Alloc(TWIN_HERE) {
        return Alloc<pos, T>(tileSize, here);
    }
    template <class T> LocalTensor<T> Alloc(uint32_t tileSize, TWIN_HERE) {
        return Alloc<kPosition, T>(tileSize, here);
    }
    template <class T, uint32_t tileSize> LocalTensor<T> Alloc(TWIN_HERE) {
        return Alloc<kPosition, T>(tileSize, here);
    }
private:
    uint32_t used_ = 0;
};

}  // namespace AscendC
