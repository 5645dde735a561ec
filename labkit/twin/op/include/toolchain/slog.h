// The log by its own names. A kernel that reaches this header needs it for nothing.
#pragma once
#ifndef TWIN_OP_KERNEL
#include "log/log.h"
#endif
