"""A test for tilings: do the shares of the cores cover n elements, each once, and start on whole units?"""


def verdict(pieces: list, n: int, unit: int) -> str:
    """The first promise that the shares break: "gap", "overlap" or "unit"; "" when they keep all three.

    pieces: (start, length) of each core in elements, in any order; a length may be 0. unit: elements in 32 bytes.
    """
    end = 0  # everything before this element is covered
    for start, length in sorted(piece for piece in pieces if piece[1] > 0):
        # >>> exercise: return "gap", "overlap" or "unit", looked at in this order, when this share breaks that promise (3 lines) | 若该份额违反某条约定，按此顺序检查，返回 "gap"、"overlap" 或 "unit"（3 行）
        # stub: pass
        if start != end:
            return "gap" if start > end else "overlap"
        if start % unit:
            return "unit"
        # <<<
        end = start + length
    return "" if end == n else "gap" if end < n else "overlap"
