// TPipe: the memory of a core and its event ids, from its construction to Destroy.
#pragma once
#include "twin/memory/copy_params.h"
#include "twin/memory/queue.h"

namespace twin {

int pipe_begin(Here);
void pipe_again(int pipe, Here);
void pipe_end(int pipe, bool wait, Here);
void pipe_reset(int pipe, Here);
int queue_init(int pipe, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, bool group, Here);
Loc buf_init(int pipe, uint8_t pos, uint32_t len, Here);
Loc rest_of(uint8_t pos, Here);  // the memory after everything allocated so far

// A pool: a part of a TPipe's memory, with an allocator of its own.
struct Pool {
    uint32_t start = 0, top = 0, len = 0;
    int id = -1, pipe = 0;
    uint32_t count = 0, first = 0, moved = 0;  // buffers; its first handle; where it was before Reset
    uint32_t most = 0;                         // buffers that it has room for
};
void pool_init(Pool&, int pipe, uint8_t pos, uint32_t len, Here);
void pool_split(Pool&, Pool& from, uint32_t len, Here);
void pool_share(Pool&, const Pool& other, uint32_t len, Here);
void pool_reset(Pool&);
uint32_t pool_take(Pool&, uint32_t num, uint32_t len, Here);
uint32_t pool_handle(Pool&, uint32_t index, Here);
int queue_init(Pool&, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, Here);
Loc buf_init(Pool&, uint8_t pos, uint32_t len, Here);

int queue_place(int pipe, int owner, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t len, uint32_t addr,
                Here);
Loc buf_place(int pipe, int owner, uint8_t pos, uint32_t len, uint32_t addr, Here);

}  // namespace twin

namespace AscendC {

using TEventID = int8_t;
constexpr TEventID INVALID_TEVENTID = -1;

class TPipe {
public:
    explicit TPipe(TWIN_HERE) { Init(here); }
    ~TPipe() { Destroy(::twin::Here{nullptr, 0}); }
    TPipe(const TPipe&) = delete;
    void Init(TWIN_HERE) {
        if (open_) ::twin::pipe_again(id_, here);
        else id_ = ::twin::pipe_begin(here);
        open_ = true;
        current() = this;
    }
    void Destroy(TWIN_HERE) { end(true, here); }
    void DestroyWithoutPipeAll(TWIN_HERE) { end(false, here); }
    void Reset(TWIN_HERE) { ::twin::pipe_reset(id_, here); }
    // num buffers of len bytes each; len is rounded up to 32 bytes.
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& que, ::twin::Arg8 num, uint32_t len, TWIN_HERE) {
        que.id_ = ::twin::queue_init(id_, uint8_t(src), uint8_t(dst), depth, num, len,
                                     GetTQueConfig(mask).scmBlockGroup, here);
        return true;
    }
    template <TPosition pos> bool InitBuffer(TBuf<pos>& buf, ::twin::Arg8 num, uint32_t len, TWIN_HERE) {
        return InitBuffer(buf, num * len, here);
    }
    template <TPosition pos> bool InitBuffer(TBuf<pos>& buf, uint32_t len, TWIN_HERE) {
        buf.loc_ = ::twin::buf_init(id_, uint8_t(pos), len, here);
        return true;
    }
    // Buffers at addresses that the kernel chooses, (address, bytes) each.
    template <TPosition src, TPosition dst, int32_t depth, auto mask, typename U, typename V, typename... Addrs>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& que, const Std::tuple<U, V>& addr0, const Addrs&... addrs) {
        static_assert(dst != TPosition::TSCM, "InitBuffer with addresses has no TSCM");
        ::twin::Here here(nullptr, 0);
        que.id_ = ::twin::queue_open(id_, -1, uint8_t(src), uint8_t(dst), depth, 1 + sizeof...(addrs), 0, here);
        uint32_t handle = ::twin::queue_first(que.id_);
        auto place = [&](const auto& a) {
            ::twin::handle_place(handle++, ::twin::queue_position(uint8_t(src), uint8_t(dst)), uint32_t(Std::get<0>(a)),
                                 uint32_t(Std::get<1>(a)), here);
        };
        place(addr0);
        (place(addrs), ...);
        return true;
    }
    template <class P> bool InitBufPool(P& bufPool, uint32_t len, TWIN_HERE) {
        static_assert(P::isTbufPool, "InitBufPool takes a TBufPool");
        ::twin::pool_init(bufPool.tBufPoolImpl, id_, uint8_t(P::poolPos), len, here);
        return true;
    }
    template <class P, class U> bool InitBufPool(P& bufPool, uint32_t len, U& shareBuf, TWIN_HERE) {
        static_assert(P::isTbufPool && U::isTbufPool && ::twin::mem_of(P::poolPos) == ::twin::mem_of(U::poolPos),
                      "InitBufPool shares the memory of a TBufPool in the same memory");
        ::twin::pool_share(bufPool.tBufPoolImpl, shareBuf.tBufPoolImpl, len, here);
        return true;
    }
    template <typename E> TEventID FetchEventID(E event, TWIN_HERE) { return fetch(int(event), false, here); }
    template <auto event> TEventID FetchEventID(TWIN_HERE) { return fetch(int(event), false, here); }
    template <auto event> TEventID AllocEventID(TWIN_HERE) { return fetch(int(event), true, here); }
    template <auto event> void ReleaseEventID(TEventID id, TWIN_HERE) {
        ::twin::event_release(::twin::Pipe(int(event) >> 4), ::twin::Pipe(int(event) & 15), id, here);
    }
    template <TPosition pos> TBuffAddr GetAbsAddr(int32_t offset, int32_t len) const {
        return GetAbsAddr<pos, uint8_t>(offset, len).address_;
    }
    template <TPosition pos, typename T> LocalTensor<T> GetAbsAddr(int32_t offset, int32_t size) const {
        return LocalTensor<T>(pos, uint32_t(offset), uint32_t(size));
    }
    template <TPosition pos> uint64_t GetQueueEndAddress(TWIN_HERE) { return ::twin::rest_of(uint8_t(pos), here).addr; }
    uint8_t* GetBaseAddr(int8_t logicPos) {
        return ::twin::address({0, 0, 0, 0, ::twin::mem_of(TPosition(logicPos)), uint8_t(logicPos)});
    }
    // GM memory for data that does not fit UB (twin/launch/spill.h).
    template <typename T> void InitSpmBuffer(const GlobalTensor<T>& workspace, const int32_t bufferSize);
    template <typename T> void WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const DataCopyParams& copyParams,
                                              int32_t writeOffset = 0, TWIN_HERE);
    template <typename T>
    void WriteSpmBuffer(const LocalTensor<T>& writeBuffer, const int32_t writeSize, int32_t writeOffset = 0, TWIN_HERE);
    template <typename T> void ReadSpmBuffer(const LocalTensor<T>& readBuffer, const DataCopyParams& copyParams,
                                             int32_t readOffset = 0, TWIN_HERE);
    template <typename T>
    void ReadSpmBuffer(const LocalTensor<T>& readBuffer, const int32_t readSize, int32_t readOffset = 0, TWIN_HERE);

    static TPipe*& current() { return (TPipe*&)::twin::current_pipe(); }
private:
    static TEventID fetch(int event, bool reserve, ::twin::Here here) {
        return TEventID(::twin::event_id(::twin::Pipe(event >> 4), ::twin::Pipe(event & 15), reserve, here));
    }
    void end(bool wait, ::twin::Here here) {
        if (open_) ::twin::pipe_end(id_, wait, here);
        open_ = false;
    }
    bool open_ = false;
    int id_ = 0;
    ::twin::Gm spill_;
};

inline TPipe* GetTPipePtr() { return TPipe::current(); }

// All of UB behind what the pipe has handed out.
template <typename T, TPosition pos> bool PopStackBuffer(LocalTensor<T>& popLocal, TWIN_HERE) {
    popLocal = LocalTensor<T>(::twin::rest_of(uint8_t(pos), here));
    return true;
}
template <TPosition pos> bool PopStackBuffer(TBuf<pos>& popBuffer, TBufType&, TWIN_HERE) {
    popBuffer.loc_ = ::twin::rest_of(uint8_t(pos), here);
    return true;
}

}  // namespace AscendC

using AscendC::GetTPipePtr;  // CANN declares it outside the namespace
