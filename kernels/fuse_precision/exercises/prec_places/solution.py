"""How far off a result may be."""


def allowed(bits, size, n, terms):
    """Of a result that is rounded to `bits` bits and is a sum of n terms, kept in float32 (24 bits): what it may be off.
    size: of the result; terms: the sizes of its terms added up."""
    # >>> exercise: one rounding of the result, plus sqrt(n) roundings to float32 of all the terms together (1 line) | 结果的一次舍入，加上各项之和在 float32 中的一次舍入的 sqrt(n) 倍（1 行）
    # stub: return 1e-3
    return size * 2.0**-bits + n**0.5 * 2.0**-24 * terms
    # <<<
