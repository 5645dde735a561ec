#pragma once
#include "twin/adv_tiling_math.h"
