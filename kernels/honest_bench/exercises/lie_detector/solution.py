"""What is wrong with a measurement, by what was seen of it."""


def lies(events):
    """events: ("clock", us), ("launch", operator) and ("wait", us) in order, with two clocks, and between these at
    least one launch. Returns a set of "first launch": an operator between the clocks was not launched before them;
    "no wait": between the clocks no wait follows the last launch; "wait in the loop": a launch follows a wait, both
    between the clocks."""
    start, end = [i for i, (kind, _) in enumerate(events) if kind == "clock"]
    before, inside = events[:start], events[start + 1 : end]
    kinds = [kind for kind, _ in inside]
    found = set()
    # >>> exercise: the three questions | 三个问题
    if {name for kind, name in inside if kind == "launch"} - {name for kind, name in before if kind == "launch"}:
        found.add("first launch")
    if kinds[-1] == "launch":
        found.add("no wait")
    if "wait" in kinds and "launch" in kinds[kinds.index("wait"):]:
        found.add("wait in the loop")
    # <<<
    return found
