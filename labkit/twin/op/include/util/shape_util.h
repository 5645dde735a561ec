// Small questions about shapes.
#pragma once
#include "exe_graph/runtime/tiling_context.h"

namespace Ops::Base {
inline bool IsUnknownRank(const gert::Shape& s) { return s.GetDimNum() == 1 && s.GetDim(0) == -2; }
inline bool IsUnknownShape(const gert::Shape& s) {
    for (size_t i = 0; i < s.GetDimNum(); i++)
        if (s.GetDim(i) < 0) return true;
    return false;
}
inline const gert::Shape& EnsureNotScalar(const gert::Shape& s) {
    static const gert::Shape one{1};
    return s.IsScalar() ? one : s;
}
}  // namespace Ops::Base
