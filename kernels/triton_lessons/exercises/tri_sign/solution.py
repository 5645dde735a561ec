"""From the facts of a launch to what is mended first."""


def first_to_mend(seen):
    """"launches", "elements", "cores", "order", or the pipe that bounds. seen: launches, device_us, element_wise (how
    many accesses go element by element), blocks and cores, busy (us of each pipe)."""
    # >>> exercise: the five questions, in the order of the list above | 按上面列表的顺序问这五个问题
    # stub: return "order"
    if seen["launches"] * 6 > seen["device_us"]:
        return "launches"
    if seen["element_wise"]:
        return "elements"
    if seen["blocks"] < seen["cores"]:
        return "cores"
    pipe = max(seen["busy"], key=seen["busy"].get)
    return pipe if seen["busy"][pipe] >= 0.75 * seen["device_us"] else "order"
    # <<<
