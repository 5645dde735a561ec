"""What look-ups read, and what must come from HBM."""


def row_bytes(ids, width, size):
    """Two numbers of bytes: what all look-ups read; what comes from HBM if each row is fetched once and then stays.

    ids: [tables, batch, ids of each sample], integers; row r of one table is not row r of another.
    width: numbers in a row; size: bytes of a number.
    """
    # >>> exercise: `read` and `fetched`, in bytes (2 lines) | `read` 和 `fetched`，单位字节（2 行）
    # stub: read = fetched = ids.numel()
    read = ids.numel() * width * size
    fetched = sum(table.unique().numel() for table in ids) * width * size
    # <<<
    return read, fetched
