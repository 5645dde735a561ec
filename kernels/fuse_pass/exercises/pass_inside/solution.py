"""What a pass may take away."""


def only_inside(match):
    """Whether nobody outside of `match` (nodes in the graph's order, the last one is the result) reads what is inside."""
    # >>> exercise: all users of every node but the last one are in the match (1 line) | 除最后一个外，每个节点的所有使用者都在 match 中（1 行）
    # stub: return True
    return all(user in match for node in match[:-1] for user in node.users)
    # <<<
