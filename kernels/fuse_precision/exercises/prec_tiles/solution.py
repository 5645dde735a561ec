"""Rows over blocks, when the number of rows is known."""


def cut(rows, blocks):
    """(blocks that are launched, rows of each; the last one may have fewer). Every block has work: of no rows
    the first number is 0, and the second may be any."""
    # >>> exercise: as few rows each as the blocks allow, then as many blocks as that needs (2 lines) | 每块行数尽量少，再算需要多少块（2 行）
    # stub: return blocks, rows // blocks
    each = max(1, -(-rows // blocks))
    return -(-rows // each), each
    # <<<
