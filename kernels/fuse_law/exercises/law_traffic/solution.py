"""Bytes of a chain, before and after."""


def traffic(chain, size, kept):
    """(bytes before, bytes after) of a chain in one launch for each operator, and in one launch for all of them.
    chain: (names that it reads, name of its result) for each operator, in order. size: bytes of each name. kept: names
    of results that somebody reads afterwards."""
    # >>> exercise: `before` and `after`; an operator that reads a name twice reads it once (4 to 6 lines) | `before` 和 `after`；一个算子把同一个名字写两次，只读一次（4 到 6 行）
    # stub: before = after = 0
    before = sum(size[name] for reads, result in chain for name in {*reads, result})
    made = {result for _, result in chain}
    outside = {name for reads, _ in chain for name in reads} - made
    after = sum(size[name] for name in outside | set(kept))
    # <<<
    return before, after
