// The log by its own names. A kernel that includes this header does not use it.
#pragma once
#ifndef TWIN_OP_KERNEL
#include "log/log.h"
#endif
