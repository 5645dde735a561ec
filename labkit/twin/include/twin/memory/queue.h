// TQueBind, TQue, TBuf: the tensors that TPipe allocates, and their order between pipes.
#pragma once
#include "twin/core/tensor.h"

namespace twin {

uint8_t queue_position(uint8_t src, uint8_t dst);  // where the tensors of a queue lie
Loc queue_alloc(int q, Here);
void queue_enque(int q, Loc, Here);
void queue_enque(int q, Loc, uint8_t src, uint8_t dst, Here);
Loc queue_deque(int q, Here);
Loc queue_deque(int q, uint8_t src, uint8_t dst, Here);
void queue_deque_tensor(int q, Loc, Here);
void queue_free(int q, Loc, Here);
void queue_free_events(int q, Here);
bool queue_idle(int q);
int queue_count(int q);
int queue_state(const Loc&);
// A handle names a buffer and one life of it.
Loc handle_loc(uint32_t handle, uint8_t pos);
Loc handle_place(uint32_t handle, uint8_t pos, uint32_t addr, uint32_t len, Here);
int queue_open(int pipe, int owner, uint8_t src, uint8_t dst, int depth, uint8_t num, uint32_t first, Here);
uint32_t queue_first(int q);

}  // namespace twin

namespace AscendC {

enum class TBufState : uint8_t { FREE, OCCUPIED, ENQUE, DEQUE };

// Alternative to a number as the last argument of TQue: the address of one of these.
struct TQueConfig {
    bool nd2nz = false, nz2nd = false, scmBlockGroup = false;
    uint32_t bufferLen = 0, bufferNumber = 0, consumerSize = 0;
    TPosition consumer[8] = {};
    bool enableStaticEvtId = false, enableLoopQueue = false;
};
constexpr TQueConfig GetTQueConfig(bool nd2nzIn, bool nz2ndIn, bool scmBlockGroupIn, uint32_t bufferLenIn,
                                   uint32_t bufferNumberIn, uint32_t consumerSizeIn, const TPosition consumerIn[],
                                   bool enableStaticEvtIdIn, bool enableLoopQueueIn) {
    TQueConfig c{nd2nzIn,        nz2ndIn, scmBlockGroupIn,     bufferLenIn,      bufferNumberIn,
                 consumerSizeIn, {},      enableStaticEvtIdIn, enableLoopQueueIn};
    for (int i = 0; i < 8; i++) c.consumer[i] = consumerIn[i];
    return c;
}
constexpr TQueConfig GetTQueConfig(const int32_t mask) { return {(mask & 1) != 0, (mask & 2) != 0, (mask & 4) != 0}; }
constexpr TQueConfig GetTQueConfig(const TQueConfig* conf) { return *conf; }

namespace detail {
inline TBufHandle handle_of(uint32_t h) { return reinterpret_cast<TBufHandle>(uintptr_t(h)); }
inline uint32_t number_of(TBufHandle h) { return uint32_t(reinterpret_cast<uintptr_t>(h)); }
constexpr TPosition logic_source(TPosition p) {
    using P = TPosition;
    return p == P::A1 || p == P::B1 || p == P::C1 || p == P::VECIN ? P::GM
           : p == P::A2                                            ? P::A1
           : p == P::B2 || p == P::C2PIPE2GM                       ? P::B1
           : p == P::C2                                            ? P::C1
                                                                   : p;
}
constexpr TPosition logic_destination(TPosition p) {
    return p == TPosition::CO1 ? TPosition::CO2 : p == TPosition::CO2 || p == TPosition::VECOUT ? TPosition::GM : p;
}
}  // namespace detail

template <TPosition src, TPosition dst, int32_t depth, auto mask = 0> class TQueBind {
#define TWIN_DEPTH(name, instead) \
    static_assert(depth != 0,     \
                  "a queue of depth 0 works in place: " instead ". For " name " give the queue a depth of 1")
public:
    template <typename T> LocalTensor<T> AllocTensor(TWIN_HERE) {
        static_assert(depth != 0 || sizeof(T) == 0,
                      "a queue of depth 0 fills a tensor in place: AllocTensor<T>(tensor). For `t = AllocTensor<T>()` "
                      "give the queue a depth of 1");
        return LocalTensor<T>(::twin::queue_alloc(id_, here));
    }
    template <typename T> void AllocTensor(LocalTensor<T>& t, TWIN_HERE) {
        static_assert(depth == 0 || sizeof(T) == 0,
                      "AllocTensor<T>(tensor) is for queues of depth 0; here it is `t = AllocTensor<T>()`");
        t = LocalTensor<T>(::twin::queue_alloc(id_, here));
    }
    template <typename T> bool EnQue(const LocalTensor<T>& t, TWIN_HERE) {
        ::twin::queue_enque(id_, t.loc_, here);
        return true;
    }
    bool EnQue(TBufHandle buf, TWIN_HERE) {
        ::twin::queue_enque(id_, ::twin::handle_loc(detail::number_of(buf), kPosition), here);
        return true;
    }
    // The positions that the tensor really moves between, if a queue is used for more than one route.
    template <TPosition srcUserPos, TPosition dstUserPos, typename T> bool EnQue(const LocalTensor<T>& t, TWIN_HERE) {
        check_user<srcUserPos, dstUserPos>();
        ::twin::queue_enque(id_, t.loc_, uint8_t(srcUserPos), uint8_t(dstUserPos), here);
        return true;
    }
    template <typename T> LocalTensor<T> DeQue(TWIN_HERE) {
        static_assert(depth != 0 || sizeof(T) == 0,
                      "a queue of depth 0 fills a tensor in place: DeQue<T>(tensor). For `t = DeQue<T>()` give the "
                      "queue a depth of 1");
        return LocalTensor<T>(::twin::queue_deque(id_, here));
    }
    template <typename T> void DeQue(LocalTensor<T>& t, TWIN_HERE) {
        static_assert(depth == 0 || sizeof(T) == 0,
                      "DeQue<T>(tensor) is for queues of depth 0; here it is `t = DeQue<T>()`");
        ::twin::queue_deque_tensor(id_, t.loc_, here);
    }
    TBufHandle DeQue(TWIN_HERE) { return DeQue<uint8_t>(here).GetBufferHandle(); }
    template <TPosition srcUserPos, TPosition dstUserPos, typename T> LocalTensor<T> DeQue(TWIN_HERE) {
        check_user<srcUserPos, dstUserPos>();
        return LocalTensor<T>(::twin::queue_deque(id_, uint8_t(srcUserPos), uint8_t(dstUserPos), here));
    }
    template <typename T> void FreeTensor(LocalTensor<T>& t, TWIN_HERE) { ::twin::queue_free(id_, t.loc_, here); }
    void FreeBuffer(TBufHandle buf, TWIN_HERE) {
        ::twin::queue_free(id_, ::twin::handle_loc(detail::number_of(buf), kPosition), here);
    }
    TBuffAddr GetBufferAddr(TBufHandle buf) {
        return LocalTensor<uint8_t>(::twin::handle_loc(detail::number_of(buf), kPosition)).address_;
    }
    bool VacantInQue() {
        TWIN_DEPTH("VacantInQue", "nothing waits in it");
        return ::twin::queue_count(id_) < depth;
    }
    bool HasTensorInQue() {
        TWIN_DEPTH("HasTensorInQue", "nothing waits in it");
        return ::twin::queue_count(id_) > 0;
    }
    int32_t GetTensorCountInQue() {
        TWIN_DEPTH("GetTensorCountInQue", "nothing waits in it");
        return ::twin::queue_count(id_);
    }
    bool HasIdleBuffer() {
        TWIN_DEPTH("HasIdleBuffer", "the kernel holds its tensors itself");
        return ::twin::queue_idle(id_);
    }
    void FreeAllEvent(TWIN_HERE) {
        TWIN_DEPTH("FreeAllEvent", "it keeps its events for good");
        ::twin::queue_free_events(id_, here);
    }
    template <typename T> TBufState GetState(const LocalTensor<T>& t) const {
        return TBufState(::twin::queue_state(t.loc_));
    }
    // For a kernel's own pools (EXTERN_IMPL_BUFPOOL).
    void InitStartBufHandle(TBufHandle startBufhandle, uint8_t num, uint32_t, TWIN_HERE) {
        id_ = ::twin::queue_open(-1, -1, uint8_t(src), uint8_t(dst), depth, num, detail::number_of(startBufhandle),
                                 here);
    }
    template <typename P>
    void InitBufHandle(P*, uint32_t, TBufHandle bufhandle, uint32_t curPoolAddr, uint32_t len, TWIN_HERE) {
        ::twin::handle_place(detail::number_of(bufhandle), kPosition, curPoolAddr, len, here);
    }

    static constexpr TPosition srcPosition = src, dstPosition = dst;
    static constexpr int32_t queDepth = depth;
    static constexpr bool isTQue = true;
    int id_ = -1;
protected:
    static constexpr uint8_t kPosition = uint8_t(dst == TPosition::GM || dst == TPosition::CO2 ? src : dst);
    static constexpr bool user(TPosition p) {
        return p == TPosition::GM || p == TPosition::VECIN || p == TPosition::VECOUT || p == TPosition::VECCALC;
    }
    template <TPosition s, TPosition d> static void check_user() {
        TWIN_DEPTH("EnQue and DeQue with positions", "they take none");
        static_assert(user(s) && user(d) && !(s == TPosition::GM && d == TPosition::GM),
                      "EnQue<src, dst> and DeQue<src, dst> take GM, VECIN, VECOUT or VECCALC, and GM only once");
    }
#undef TWIN_DEPTH
};

template <TPosition pos, int32_t depth, auto mask = 0> class TQue
    : public TQueBind<detail::logic_source(pos), detail::logic_destination(pos), depth, mask> {};

template <TPosition pos, int32_t depth = 1, auto mask = 0> using TSCM = TQueBind<pos, TPosition::TSCM, depth, mask>;

struct TBufType {};  // required by PopStackBuffer's signature, unused here

template <TPosition pos = TPosition::LCM> class TBuf {
public:
    template <typename T> LocalTensor<T> Get() { return LocalTensor<T>(loc_); }
    template <typename T> LocalTensor<T> Get(uint32_t len) {
        LocalTensor<T> t(loc_);
        t.SetSize(len);
        return t;
    }
    template <typename T> LocalTensor<T> GetWithOffset(uint32_t size, uint32_t bufOffset) {
        LocalTensor<T> t(loc_);
        t.loc_.addr += bufOffset;
        t.SetSize(size);
        return t;
    }
    template <typename T> LocalTensor<T> AllocTensor() { return Get<T>(); }
    template <typename T> void FreeTensor(LocalTensor<T>&) {}
    template <typename T> void EnQue(const LocalTensor<T>&) {}
    template <typename T> LocalTensor<T> DeQue() { return Get<T>(); }
    template <typename T> TBufState GetState(const LocalTensor<T>&) const { return TBufState::FREE; }
    bool EnQue(TBufHandle) { return true; }
    TBufHandle DeQue() { return Get<uint8_t>().GetBufferHandle(); }
    void FreeBuffer(TBufHandle) {}
    TBuffAddr GetBufferAddr(TBufHandle) { return Get<uint8_t>().address_; }
    uint32_t GetBufLen() const { return loc_.bytes; }
    void InitStartBufHandle(TBufHandle, uint8_t, uint32_t) {}
    template <typename P>
    void InitBufHandle(P*, uint32_t, TBufHandle bufhandle, uint32_t curPoolAddr, uint32_t len, TWIN_HERE) {
        loc_ = ::twin::handle_place(detail::number_of(bufhandle), uint8_t(pos), curPoolAddr, len, here);
    }

    static constexpr TPosition srcPosition = pos, dstPosition = pos;
    static constexpr bool isTQue = false;
    ::twin::Loc loc_{0, 0, 0, 0, ::twin::Mem::UB, uint8_t(TPosition::MAX)};  // until InitBuffer
};

}  // namespace AscendC
