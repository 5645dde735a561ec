"""How a launch of gated is cut: from the profile's advice to numbers."""


def plan(n: int, cores: int, ub: int) -> tuple[int, int, int]:
    """(blocks, tile, buffers) for n halves, n > 0. A tile is a multiple of 128 halves; an element of it takes 8 bytes of UB
    for V's own two float buffers, and 6 bytes (gate, up, y) for each set of buffers. ub: bytes that there are."""
    buffers = 2
    # >>> exercise: `tile`: a quarter of a core's share n / cores, rounded up to a multiple of 128 (and nothing rounded before), but no more than the largest multiple of 128 that UB has room for; and `blocks`: a core for each tile, as far as there are `cores` (3 lines) | `tile`：每核份额 n / cores 的四分之一，向上取整到 128 的倍数（之前不取整），但不超过 UB 放得下的最大的 128 的倍数；以及 `blocks`：每个 tile 一个核，最多 `cores` 个（3 行）
    # stub: tile = 256
    # stub: blocks = 1
    longest = ub // (8 + 6 * buffers) // 128 * 128
    tile = min(longest, -(-n // (4 * cores) // 128) * 128)
    blocks = min(cores, -(-n // tile))
    # <<<
    return blocks, tile, buffers
