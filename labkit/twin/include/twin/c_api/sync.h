// The order between pipes, and between cores.
#pragma once
#include "twin/launch/cross.h"

// ---- pipes of one core
inline void asc_sync_notify(pipe_t pipe, pipe_t tpipe, int64_t id, TWIN_HERE) { set_flag(pipe, tpipe, id, here); }
inline void asc_sync_wait(pipe_t pipe, pipe_t tpipe, int64_t id, TWIN_HERE) { wait_flag(pipe, tpipe, id, here); }
inline void asc_sync_pipe(pipe_t pipe, TWIN_HERE) { pipe_barrier(pipe, here); }
inline void asc_sync(TWIN_HERE) { pipe_barrier(PIPE_ALL, here); }
inline void asc_sync_vec(TWIN_HERE) { pipe_barrier(PIPE_ALL, here); }
// The two other pipes of a vector core wait for what this one has begun, and so does its own next instruction.
inline void asc_sync_mte2(int id, TWIN_HERE) {
    set_flag(PIPE_MTE2, PIPE_MTE3, id, here);
    set_flag(PIPE_MTE2, PIPE_V, id, here);
    wait_flag(PIPE_MTE2, PIPE_MTE3, id, here);
    wait_flag(PIPE_MTE2, PIPE_V, id, here);
    pipe_barrier(PIPE_MTE2, here);
}
inline void asc_sync_mte3(int id, TWIN_HERE) {
    set_flag(PIPE_MTE3, PIPE_MTE2, id, here);
    set_flag(PIPE_MTE3, PIPE_V, id, here);
    wait_flag(PIPE_MTE3, PIPE_MTE2, id, here);
    wait_flag(PIPE_MTE3, PIPE_V, id, here);
    pipe_barrier(PIPE_MTE3, here);
}
template <typename Kind> void asc_sync_data_barrier(Kind, TWIN_HERE) { ::twin::barrier(::twin::Pipe::S, here); }

// ---- cores: all of one kind (inter), the vector cores of a block (subblock), the cube and vector cores of a block
inline void asc_sync_inter_arrive(pipe_t pipe, uint16_t flag_id, TWIN_HERE) {
    ::twin::cross_set(0, ::twin::Pipe(pipe), flag_id, here);
}
inline void asc_sync_subblock_arrive(pipe_t pipe, uint16_t flag_id, TWIN_HERE) {
    ::twin::cross_set(1, ::twin::Pipe(pipe), flag_id, here);
}
inline void asc_sync_block_arrive(pipe_t pipe, uint16_t flag_id, TWIN_HERE) {
    ::twin::cross_set(2, ::twin::Pipe(pipe), flag_id, here);
}
inline void asc_sync_inter_wait(pipe_t, uint16_t flag_id, TWIN_HERE) { ::twin::cross_wait(flag_id, here); }
inline void asc_sync_subblock_wait(pipe_t, uint16_t flag_id, TWIN_HERE) { ::twin::cross_wait(flag_id, here); }
inline void asc_sync_block_wait(pipe_t, uint16_t flag_id, TWIN_HERE) { ::twin::cross_wait(flag_id, here); }
