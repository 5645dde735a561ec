// How long an operator takes on the modelled device: its class, what it moves and computes, the class's constants.
//
//   time = fixed + spread * (sqrt(cores) - 1) + block * (cores - 1) + the longer of moving and computing
//          (of a product also a part of the shorter)
//
// Moving: what the L2 does not hold comes from HBM, the rest from the L2; reading and writing take turns. Computing: a
// core's instructions on 64 elements, the rows it begins, or the cube's fractals by shape. The constants are in the
// chip's table ([operators]), each class with the published rows that it was fitted on; `labkit clock operators` has
// its error. PyTorch takes no part here, so that a table of shapes is judged by the same function.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "clock.h"

namespace labdev {

// One tensor of an operator: what it reads or writes of it, and how that lies in memory.
struct Operand {
    static constexpr int kDims = 6;  // more dimensions are folded into the first
    uint64_t at = 0;                 // address of its first byte
    double bytes = 0;                // that passing over all of it moves
    int64_t numel = 0;
    int64_t sizes[kDims] = {}, strides[kDims] = {};  // strides in elements
    int dims = 0, rank = 0, item = 1;  // rank: dimensions before they were folded; item: bytes of an element
    bool floating = true, reads = false, writes = false;
    const char* dtype = "";  // as PyTorch names it; only for whoever records

    template <class Sizes> void shape(const Sizes& size, const Sizes& stride) {
        const int n = int(size.size()), folded = std::max(0, n - kDims);
        dims = n - folded;
        rank = n;
        numel = 1;
        for (int i = 0; i < n; ++i) numel *= int64_t(size[size_t(i)]);
        for (int i = 0; i < dims; ++i) {
            sizes[i] = size[size_t(i + folded)];
            strides[i] = stride[size_t(i + folded)];
        }
        for (int i = 0; i < folded; ++i) sizes[0] *= size[size_t(i)];
    }
    int64_t size(int from_behind) const { return from_behind <= dims ? sizes[dims - from_behind] : 1; }
};

// What an operator is asked to do. operands: arguments, then results, in the order of its schema.
struct Call {
    OpClass kind = OpClass::Elementwise;
    std::vector<Operand> operands;
    std::vector<int64_t> along;  // the first operand's dimensions along which a row lies; none: what the result lacks
    int64_t groups = 0;          // of a convolution; of a norm's channels, -1: each channel is one
    bool causal = false, transposed = false, backward = false;
    int64_t gradients = 2;  // of a convolution's backward: for the input and for the weight
    // set by settle()
    int64_t width = 0, inner = 1;  // a row's elements; elements between two of them (of a group: of one channel)
    int64_t batch = 1, m = 0, n = 0, k = 0, times = 1;  // of products
    bool half = true;
};

// ---- which class

// The operator's name without its namespace and the underscores around it: "_foreach_add_" is foreach_add.
inline std::string plain_name(const std::string& full) {
    const size_t colons = full.rfind("::");
    std::string name = colons == std::string::npos ? full : full.substr(colons + 2);
    name.erase(0, std::min(name.find_first_not_of('_'), name.size()));
    while (!name.empty() && name.back() == '_') name.pop_back();
    return name;
}

// Elementwise where nothing is known; rows that become numbers are then a reduction, see CostModel.
inline OpClass class_of(const std::string& full) {
    const std::string name = plain_name(full);
    auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
    auto any = [&](std::initializer_list<const char*> names) {
        return std::any_of(names.begin(), names.end(), [&](const char* n) { return name == n; });
    };
    const bool backward = has("backward");
    if (has("attention")) return OpClass::Attention;
    if (has("convolution") || any({"mm", "bmm", "addmm", "addmm_activation", "baddbmm", "addbmm", "addmv", "mv", "dot",
                                   "vdot", "int_mm", "scaled_mm", "grouped_mm"}))
        return OpClass::Matmul;
    if (has("group_norm") || has("batch_norm") || has("instance_norm"))
        return backward ? OpClass::NormBackward : OpClass::GroupNorm;
    if (has("layer_norm") || has("rms_norm")) return backward ? OpClass::NormBackward : OpClass::Norm;
    if (has("softmax")) return OpClass::Softmax;
    if (name.rfind("fused_adam", 0) == 0 || name.rfind("fused_sgd", 0) == 0 || has("apply_adam"))
        return OpClass::Optimizer;
    if (name.rfind("foreach_", 0) == 0 || has("amp_foreach")) return OpClass::Foreach;
    if (any({"mish", "mish_backward", "softplus", "softplus_backward", "log_sigmoid_forward", "log_sigmoid_backward"}))
        return OpClass::Softplus;
    if (has("gelu") || has("silu") || has("swiglu") || has("selu") || any({"elu", "elu_backward", "celu", "glu"}))
        return OpClass::Activation;
    if (any({"exp",   "exp2", "expm1", "log",   "log2",   "log10",  "log1p",   "sin",   "cos",   "tan",      "tanh",
             "asin",  "acos", "atan",  "atan2", "sinh",   "cosh",   "asinh",   "acosh", "atanh", "sigmoid",  "sqrt",
             "rsqrt", "pow",  "erf",   "erfc",  "erfinv", "lgamma", "digamma", "logit", "sinc",  "logaddexp"}))
        return OpClass::Transcendental;
    if (has("dropout") || any({"uniform", "normal", "bernoulli", "random", "exponential", "randperm", "multinomial",
                               "rand", "randn", "randint"}))
        return OpClass::Random;
    if (any({"fill", "zero", "zeros", "ones", "full", "arange", "eye", "linspace"})) return OpClass::Fill;
    if (any({"to_copy"})) return OpClass::Cast;
    if (any({"copy", "clone", "cat", "contiguous", "constant_pad_nd", "roll", "flip", "repeat", "tril", "triu"}))
        return OpClass::Copy;
    if (any({"index_select", "embedding", "embedding_bag", "embedding_bag_forward_only", "embedding_dense_backward",
             "index_add", "index_copy", "index", "index_put", "index_put_impl"}))
        return OpClass::GatherRows;
    if (any({"gather", "take", "scatter", "scatter_add", "scatter_reduce", "index_fill", "nll_loss_forward",
             "nll_loss_backward"}))
        return OpClass::Gather;
    if (any({"sort", "topk", "argsort", "kthvalue", "median", "unique2", "unique_dim"})) return OpClass::Sort;
    if (any({"sum",     "mean",  "prod",      "amax",          "amin",     "argmax",  "argmin",
             "aminmax", "var",   "var_mean",  "std",           "std_mean", "norm",    "linalg_vector_norm",
             "all",     "any",   "logsumexp", "count_nonzero", "cumsum",   "cumprod", "logcumsumexp",
             "cummax",  "cummin"}))
        return OpClass::Reduce;
    return OpClass::Elementwise;
}

// ---- the sizes that its class goes by

inline void settle_rows(Call& call) {
    const Operand& x = call.operands.front();
    const int64_t samples = x.dims > 0 ? std::max<int64_t>(1, x.sizes[0]) : 1;
    const int64_t channels = x.dims > 1 ? std::max<int64_t>(1, x.sizes[1]) : 1;
    if (call.groups) {
        call.width = x.numel / (call.groups < 0 ? channels : samples * call.groups);
        call.inner = call.kind == OpClass::GroupNorm ? x.numel / (samples * channels) : 1;
        return;
    }
    int last = -1;
    uint32_t counted = 0;  // the first of the kept dimensions stands for all in front of it
    call.width = call.inner = 1;
    for (int64_t d : call.along) {
        const int i = std::max(0, int(d < 0 ? d + x.rank : d) - (x.rank - x.dims));
        if (i >= x.dims || counted >> i & 1) continue;
        counted |= 1u << i;
        call.width *= x.sizes[i];
        last = std::max(last, i);
    }
    for (int i = last + 1; i < x.dims && last >= 0; ++i) call.inner *= x.sizes[i];
    if (last < 0) call.width = x.numel / std::max<int64_t>(1, call.operands.back().numel);
}

inline void settle_product(const std::string& name, Call& call) {
    std::vector<const Operand*> in;
    const Operand* out = nullptr;
    for (const Operand& o : call.operands) {
        if (o.reads) in.push_back(&o);
        if (o.writes && !out) out = &o;
    }
    if (in.size() < 2 || !out) return;
    auto channels = [](const Operand& o) { return std::max<int64_t>(1, o.dims > 1 ? o.sizes[1] : 1); };
    if (name.find("convolution") != std::string::npos) {
        if (call.backward && in.size() < 3) return;  // its first argument is the gradient
        const Operand &x = *in[call.backward], &w = *in[size_t(call.backward) + 1], &y = call.backward ? *in[0] : *out;
        const int64_t filter = w.numel / std::max<int64_t>(1, w.sizes[0]), groups = std::max<int64_t>(1, call.groups);
        call.half = w.item <= 2;
        call.batch = groups;
        call.times = call.backward ? call.gradients : 1;
        call.m = call.transposed ? x.numel / channels(x) : y.numel / channels(y);
        call.n = call.transposed ? filter : channels(y) / groups;
        call.k = call.transposed ? channels(x) / groups : filter;
        return;
    }
    // What is added stands before the factors, scales and offsets behind them.
    const size_t first = name.find("scaled") != std::string::npos || name.find("grouped") != std::string::npos
                             ? 0
                             : in.size() - 2;
    const Operand &a = *in[first], &b = *in[first + 1];
    call.half = b.item <= 2;
    call.k = a.size(1);
    call.m = a.dims > 1 ? a.size(2) : 1;
    call.n = b.dims > 1 ? b.size(1) : 1;
    call.batch = std::max<int64_t>(1, a.numel / std::max<int64_t>(1, call.m * call.k));
    if (name == "addbmm") call.k *= call.batch, call.batch = 1;
}

// When all operands are known. `full`: the operator's name.
inline void settle(const std::string& full, Call& call) {
    if (call.operands.empty()) return;
    call.backward = full.find("backward") != std::string::npos;
    call.half = call.operands.front().item <= 2;
    if (call.kind == OpClass::Matmul) settle_product(plain_name(full), call);
    else settle_rows(call);
}

// ---- how long

class CostModel {
public:
    explicit CostModel(const Rates& rates) : r_(rates) {}

    // ns: of a call whose traffic is known; `flops` of a product are 2 * batch * m * n * k * times. parts: how that
    // comes about.
    double ns(const Call& call, const Traffic& t, Parts* parts = nullptr) const {
        const Shape s = shape_of(call);
        const ClassCosts& c = r_.classes[int(s.kind)];
        if (parts) *parts = {c.fixed, 0, 0, 0, 1};
        if (s.elements <= 0) return c.fixed;
        const bool cube = s.kind == OpClass::Matmul || s.kind == OpClass::Attention;
        double cores = std::min(r_.aiv, std::ceil(s.elements * s.item / kBlockBytes));
        double cycles = 0;
        if (s.kind == OpClass::Matmul) cycles = product(call, c, cores);
        else if (s.kind == OpClass::Attention && call.operands.size() > size_t(call.backward) + 1)
            cycles = attention(call, c, cores);
        else if (s.rows > 0) cycles = on_rows(s, c, cores);
        else {
            const double computed = std::ceil(s.elements / std::max(1.0, cores) / kLanes) * repeat(s, c);
            const double begun = s.runs / std::max(1.0, cores) * c.row;
            cycles = s.single ? std::max(computed, begun) : computed + begun;
        }
        cores = std::max(1.0, cores);
        const double busy = cycles / r_.clock, spread = r_.spread * (std::sqrt(cores) - 1);
        // a product's own rate covers its way through the L2; what is not there yet shows in part
        const double moved = cube ? moving({t.missed, 0, 0, t.back}, kMany) : moving(t, cores);
        const double both = cube ? std::max(busy, moved) + r_.exposed * std::min(busy, moved) : std::max(busy, moved);
        if (parts) *parts = {c.fixed, spread + c.block * (cores - 1), moved, busy, cores};
        return c.fixed + spread + c.block * (cores - 1) + both;
    }

    // The class that a call is charged as: what looks elementwise may be a reduction, a copy a transpose.
    OpClass kind(const Call& call) const { return shape_of(call).kind; }

    // Reading and writing in turns, each as fast as HBM, the L2 and the cores allow, and what HBM loses by turning
    // round.
    double moving(const Traffic& t, double cores) const {
        const double in = std::min(r_.l2_read, cores * r_.core), out = std::min(r_.l2_write, cores * r_.core);
        return t.missed / std::min(in, r_.hbm) + t.held / in + t.written / out +
               (r_.back * t.back + r_.turn * std::min(t.missed, t.back)) / r_.hbm;
    }

private:
    static constexpr double kLanes = 64;         // elements of an instruction's repeat: 256 bytes of float
    static constexpr double kBlockBytes = 4096;  // of the widest operand that a core gets at least, by traces' blocks
    static constexpr double kTileBytes = 49152;  // of what is transposed: UB holds two that come and two that go
    static constexpr double kSquare = 16;        // elements along each side of what is transposed at once
    static constexpr double kDataBlock = 32;     // bytes that a transfer moves at least
    static constexpr double kKeys = 512;         // of an attention's inner tile
    static constexpr double kAhead = 2;          // steps that an attention's three stages take to fill and to empty
    static constexpr double kMany = 1e9;         // cores: the limit is elsewhere

    struct Shape {
        OpClass kind;
        double elements = 0, item = 1, rows = 0, width = 0, inner = 1, runs = 0, slower = 1;
        bool single = false;  // each element is moved by itself
        bool wide = false;    // arithmetic on 8-byte integers
    };
    Shape shape_of(const Call& call) const {
        Shape s{call.kind};
        double in = 0, out = 0, sum_in = 0, sum_out = 0;
        for (const Operand& o : call.operands) {
            s.item = std::max(s.item, double(o.item));
            double& most = o.writes ? out : in;
            most = std::max(most, double(o.numel));
            (o.writes ? sum_out : sum_in) += double(o.numel);
        }
        const OpClass k = call.kind;
        s.elements = std::max(in, out);
        if (k == OpClass::Elementwise && out > 0 && in >= 16 * out) s.kind = OpClass::Reduce;
        const bool lists = k == OpClass::Foreach || k == OpClass::Optimizer;
        if (k == OpClass::Optimizer) s.elements = sum_out / 3;  // a parameter and its two averages
        if (k == OpClass::Foreach) s.elements = std::max(sum_out, sum_in / 3);
        const bool by_rows = s.kind == OpClass::Reduce || k == OpClass::Softmax || k == OpClass::Norm ||
                             k == OpClass::NormBackward || k == OpClass::GroupNorm || k == OpClass::Sort;
        if (by_rows) {
            s.elements = in;
            s.width = double(call.width > 0 ? call.width : std::max(1.0, in / std::max(1.0, out)));
            s.inner = double(call.inner);
            s.rows = in / std::max(1.0, s.width);
        } else if (k == OpClass::Copy || k == OpClass::Cast) layout(call, s);
        else if (k == OpClass::GatherRows || k == OpClass::Gather) gathered(call, out, s);
        else if (k == OpClass::Activation && out > 0 && in >= 2 * out)  // packed: two halves of each row
            s.elements = out, s.runs = out / double(std::max<int64_t>(1, call.operands.back().size(1)));
        else if (!lists) s.runs = broadcast_runs(call, out);
        s.wide = std::any_of(call.operands.begin(), call.operands.end(), [&](const Operand& o) {
            return o.item >= 8 && o.reads && !o.floating && double(o.numel) >= in;
        });
        return s;
    }

    // Each index leads to a row of the first operand, or to one element.
    static void gathered(const Call& call, double out, Shape& s) {
        const double row = double(std::max<int64_t>(1, call.operands.front().size(1)));
        double found = 0, smallest = out;
        for (const Operand& o : call.operands) {
            if (!o.floating && o.item >= 4 && o.reads && &o != &call.operands.front())
                found = std::max(found, double(o.numel));
            else smallest = std::min(smallest, double(o.numel));
        }
        if (s.kind == OpClass::Gather) {
            s.elements = found > 0 ? found : out;
            return;
        }
        s.runs = found > 0 ? found : out / row;
        s.elements = call.operands.size() > 2 && found > 0 ? found * row : std::max(s.runs, smallest);
    }

    // Strided copies: how long the runs are that lie together on both sides. Shorter than a block of the memory each
    // element is moved by itself, as a transpose does.
    void layout(const Call& call, Shape& s) const {
        const Operand& to = call.operands.back();
        double read = 0, written = 0;
        for (const Operand& o : call.operands) {
            const double run = together(o, to);
            if (run < double(o.numel) || o.numel < to.numel)
                (o.writes ? written : read) += double(o.numel) / std::max(1.0, run);
        }
        s.runs = std::max(read, written);
        if (s.runs <= 1) return;
        const double run = s.elements / s.runs;
        bool turned = run * to.item < kDataBlock;
        for (const Operand& o : call.operands) turned = turned || permuted(o, to);
        if (turned) s.kind = OpClass::Transpose;
        if (run * to.item < kDataBlock) {
            s.runs = 0;
            s.single = true;
            // squares have an instruction of their own, a narrow side is filled up to one; meanwhile the tile is moved
            const double tile = std::sqrt(kTileBytes / to.item);
            for (const Operand& o : call.operands) {
                const double side = &o == &to ? before(to, call.operands.front()) : before(o, to);
                const double split = std::fmod(side * to.item, kDataBlock) != 0 ? r_.ragged : 1;
                s.runs = std::max(s.runs, double(to.numel) / std::min(side, tile) * split);
                s.slower = std::max(s.slower, kSquare / side);
            }
            s.slower *= std::max(1.0, to.item / 4.0);
        } else if (std::fmod(run * to.item, kDataBlock) != 0) s.runs *= r_.ragged;  // padded at both ends
    }

    // Elements of `o` that lie together before the dimension that comes first in `other`: a side of what is transposed.
    static double before(const Operand& o, const Operand& other) {
        int order[Operand::kDims];
        const int n = std::min(o.dims, other.dims);
        for (int i = 0; i < n; ++i) order[i] = i;
        std::stable_sort(order, order + n, [&](int a, int b) { return o.strides[a] < o.strides[b]; });
        double side = 1;
        for (int i = 0; i < n && (other.strides[order[i]] != 1 || other.sizes[order[i]] == 1); ++i)
            side *= double(std::max<int64_t>(1, o.sizes[order[i]]));
        return side;
    }

    // Whether another dimension than in `to` comes first in memory.
    static bool permuted(const Operand& o, const Operand& to) {
        for (int i = 0; i < std::min(o.dims, to.dims); ++i)
            for (int j = 0; j < i; ++j)
                if (o.sizes[i] > 1 && o.sizes[j] > 1 && o.strides[i] && o.strides[j] &&
                    (o.strides[j] < o.strides[i]) != (to.strides[j] < to.strides[i]))
                    return true;
        return false;
    }

    // Elements of `o` that lie together, in the order in which `to` lies in memory.
    static double together(const Operand& o, const Operand& to) {
        int order[Operand::kDims];
        const int n = std::min(o.dims, to.dims);
        for (int i = 0; i < n; ++i) order[i] = i;
        std::stable_sort(order, order + n, [&](int a, int b) { return to.strides[a] > to.strides[b]; });
        int64_t run = 1;
        for (int i = n; i-- > 0;) {
            if (o.sizes[order[i]] == 1) continue;
            if (o.sizes[order[i]] != to.sizes[order[i]]) return double(run * o.sizes[order[i]]);  // a part of the other
            if (o.strides[order[i]] == 0 && run >= 64) return double(o.numel);  // a broadcast row is read once
            if (o.strides[order[i]] != run) return double(run);
            run *= o.sizes[order[i]];
        }
        return double(o.numel);
    }

    // Rows of the result on each of which an argument is one number: that is spread over the row first.
    static double broadcast_runs(const Call& call, double out) {
        if (call.operands.empty()) return 0;
        const Operand& to = call.operands.back();
        double shortest = out;
        for (const Operand& o : call.operands) {
            if (o.numel <= 1 || o.numel == to.numel || &o == &to || o.size(1) != 1) continue;
            double run = 1;
            for (int i = 1; i <= to.dims && o.size(i) == 1; ++i) run *= double(to.size(i));
            shortest = std::min(shortest, run);
        }
        return shortest < out ? out / std::max(1.0, shortest) : 0;
    }

    double repeat(const Shape& s, const ClassCosts& c) const {
        const bool computes = s.kind == OpClass::Elementwise || s.kind == OpClass::Reduce;
        if (s.kind == OpClass::Transpose && !s.single) return r_.classes[int(OpClass::Copy)].repeat;
        return computes && s.wide ? r_.int64_repeat : c.repeat * s.slower;
    }

    double on_rows(const Shape& s, const ClassCosts& c, double& cores) const {
        if (s.kind == OpClass::GroupNorm) {  // a group is one core's; a channel that ends within a block begins anew
            cores = std::min(r_.aiv, s.rows);
            const bool ragged = s.inner > 1 && std::fmod(s.inner * s.item, kDataBlock) != 0;
            const double begun = ragged ? s.width / s.inner : 1;
            return std::ceil(s.rows / std::max(1.0, cores)) * (begun * c.row + std::ceil(s.width / kLanes) * c.repeat);
        }
        if (s.inner > 1) {  // along another dimension than the last: whole vectors of `inner` elements are combined
            const double vectors = s.rows / s.inner * s.width, repeats = std::ceil(s.inner / kLanes);
            cores = std::min(r_.aiv, vectors);
            return std::ceil(vectors / cores) * (r_.strided_row + repeats * c.repeat * r_.strided);
        }
        cores = std::min(r_.aiv, std::max(cores, s.rows));
        const double shares = std::max(1.0, std::floor(cores / std::max(1.0, s.rows)));  // cores that share a row
        return std::ceil(s.rows / cores) * (c.row + std::ceil(s.width / shares / kLanes) * c.repeat);
    }

    // Cycles of a cube core: tiles of the result in rounds over the cores. Each step along k takes the fractals of the
    // tile or the bytes of its two sides, whichever is longer. The tile is the one that is done first.
    double product(const Call& call, const ClassCosts& c, double& cores) const {
        const double k0 = call.half ? 16 : 4, fm = std::ceil(double(call.m) / 16), fn = std::ceil(double(call.n) / 16);
        const double steps = std::ceil(double(call.k) / k0);
        double best = -1;
        for (double tm = 1; tm <= 16; tm *= 2)
            for (double tn = 2; tn <= 16; tn *= 2) {
                if (tm * tn > 128) continue;
                const double tiles = std::ceil(fm / tm) * std::ceil(fn / tn) * double(call.batch);
                const double a = std::min(tm, fm), b = std::min(tn, fn);
                const double step = std::max(a * b * c.repeat, (a + b) * 16 * k0 * (call.half ? 2 : 4) / r_.cube_load);
                const double cycles = std::ceil(tiles / r_.aic) * (c.row + steps * step);
                if (best < 0 || cycles < best) best = cycles, cores = std::min(tiles, r_.aic);
            }
        return best * double(call.times);
    }

    // 128 queries of one head are a task, and the tasks are shared out over the vector cores; the two of a core have
    // one cube. A task goes through its keys tile by tile: first product, softmax, second product. These overlap from
    // tile to tile and from task to task, but the first softmax waits for its product, and behind the last one comes
    // another: two steps more than there are tiles. (All of it from the vendor's published tiling: split over vector
    // cores, 128 queries and 512 keys in the precision that torch_npu asks for.)
    double attention(const Call& call, const ClassCosts& c, double& cores) const {
        const Operand &q = call.operands[call.backward], &k = call.operands[size_t(call.backward) + 1];
        if (!q.numel || !k.numel) return 0;  // no query or no key: nothing that the sizes below could be divided by
        const double rows = double(q.size(2)), columns = double(k.size(2)), depth = double(q.size(1));
        const double heads = double(q.numel) / std::max(1.0, rows * depth),
                     shared = heads * columns * depth / double(k.numel);
        const double queries = rows * std::max(1.0, rows < 64 ? std::floor(std::min(shared, 128 / rows)) : 1.0);
        const double tasks = std::ceil(queries / 128) * heads * rows / queries, tile = std::min(128.0, queries);
        // tiles of keys that are masked altogether are left out
        const double seen = call.causal ? std::min(columns, columns - std::min(rows, columns) / 2 + kKeys / 2)
                                        : columns;
        const double tiles = call.causal ? std::max(1.0, seen / kKeys) : std::ceil(seen / kKeys);
        const double pair = r_.aiv / r_.aic;  // vector cores that have one cube between them
        const double vector = std::ceil(tile * seen / kLanes) * c.repeat;
        const double cube = std::min(pair, tasks) * 2 * std::ceil(tile / 16) * std::ceil(seen / 16) *
                            std::ceil(depth / 16) * (call.half ? 1 : 4);
        cores = std::min(std::ceil(tasks / pair), r_.aic);
        const double steps = std::ceil(tasks / r_.aiv) * tiles + kAhead;
        return steps * (c.row + std::max(vector, cube) / tiles) * (call.backward ? 2.5 : 1);
    }

    const Rates& r_;
};

// The traffic of a call through what the L2 holds: all operands side by side, slice by slice.
inline Traffic pass(L2& l2, const Call& call) {
    Traffic t;
    double most = 0;
    for (const Operand& o : call.operands) most = std::max(most, o.bytes);
    const int slices = int(std::clamp(most / double(L2::kChunk), 1.0, 4096.0));
    auto cut = [&](const Operand& o, int i) {  // where a slice ends: no chunk is in two of them
        const uint64_t end = o.at + uint64_t(o.bytes), at = o.at + uint64_t(o.bytes * i / slices);
        return i == slices ? end : std::max(o.at, at & ~(L2::kChunk - 1));
    };
    for (int i = 0; i < slices; ++i)
        for (const Operand& o : call.operands) {
            const uint64_t from = cut(o, i), to = cut(o, i + 1);
            if (to <= from) continue;
            if (o.reads) l2.read(from, double(to - from), t);
            if (o.writes) l2.write(from, double(to - from), t);
        }
    return t;
}

}  // namespace labdev
