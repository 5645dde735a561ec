// What a kernel includes. The names, types and forms are those of Ascend C for Atlas A2/A3 (dav-2201); the work is done
// by the compiled machine behind twin/abi.h. Keep heavy standard headers out of this tree: each costs a learner a
// quarter of a second at every compile.
#pragma once
#include "twin/types.h"
#include "twin/tensor.h"
#include "twin/pipe.h"
#include "twin/sync.h"
#include "twin/cross.h"
#include "twin/copy.h"
#include "twin/vector.h"
#include "twin/reduce.h"
#include "twin/gather.h"
#include "twin/sort.h"
#include "twin/transpose.h"
#include "twin/load.h"
#include "twin/mmad.h"
#include "twin/fixpipe.h"
#include "twin/system.h"
#include "twin/registers.h"
#include "twin/adv.h"
#include "twin/launch.h"
