"""A pass over a graph of torch.fx: silu(gate) * up becomes one call."""
import operator

from torch import fx
from torch.nn import functional as F


def fuse(graph: fx.Graph, fused) -> int:
    """Replaces silu(gate) * up, in either order, by fused(gate, up); how many."""
    count = 0
    for node in list(graph.nodes):
        if node.target is not operator.mul:
            continue
        if not all(isinstance(arg, fx.Node) for arg in node.args):
            continue  # times a number
        for silu, up in (node.args, node.args[::-1]):
            # >>> exercise: if `silu` calls F.silu: call fused there, let the call take the place of `node`, count it, and break (6 lines) | 如果 `silu` 调用的是 F.silu：在该处调用 fused，让它取代 `node`，计数并 break（6 行）
            # stub: pass
            if silu.target is F.silu:
                with graph.inserting_before(node):
                    call = graph.call_function(fused, (silu.args[0], up))
                node.replace_all_uses_with(call)
                count += 1
                break
            # <<<
    graph.eliminate_dead_code()
    return count
