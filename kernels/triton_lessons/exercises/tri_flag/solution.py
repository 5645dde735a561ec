"""One flag of Inductor."""
import torch


def faster(f):
    """f, compiled so that Inductor tries several tiles by the clock and keeps the fastest."""
    # >>> exercise: `result`, f compiled by Inductor with the one option of its configuration that tries tiles of such kernels, for f alone | `result`：由 Inductor 编译的 f，只多设一个配置选项，让它为这类核函数尝试多种 tile，只对 f 生效
    # stub: result = torch.compile(f)
    result = torch.compile(f, options={"max_autotune_pointwise": True})
    # <<<
    return result
