"""A training loop under the profiler."""
import torch_npu


def record(train, folder):
    """Runs train() five times and leaves one folder of tables in `folder`, with the steps 2 and 3 in it."""
    plan = torch_npu.profiler.schedule(wait=1, warmup=1, active=2, repeat=1)
    handler = torch_npu.profiler.tensorboard_trace_handler(folder)
    # >>> exercise: the loop, under torch_npu.profiler.profile with `plan` and `handler` | 在 torch_npu.profiler.profile 下的循环，使用 `plan` 和 `handler`
    # stub: for _ in range(5):
    # stub:     train()
    with torch_npu.profiler.profile(schedule=plan, on_trace_ready=handler) as prof:
        for _ in range(5):
            train()
            prof.step()
    # <<<
