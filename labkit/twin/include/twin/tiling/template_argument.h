// ASCENDC_TPL_*: which instances of a template kernel CANN's build makes. The compiler ignores them: here an instance
// is chosen where the kernel is loaded, as in labkit.kernel(file, entry="add<half, 1>").
#pragma once
#include "twin/base/data_type.h"
#include "twin/base/types.h"

#define ASCENDC_TPL_AIV_ONLY 0
#define ASCENDC_TPL_AIC_ONLY 1
#define ASCENDC_TPL_MIX_AIV_1_0 4
#define ASCENDC_TPL_MIX_AIC_1_0 5
#define ASCENDC_TPL_MIX_AIC_1_1 6
#define ASCENDC_TPL_MIX_AIC_1_2 7
#define ASCENDC_TPL_AICORE 8
#define ASCENDC_TPL_VECTORCORE 9
#define ASCENDC_TPL_MIX_AICORE 10
#define ASCENDC_TPL_MIX_VECTOR_CORE 11
#define ASCENDC_TPL_1_BW 1
#define ASCENDC_TPL_2_BW 2
#define ASCENDC_TPL_4_BW 4
#define ASCENDC_TPL_8_BW 8
#define ASCENDC_TPL_UI_RANGE 0
#define ASCENDC_TPL_UI_LIST 1
#define ASCENDC_TPL_UI_MIX 2

template <int id> struct TypeFromId { using type = void; };
#define TWIN_TYPE_FROM(id, name) \
    template <> struct TypeFromId<id> { using type = name; }
TWIN_TYPE_FROM(0, float);
TWIN_TYPE_FROM(1, half);
TWIN_TYPE_FROM(2, int8_t);
TWIN_TYPE_FROM(3, int32_t);
TWIN_TYPE_FROM(4, uint8_t);
TWIN_TYPE_FROM(6, int16_t);
TWIN_TYPE_FROM(7, uint16_t);
TWIN_TYPE_FROM(8, uint32_t);
TWIN_TYPE_FROM(9, int64_t);
TWIN_TYPE_FROM(10, uint64_t);
TWIN_TYPE_FROM(11, double);
TWIN_TYPE_FROM(12, bool);
TWIN_TYPE_FROM(27, bfloat16_t);
TWIN_TYPE_FROM(29, int4b_t);
#undef TWIN_TYPE_FROM

#define ASCENDC_TPL_DTYPE_DECL(...)
#define ASCENDC_TPL_DATATYPE_DECL(...)
#define ASCENDC_TPL_FORMAT_DECL(...)
#define ASCENDC_TPL_UINT_DECL(...)
#define ASCENDC_TPL_BOOL_DECL(...)
#define ASCENDC_TPL_KERNEL_TYPE_DECL(...)
#define ASCENDC_TPL_ARGS_DECL(...)
#define ASCENDC_TPL_DTYPE_SEL(...)
#define ASCENDC_TPL_DATATYPE_SEL(...)
#define ASCENDC_TPL_FORMAT_SEL(...)
#define ASCENDC_TPL_UINT_SEL(...)
#define ASCENDC_TPL_BOOL_SEL(...)
#define ASCENDC_TPL_TILING_STRUCT_SEL(...)
#define ASCENDC_TPL_KERNEL_TYPE_SEL(...)
#define ASCENDC_TPL_DETERMINISTIC_SEL(...)
#define ASCENDC_TPL_SHARED_KERNEL_TYPE_SEL(...)
#define ASCENDC_TPL_ARGS_SEL(...)
#define ASCENDC_TPL_SEL(...)
