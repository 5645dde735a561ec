"""Is the migrated model worse?"""

from labkit.migrate.evaluation import metric


def verdict(before, after, margin):
    """"worse" where the 95 % interval of the difference lies below 0, else "no worse" where it lies above -margin, else
    "undecided". before, after: what each image scored, the same images in the same order. metric("", values) has .low
    and .high."""
    # >>> exercise: the interval of each image's difference, and the three cases (4 lines) | 每张图之差的区间，以及三种情况（4 行）
    # stub: return "undecided"
    found = metric("", [b - a for a, b in zip(before, after)])
    if found.high < 0:
        return "worse"
    return "no worse" if found.low > -margin else "undecided"
    # <<<
