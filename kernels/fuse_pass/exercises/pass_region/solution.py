"""What changes between."""


def untouched(operators, match):
    """Whether no tensor is changed between the first and the last place of `match`. operators: the graph's names in
    order; a name that ends with _ changes its argument. match: places in that list, sorted."""
    # >>> exercise: no operator from the first place up to the last, without the last, ends with _ (1 line) | 从第一个位置到最后一个位置之前（不含最后一个）没有以 _ 结尾的算子（1 行）
    # stub: return True
    return not any(name.endswith("_") for name in operators[match[0] : match[-1]])
    # <<<
