"""What changes between."""


def untouched(operators, match):
    """Whether no tensor is changed between the first and the last place of `match`. operators: the graph's names in
    order; a name that ends with _ changes its argument. match: places in that list."""
    # >>> exercise: no operator between the two places ends with _ (1 line) | 两个位置之间没有以 _ 结尾的算子（1 行）
    # stub: return True
    return not any(name.endswith("_") for name in operators[match[0] : match[-1]])
    # <<<
