"""One flag of Inductor."""
import torch


def faster(f):
    """f, compiled so that Inductor tries several tiles by the clock and keeps the fastest."""
    # >>> exercise: `result`, f compiled with one option more | `result`：带一个选项编译的 f
    # stub: result = torch.compile(f)
    result = torch.compile(f, options={"max_autotune_pointwise": True})
    # <<<
    return result
