// The C interfaces of Ascend C (asc_...) for Atlas A2: the vector core's instructions on pointers into UB, copies,
// flags and the scalar unit. Those of the cube core are not here.
#pragma once
#include "kernel_operator.h"
#include "twin/c_api/compute.h"
#include "twin/c_api/convert.h"
#include "twin/c_api/copy.h"
#include "twin/c_api/rearrange.h"
#include "twin/c_api/scalar.h"
#include "twin/c_api/sync.h"
