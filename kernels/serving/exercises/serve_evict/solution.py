"""A cache on the device that is smaller than what there is to cache."""

from collections import OrderedDict


def hits(keys, size):
    """How many of the keys, in order, are found in a cache with room for `size`."""
    kept, found = OrderedDict(), 0
    for key in keys:
        # >>> exercise: count a hit; keep the key; let the one go that nobody used for longest | 命中则计数；保留该 key；淘汰最久未使用的一个
        # stub: kept[key] = True
        found += key in kept
        kept[key] = True
        kept.move_to_end(key)
        if len(kept) > size:
            kept.popitem(last=False)
        # <<<
    return found
