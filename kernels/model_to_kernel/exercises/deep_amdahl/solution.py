"""From a kernel's gain to the step's."""


def step_gain(rows: list, step_us: float, kind: str, times: float) -> float:
    """How many times as fast the step becomes if all kernels of OP Type `kind` become `times` times as fast.
    rows: (OP Type, duration in us) of the step's kernels; step_us: the step, kernels and all that is between them."""
    # >>> exercise: `gain` (2 or 3 lines) | `gain`（2 到 3 行）
    # stub: gain = times
    now = sum(us for name, us in rows if name == kind)
    gain = step_us / (step_us - now + now / times)
    # <<<
    return gain
