#pragma once
#include "exe_graph/runtime/tiling_context.h"

// names that sources take from this header
using std::map;
using std::string;
using std::vector;
