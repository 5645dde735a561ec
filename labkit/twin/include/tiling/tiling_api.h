// The host side of the advanced API: tilings and temporary sizes. Host code only; no kernel header includes it.
#pragma once
#include "securec.h"
#include <iostream>  // sources that include this header count on it
#include "securec.h"
#include "tiling/platform/platform_ascendc.h"
#include "twin/matmul_tiling.h"
#include "twin/rearrange_tiling.h"
#include "twin/adv_tiling_math.h"
#include "twin/adv_tiling_norm.h"
#include "twin/adv_tiling_softmax.h"
