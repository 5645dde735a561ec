// The log and check macros of CANN's operator repositories. Errors go to standard error; the rest is silent.
#pragma once
#include <cstdarg>
#include <cstdio>
#include <sstream>
#include <string>

#include "register/op_impl_registry.h"

namespace twin_op {

inline std::string who(const char* s) { return s ? s : ""; }
inline std::string who(const std::string& s) { return s; }
inline std::string who(const gert::NodeContext* c) { return c ? c->GetNodeName() : ""; }
inline std::string who(const gert::TilingParseContext* c) { return c ? c->GetNodeName() : ""; }
template <typename T> std::string who(const T&) { return ""; }

inline void print(const std::string& name, const char* format, ...) {
    std::fprintf(stderr, "[error] %s: ", name.c_str());
    va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    va_end(args);
    std::fputc('\n', stderr);
}
inline void print(const std::string& name) { std::fprintf(stderr, "[error] %s\n", name.c_str()); }
template <typename... A> void refused(const std::string& name, A...) {
    std::fprintf(stderr, "[error] %s: an input was refused\n", name.c_str());
}
template <typename... A> void ignore(const A&...) {}

}  // namespace twin_op

enum { DLOG_DEBUG = 0, DLOG_INFO = 1, DLOG_WARN = 2, DLOG_ERROR = 3 };
enum { OP = 63 };  // this module's number in the log
inline int32_t CheckLogLevel(int32_t, int32_t) { return 0; }
inline int AlogCheckDebugLevel(uint32_t, int) { return 0; }
#define REPORT_INNER_ERR_MSG(...) static_cast<void>(0)
#define D_OP_LOGE(name, ...) ::twin_op::print(name, ##__VA_ARGS__)
#define D_OP_LOGW(...) static_cast<void>(0)
#define D_OP_LOGI(...) static_cast<void>(0)
#define D_OP_LOGD(...) static_cast<void>(0)

#define OP_LOGE(context, ...) ::twin_op::print(::twin_op::who(context), ##__VA_ARGS__)
#define OP_LOGE_WITHOUT_REPORT(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define OP_LOGW(context, ...) ::twin_op::ignore(context)
#define OP_LOGI(context, ...) ::twin_op::ignore(context)
#define OP_LOGD(context, ...) ::twin_op::ignore(context)
#define OP_EVENT(context, ...) ::twin_op::ignore(context)
#define OP_LOGD_FULL(context, ...) ::twin_op::ignore(context)
#define OP_LOGI_FULL(context, ...) ::twin_op::ignore(context)
#define OP_LOGE_IF(condition, value, context, ...) \
    do {                                           \
        if (condition) {                           \
            OP_LOGE(context, ##__VA_ARGS__);       \
            return value;                          \
        }                                          \
    } while (0)
#define OP_CHECK_IF(condition, log, action) \
    do {                                    \
        if (condition) {                    \
            log;                            \
            action;                         \
        }                                   \
    } while (0)
#define OP_CHECK(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OP_TILING_CHECK(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OP_CHECK_NULL_WITH_CONTEXT(context, pointer)  \
    do {                                              \
        if ((pointer) == nullptr) {                   \
            OP_LOGE(context, "%s is null", #pointer); \
            return ge::GRAPH_FAILED;                  \
        }                                             \
    } while (0)
#define OPS_CHECK_NULL_WITH_CONTEXT(context, pointer) OP_CHECK_NULL_WITH_CONTEXT(context, pointer)
#define OPS_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, value) \
    do {                                                         \
        if ((pointer) == nullptr) {                              \
            OP_LOGE(context, "%s is null", #pointer);            \
            return value;                                        \
        }                                                        \
    } while (0)
#define OP_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, value) OPS_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, value)
#define OPS_CHECK_NULL_WITH_CONTEXT_BOOL(context, pointer) OPS_CHECK_NULL_WITH_CONTEXT_RET(context, pointer, false)
#define OPS_CHECK_NOT_NULL_WITH_CONTEXT(context, pointer) OP_CHECK_NULL_WITH_CONTEXT(context, pointer)
#define OPS_LOG_E_IF_NULL(context, pointer, action) \
    if ((pointer) == nullptr) {                     \
        OP_LOGE(context, "%s is null", #pointer);   \
        action;                                     \
    }
#define OPS_LOG_E_IF(condition, context, action, ...) \
    if (condition) {                                  \
        OP_LOGE(context, ##__VA_ARGS__);              \
        action;                                       \
    }
#define OP_LOGW_IF(...) static_cast<void>(0)
#define OP_LOGI_IF_RETURN(condition, value, context, ...) \
    do {                                                  \
        if (condition) return value;                      \
    } while (0)
#define OPS_ERR_IF(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OPS_CHECK(condition, log, action) OP_CHECK_IF(condition, log, action)
#define OPS_LOG_E(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define OPS_LOG_W(context, ...) ::twin_op::ignore(context)
#define OPS_LOG_I(context, ...) ::twin_op::ignore(context)
#define OPS_LOG_D(context, ...) ::twin_op::ignore(context)
#define OPS_REPORT_VECTOR_INNER_ERR(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define OPS_REPORT_CUBE_INNER_ERR(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define VECTOR_INNER_ERR_REPORT_TILIING(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define VECTOR_INNER_ERR_REPORT_TILING(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define CUBE_INNER_ERR_REPORT(context, ...) OP_LOGE(context, ##__VA_ARGS__)
#define OP_LOGE_FOR_INVALID_VALUE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_VALUE_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_VALUES_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_DTYPE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_DTYPE_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_DTYPES_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPE_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPES_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPEDIM(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPEDIM_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPEDIMS_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPESIZE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPESIZE_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_SHAPESIZES_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_LISTSIZE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_FORMAT(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_FORMATS_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_FORMAT_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_TENSORNUM(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_TENSORNUM_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_TENSORNUMS_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_STRIDE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_CONFIG_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_ARGUMENT_WITH_REASON(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_FOR_INVALID_GRAPH_NODE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_INPUT(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_INPUT_DTYPE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_INPUT_SHAPE(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_INPUT_FORMAT(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_ATTR(context, ...) ::twin_op::refused(::twin_op::who(context))
#define OP_LOGE_WITH_INVALID_ATTR_SIZE(context, ...) ::twin_op::refused(::twin_op::who(context))

namespace Ops::Base {
template <typename T> std::string ToString(const T& v) {
    std::ostringstream out;
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
        out << +std::underlying_type_t<std::conditional_t<std::is_enum_v<T>, T, ge::DataType>>(v);
    return out.str();
}
inline std::string ToString(const gert::Shape& s) {
    std::string r = "[";
    for (size_t i = 0; i < s.GetDimNum(); i++) r += (i ? ", " : "") + std::to_string(s.GetDim(i));
    return r + "]";
}
template <typename T> std::string GetOpInfo(const T& context) { return ::twin_op::who(context); }
inline std::string Shape2String(const gert::Shape& s) { return ToString(s); }
inline const char* GetSafeStr(const std::string& s) { return s.c_str(); }
inline std::string ToString(ge::DataType t) { return ge::TypeUtils::DataTypeToSerialString(t); }
}  // namespace Ops::Base
