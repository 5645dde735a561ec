"""Where to cut a pipeline in two."""


def best_cut(times):
    """After how many layers to cut, so that the slower one of the two stages is as fast as possible. times: of each
    layer, two or more. Of equally good cuts any will do."""
    # >>> exercise: try every cut, keep the one whose slower side is fastest (1 to 2 lines) | 尝试每个切点，保留较慢一侧最快的那个（1 到 2 行）
    # stub: return 1
    return min(range(1, len(times)), key=lambda cut: max(sum(times[:cut]), sum(times[cut:])))
    # <<<
