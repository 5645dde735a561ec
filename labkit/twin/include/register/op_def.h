// An operator's definition as a custom-operator project writes it: OpDef with its inputs, outputs, attributes and the
// functions that work out shapes and tiling. The lab reads it to know in which order a kernel takes its arguments.
#pragma once
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exe_graph/runtime/tiling_context.h"

namespace ops {

enum Option { IGNORE = 0, OPTIONAL = 1, REQUIRED = 2, DYNAMIC = 3, VIRTUAL = 4 };
enum class DependScope : uint32_t { ALL = 0, TILING, INVALID_SCOPE };
enum class FollowType : uint32_t { ALL = 0, DTYPE, FORMAT, SHAPE, INVALID_TYPE };
enum class FormatCheckOption : uint32_t { DEFAULT = 0, STRICT = 1, MAX };
enum class ScalarType : uint32_t {
    UINT64 = 0,
    INT64,
    UINT32,
    INT32,
    UINT16,
    INT16,
    UINT8,
    INT8,
    FLOAT32,
    FLOAT16,
    INVALID_DTYPE = uint32_t(-1)
};
struct ScalarVar {
    template <typename T> ScalarVar(ScalarType, T) {}
};

class OpParamDef {
public:
    explicit OpParamDef(const char* name = "") : name_(name) {}
    OpParamDef& ParamType(Option type) { return type_ = type, *this; }
    OpParamDef& DataType(std::vector<ge::DataType> types) { return types_ = std::move(types), *this; }
    OpParamDef& DataTypeList(std::vector<ge::DataType> types) { return types_ = std::move(types), *this; }
    OpParamDef& Format(std::vector<ge::Format> formats) { return formats_ = std::move(formats), *this; }
    OpParamDef& FormatList(std::vector<ge::Format> formats) { return formats_ = std::move(formats), *this; }
    OpParamDef& DataTypeForBinQuery(std::vector<ge::DataType>) { return *this; }
    OpParamDef& FormatForBinQuery(std::vector<ge::Format>) { return *this; }
    OpParamDef& UnknownShapeFormat(std::vector<ge::Format>) { return *this; }
    OpParamDef& ValueDepend(Option depend) { return depends_ = depend != IGNORE, *this; }
    OpParamDef& ValueDepend(Option depend, DependScope) { return ValueDepend(depend); }
    OpParamDef& IgnoreContiguous() { return *this; }
    OpParamDef& AutoContiguous() { return *this; }
    OpParamDef& Scalar() { return *this; }
    OpParamDef& ScalarList() { return *this; }
    OpParamDef& To(ge::DataType) { return *this; }
    OpParamDef& To(const char*) { return *this; }
    OpParamDef& Version(uint32_t) { return *this; }
    OpParamDef& InitValue(uint64_t value) { return zeroed_ = value == 0, *this; }
    OpParamDef& InitValue(const ScalarVar&) { return *this; }
    OpParamDef& InitValue(const std::vector<ScalarVar>&) { return *this; }
    OpParamDef& OutputShapeDependOnCompute() { return computed_ = true, *this; }
    OpParamDef& Follow(const char*, FollowType = FollowType::ALL) { return *this; }
    OpParamDef& Comment(const char*) { return *this; }
    // the lab's side
    std::string name_;
    Option type_ = REQUIRED;
    std::vector<ge::DataType> types_;
    std::vector<ge::Format> formats_;
    bool depends_ = false, zeroed_ = false, computed_ = false;
};

class OpAttrDef {
public:
    explicit OpAttrDef(const char* name = "") : name_(name) {}
    OpAttrDef& AttrType(Option type) { return type_ = type, *this; }
    OpAttrDef& Bool() { return kind("bool"); }
    OpAttrDef& Bool(bool v) { return kind("bool", v ? "1" : "0"); }
    OpAttrDef& Float() { return kind("float"); }
    OpAttrDef& Float(float v) { return kind("float", std::to_string(double(v)), double(v)); }
    OpAttrDef& Int() { return kind("int"); }
    OpAttrDef& Int(int64_t v) { return kind("int", std::to_string(v)); }
    OpAttrDef& String() { return kind("str"); }
    OpAttrDef& String(const char* v) { return kind("str", v); }
    OpAttrDef& ListBool() { return kind("ints"); }
    OpAttrDef& ListBool(std::vector<bool> v) { return list("ints", v); }
    OpAttrDef& ListFloat() { return kind("floats"); }
    OpAttrDef& ListFloat(std::vector<float> v) { return list("floats", v); }
    OpAttrDef& ListInt() { return kind("ints"); }
    OpAttrDef& ListInt(std::vector<int64_t> v) { return list("ints", v); }
    OpAttrDef& ListListInt() { return kind("none"); }
    OpAttrDef& ListListInt(std::vector<std::vector<int64_t>>) { return kind("none"); }
    OpAttrDef& Version(uint32_t) { return *this; }
    OpAttrDef& Comment(const char*) { return *this; }
    // the lab's side
    std::string name_, kind_ = "none", value_;
    double real_ = 0;
    Option type_ = REQUIRED;
private:
    OpAttrDef& kind(const char* k, std::string v = "", double real = 0) {
        kind_ = k;
        value_ = std::move(v);
        real_ = real;
        return *this;
    }
    template <typename V> OpAttrDef& list(const char* k, const V& items) {
        std::string text;
        for (auto v : items) text += (text.empty() ? "" : " ") + std::to_string(v);
        return kind(k, text);
    }
};

class OpAICoreConfig {
public:
    OpAICoreConfig() = default;
    explicit OpAICoreConfig(const char*) {}
    OpParamDef& Input(const char* name) { return param(name); }
    OpParamDef& Output(const char* name) { return param(name); }
    OpAICoreConfig& DynamicCompileStaticFlag(bool) { return *this; }
    OpAICoreConfig& DynamicFormatFlag(bool) { return *this; }
    OpAICoreConfig& DynamicRankSupportFlag(bool) { return *this; }
    OpAICoreConfig& DynamicShapeSupportFlag(bool) { return *this; }
    OpAICoreConfig& NeedCheckSupportFlag(bool) { return *this; }
    OpAICoreConfig& PrecisionReduceFlag(bool) { return *this; }
    OpAICoreConfig& ExtendCfgInfo(const char*, const char*) { return *this; }
private:
    OpParamDef& param(const char* name) { return params_.emplace(name, OpParamDef(name)).first->second; }
    std::map<std::string, OpParamDef> params_;
};

class OpAICoreDef {
public:
    using TilingFunc = ge::graphStatus (*)(gert::TilingContext*);
    OpAICoreDef& SetTiling(TilingFunc f) { return tiling_ = f, *this; }
    template <typename F> OpAICoreDef& SetCheckSupport(F) { return *this; }
    template <typename F> OpAICoreDef& SetOpSelectFormat(F) { return *this; }
    template <typename F> OpAICoreDef& SetOpSupportInfo(F) { return *this; }
    template <typename F> OpAICoreDef& SetOpSpecInfo(F) { return *this; }
    template <typename F> OpAICoreDef& SetParamGeneralize(F) { return *this; }
    OpAICoreDef& AddConfig(const char* soc) { return socs_.push_back(soc), *this; }
    OpAICoreDef& AddConfig(const char* soc, const OpAICoreConfig&) { return AddConfig(soc); }
    // the lab's side
    TilingFunc tiling_ = nullptr;
    std::vector<std::string> socs_;
};

class OpMC2Def {
public:
    OpMC2Def& HcclGroup(const char*) { return *this; }
    OpMC2Def& HcclGroup(std::vector<const char*>) { return *this; }
};

class OpDef {
public:
    using InferShapeFunc = ge::graphStatus (*)(gert::InferShapeContext*);
    using InferTypeFunc = ge::graphStatus (*)(gert::InferDataTypeContext*);
    explicit OpDef(const char* type) : type_(type) {}
    OpParamDef& Input(const char* name) { return param(inputs_, name); }
    OpParamDef& Output(const char* name) { return param(outputs_, name); }
    OpAttrDef& Attr(const char* name) {
        for (auto& a : attrs_)
            if (a.name_ == name) return a;
        attrs_.reserve(64);
        return attrs_.emplace_back(name);
    }
    OpDef& SetInferShape(InferShapeFunc f) { return infer_shape_ = f, *this; }
    OpDef& SetInferDataType(InferTypeFunc f) { return infer_type_ = f, *this; }
    template <typename F> OpDef& SetInferShapeRange(F) { return *this; }
    OpDef& Comment(const char*) { return *this; }
    template <typename S> OpDef& Comment(S, const char*) { return *this; }
    OpDef& FormatMatchMode(FormatCheckOption) { return *this; }
    OpDef& EnableFallBack() { return *this; }
    OpAICoreDef& AICore() { return aicore_; }
    OpMC2Def& MC2() { return mc2_; }
    // the lab's side
    std::string type_;
    std::vector<OpParamDef> inputs_, outputs_;
    std::vector<OpAttrDef> attrs_;
    InferShapeFunc infer_shape_ = nullptr;
    InferTypeFunc infer_type_ = nullptr;
    OpAICoreDef aicore_;
private:
    static OpParamDef& param(std::vector<OpParamDef>& all, const char* name) {
        for (auto& p : all)
            if (p.name_ == name) return p;
        all.reserve(64);  // the caller goes on with a reference
        return all.emplace_back(name);
    }
    OpMC2Def mc2_;
};

}  // namespace ops
