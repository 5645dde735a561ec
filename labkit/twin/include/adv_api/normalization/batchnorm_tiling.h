#pragma once
#include "twin/adv_tiling_norm.h"
