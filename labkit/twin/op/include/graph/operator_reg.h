// REG_OP(...): the operator's registration for graphs. The twin has no graphs: it has no effect here.
#pragma once
#include "graph/operator.h"

namespace twin_op {
struct Proto {
    Proto& said() { return *this; }
};
}  // namespace twin_op
#define REG_OP(x) [[maybe_unused]] static ::twin_op::Proto twin_proto_##x = ::twin_op::Proto()
#define INPUT(...) said()
#define OPTIONAL_INPUT(...) said()
#define DYNAMIC_INPUT(...) said()
#define OUTPUT(...) said()
#define DYNAMIC_OUTPUT(...) said()
#define ATTR(...) said()
#define REQUIRED_ATTR(...) said()
#define DATATYPE(...) said()
#define GRAPH(...) said()
#define DYNAMIC_GRAPH(...) said()
#define OP_END_FACTORY_REG(x) said();  // written with and without a semicolon
