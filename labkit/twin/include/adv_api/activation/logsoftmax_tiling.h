#pragma once
#include "twin/adv_tiling_softmax.h"
