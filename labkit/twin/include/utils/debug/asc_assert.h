// assert inside a kernel: stops it and names the line.
#pragma once
#include <assert.h>

#include "kernel_operator.h"
