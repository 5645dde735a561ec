def cases():
    """The unit test's cases: (type, elements), type "half" or "float"."""
    # >>> exercise: at most five cases (type, elements) that notice all four wrong tilings | 至多五个用例（类型、元素数），发现全部四个错误的 tiling
    # stub: return [("half", 48 * 1024)]
    return [("half", 1000), ("half", 48 * 16 * 2 + 1), ("float", 100)]
    # <<<
