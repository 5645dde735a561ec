// A node of a graph as an operator's support functions ask it. Graphs are not on the twin: these functions are never
// called.
#pragma once
#include "graph/tensor.h"
#include "graph/utils/type_utils.h"

namespace ge {
class TensorDesc {
public:
    Shape GetShape() const { return {}; }
    Shape GetOriginShape() const { return {}; }
    DataType GetDataType() const { return DT_UNDEFINED; }
    Format GetFormat() const { return FORMAT_ND; }
    Format GetOriginFormat() const { return FORMAT_ND; }
};
class Operator {
public:
    template <typename N> TensorDesc GetInputDesc(N) const { return {}; }
    template <typename N> TensorDesc GetOutputDesc(N) const { return {}; }
    TensorDesc GetInputDescByName(const char*) const { return {}; }
    TensorDesc GetOutputDescByName(const char*) const { return {}; }
    graphStatus GetName(AscendString&) const { return GRAPH_SUCCESS; }
    graphStatus GetOpType(AscendString&) const { return GRAPH_SUCCESS; }
    template <typename N, typename T> graphStatus GetAttr(N, T&) const { return GRAPH_FAILED; }
    template <typename N, typename T> graphStatus GetInputConstData(N, T&) const { return GRAPH_FAILED; }
    size_t GetInputsSize() const { return 0; }
    size_t GetOutputsSize() const { return 0; }
};
}  // namespace ge
