#pragma once
#include "twin/adv_quant.h"
