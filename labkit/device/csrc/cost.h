// What an operator that PyTorch calls is charged: its tensors as operators.h sees them, through the L2 of its device.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>
#include <string>
#include <unordered_map>

#include "alias.h"
#include "arena.h"
#include "clock.h"
#include "facts.h"
#include "operators.h"
#include "recorder.h"

namespace labdev {

// Bytes that reading the tensor moves; an expanded tensor is read once.
inline double bytes_of(const Tensor& t) {
    return double(std::min(size_t(t.numel()) * t.element_size(), storage_of(t)->nbytes()));
}

// Where `t` lies: from its first byte to the end of its storage if there are gaps in it.
struct Span {
    const char* begin = nullptr;
    size_t bytes = 0;
};
inline Span span_of(const Tensor& t) {
    const auto* storage = storage_of(t);
    const size_t offset = std::min(size_t(t.storage_offset()) * t.element_size(), storage->nbytes());
    const size_t rest = storage->nbytes() - offset;
    const bool dense = t.is_non_overlapping_and_dense();
    return {static_cast<const char*>(storage->data()) + offset, dense ? std::min(rest, t.nbytes()) : rest};
}

// The current stream waits for a collective that works on `t`.
inline void land(const Tensor& t) {
    const int device = t.device().index();
    const Span s = span_of(t);
    if (s.bytes) virtual_clock().land(device, current_stream(device), s.begin, s.bytes);
}

// Stays valid. What PyTorch returns does not before it gave out views of literals.
inline const char* type_name(at::ScalarType type) {
    static thread_local std::unordered_map<int, std::string> names;
    auto [it, fresh] = names.try_emplace(int(type));
    if (fresh) it->second = std::string(c10::getDtypeNames(type).first);
    return it->second.c_str();
}

// What an operator reads or writes of `t`.
inline Operand operand_of(const Tensor& t, bool reads, bool writes) {
    Operand o;
    o.shape(t.sizes(), t.strides());
    o.at = uint64_t(static_cast<const char*>(t.const_data_ptr()) - static_cast<const char*>(arena().base()));
    o.bytes = bytes_of(t);
    o.item = int(t.element_size());
    o.floating = t.is_floating_point() || t.is_complex();
    if (Recorder::one().on()) o.dtype = type_name(t.scalar_type());
    o.reads = reads;
    o.writes = writes;
    return o;
}

// Floating point operations of a product (a multiply-add counts as two): `depth` multiply-adds for each element of the
// result, or `all` where the result does not say it.
struct Flops { double depth = 0, all = 0; };

// What is asked before the operator itself has looked at its arguments. 0 for a dimension that is not there: the
// operator says so, in its own words.
inline double size_of(const Tensor& t, int64_t d) {
    return t.defined() && t.dim() > (d < 0 ? -d - 1 : d) ? double(t.size(d)) : 0;
}

// Two products for each pair of a query and a key; of a causal mask's pairs half are left out.
inline double attention_flops(const Tensor& query, const Tensor& key, const Tensor& value, bool causal) {
    const double depth = size_of(query, -1), rows = double(query.numel()) / std::max(1.0, depth);
    const double pairs = rows * size_of(key, -2) * (causal ? 0.5 : 1);
    return 2.0 * pairs * (depth + size_of(value, -1));
}

// Of a convolution's backward, whose last argument is a mask: the gradients of input and weight that are asked for.
inline int64_t gradients(c10::ArrayRef<c10::IValue> args) {
    const auto asked = args.back().toBoolList();
    return int64_t(asked.get(0)) + int64_t(asked.get(1));
}

// `args` are the operator's arguments, in the order of its schema.
inline Flops product_flops(const OpFacts& facts, c10::ArrayRef<c10::IValue> args) {
    auto t = [&](size_t i) -> const Tensor& { return args[i].toTensor(); };
    auto channel = [](const Tensor& weight) {  // elements of the kernel of one channel
        return double(weight.numel()) / std::max(1.0, size_of(weight, 0));
    };
    switch (facts.product) {
    case Product::None: return {};
    case Product::First: return {size_of(t(0), -1)};   // mm, bmm, dot
    case Product::Second: return {size_of(t(1), -1)};  // addmm, baddbmm, addmv: argument 0 is added
    case Product::SumOfBatch: return {size_of(t(1), 0) * size_of(t(1), -1)};
    case Product::Convolution: {
        const bool transposed = args[6].toBool();
        return transposed ? Flops{0, 2.0 * double(t(0).numel()) * channel(t(1))} : Flops{channel(t(1))};
    }
    case Product::ConvolutionBackward:  // a convolution for the input and one for the weight, where asked for
        return {0, 2.0 * double(gradients(args)) * double(t(0).numel()) * channel(t(2))};
    case Product::Attention: return {0, attention_flops(t(0), t(1), t(2), args[5].toBool())};
    case Product::AttentionBackward:  // five products for the two of the way there
        return {0, 2.5 * attention_flops(t(1), t(2), t(3), args[13].toBool())};
    }
    return {};
}

// What the arguments say of the work, apart from their tensors. `args`: in the order of the operator's schema.
inline void ask(const OpFacts& facts, c10::ArrayRef<c10::IValue> args, Call& call) {
    call.kind = facts.kind;
    call.groups = facts.each_channel                                        ? -1
                  : facts.groups >= 0 && args[size_t(facts.groups)].isInt() ? args[size_t(facts.groups)].toInt()
                                                                            : 0;
    call.causal = facts.causal >= 0 && args[size_t(facts.causal)].isBool() && args[size_t(facts.causal)].toBool();
    call.transposed = facts.transposed >= 0 && args[size_t(facts.transposed)].toBool();
    if (facts.product == Product::ConvolutionBackward) call.gradients = gradients(args);
    if (facts.along < 0) return;
    const c10::IValue& along = args[size_t(facts.along)];
    if (along.isInt()) call.along.push_back(along.toInt());
    else if (along.isIntList() && facts.last_dims)
        for (int64_t i = along.toIntList().size(); i > 0; --i) call.along.push_back(-i);
    else if (along.isIntList()) call.along = along.toIntVector();
}

// The card's convolutions work on channels in groups of 16, so it converts their arguments and results (TransData).
inline Work format_conversion(const Operand& o, int device) {
    static const uint32_t name = virtual_clock().intern("TransData");
    constexpr uint64_t kElsewhere = uint64_t(1) << 52;  // the workspace
    const int64_t n = o.size(o.dims), c = o.dims > 1 ? o.size(o.dims - 1) : 1,
                  area = o.numel / std::max<int64_t>(1, n * c);
    Call call;
    call.kind = OpClass::Copy;
    Operand plain = o, grouped = o;
    const int64_t sizes[] = {n, area, c}, to[] = {area * c, c, 1}, from[] = {c * area, 1, area};
    plain.shape(c10::IntArrayRef(sizes), c10::IntArrayRef(from));
    grouped.shape(c10::IntArrayRef(sizes), c10::IntArrayRef(to));
    grouped.at = kElsewhere + (o.at & ~uint64_t(511));
    grouped.bytes = o.bytes * std::ceil(double(c) / 16) * 16 / double(std::max<int64_t>(1, c));
    plain.reads = o.reads, plain.writes = o.writes;
    grouped.reads = o.writes, grouped.writes = o.reads;
    call.operands = {plain, grouped};
    const Traffic traffic = virtual_clock().with_l2(device, [&](L2& l2) { return pass(l2, call); });
    static thread_local std::string shapes[2];
    if (Recorder::one().on()) {
        std::string spatial;
        for (int i = o.dims - 2; i > 0; --i) spatial += std::to_string(o.size(i)) + ",";
        const std::string first = std::to_string(n) + ",", type = std::string(":") + o.dtype;
        const std::string outer = first + std::to_string(c) + ",", inner = first + std::to_string((c + 15) / 16) + ",";
        shapes[0] = outer + spatial.substr(0, spatial.size() - 1) + type + ":NCHW";
        shapes[1] = inner + spatial + "16" + type + ":NC1HWC0";
    }
    Parts parts;
    const double ns = CostModel(virtual_clock().rates()).ns(call, traffic, &parts);
    return {name,
            Engine::Vector,
            ns,
            plain.bytes + grouped.bytes,
            0,
            &shapes[o.writes],
            &shapes[!o.writes],
            int(parts.cores),
            parts};
}

struct Cost {
    double read = 0, written = 0;  // bytes
    double table = 0;              // bytes of the argument that a gathering operator reads rows of
    double rows = 0;               // bytes of the rows that it reads; 0: as many as it writes
    double flops = 0;
    Call call;
    std::string inputs, outputs;  // described, where somebody records

    void reads(const Tensor& t, bool is_table) {
        (is_table ? table : read) += bytes_of(t);
        call.operands.push_back(operand_of(t, true, false));
        if (Recorder::one().on()) (inputs += inputs.empty() ? "" : ";") += described(t);
    }
    void writes(const Tensor& t) {
        written += bytes_of(t);
        call.operands.push_back(operand_of(t, false, true));
        if (Recorder::one().on()) (outputs += outputs.empty() ? "" : ";") += described(t);
    }

    // index_put_, index_copy_ and scatter_ on a large tensor touch the rows that they write, not all of it: at most as
    // many bytes as are given to them.
    void rows_in_place() {
        if ((call.kind != OpClass::GatherRows && call.kind != OpClass::Gather) || call.operands.size() < 3) return;
        Operand &into = call.operands.front(), &result = call.operands.back();
        if (!into.reads || !result.writes || into.at != result.at) return;
        double given = 0;
        for (size_t i = 1; i + 1 < call.operands.size(); ++i) given += call.operands[i].bytes;
        const double saved = std::max(0.0, into.bytes - given);
        into.bytes -= saved, result.bytes -= saved;
        read -= saved, written -= saved;
    }

    Work work(const OpFacts& facts, const std::string& name, int device) {
        VirtualClock& clock = virtual_clock();
        const double taken = std::min(table, rows > 0 ? rows : written);
        if (table > 0 && !call.operands.empty())
            call.operands.front().bytes = std::min(call.operands.front().bytes, std::max(1.0, taken));
        rows_in_place();
        settle(name, call);
        const Traffic traffic = clock.with_l2(device, [&](L2& l2) { return pass(l2, call); });
        const Engine engine = call.kind == OpClass::Matmul      ? Engine::Cube
                              : call.kind == OpClass::Attention ? Engine::Cores
                                                                : Engine::Vector;
        Parts parts;
        const double ns = CostModel(clock.rates()).ns(call, traffic, &parts);
        return {facts.name, engine, ns, read + taken + written, flops, &inputs, &outputs, int(parts.cores), parts};
    }
};

}  // namespace labdev
