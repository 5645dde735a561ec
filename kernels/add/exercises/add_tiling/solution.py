"""How the host cuts the work of add: what one block adds, and how much of it lies in UB at a time."""

QUEUES = 3      # x, y and z
BUFFERS = 2     # of each queue: double buffering
HALF = 2        # bytes of an element
UNIT = 32       # bytes: UB is addressed and copied in blocks of 32


def tiling(n: int, blocks: int, ub: int) -> dict:
    """The AddTiling (two uint32_t) of n elements on `blocks` blocks; ub: usable bytes. n is a multiple of blocks * 16."""
    # >>> exercise: a block's share, and the largest tile that divides it, is whole UNITs and fits UB | 每个核的份额，以及能整除它、为 UNIT 整数倍且放得进 UB 的最大 tile
    # stub: block_length = n
    # stub: tile_length = 16
    block_length = n // blocks
    most = ub // (QUEUES * BUFFERS * HALF)
    tile_length = max(t for t in range(UNIT // HALF, most + 1, UNIT // HALF) if block_length % t == 0)
    # <<<
    return {"blockLength": block_length, "tileLength": tile_length}
