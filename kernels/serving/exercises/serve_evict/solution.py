"""A cache on the device that is smaller than what there is to cache."""

from collections import OrderedDict


def hits(keys, size):
    """How many of the keys, in order, are found in a cache with room for `size`."""
    kept, found = OrderedDict(), 0
    for key in keys:
        # >>> exercise: count a hit; keep the key as the one used last; if there are now more than `size`, drop the one whose last use is longest ago | 命中则计数；把该 key 记为最近使用；超过 `size` 个时，淘汰最久未使用的一个
        # stub: kept[key] = True
        found += key in kept
        kept[key] = True
        kept.move_to_end(key)
        if len(kept) > size:
            kept.popitem(last=False)
        # <<<
    return found
