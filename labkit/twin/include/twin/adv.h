// The advanced API: functions of whole tensors, each a composite of vector instructions. kernel_operator.h brings it in.
#pragma once
#include "twin/adv_activation.h"
#include "twin/adv_math.h"
#include "twin/adv_norm.h"
#include "twin/adv_quant.h"
#include "twin/adv_reduce.h"
#include "twin/adv_softmax.h"
