// Properties of an operator that the fallback needs: derived once from its schema, then looked up.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "clock.h"
#include "operators.h"

namespace labdev {

using Stack = torch::jit::Stack;

// Operators that run on the cube, by where the length of their sums stands.
enum class Product { None, First, Second, SumOfBatch, Convolution, ConvolutionBackward, Attention, AttentionBackward };

struct OpFacts {
    enum class Use : uint8_t { Read, Write, ReadWrite };
    uint32_t name = 0;  // in the timeline
    Product product = Product::None;
    bool random = false;      // draws random numbers
    bool waits = false;       // its answer (a number, or a shape) is needed on the host: the host waits for the device
    bool view = false;        // makes a view: no work for the device
    bool gathers = false;     // reads only the rows of its first argument that it is asked for
    bool bags = false;        // and adds them up: argument 1 says which
    bool collective = false;  // moves its tensors to and from other processes
    bool silent = false;      // returns nothing: what it writes shows in its arguments only
    int generator = -1;       // index of an optional generator argument
    OpClass kind = OpClass::Elementwise;  // what it costs
    // indices of the arguments that say more of that: the dimensions that it works along (last_dims: as many of the
    // last ones), groups of channels, a mask that leaves half out, a transposed convolution
    int along = -1, groups = -1, causal = -1, transposed = -1;
    bool last_dims = false, each_channel = false;
    std::vector<Use> uses;  // one an argument
};

inline bool one_of(const std::string& name, std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
}

inline OpFacts make_facts(const c10::OperatorHandle& op) {
    const auto& schema = op.schema();
    const std::string& full = schema.name();  // without the overload: structured operators arrive as mm.out
    std::string name = full.rfind("aten::", 0) == 0 ? full.substr(6) : full;
    const std::string as_called = name;
    if (name.size() > 3 && name.back() == '_') name.pop_back();  // addmm_ is the product that addmm is
    OpFacts f;
    f.name = virtual_clock().intern(full);
    f.product = one_of(name, {"mm", "bmm", "dot", "vdot"})                            ? Product::First
                : one_of(name, {"addmm", "_addmm_activation", "baddbmm", "addmv"})    ? Product::Second
                : one_of(name, {"addbmm"})                                            ? Product::SumOfBatch
                : one_of(name, {"convolution", "convolution_overrideable"})           ? Product::Convolution
                : one_of(name, {"convolution_backward"})                              ? Product::ConvolutionBackward
                : name == "_scaled_dot_product_fused_attention_overrideable"          ? Product::Attention
                : name == "_scaled_dot_product_fused_attention_overrideable_backward" ? Product::AttentionBackward
                                                                                      : Product::None;
    f.kind = class_of(full);
    f.each_channel = name.find("batch_norm") != std::string::npos;
    f.bags = one_of(name, {"_embedding_bag", "_embedding_bag_forward_only"});
    f.gathers = f.bags || one_of(name, {"index", "index_select", "gather", "embedding", "take"});
    f.random = op.hasTag(at::Tag::nondeterministic_seeded);
    f.waits = op.hasTag(at::Tag::data_dependent_output) || op.hasTag(at::Tag::dynamic_output_shape);
    f.collective = full.rfind("c10d::", 0) == 0;
    f.silent = schema.returns().empty();
    f.view = !f.silent;
    for (const auto& r : schema.returns()) {
        const auto* alias = r.alias_info();
        if (!alias || alias->isWrite()) f.view = false;
        const auto kind = r.type()->kind();
        if (schema.returns().size() == 1 && (kind == c10::TypeKind::BoolType || kind == c10::TypeKind::IntType ||
                                             kind == c10::TypeKind::FloatType || kind == c10::TypeKind::NumberType))
            f.waits = true;
    }
    const bool fills = f.random || one_of(as_called, {"fill_", "zero_"});  // without reading what was there
    for (size_t i = 0; i < schema.arguments().size(); ++i) {
        const auto& a = schema.arguments()[i];
        // the fused optimizers' schemas let them scale the gradients, which they do for a GradScaler alone
        const bool scaled = f.kind == OpClass::Optimizer && a.name() == "grads";
        const bool writes = a.alias_info() && a.alias_info()->isWrite() && !scaled;
        f.uses.push_back(f.collective          ? OpFacts::Use::ReadWrite  // their schemas do not say what they write
                         : !writes             ? OpFacts::Use::Read
                         : a.is_out() || fills ? OpFacts::Use::Write
                                               : OpFacts::Use::ReadWrite);
        const std::string& called = a.name();
        if (called == "dim" || called == "normalized_shape") f.along = int(i), f.last_dims = called != "dim";
        if (called == "group" || called == "groups") f.groups = int(i);
        if (called == "is_causal") f.causal = int(i);
        if (called == "transposed") f.transposed = int(i);
        if (auto optional = a.type()->cast<c10::OptionalType>())
            if (optional->getElementType()->kind() == c10::TypeKind::GeneratorType) f.generator = int(i);
    }
    return f;
}

// `room` holds the result for an operator that is not cached: one of a library that a notebook's cell defines anew at
// every run, possibly with another schema at the same address.
inline const OpFacts& facts_of(const c10::OperatorHandle& op, OpFacts& room) {
    static thread_local std::unordered_map<const void*, OpFacts> known;  // a table a thread: no lock on the way
    const auto& schema = op.schema();
    if (schema.name().compare(0, 6, "aten::") != 0 && schema.name().compare(0, 6, "c10d::") != 0)
        return room = make_facts(op);
    auto it = known.find(&schema);
    if (it == known.end()) it = known.emplace(&schema, make_facts(op)).first;
    return it->second;
}

// Replaces every defined tensor in an argument or result, also inside lists, by f(tensor).
template <class F> void map_tensors(c10::IValue& v, F&& f) {
    if (v.isTensor()) {
        at::Tensor t = std::move(v).toTensor();
        v = t.defined() ? f(std::move(t)) : std::move(t);
    } else if (v.isTensorList()) {
        c10::List<at::Tensor> out;
        auto in = v.toTensorVector();
        v = c10::IValue();  // so that no other reference exists while the tensors are replaced
        out.reserve(in.size());
        for (at::Tensor& t : in) out.push_back(t.defined() ? f(std::move(t)) : at::Tensor());
        v = std::move(out);
    } else if (v.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> out;
        for (const auto& t : v.toOptionalTensorVector())
            out.push_back(t && t->defined() ? std::optional<at::Tensor>(f(at::Tensor(*t))) : t);
        v = std::move(out);
    } else if (v.isList() && v.toListRef().size() && v.toListRef()[0].isTensorList()) {  // Tensor[][] of a collective
        c10::List<c10::List<at::Tensor>> out;
        for (const c10::IValue& list : v.toListRef()) {
            c10::IValue inner = list;
            map_tensors(inner, f);
            out.push_back(inner.toTensorList());
        }
        v = std::move(out);
    }
}

}  // namespace labdev
