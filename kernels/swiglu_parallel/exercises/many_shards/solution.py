"""Which part of the MLP's weights a rank holds."""


def shards(rank, world, gate, up, down):
    """(gate, up, down) of this rank. gate, up: [inner, hidden]; down: [hidden, inner]; world divides inner."""
    # >>> exercise: `mine`, this rank's hidden units as a slice, units side by side in the order of the ranks; and the three parts that belong to them | `mine`：这个 rank 的隐藏单元（slice，各 rank 按顺序各取相邻的一段）；以及属于它们的三个部分
    # stub: mine = slice(None)
    # stub: parts = gate[mine], up[mine], down[mine]
    part = gate.shape[0] // world
    mine = slice(rank * part, (rank + 1) * part)
    parts = gate[mine], up[mine], down[:, mine]
    # <<<
    return parts
