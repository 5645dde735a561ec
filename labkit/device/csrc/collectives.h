// torch.distributed on npu tensors: the CPU's collectives (gloo) on the same bytes, in place and without a copy.
//
// Each process has its own virtual clock. Before a collective the ranks of its group exchange the time at which they
// reach it and the size of their data. The collective then begins on all of them at the latest of these times and takes
// equally long on each. Communication with a single rank (send, recv) is charged without this exchange; barrier() is
// dispatched by PyTorch with a CPU tensor and does not come here.
// As with HCCL it runs on a stream of its group, behind what the stream that asks for it has in front of it; that
// stream waits for its end at once, or with async_op when the program waits for it or uses its tensors.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/function.h>
#include <c10/util/Exception.h>
#include <torch/custom_class.h>
#include <torch/library.h>

#include <algorithm>
#include <optional>
#include <string>

#include "fallback.h"

namespace labdev {

inline bool is_of_class(const c10::IValue& v, const char* name) {
    if (!v.isObject()) return false;
    const auto& full = v.toObject()->type()->name();
    return full && full->name() == name;
}

// This rank's data: the bytes of the largest argument (a list of tensors counts as one), and their device.
struct Contribution {
    double bytes = 0;
    int device = -1;
};

inline Contribution contribution(c10::ArrayRef<c10::IValue> arguments) {
    Contribution b;
    for (const c10::IValue& v : arguments) {
        double bytes = 0;
        c10::IValue seen = v;
        map_tensors(seen, [&](Tensor t) -> Tensor {
            bytes += bytes_of(t);
            if (is_npu(t)) b.device = t.device().index();
            return t;
        });
        b.bytes = std::max(b.bytes, bytes);
    }
    return b;
}

// All-reduce (sum) over the group's ranks of a vector in which each rank has three elements of its own. Empty if this
// PyTorch has no way to do it without the headers of c10d (which take as long to compile as all of ours).
inline std::optional<Collective> meet(const c10::IValue& group, double ready, double bytes) {
    const RankOfProcess me = rank_of_process();
    const auto type = torch::getCustomClass("__torch__.torch.classes.c10d.ReduceOp");
    if (me.size < 1 || !type) return std::nullopt;
    const auto op = c10::Dispatcher::singleton().findSchema({"c10d::allreduce_", ""});
    if (!op) return std::nullopt;
    c10::IValue sum(c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), 1));
    Stack made{sum};
    type->getMethod("__init__").run(made);  // a sum
    Tensor row = at::detail::empty_cpu({3 * int64_t(me.size)}, at::kDouble, std::nullopt, std::nullopt, std::nullopt,
                                       std::nullopt);
    double* numbers = static_cast<double*>(row.mutable_data_ptr());
    std::fill_n(numbers, 3 * me.size, 0.0);
    numbers[3 * me.rank] = ready, numbers[3 * me.rank + 1] = bytes, numbers[3 * me.rank + 2] = 1;
    Stack stack;
    for (const auto& a : op->schema().arguments()) {  // the names differ between versions of PyTorch
        if (a.name() == "tensors") stack.emplace_back(std::vector<Tensor>{row});
        else if (a.name() == "process_group") stack.push_back(group);
        else if (a.name() == "reduce_op") stack.push_back(sum);
        else if (a.name() == "async_op") stack.emplace_back(true);
        else if (a.name() == "timeout") stack.emplace_back(int64_t(-1));
        else stack.emplace_back();
    }
    op->redispatchBoxed(kCpuKeys, &stack);
    const c10::IValue work = stack.back();
    Stack waiting{work};
    work.toObject()->type()->getMethod("wait").run(waiting);
    Collective m;
    for (int i = 0; i < me.size; ++i) {
        m.begin = std::max(m.begin, numbers[3 * i]);
        m.bytes = std::max(m.bytes, numbers[3 * i + 1]);
        m.ranks += int(numbers[3 * i + 2]);
    }
    return m;
}

inline void collective(const c10::OperatorHandle& op, Stack* stack) {
    no_fork();
    const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
    const Contribution mine = contribution(arguments);
    const std::string& name = op.schema().name();
    const bool of_two = name.rfind("c10d::send", 0) == 0 || name.rfind("c10d::recv", 0) == 0;
    Collective meeting;
    const c10::IValue* group = nullptr;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (is_of_class(arguments[i], "ProcessGroup")) group = &arguments[i];
        if (op.schema().arguments()[i].name() == "async_op") meeting.at_once = !arguments[i].toBool();
    }
    VirtualClock& clock = virtual_clock();
    meeting.begin = clock.ready(mine.device, current_stream(mine.device), Engine::Link, clock.intern(name),
                                &meeting.host);
    meeting.bytes = mine.bytes, meeting.ranks = 2;
    meeting.stream = clock.group_stream(mine.device, group ? group->toObject()->getSlot(0).toCapsule().get() : nullptr);
    clock.hold(mine.device, meeting.stream, meeting.begin);
    if (!of_two && group)
        if (auto joined = meet(*group, meeting.begin, mine.bytes))
            meeting.begin = joined->begin, meeting.bytes = joined->bytes, meeting.ranks = joined->ranks;
    meeting.ns = collective_ns(name, meeting, clock.rates());
    CpuCall(op, op, stack, &meeting).run();
}

inline void add_collectives(torch::Library& m) {
    // PyTorch's own kernels for this device require a C++ backend. They are replaced on purpose.
    override_quietly([&] {
        for (const char* name :
             {"allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_", "_allgather_base_",
              "allgather_coalesced_", "allgather_into_tensor_coalesced_", "reduce_scatter_", "_reduce_scatter_base_",
              "reduce_scatter_tensor_coalesced_", "gather_", "scatter_", "alltoall_", "alltoall_base_", "barrier",
              "send", "recv_", "recv_any_source_"})
            m.impl(name, torch::CppFunction::makeFromBoxedFunction<&collective>());
    });
}

}  // namespace labdev
