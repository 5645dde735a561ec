"""Continuous batching: who joins between two steps."""


def admit(waiting, free_pages, free_rows, page):
    """The pages that each request gets that may join, in order of arrival. waiting: (tokens of the prompt, tokens of
    the answer) of each; a request needs a row of the batch, and memory for all of its tokens."""
    joined = []
    for prompt, answer in waiting:
        # >>> exercise: its pages; stop at the first that does not fit; take its pages and its row | 它需要的页数；放不下第一个就停止；占用它的页和行
        # stub: need = 1
        need = -(-(prompt + answer) // page)
        if need > free_pages or free_rows == 0:
            break
        free_pages -= need
        free_rows -= 1
        # <<<
        joined.append(need)
    return joined
