// Flags and barriers: the order between pipes, by hand.
#pragma once
#include "twin/memory/pipe.h"

enum pipe_t : uint8_t { PIPE_S, PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3, PIPE_FIX, PIPE_ALL = 15 };
enum event_t : int32_t { EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 };

namespace AscendC {

// clang-format off
#define TWIN_EVENTS(X) \
    X(MTE2, MTE1) X(MTE1, MTE2) X(MTE1, M) X(M, MTE1) X(MTE2, V) X(V, MTE2) X(MTE3, V) X(V, MTE3) X(M, V) X(V, M) \
    X(V, V) X(MTE3, MTE1) X(MTE1, MTE3) X(MTE1, V) X(MTE2, M) X(M, MTE2) X(V, MTE1) X(M, FIX) X(FIX, M) \
    X(MTE3, MTE2) X(MTE2, MTE3) X(S, V) X(V, S) X(S, MTE2) X(MTE2, S) X(S, MTE3) X(MTE3, S) X(MTE2, FIX) \
    X(FIX, MTE2) X(FIX, S) X(M, S) X(FIX, MTE3) X(MTE1, FIX) X(FIX, MTE1) X(FIX, FIX) X(FIX, V)
// clang-format on
// The value holds both pipes: source in the upper four bits, destination in the lower.
enum class HardEvent : uint8_t {
#define X(a, b) a##_##b = (PIPE_##a << 4) | PIPE_##b,
    TWIN_EVENTS(X)
#undef X
        MAX = 255
};

template <HardEvent event> void SetFlag(int32_t eventID, TWIN_HERE) {
    ::twin::set_flag(::twin::Pipe(int(event) >> 4), ::twin::Pipe(int(event) & 15), eventID, here);
}
template <HardEvent event> void WaitFlag(int32_t eventID, TWIN_HERE) {
    ::twin::wait_flag(::twin::Pipe(int(event) >> 4), ::twin::Pipe(int(event) & 15), eventID, here);
}
template <pipe_t pipe> void PipeBarrier(TWIN_HERE) {
    static_assert(pipe != PIPE_S,
                  "PipeBarrier<PIPE_S> does not exist: the scalar unit is in order. Use PIPE_V, PIPE_MTE2, PIPE_MTE3 "
                  "or PIPE_ALL.");
    ::twin::barrier(::twin::Pipe(pipe), here);
}

template <pipe_t src, pipe_t dst> class TQueSync {
    static_assert(src != dst, "TQueSync orders two different pipes");
public:
    void SetFlag(TEventID id, TWIN_HERE) { ::twin::set_flag(::twin::Pipe(src), ::twin::Pipe(dst), id, here); }
    void WaitFlag(TEventID id, TWIN_HERE) { ::twin::wait_flag(::twin::Pipe(src), ::twin::Pipe(dst), id, here); }
};

}  // namespace AscendC

// The raw spellings that some kernels use.
inline void pipe_barrier(pipe_t pipe, TWIN_HERE) { ::twin::barrier(::twin::Pipe(pipe), here); }
inline void set_flag(pipe_t from, pipe_t to, int64_t id, TWIN_HERE) {
    ::twin::set_flag(::twin::Pipe(from), ::twin::Pipe(to), int32_t(id), here);
}
inline void wait_flag(pipe_t from, pipe_t to, int64_t id, TWIN_HERE) {
    ::twin::wait_flag(::twin::Pipe(from), ::twin::Pipe(to), int32_t(id), here);
}
