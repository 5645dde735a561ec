// Which kernels there are: both types without a second addition, half alone with up to three of them.
#pragma once
#include "ascendc/host_api/tiling/template_argument.h"

#define ONCE 1

ASCENDC_TPL_ARGS_DECL(AddTimes, ASCENDC_TPL_DATATYPE_DECL(T, C_DT_FLOAT16, C_DT_FLOAT, ASCENDC_TPL_INPUT(0)),
                      ASCENDC_TPL_UINT_DECL(times, ASCENDC_TPL_4_BW, ASCENDC_TPL_UI_RANGE, 1, 1, 8),
                      ASCENDC_TPL_BOOL_DECL(last, 0, 1));
ASCENDC_TPL_SEL(ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT16, C_DT_FLOAT),
                                     ASCENDC_TPL_UINT_SEL(times, ASCENDC_TPL_UI_LIST, ONCE),
                                     ASCENDC_TPL_BOOL_SEL(last, 1)),
                ASCENDC_TPL_ARGS_SEL(ASCENDC_TPL_DATATYPE_SEL(T, C_DT_FLOAT16),
                                     ASCENDC_TPL_UINT_SEL(times, ASCENDC_TPL_UI_MIX, 1, 2, 3, 5),
                                     ASCENDC_TPL_BOOL_SEL(last, 0, 1)));
