// The workspace in GM that the system keeps for itself, and the kernel's own behind it. The twin needs none of the first.
#pragma once
#include "twin/types.h"

#define __kfc_workspace__

inline uint8_t* GetSysWorkSpacePtr() {
    static uint8_t reserved[32];
    return reserved;
}
inline void SetSysWorkSpacePtr(GM_ADDR) {}

namespace AscendC {
inline void SetSysWorkspace(GM_ADDR) {}
inline void SetSysWorkspaceForce(GM_ADDR) {}
inline GM_ADDR GetUserWorkspace(GM_ADDR workspace) { return workspace; }
}  // namespace AscendC
