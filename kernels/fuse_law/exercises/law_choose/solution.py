"""Which graphs to fuse."""


def choose(graphs):
    """Names of the graphs that one launch does at least 1.2 times as fast. graphs: name -> (launches before, launch
    after); a launch is (head, moving, instructions) in us, of which the last two overlap."""
    chosen = []
    for name, (before, after) in graphs.items():
        # >>> exercise: `old` and `new`, in us (2 or 3 lines) | `old` 和 `new`，单位 us（2 到 3 行）
        # stub: old, new = sum(moving for _, moving, _ in before), after[1]
        old = sum(head + max(moving, instructions) for head, moving, instructions in before)
        head, moving, instructions = after
        new = head + max(moving, instructions)
        # <<<
        if old >= 1.2 * new:
            chosen.append(name)
    return chosen
