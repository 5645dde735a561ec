// The chip's block sizes by the names that operators' host code has for them.
#pragma once
#include "exe_graph/runtime/tiling_context.h"

namespace Ops::Base {
template <typename C> uint32_t GetUbBlockSize(const C*) { return 32; }
template <typename C> uint32_t GetVRegSize(const C*) { return 256; }
template <typename C> uint32_t GetCacheLineSize(const C*) { return 512; }
inline bool IsRegbaseSocVersion(const gert::TilingContext*) { return false; }
inline bool IsRegbaseSocVersion(const gert::TilingParseContext*) { return false; }
}  // namespace Ops::Base
