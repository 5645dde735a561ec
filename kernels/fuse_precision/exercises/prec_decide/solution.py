"""What becomes of a part."""


def decide(before, after, in_float, choice, loses=1.25):
    """"fused", "fp32", "unfused" or "report". before, after, in_float: errors of the part as it is, fused, fused in
    float, always three numbers; choice: what is to be done where the fused one loses: is more than `loses` times as
    far off."""
    # >>> exercise: fused where it does not lose; else the choice, but unfused in place of fp32 where float loses as well (3 lines) | 不损失则 fused；否则按选择，但 float 也损失时 fp32 变为 unfused（3 行）
    # stub: return "fused"
    if after <= loses * before:
        return "fused"
    return "unfused" if choice == "fp32" and in_float > loses * before else choice
    # <<<
