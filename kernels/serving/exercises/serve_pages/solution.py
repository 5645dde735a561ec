"""The pages of a KV cache."""


def pool(pages):
    """(the free pages, allocate(count), give_back(held)): pages are numbers; allocate gives None where too few are free."""
    free = list(range(pages))

    def allocate(count):
        # >>> exercise: `count` pages off the free list; None, and none taken, where there are fewer | 从空闲表取 `count` 页；不够时返回 None 且一页不取
        # stub: return free[:1]
        if count > len(free):
            return None
        return [free.pop() for _ in range(count)]
        # <<<

    def give_back(held):
        # >>> exercise: they can be handed out again | 它们可以再次分配
        # stub: pass
        free.extend(held)
        # <<<

    return free, allocate, give_back
