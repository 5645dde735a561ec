"""A space of shapes for a benchmark: the extremes, and what a seed draws."""
import random

EXTREMES = (1, 16, 1, 1), (1, 16, 1, 63), (1, 16, 63, 1), (1, 128, 63, 63)


def space(seed, count):
    """`count` shapes, 4 at least, (1, channels, height, width): EXTREMES first, then drawn ones. Channels are 16 to 128, multiples of 16; a side is 1 to
    63, and one below 8 is as likely as one of 8 or more."""
    # >>> exercise: `shapes`, the same for the same seed, from a generator of its own; draw a side's exponent, any number from 0 to below 6, not the side | `shapes`：相同 seed 结果相同，使用自己的生成器；抽取边长的指数（从 0 起、小于 6 的任意数），而不是边长
    # stub: shapes = list(EXTREMES)
    draw = random.Random(seed)
    shapes = list(EXTREMES)
    while len(shapes) < count:
        sides = (int(2 ** draw.uniform(0, 6)) for _ in range(2))
        shapes.append((1, 16 * draw.randint(1, 8), *sides))
    # <<<
    return shapes
