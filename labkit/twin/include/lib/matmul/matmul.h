#pragma once
#include "twin/matmul.h"
