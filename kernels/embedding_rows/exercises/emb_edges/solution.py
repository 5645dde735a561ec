"""The shares of the cores: even, and no run of one id is cut."""


def edges(ids, cores):
    """Where each core's places begin, and the end: cores + 1 numbers. ids: sorted, a list."""
    share = -(-len(ids) // cores)  # places of a core, where nothing is moved
    found = []
    for core in range(cores + 1):
        # >>> exercise: at, where core `core` begins: its even share, moved on to the next begin of a run | at：第 core 个核的起点，即均分的位置，再后移到下一段的开头
        # stub: at = core * share
        at = min(core * share, len(ids))
        while 0 < at < len(ids) and ids[at] == ids[at - 1]:
            at += 1
        # <<<
        found.append(at)
    return found
