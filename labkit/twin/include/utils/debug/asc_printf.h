// printf inside a kernel: on the twin the C library's, whose output becomes the program's.
#pragma once
#include <stdio.h>

#include "kernel_operator.h"
