// TBufPool: a part of a TPipe's memory with an allocator of its own; pools may share the same memory one after the
// other.
#pragma once
#include "twin/memory/pipe.h"

namespace AscendC {

constexpr uint32_t defaultBufIDSize = 4;
template <uint32_t bufIDSize> struct TBufPoolImpl : ::twin::Pool {
    static_assert(bufIDSize <= 16, "a TBufPool holds at most 16 buffers");
    TBufPoolImpl() { most = bufIDSize; }
};

template <TPosition pos, uint32_t bufIDSize = defaultBufIDSize> class TBufPool {
    static_assert(::twin::mem_of(pos) == ::twin::Mem::UB || ::twin::mem_of(pos) == ::twin::Mem::L1,
                  "a TBufPool lies in UB (VECIN, VECOUT, VECCALC) or L1 (A1, B1, C1)");
public:
    ~TBufPool() { Reset(); }
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& que, ::twin::Arg8 num, uint32_t len, TWIN_HERE) {
        static_assert(depth != 0, "a queue of depth 0 gets no events from a TBufPool: use TPipe::InitBuffer");
        que.id_ = ::twin::queue_init(tBufPoolImpl, uint8_t(src), uint8_t(dst), depth, num, len, here);
        return true;
    }
    template <TPosition bufPos> bool InitBuffer(TBuf<bufPos>& buf, uint32_t len, TWIN_HERE) {
        static_assert(::twin::mem_of(bufPos) == ::twin::mem_of(pos), "the TBuf must lie in the memory of its TBufPool");
        buf.loc_ = ::twin::buf_init(tBufPoolImpl, uint8_t(bufPos), len, here);
        return true;
    }
    template <class P> bool InitBufPool(P& bufPool, uint32_t len, TWIN_HERE) {
        static_assert(P::isTbufPool, "InitBufPool takes a TBufPool");
        ::twin::pool_split(bufPool.tBufPoolImpl, tBufPoolImpl, len, here);
        return true;
    }
    template <class P, class U> bool InitBufPool(P& bufPool, uint32_t len, U& shareBuf, TWIN_HERE) {
        static_assert(P::isTbufPool && U::isTbufPool && ::twin::mem_of(P::poolPos) == ::twin::mem_of(U::poolPos),
                      "InitBufPool shares the memory of a TBufPool in the same memory");
        ::twin::pool_share(bufPool.tBufPoolImpl, shareBuf.tBufPoolImpl, len, here);
        return true;
    }
    void Reset() { ::twin::pool_reset(tBufPoolImpl); }

    static constexpr TPosition poolPos = pos;
    static constexpr bool isTbufPool = true;
    TBufPoolImpl<bufIDSize> tBufPoolImpl;
};

}  // namespace AscendC

// Base class of a kernel's own pools: memory comes from InitBufPool, InitBuffer is the kernel's.
#define EXTERN_IMPL_BUFPOOL(EXT_BUFPOOL, POSITION, BUFID_SIZE)                              \
public:                                                                                     \
    static constexpr AscendC::TPosition poolPos = POSITION;                                 \
    static constexpr int bufIDSize = BUFID_SIZE;                                            \
    static constexpr bool isTbufPool = true;                                                \
    ~EXT_BUFPOOL() { Reset(); }                                                             \
    void Reset() { ::twin::pool_reset(tBufPoolImpl); }                                      \
    void Init() { tBufPoolImpl = {}; }                                                      \
    AscendC::TBufHandle GetBufHandle(uint8_t offset, TWIN_HERE) {                           \
        return AscendC::detail::handle_of(::twin::pool_handle(tBufPoolImpl, offset, here)); \
    }                                                                                       \
    void SetCurAddr(uint32_t curAddr) { tBufPoolImpl.top = curAddr; }                       \
    uint32_t GetCurAddr() { return tBufPoolImpl.top; }                                      \
    void SetCurBufSize(uint8_t curBufSize) { tBufPoolImpl.count = curBufSize; }             \
    uint8_t GetCurBufSize() { return uint8_t(tBufPoolImpl.count); }                         \
    AscendC::TBufPoolImpl<BUFID_SIZE> tBufPoolImpl
