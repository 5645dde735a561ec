"""The same by a plan: torch cuts the weights and puts in the collectives."""
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel


def plan():
    """For parallelize_module(mlp, mesh, plan()): the style of each of gate_proj, up_proj and down_proj."""
    # >>> exercise: `styles`, a dict from the three names to ColwiseParallel() or RowwiseParallel() | `styles`：从三个名字到 ColwiseParallel() 或 RowwiseParallel() 的字典
    # stub: styles = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel()}
    styles = {"gate_proj": ColwiseParallel(), "up_proj": ColwiseParallel(), "down_proj": RowwiseParallel()}
    # <<<
    return styles
