"""Which steps are recorded."""
import torch_npu


def plan():
    """A schedule: steps 5, 6 and 7 are recorded, once, and step 4 warms the profiler up."""
    # >>> exercise: `chosen`, a torch_npu.profiler.schedule(...): step 4 warms up, then 5, 6 and 7 are recorded, once | `chosen`，一个 torch_npu.profiler.schedule(...)：step 4 预热，随后记录 step 5、6、7，只记录一次
    # stub: chosen = torch_npu.profiler.schedule(wait=0, warmup=0, active=1)
    chosen = torch_npu.profiler.schedule(wait=4, warmup=1, active=3, repeat=1)
    # <<<
    return chosen
