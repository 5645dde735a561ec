// The host side of the advanced API: tilings and temporary sizes. Host code only; no kernel header includes it.
#pragma once
#include <iostream>  // sources that include this header count on it
#include "securec.h"
#include "tiling/platform/platform_ascendc.h"
#include "twin/tiling/math.h"
#include "twin/tiling/matmul.h"
#include "twin/tiling/norm.h"
#include "twin/tiling/rearrange.h"
#include "twin/tiling/softmax.h"
