// The numbers that CANN gives to data types and formats. An op_kernel file compares them in #if, so there they are
// macros.
#pragma once

// clang-format off
#define TWIN_DATA_TYPES(X) \
    X(DT_FLOAT, 0) X(DT_FLOAT16, 1) X(DT_INT8, 2) X(DT_INT32, 3) X(DT_UINT8, 4) X(DT_INT16, 6) X(DT_UINT16, 7) \
    X(DT_UINT32, 8) X(DT_INT64, 9) X(DT_UINT64, 10) X(DT_DOUBLE, 11) X(DT_BOOL, 12) X(DT_STRING, 13) \
    X(DT_COMPLEX64, 16) X(DT_COMPLEX128, 17) X(DT_BF16, 27) X(DT_UNDEFINED, 28) X(DT_INT4, 29) X(DT_UINT1, 30) \
    X(DT_INT2, 31) X(DT_UINT2, 32) X(DT_COMPLEX32, 33) X(DT_HIFLOAT8, 34) X(DT_FLOAT8_E5M2, 35) \
    X(DT_FLOAT8_E4M3FN, 36) X(DT_FLOAT8_E8M0, 37) X(DT_FLOAT6_E3M2, 38) X(DT_FLOAT6_E2M3, 39) X(DT_FLOAT4_E2M1, 40) \
    X(DT_FLOAT4_E1M2, 41)
#define TWIN_FORMATS(X) \
    X(FORMAT_NCHW, 0) X(FORMAT_NHWC, 1) X(FORMAT_ND, 2) X(FORMAT_NC1HWC0, 3) X(FORMAT_FRACTAL_Z, 4) X(FORMAT_CHWN, 14) \
    X(FORMAT_HWCN, 16) X(FORMAT_NDHWC, 27) X(FORMAT_FRACTAL_ZZ, 28) X(FORMAT_FRACTAL_NZ, 29) X(FORMAT_NCDHW, 30) \
    X(FORMAT_DHWCN, 31) X(FORMAT_NDC1HWC0, 32) X(FORMAT_FRACTAL_Z_3D, 33)
// clang-format on

#ifdef TWIN_OP_KERNEL
#define DT_FLOAT 0
#define DT_FLOAT16 1
#define DT_INT8 2
#define DT_INT32 3
#define DT_UINT8 4
#define DT_INT16 6
#define DT_UINT16 7
#define DT_UINT32 8
#define DT_INT64 9
#define DT_UINT64 10
#define DT_DOUBLE 11
#define DT_BOOL 12
#define DT_COMPLEX64 16
#define DT_BF16 27
#define DT_UNDEFINED 28
#define DT_INT4 29
#define DT_INT2 31
#define DT_COMPLEX32 33
#define DT_HIFLOAT8 34
#define DT_FLOAT8_E5M2 35
#define DT_FLOAT8_E4M3FN 36
#define DT_FLOAT8_E8M0 37
#define DT_FLOAT4_E2M1 40
#define DT_FLOAT4_E1M2 41
#define FORMAT_NCHW 0
#define FORMAT_NHWC 1
#define FORMAT_ND 2
#define FORMAT_NC1HWC0 3
#define FORMAT_FRACTAL_Z 4
#define FORMAT_FRACTAL_NZ 29
#define FORMAT_NCDHW 30
#define FORMAT_NDC1HWC0 32
#define FORMAT_FRACTAL_Z_3D 33
#else
namespace AscendC {
#define X(name, value) name = value,
enum DataType { TWIN_DATA_TYPES(X) DT_MAX = 42 };
enum Format { TWIN_FORMATS(X) FORMAT_MAX = 0xff };
#undef X
}  // namespace AscendC
#endif
