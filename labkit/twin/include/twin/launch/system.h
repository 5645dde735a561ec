// System variables, registers and the core's own state.
#pragma once
#include "twin/launch/sync.h"

namespace twin {
void init_soc_state();
void trap(Here);
int64_t program_counter();
void set_control(int bit, int64_t value, Here);
int64_t get_control(int bit);
// GM workspace that the framework provides. The user's part begins 16 MB after the start of the allocation.
void set_workspace(uint8_t*, bool force);
uint8_t* system_workspace();
uint8_t* user_workspace(uint8_t* given);
}  // namespace twin

namespace AscendC {

inline int64_t GetBlockIdx() { return ::twin::block_idx(); }
inline int64_t GetBlockNum() { return ::twin::block_num(); }
inline int64_t GetSubBlockNum() { return ::twin::sub_block_num(); }
inline int64_t GetSubBlockIdx() { return ::twin::sub_block_idx(); }
inline int64_t GetTaskRatio() { return ::twin::sub_block_num(); }
inline int64_t GetTaskRation() { return GetTaskRatio(); }
inline int64_t GetSystemCycle() { return ::twin::cycles(); }
inline int64_t GetProgramCounter() { return ::twin::program_counter(); }
inline void GetArchVersion(uint32_t& coreVersion) { coreVersion = 0x220; }
constexpr int16_t GetDataBlockSizeInBytes() { return 32; }
inline void InitSocState() { ::twin::init_soc_state(); }
inline void Trap(TWIN_HERE) { ::twin::trap(here); }

// ---- CTRL: on A2/A3 its bit 48 alone. 0: half and bfloat16_t saturate; 1: they keep inf and NaN.
template <int8_t startBit, int8_t endBit> void SetCtrlSpr(int64_t value, TWIN_HERE) {
    static_assert(startBit == 48 && endBit == 48, "SetCtrlSpr<48, 48> is the one bit of CTRL that A2/A3 offers");
    ::twin::set_control(48, value, here);
}
template <int8_t startBit, int8_t endBit> int64_t GetCtrlSpr() {
    static_assert(startBit == 48 && endBit == 48, "GetCtrlSpr<48, 48> is the one bit of CTRL that A2/A3 offers");
    return ::twin::get_control(48);
}
enum class SaturationMode : uint8_t { FLOAT, FLOAT8, INT, CAST };
template <SaturationMode mode> void SetSaturationFlag(bool enableSat, TWIN_HERE) {
    static_assert(mode == SaturationMode::FLOAT || mode == SaturationMode::CAST,
                  "SetSaturationFlag on A2/A3 takes SaturationMode::FLOAT or CAST");
    ::twin::set_control(mode == SaturationMode::FLOAT ? 48 : 59, !enableSat, here);
}
template <SaturationMode mode> bool GetSaturationFlag() {
    static_assert(mode == SaturationMode::FLOAT || mode == SaturationMode::CAST,
                  "GetSaturationFlag on A2/A3 takes SaturationMode::FLOAT or CAST");
    return !::twin::get_control(mode == SaturationMode::FLOAT ? 48 : 59);
}

// ---- work for one kind of core
enum class EngineType : int32_t { AIC = 1, AIV = 2 };
template <EngineType engine, auto function, class... Args> void Async(Args... args) {
    if constexpr (engine == EngineType::AIV) {
        if ASCEND_IS_AIV
            function(args...);
    } else {
        if ASCEND_IS_AIC
            function(args...);
    }
}
// A kernel fused with its neighbours may start and end early; alone it has none.
template <pipe_t aivPipe = PIPE_MTE3, pipe_t aicPipe = PIPE_FIX, bool force = false> void SetNextTaskStart() {}
template <bool force = false> void WaitPreTaskEnd() {}

// ---- workspace
inline void SetSysWorkspace(GM_ADDR workspace) { ::twin::set_workspace(workspace, false); }
inline void SetSysWorkspaceForce(GM_ADDR workspace) { ::twin::set_workspace(workspace, true); }
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return ::twin::user_workspace(workspace); }

}  // namespace AscendC

inline __gm__ uint8_t* GetSysWorkSpacePtr() { return ::twin::system_workspace(); }
inline void SetSysWorkSpacePtr(__gm__ uint8_t* workspace) { ::twin::set_workspace(workspace, true); }
namespace AscendC {
using ::GetSysWorkSpacePtr;
using ::SetSysWorkSpacePtr;
}  // namespace AscendC
