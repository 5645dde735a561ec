#pragma once
#include "twin/matmul_tiling.h"
