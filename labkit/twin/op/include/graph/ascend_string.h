// Graphs are not on the twin; an operator needs this header only for its proto.
#pragma once
#include "graph/utils/type_utils.h"
