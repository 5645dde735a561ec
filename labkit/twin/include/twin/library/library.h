// The advanced API: functions of whole tensors, each a composite of vector instructions. kernel_operator.h brings it
// in.
#pragma once
#include "twin/library/activation.h"
#include "twin/library/math.h"
#include "twin/library/norm.h"
#include "twin/library/quant.h"
#include "twin/library/reduce.h"
#include "twin/library/softmax.h"
