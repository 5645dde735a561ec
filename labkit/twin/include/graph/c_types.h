// Data types and formats by the names that template arguments of kernels have.
#pragma once
enum {
    C_DT_FLOAT = 0,
    C_DT_FLOAT16 = 1,
    C_DT_INT8 = 2,
    C_DT_INT32 = 3,
    C_DT_UINT8 = 4,
    C_DT_INT16 = 6,
    C_DT_UINT16 = 7,
    C_DT_UINT32 = 8,
    C_DT_INT64 = 9,
    C_DT_UINT64 = 10,
    C_DT_DOUBLE = 11,
    C_DT_BOOL = 12,
    C_DT_COMPLEX64 = 16,
    C_DT_BF16 = 27,
    C_DT_INT4 = 29
};
enum {
    C_FORMAT_NCHW = 0,
    C_FORMAT_NHWC = 1,
    C_FORMAT_ND = 2,
    C_FORMAT_NC1HWC0 = 3,
    C_FORMAT_FRACTAL_Z = 4,
    C_FORMAT_FRACTAL_NZ = 29
};
