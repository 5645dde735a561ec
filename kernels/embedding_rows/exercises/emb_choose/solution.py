"""Which way is faster, by arithmetic. us, modelled; TABLE: bytes a us; HOLD is an assumption."""

ROWS = 151_674  # of the table
HOLD, TABLE, SYNC = 0.0429, 1.4e6, 4.0


def sort_us(count):
    return 4.5 + 2.3 * -(-count // 2048)


def faster(count, width, top_share, half, fixed):
    """"scatter" or "segments". top_share: of the most frequent id; half: rows of 16 bits, for which scatter adds up as
    float (they move as float) in a table of float, ROWS x width x 8 bytes more; fixed: whether the bits must be the same each time,
    which scatter does not promise. "scatter" only where it is the faster one."""
    # >>> exercise: scatter's extra time (what its stores wait beyond the time that moves anyway, and the float table) against sort_us and SYNC | scatter 多花的时间（写出在搬运之外还要等待的时间，以及 float 表的时间）与 sort_us 和 SYNC 相比
    # stub: return "scatter"
    if fixed:
        return "segments"
    moves = count * width * 4 / TABLE
    waits = max(0.0, top_share * count * HOLD - moves)
    table = ROWS * width * 8 / TABLE if half else 0.0
    return "scatter" if waits + table < sort_us(count) + SYNC else "segments"
    # <<<
