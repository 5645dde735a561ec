"""What leaves the card."""


def leaves(operators):
    """Names of the operators that the CPU runs, the one with the most calls first. operators: rows of a report, each
    with the attributes o.name, o.kernel ("aclnn", "aclop", "torch_npu", "view", "others" or "cpu") and o.calls, which
    counts all of them: forward, backward and optimizer."""
    # >>> exercise: the rows whose kernel is the CPU, sorted by calls (2 lines) | kernel 为 CPU 的行，按调用次数排序（2 行）
    # stub: return []
    gone = [o for o in operators if o.kernel == "cpu"]
    return [o.name for o in sorted(gone, key=lambda o: -o.calls)]
    # <<<
