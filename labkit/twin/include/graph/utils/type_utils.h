// Formats, sizes and names of data types.
#pragma once
#include <stdint.h>

#include <string>

#include "graph/ascend_string.h"
#include "graph/types.h"

#include "graph/plain_names.h"
namespace ge {

using graphStatus = uint32_t;
constexpr graphStatus GRAPH_SUCCESS = 0, GRAPH_FAILED = 0xffffffff, GRAPH_NOT_CHANGED = 1343242304,
                      GRAPH_PARAM_INVALID = 50331649;
constexpr graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331644, GRAPH_NULL_PTR = 50331538;
constexpr graphStatus SUCCESS = 0, FAILED = 0xffffffff;
using char_t = char;
using float32_t = float;
using float64_t = double;
static constexpr int32_t kDataTypeSizeBitOffset = 1000;

enum Format {
    FORMAT_NCHW = 0,
    FORMAT_NHWC,
    FORMAT_ND,
    FORMAT_NC1HWC0,
    FORMAT_FRACTAL_Z,
    FORMAT_NC1C0HWPAD,
    FORMAT_NHWC1C0,
    FORMAT_FSR_NCHW,
    FORMAT_FRACTAL_DECONV,
    FORMAT_C1HWNC0,
    FORMAT_FRACTAL_DECONV_TRANSPOSE,
    FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS,
    FORMAT_NC1HWC0_C04,
    FORMAT_FRACTAL_Z_C04,
    FORMAT_CHWN,
    FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS,
    FORMAT_HWCN,
    FORMAT_NC1KHKWHWC0,
    FORMAT_BN_WEIGHT,
    FORMAT_FILTER_HWCK,
    FORMAT_HASHTABLE_LOOKUP_LOOKUPS,
    FORMAT_HASHTABLE_LOOKUP_KEYS,
    FORMAT_HASHTABLE_LOOKUP_VALUE,
    FORMAT_HASHTABLE_LOOKUP_OUTPUT,
    FORMAT_HASHTABLE_LOOKUP_HITS,
    FORMAT_C1HWNCoC0,
    FORMAT_MD,
    FORMAT_NDHWC,
    FORMAT_FRACTAL_ZZ,
    FORMAT_FRACTAL_NZ,
    FORMAT_NCDHW,
    FORMAT_DHWCN,
    FORMAT_NDC1HWC0,
    FORMAT_FRACTAL_Z_3D,
    FORMAT_CN,
    FORMAT_NC,
    FORMAT_DHWNC,
    FORMAT_FRACTAL_Z_3D_TRANSPOSE,
    FORMAT_FRACTAL_ZN_LSTM,
    FORMAT_FRACTAL_Z_G,
    FORMAT_RESERVED,
    FORMAT_ALL,
    FORMAT_NULL,
    FORMAT_ND_RNN_BIAS,
    FORMAT_FRACTAL_ZN_RNN,
    FORMAT_NYUV,
    FORMAT_NYUV_A,
    FORMAT_NCL,
    FORMAT_FRACTAL_Z_WINO,
    FORMAT_C1HWC0,
    FORMAT_FRACTAL_NZ_C0_2,
    FORMAT_FRACTAL_NZ_C0_4,
    FORMAT_FRACTAL_NZ_C0_8,
    FORMAT_FRACTAL_NZ_C0_16,
    FORMAT_FRACTAL_NZ_C0_32,
    FORMAT_END,
    FORMAT_MAX = 0xff
};
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }

inline int GetSizeByDataType(DataType t) {  // -1: a type without a size; 1000 and more: bits of one below a byte
    switch (t) {
    case DT_INT8:
    case DT_UINT8:
    case DT_BOOL:
    case DT_QINT8:
    case DT_QUINT8:
    case DT_HIFLOAT8:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN: return 1;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16:
    case DT_QINT16:
    case DT_QUINT16: return 2;
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32:
    case DT_QINT32:
    case DT_COMPLEX32: return 4;
    case DT_INT64:
    case DT_UINT64:
    case DT_DOUBLE:
    case DT_COMPLEX64:
    case DT_RESOURCE: return 8;
    case DT_COMPLEX128: return 16;
    case DT_INT4: return 1004;
    case DT_INT2:
    case DT_UINT2: return 1002;
    case DT_UINT1: return 1001;
    default: return -1;
    }
}

inline int64_t GetSizeInBytes(int64_t count, DataType t) {  // a type below a byte: the bytes that hold so many
    int n = GetSizeByDataType(t);
    return n < 0 || count < 0           ? -1
           : n > kDataTypeSizeBitOffset ? (count * (n - kDataTypeSizeBitOffset) + 7) / 8
                                        : count * n;
}
template <typename T> bool AddOverflow(T a, T b, T& sum) { return __builtin_add_overflow(a, b, &sum); }
template <typename T> bool MulOverflow(T a, T b, T& product) { return __builtin_mul_overflow(a, b, &product); }

class TypeUtils {
public:
    static bool GetDataTypeLength(DataType t, uint32_t& length) {
        int n = GetSizeByDataType(t);
        length = n > 0 ? uint32_t(n) : 0;
        return n > 0;
    }
    static std::string DataTypeToSerialString(DataType t) {
        switch (t) {
        case DT_FLOAT: return "DT_FLOAT";
        case DT_FLOAT16: return "DT_FLOAT16";
        case DT_BF16: return "DT_BF16";
        case DT_INT8: return "DT_INT8";
        case DT_UINT8: return "DT_UINT8";
        case DT_INT16: return "DT_INT16";
        case DT_UINT16: return "DT_UINT16";
        case DT_INT32: return "DT_INT32";
        case DT_UINT32: return "DT_UINT32";
        case DT_INT64: return "DT_INT64";
        case DT_UINT64: return "DT_UINT64";
        case DT_DOUBLE: return "DT_DOUBLE";
        case DT_BOOL: return "DT_BOOL";
        default: return "DT_UNDEFINED";
        }
    }
    static std::string FormatToSerialString(Format f) {
        return f == FORMAT_ND           ? "ND"
               : f == FORMAT_NCHW       ? "NCHW"
               : f == FORMAT_NHWC       ? "NHWC"
               : f == FORMAT_FRACTAL_NZ ? "FRACTAL_NZ"
                                        : "?";
    }
    static AscendString DataTypeToAscendString(DataType t) { return AscendString(DataTypeToSerialString(t).c_str()); }
    static AscendString FormatToAscendString(Format f) { return AscendString(FormatToSerialString(f).c_str()); }
};
inline const char* GetFormatName(Format f) {
    static thread_local std::string name;
    return (name = TypeUtils::FormatToSerialString(f)).c_str();
}

}  // namespace ge
#include "graph/plain_names.h"
