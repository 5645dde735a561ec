def tiling():
    """Lines of C++, a part of TilingFunc. There are: total (elements), bytes (of an element), cores. Make: share, blocks.
    All five are uint32_t."""
    return """
# >>> exercise: `share`, the elements of a block: whole pieces of 32 bytes, as even as possible over `cores`; and `blocks`, as many as have work | `share`：每核的元素数，由整的 32 字节组成，在 `cores` 个核上尽量均匀；`blocks`：有工作的核数
# stub: const uint32_t share = total;
# stub: const uint32_t blocks = 1;
    const uint32_t unit = 32 / bytes;
    const uint32_t units = (total + unit - 1) / unit;
    const uint32_t share = (units + cores - 1) / cores * unit;
    const uint32_t blocks = (total + share - 1) / share;
# <<<
"""
