#pragma once
#include "twin/adv_math.h"
