// TPipe and its queues and buffers; LocalMemAllocator for kernels that place their tensors themselves.
#pragma once
#include "twin/tensor.h"

namespace AscendC {

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0> class TQueBind {
public:
    static constexpr TPosition kSrc = src, kDst = dst;
    static constexpr int32_t kDepth = depth;
    template <typename T> LocalTensor<T> AllocTensor(TWIN_HERE) {
        static_assert(depth != 0 || sizeof(T) == 0, "a queue of depth 0 fills a tensor in place: AllocTensor<T>(tensor). For `t = AllocTensor<T>()` give the queue a depth of 1");
        return LocalTensor<T>(::twin::queue_alloc(id_, uint8_t(src), here));
    }
    template <typename T> void AllocTensor(LocalTensor<T>& t, TWIN_HERE) {
        static_assert(depth == 0 || sizeof(T) == 0, "AllocTensor<T>(tensor) is for queues of depth 0; here it is `t = AllocTensor<T>()`");
        t = LocalTensor<T>(::twin::queue_alloc(id_, uint8_t(src), here));
    }
    template <typename T> bool EnQue(const LocalTensor<T>& t, TWIN_HERE) {
        ::twin::queue_enque(id_, t.loc_, here);
        return true;
    }
    template <typename T> LocalTensor<T> DeQue(TWIN_HERE) {
        static_assert(depth != 0 || sizeof(T) == 0, "a queue of depth 0 fills a tensor in place: DeQue<T>(tensor). For `t = DeQue<T>()` give the queue a depth of 1");
        return LocalTensor<T>(::twin::queue_deque(id_, uint8_t(dst), here));
    }
    template <typename T> void DeQue(LocalTensor<T>& t, TWIN_HERE) {
        static_assert(depth == 0 || sizeof(T) == 0, "DeQue<T>(tensor) is for queues of depth 0; here it is `t = DeQue<T>()`");
        t = LocalTensor<T>(::twin::queue_deque(id_, uint8_t(dst), here));
    }
    template <typename T> void FreeTensor(LocalTensor<T>& t, TWIN_HERE) { ::twin::queue_free(id_, t.loc_, here); }
    bool VacantInQue() { return ::twin::queue_vacant(id_); }
    bool HasTensorInQue() { return ::twin::queue_has(id_); }
    int32_t GetTensorCountInQue() { return ::twin::queue_count(id_); }
    bool HasIdleBuffer() { return ::twin::queue_vacant(id_); }
    void FreeAllEvent() {}
    int id_ = -1;
};

template <TPosition pos, int32_t depth = 1, auto mask = 0> using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;
template <TPosition pos, int32_t depth, auto mask = 0> class TQue : public TQueBind<pos, pos, depth, mask> {};

template <TPosition pos = TPosition::VECCALC> class TBuf {
public:
    template <typename T> LocalTensor<T> Get() { return LocalTensor<T>(loc_); }
    template <typename T> LocalTensor<T> Get(uint32_t len) {
        LocalTensor<T> t(loc_);
        t.SetSize(len);
        return t;
    }
    template <typename T> LocalTensor<T> GetWithOffset(uint32_t size, uint32_t offset) {
        LocalTensor<T> t(loc_);
        t.loc_.addr += offset;
        t.SetSize(size);
        return t;
    }
    template <typename T> LocalTensor<T> AllocTensor() { return Get<T>(); }
    template <typename T> void FreeTensor(LocalTensor<T>&) {}
    uint32_t GetBufLen() const { return loc_.bytes; }
    ::twin::Loc loc_{0, 0, 0, 0, ::twin::Mem::UB, uint8_t(TPosition::MAX)};  // until InitBuffer
};

class TPipe {
public:
    explicit TPipe(TWIN_HERE) { Init(here); }
    ~TPipe() { Destroy(::twin::Here{nullptr, 0}); }
    TPipe(const TPipe&) = delete;
    void Init(TWIN_HERE) {  // after Destroy; a pipe is made open
        if (!open_) ::twin::pipe_begin(here);
        open_ = true;
        current() = this;
    }
    void Destroy(TWIN_HERE) {
        if (open_) ::twin::pipe_end(here);
        open_ = false;
    }
    void Reset(TWIN_HERE) { ::twin::pipe_reset(here); }
    // num buffers of len bytes each; len is rounded up to 32 bytes.
    template <TPosition src, TPosition dst, int32_t depth, auto mask>
    bool InitBuffer(TQueBind<src, dst, depth, mask>& que, uint8_t num, uint32_t len, TWIN_HERE) {
        que.id_ = ::twin::queue_init(uint8_t(src), uint8_t(dst), depth, num, len, here);
        return true;
    }
    template <TPosition pos> bool InitBuffer(TBuf<pos>& buf, uint32_t len, TWIN_HERE) {
        buf.loc_ = ::twin::buf_init(uint8_t(pos), len, here);
        return true;
    }
    template <typename E> int32_t FetchEventID(E event, TWIN_HERE) { return fetch(int(event), false, here); }
    template <auto event> int32_t FetchEventID(TWIN_HERE) { return fetch(int(event), false, here); }
    template <auto event> int32_t AllocEventID(TWIN_HERE) { return fetch(int(event), true, here); }
    template <auto event> void ReleaseEventID(int32_t id, TWIN_HERE) {
        ::twin::event_release(::twin::Pipe(int(event) >> 4), ::twin::Pipe(int(event) & 15), id, here);
    }
    static TPipe*& current() { return (TPipe*&)::twin::current_pipe(); }
private:
    static int32_t fetch(int event, bool reserve, ::twin::Here here) {
        return ::twin::event_id(::twin::Pipe(event >> 4), ::twin::Pipe(event & 15), reserve, here);
    }
    bool open_ = false;
};

inline TPipe* GetTPipePtr() { return TPipe::current(); }

// Hands out addresses from 0 on, one behind the other: it rounds nothing, so a length that is no multiple of 32 bytes
// leaves the next tensor misaligned. One allocator a memory.
template <Hardware hard = Hardware::UB> class LocalMemAllocator {
    static constexpr TPosition kPosition = hard == Hardware::L1 ? TPosition::A1 : hard == Hardware::L0A ? TPosition::A2 : hard == Hardware::L0B ? TPosition::B2 :
        hard == Hardware::L0C ? TPosition::CO1 : hard == Hardware::BIAS ? TPosition::C2 : hard == Hardware::FIXBUF ? TPosition::C2PIPE2GM : TPosition::VECCALC;
public:
    LocalMemAllocator() = default;
    uint32_t GetCurAddr() const { return used_; }
    template <TPosition pos, class T> LocalTensor<T> Alloc(uint32_t tileSize, TWIN_HERE) {
        ::twin::Loc loc = ::twin::local_alloc(::twin::mem_of(pos), uint8_t(pos), used_, ::twin::bytes_of<T>(tileSize), here);
        used_ = loc.addr + loc.bytes;
        return LocalTensor<T>(loc);
    }
    template <TPosition pos, class T, uint32_t tileSize> LocalTensor<T> Alloc(TWIN_HERE) { return Alloc<pos, T>(tileSize, here); }
    template <class T> LocalTensor<T> Alloc(uint32_t tileSize, TWIN_HERE) { return Alloc<kPosition, T>(tileSize, here); }
    template <class T, uint32_t tileSize> LocalTensor<T> Alloc(TWIN_HERE) { return Alloc<kPosition, T>(tileSize, here); }
private:
    uint32_t used_ = 0;
};

}  // namespace AscendC

using AscendC::GetTPipePtr;  // CANN declares it outside the namespace
