// torch.distributed on npu tensors: the CPU's collectives (gloo) on the same bytes, in place and without a copy.
//
// The clock is charged for moving the bytes once over the host's link. Each process has a virtual clock of its own, and
// those of different ranks are not joined: what a collective waits for the others is not modelled.
#pragma once
#include <c10/util/Exception.h>
#include <torch/library.h>

#include "fallback.h"

namespace labdev {

inline void add_collectives(torch::Library& m) {
  // PyTorch's own kernels for this device ask for a C++ backend of it; replacing them is on purpose, so without a warning.
  struct Quiet final : c10::WarningHandler {
    void process(const c10::Warning&) override {}
  } quiet;
  c10::WarningUtils::WarningHandlerGuard silence(&quiet);
  for (const char* name :
       {"allreduce_", "allreduce_coalesced_", "broadcast_", "reduce_", "allgather_", "_allgather_base_",
        "allgather_coalesced_", "allgather_into_tensor_coalesced_", "reduce_scatter_", "_reduce_scatter_base_",
        "reduce_scatter_tensor_coalesced_", "gather_", "scatter_", "alltoall_", "alltoall_base_", "barrier", "send",
        "recv_", "recv_any_source_"})
    m.impl(name, torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

}  // namespace labdev
