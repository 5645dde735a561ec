"""Which instantiation of axpy the host launches."""

# The tiles that exist, compiled; smallest first.
TILES = {"half": (512, 2048, 8192, 15_360), "float": (512, 2048, 4096, 7680)}


def instance(dtype: str, n: int, blocks: int) -> str:
    """Such as "axpy<half, 2048>": the largest tile of TILES[dtype] that gives every block two or more
    whole tiles of the n elements; if none does, the smallest."""
    # >>> exercise: `entry`, the instantiation for n elements on so many blocks | `entry`：n 个元素、这么多核时所用的实例
    # stub: entry = f"axpy<{dtype}, {TILES[dtype][0]}>"
    tile = max((t for t in TILES[dtype] if n >= 2 * t * blocks), default=TILES[dtype][0])
    entry = f"axpy<{dtype}, {tile}>"
    # <<<
    return entry
