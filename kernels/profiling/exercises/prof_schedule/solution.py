"""Which steps are recorded."""
import torch_npu


def plan():
    """A schedule: steps 5, 6 and 7 are recorded, once, and step 4 warms the profiler up."""
    # >>> exercise: `chosen`, a torch_npu.profiler.schedule(...) | `chosen`，一个 torch_npu.profiler.schedule(...)
    # stub: chosen = torch_npu.profiler.schedule(wait=0, warmup=0, active=1)
    chosen = torch_npu.profiler.schedule(wait=4, warmup=1, active=3, repeat=1)
    # <<<
    return chosen
