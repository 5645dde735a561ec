"""How the host cuts the work of add: what one block adds, and how much of it lies in UB at a time."""

QUEUES = 3      # x, y and z
BUFFERS = 2     # of each queue: double buffering
HALF = 2        # bytes of an element
UNIT = 32       # bytes: UB is addressed and copied in blocks of 32


def tiling(n: int, blocks: int, ub: int) -> dict:
    """The AddTiling of n elements on `blocks` blocks; ub: usable bytes. n is a multiple of blocks * 16."""
    # >>> exercise: the elements of a block, and the largest tile: it divides them, it is a multiple of 32 bytes, and 3 x 2 tiles fit UB (3 lines) | 每个核的元素数，以及最大的 tile：能整除份额，是 32 字节的整数倍，且 3 x 2 个 tile 放得进 UB（3 行）
    # stub: block_length = n
    # stub: tile_length = 16
    block_length = n // blocks
    most = ub // (QUEUES * BUFFERS * HALF)
    tile_length = max(t for t in range(UNIT // HALF, most + 1, UNIT // HALF) if block_length % t == 0)
    # <<<
    return {"blockLength": block_length, "tileLength": tile_length}
