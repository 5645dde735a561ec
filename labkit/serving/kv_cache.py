"""Who has which pages of the KV cache: the bookkeeping alone, the tensors are the model's."""

from __future__ import annotations

from labkit import messages


class PagePool:
    """Pages handed out one by one. Page 0 belongs to nobody: padding is written there.

    allocate() returns None where not enough are free, and takes none then. Raises ValueError for a page that is given
    back twice.
    """

    def __init__(self, pages: int, page: int):
        self.page = page
        self.total = pages
        self._free = list(range(pages, 0, -1))  # the lowest at the end, which is taken first
        self._taken: set[int] = set()

    @property
    def free_pages(self) -> int:
        return len(self._free)

    def need(self, tokens: int) -> int:
        return -(-tokens // self.page)

    def allocate(self, tokens: int) -> list[int] | None:
        count = self.need(tokens)
        if count > len(self._free):
            return None
        pages = [self._free.pop() for _ in range(count)]
        self._taken.update(pages)
        return pages

    def free(self, pages: list[int]) -> None:
        self._leave(pages)
        self._free.extend(pages)

    def _leave(self, pages: list[int]) -> None:
        """Pages are nobody's now; ValueError for one that was nobody's before."""
        for page in pages:
            if page not in self._taken:
                raise ValueError(messages.text("serving.freed_twice", page=page))
            self._taken.remove(page)


class SlotPool(PagePool):
    """The same memory in pieces of the longest length: each request gets one, however short it is."""

    def __init__(self, pages: int, page: int, max_length: int):
        super().__init__(pages, page)
        self.each = max_length // page
        self._slots = list(range(pages // self.each - 1, -1, -1))
        self._free = []

    @property
    def free_pages(self) -> int:
        return len(self._slots) * self.each

    def allocate(self, tokens: int) -> list[int] | None:
        if not self._slots or tokens > self.each * self.page:
            return None
        slot = self._slots.pop()
        pages = list(range(1 + slot * self.each, 1 + (slot + 1) * self.each))
        self._taken.update(pages)
        return pages

    def free(self, pages: list[int]) -> None:
        self._leave(pages)
        self._slots.append((pages[0] - 1) // self.each)
        self._slots.sort(reverse=True)  # the lowest first: a batch's rows lie side by side


def pool_of(settings) -> PagePool:
    if settings.paged:
        return PagePool(settings.pages, settings.page)
    return SlotPool(settings.pages, settings.page, settings.max_length)
