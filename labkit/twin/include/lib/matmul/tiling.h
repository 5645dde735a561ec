#pragma once
#include "twin/matmul_config.h"
