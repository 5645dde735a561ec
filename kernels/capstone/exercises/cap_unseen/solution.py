"""Did the clock see what the operator did?"""


def unseen(moved_in, moved_out, rows, width, inputs, outputs):
    """True where fewer bytes passed the pipes than the operator has to read, or than it has to write. inputs, outputs:
    how many tensors of rows x width halves it reads and writes."""
    # >>> exercise: the bytes of one tensor, and both directions (2 lines) | 一个张量的字节数，以及两个方向（2 行）
    # stub: return False
    size = 2 * rows * width
    return moved_in < inputs * size or moved_out < outputs * size
    # <<<
