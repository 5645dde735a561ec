"""Which candidates are possible."""

UB, RESERVED = 192 * 1024, 8 * 1024  # bytes; the last 8 KB belong to the API


def fits(tile, slots, tensors, size, floats):
    """Whether UB has room. tile: elements; slots: places of each of the `tensors` that are copied, of `size` bytes an
    element; floats: tiles of float in between, which need one place each."""
    # >>> exercise: the bytes of all places against what is left of UB (2 lines) | 所有位置的字节数与 UB 剩余空间比较（2 行）
    # stub: return True
    copied = slots * tensors * tile * size
    return copied + floats * tile * 4 <= UB - RESERVED
    # <<<
