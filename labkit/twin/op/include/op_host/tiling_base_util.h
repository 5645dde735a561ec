#pragma once
#include "op_host/tiling_base_class.h"
#include "util/platform_util.h"
