#pragma once
#include "graph/utils/type_utils.h"
