"""Message aggregation of a graph layer: 8192 edges with 64 features into 1024 nodes."""
import functools
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)

EDGES, NODES, FEATURES = 8192, 1024, 64
CALLS, ROUNDS = 40, 15


def in_rounds(calls, rounds):
    """Turn a step into a measurement: seconds per call, one value a round."""
    def wrap(step):
        @functools.wraps(step)
        def run():
            for _ in range(calls):
                step()
            torch.npu.synchronize()
            per_call = []
            for _ in range(rounds):
                begin = time.perf_counter()
                for _ in range(calls):
                    step()
                torch.npu.synchronize()
                per_call.append((time.perf_counter() - begin) / calls)
            return per_call
        run.once = step
        return run
    return wrap


torch.manual_seed(11)
target = torch.randint(0, NODES, (EDGES,), device="npu")
target_wide = target.unsqueeze(1).expand(EDGES, FEATURES).contiguous()
message = torch.randn(EDGES, FEATURES, device="npu")
pool_a = torch.zeros(NODES, FEATURES, device="npu")
pool_b = torch.zeros(NODES, FEATURES, device="npu")


@in_rounds(CALLS, ROUNDS)
def with_scatter_add():
    pool_a.scatter_add_(0, target_wide, message)


@in_rounds(CALLS, ROUNDS)
def with_index_add():
    pool_b.index_add_(0, target, message)


with_scatter_add.once()
with_index_add.once()
gap = (pool_a - pool_b).abs().max().item()
assert gap < 1e-3, gap

for measured in (with_scatter_add, with_index_add):
    rounds = measured()
    mid, lo, hi = statistics.median(rounds), min(rounds), max(rounds)
    print(
        f"{measured.__name__}  ({EDGES} edges -> {NODES} nodes, {FEATURES} x float32)\n"
        f"    a call       {mid * 1e6:10.2f} us   (median of {ROUNDS} rounds; a round is the mean of {CALLS} calls in a row)\n"
        f"    rounds from  {lo * 1e6:10.2f} us   to {hi * 1e6:.2f} us\n"
        f"    an edge      {mid / EDGES * 1e9:10.2f} ns   (the call divided by its edges)\n"
        f"    rate         {EDGES / mid / 1e6:10.3f} million edges/s\n"
    )
print(
    f"Wall clock of the host, stopped behind the wait that ends each round; issue and device work overlap in it.\n"
    f"Both variants add the same messages (largest difference after one call {gap:.1e}); "
    f"the tensors, some {(message.nbytes + target_wide.nbytes) / 2**20:.0f} MiB, are the same in every call and stay cached."
)
