"""Batched matmul by torch.utils.benchmark, which waits for the device itself."""

import torch
import torch.utils.benchmark as benchmark
import torch_npu  # noqa: F401


def timer(batch, side, dtype):
    a = torch.rand(batch, side, side).to(dtype).npu()
    b = torch.rand(batch, side, side).to(dtype).npu()
    return benchmark.Timer(
        stmt="torch.bmm(a, b)",
        globals={"torch": torch, "a": a, "b": b},
        label="torch.bmm, operands warm in L2",
        sub_label=f"({batch}, {side}, {side})",
        description=str(dtype).removeprefix("torch."),
    )


results = []
for dtype in (torch.float32,):
    for batch, side in ((4, 128), (8, 256), (16, 256)):
        task = timer(batch, side, dtype)
        task.timeit(20)  # thrown away
        result = task.blocked_autorange(min_run_time=0.2)
        results.append(result)
        print(
            f"{result.sub_label} {result.description}: median {result.median * 1e6:.1f} us, IQR {result.iqr * 1e6:.2f} us, "
            f"{len(result.times)} blocks of {result.number_per_run}"
        )

benchmark.Compare(results).print()
