"""A profile of a real node."""


def shares(step, kernels):
    """(waiting, converting), two fractions from 0 to 1. waiting: the step's Communication(Not Overlapped), divided by the
    step's time. converting: the Duration(us) of the rows whose Type is TransData, divided by that of all rows of kernels,
    HCCL's too. step has one row of step_trace_time.csv, kernels is kernel_details.csv."""
    row = step.iloc[0]
    # >>> exercise: `waiting`, from Computing, Communication(Not Overlapped) and Free; and `converting`, of all rows, HCCL's too | `waiting`，来自 Computing、Communication(Not Overlapped) 和 Free；以及 `converting`，按所有行计，包括 HCCL 的行
    # stub: waiting, converting = 0.0, 0.0
    exposed = row["Communication(Not Overlapped)"]
    waiting = exposed / (row["Computing"] + exposed + row["Free"])
    spent = kernels.groupby("Type")["Duration(us)"].sum()
    converting = spent["TransData"] / spent.sum()
    # <<<
    return waiting, converting
