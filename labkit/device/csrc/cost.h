// How long an operator takes on the modelled device: a roofline with a floor.
//
//   time = launch + max(bytes / HBM rate, work / rate of the unit that does it)
//
// Bytes are the least that the operator must move: each argument and each result once. An operator that a real NPU
// fuses with its neighbours is charged separately here, as the CPU decomposes it.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <algorithm>

#include "alias.h"
#include "clock.h"
#include "facts.h"

namespace labdev {

// Bytes that reading the tensor moves; an expanded tensor is read once.
inline double bytes_of(const Tensor& t) {
    return double(std::min(size_t(t.numel()) * t.element_size(), storage_of(t)->nbytes()));
}

// Floating point operations of a product (a multiply-add counts as two): `depth` multiply-adds for each element of the
// result, or `all` where the result does not say it.
struct Flops { double depth = 0, all = 0; };

// `args` are the operator's arguments, in the order of its schema.
inline Flops product_flops(const OpFacts& facts, c10::ArrayRef<c10::IValue> args) {
    auto t = [&](size_t i) -> const Tensor& { return args[i].toTensor(); };
    auto channel = [](const Tensor& weight) {  // elements of the kernel of one channel
        return double(weight.numel()) / double(std::max<int64_t>(1, weight.size(0)));
    };
    switch (facts.product) {
    case Product::None: return {};
    case Product::First: return {double(t(0).size(-1))};   // mm, bmm, dot
    case Product::Second: return {double(t(1).size(-1))};  // addmm, baddbmm, addmv: argument 0 is added
    case Product::SumOfBatch: return {double(t(1).size(0) * t(1).size(-1))};
    case Product::Convolution: {
        const bool transposed = args[6].toBool();
        return transposed ? Flops{0, 2.0 * double(t(0).numel()) * channel(t(1))} : Flops{channel(t(1))};
    }
    case Product::ConvolutionBackward:  // two convolutions: for the input and for the weight
        return {0, 4.0 * double(t(0).numel()) * channel(t(2))};
    }
    return {};
}

struct Cost {
    double read = 0, written = 0;  // bytes
    double table = 0;              // bytes of the argument that a gathering operator reads rows of
    double elements = 0;           // bytes of the largest result: what the vector unit puts through
    double flops = 0;
    bool half = false;

    Work work(const OpFacts& facts) const {
        const Rates& r = virtual_clock().rates();
        const double bytes = read + std::min(table, written) + written;
        const bool cube = facts.product != Product::None;
        const double compute = cube ? flops / (half ? r.cube_half : r.cube_float) : elements / r.vector;
        return {facts.name, cube ? Engine::Cube : Engine::Vector, r.launch + std::max(bytes / r.hbm, compute), bytes,
                flops};
    }
};

}  // namespace labdev
