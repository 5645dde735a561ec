// Synchronisation between cores.
#pragma once
#include "twin/launch/sync.h"

namespace AscendC {

// the flags that SyncAll takes on the device
constexpr uint16_t SYNC_AIC_FLAG = 11, SYNC_AIV_FLAG = 12, SYNC_AIC_AIV_FLAG = 13, SYNC_AIV_ONLY_ALL = 14;

// mode 0: all cores of this kind; 1: the vector cores of this block; 2: the cube core and the vector cores of this
// block.
template <uint8_t modeId, pipe_t pipe> void CrossCoreSetFlag(uint16_t flagId, TWIN_HERE) {
    static_assert(modeId <= 2, "CrossCoreSetFlag has the modes 0, 1 and 2 on Atlas A2; mode 4 is one of Ascend 950");
    ::twin::cross_set(modeId, ::twin::Pipe(pipe), flagId, here);
}
template <uint8_t modeId = 0, pipe_t pipe = PIPE_S> void CrossCoreWaitFlag(uint16_t flagId, TWIN_HERE) {
    ::twin::cross_wait(flagId, here);
}
// Their older names.
template <pipe_t pipe> void NotifyEvent(uint16_t flagId, TWIN_HERE) {
    ::twin::cross_set(2, ::twin::Pipe(pipe), flagId, here);
}
template <pipe_t pipe = PIPE_S> void WaitEvent(uint16_t flagId, TWIN_HERE) { ::twin::cross_wait(flagId, here); }

template <bool isAIVOnly = true> void SyncAll(TWIN_HERE) { ::twin::sync_all(isAIVOnly, here); }
// The software form: gm holds 32 bytes for each core, zeroed; ub as much.
template <bool isAIVOnly = true>
void SyncAll(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub, const int32_t usedCores = 0, TWIN_HERE) {
    ::twin::sync_all(isAIVOnly, gm.gm_, ub.loc_, usedCores, here);
}
template <bool isAIVOnly = true> void IBSet(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                                            int32_t blockIdx, int32_t eventID, TWIN_HERE) {
    ::twin::block_set(gm.gm_, ub.loc_, blockIdx, eventID, isAIVOnly, here);
}
template <bool isAIVOnly = true> void IBWait(const GlobalTensor<int32_t>& gm, const LocalTensor<int32_t>& ub,
                                             int32_t blockIdx, int32_t eventID, TWIN_HERE) {
    ::twin::block_wait(gm.gm_, ub.loc_, blockIdx, eventID, isAIVOnly, here);
}
inline void InitDetermineComputeWorkspace(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub, TWIN_HERE) {
    ::twin::turn_begin(gm.gm_, ub.loc_, here);
}
inline void WaitPreBlock(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub, TWIN_HERE) {
    ::twin::turn_wait(gm.gm_, ub.loc_, here);
}
inline void NotifyNextBlock(GlobalTensor<int32_t>& gm, LocalTensor<int32_t>& ub, TWIN_HERE) {
    ::twin::turn_pass(gm.gm_, ub.loc_, here);
}
inline void SetNextTaskStart() {}
inline void WaitPreTaskEnd() {}

// Waits until the scalar unit's stores to this memory have arrived; the twin's have.
enum class MemDsbT : uint8_t { ALL, DDR, UB, SEQ };
template <MemDsbT arg> void DataSyncBarrier(TWIN_HERE) { ::twin::barrier(::twin::Pipe::S, here); }

// arriveSize cores arrive, waitSize cores wait for all of them; any number of rounds.
enum class PipeMode : uint8_t { SCALAR_MODE, MTE3_MODE, MAX };
template <PipeMode mode> class GroupBarrier {
public:
    GroupBarrier(GM_ADDR groupWorkspace, uint32_t arriveSizeIn, uint32_t waitSizeIn)
        : gm_(groupWorkspace), arrive_(arriveSizeIn), wait_(waitSizeIn) {}
    void Arrive(uint32_t arriveIndex, TWIN_HERE) { ::twin::group_arrive(gm_, arriveIndex, round_++, here); }
    void Wait(uint32_t waitIndex, TWIN_HERE) { ::twin::group_wait(gm_, arrive_, waited_++, waitIndex < wait_, here); }
    uint64_t GetWorkspaceLen() { return 64ull * (arrive_ + wait_); }
private:
    GM_ADDR gm_;
    uint32_t arrive_, wait_, round_ = 0, waited_ = 0;
};

inline void SetSyncBaseAddr(uint64_t) {}

}  // namespace AscendC

// The raw spellings: mode and id stand in one word, as the hardware takes them.
inline void set_ffts_base_addr(uint64_t) {}
inline void ffts_cross_core_sync(pipe_t pipe, uint64_t config, TWIN_HERE) {
    ::twin::cross_set(int(config >> 4 & 3), ::twin::Pipe(pipe), int(config >> 8 & 15), here);
}
inline void wait_flag_dev(uint64_t flagId, TWIN_HERE) { ::twin::cross_wait(int(flagId), here); }
