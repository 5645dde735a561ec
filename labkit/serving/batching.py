"""Which requests the next step works on. The engine and the simulation use this same scheduler, so that they queue
alike; what differs is who says how long a step took.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from labkit import messages
from labkit.serving.kv_cache import pool_of
from labkit.serving.settings import Request, Settings


class TooLong(ValueError):
    """A prompt and its answer that the cache has no room for, ever."""


class QueueFull(RuntimeError):
    """As many requests wait as may wait."""


class Chunk(NamedTuple):
    """A piece of a request's prompt: `count` tokens behind the first `begin`."""

    request: Request
    begin: int
    count: int

    @property
    def last(self) -> bool:
        return self.begin + self.count == self.request.prompt


class Scheduler:
    """Requests that wait, that are being read in, and that run.

    Static batching: a batch begins when nothing runs, and its rows stay until the last of them has its answer.
    Continuous: a request begins as soon as there is a row and memory for it. A request reserves the memory of its
    whole answer when it begins, so that none has to be thrown out later (vLLM reserves less, and throws out).
    """

    def __init__(self, settings: Settings):
        self.settings = settings
        self.pool = pool_of(settings)
        self.waiting: deque[Request] = deque()
        self.reading: list[Request] = []  # a part of the prompt is in the cache
        self.running: list[Request] = []

    def submit(self, request: Request) -> None:
        """Raises TooLong, QueueFull, and ValueError for a request without a prompt or an answer."""
        s = self.settings
        if request.prompt < 1 or request.answer < 1:
            raise ValueError(messages.text("serving.no_tokens", prompt=request.prompt, answer=request.answer))
        if request.prompt + request.answer > s.max_length:
            raise TooLong(
                messages.text(
                    "serving.too_long", prompt=request.prompt, answer=request.answer, most=self.settings.max_length
                )
            )
        if s.queue is not None and len(self.waiting) >= s.queue:
            raise QueueFull(messages.text("serving.queue_full", count=s.queue))
        self.waiting.append(request)

    @property
    def busy(self) -> bool:
        return bool(self.reading or self.running)

    def prefill(self, here: Callable[[Request], bool]) -> list[Chunk]:
        """The pieces of prompts that the next step reads, behind those that it admits. here: whether a request's
        features are on the device.
        """
        self._admit(here)
        s = self.settings
        chunks: list[Chunk] = []
        width = 0
        for request in self.reading:
            count = min(s.chunk or s.max_length, request.prompt - request.filled)
            wider = max(width, count)
            if chunks and (len(chunks) + 1) * wider > s.prefill_tokens:  # rows are padded to the longest
                break
            chunks.append(Chunk(request, request.filled, count))
            width = wider
        return chunks

    def _admit(self, here: Callable[[Request], bool]) -> None:
        """The admission rule: in the order of arrival, while there is a row and memory."""
        if self.busy and not self.settings.continuous:
            return
        while self.waiting and len(self.running) + len(self.reading) < self.settings.batch:
            request = self.waiting[0]
            if not here(request):
                break
            pages = self.pool.allocate(request.prompt + request.answer)
            if pages is None:
                break
            request.pages = pages
            self.reading.append(self.waiting.popleft())

    def read(self, chunks: list[Chunk]) -> list[Request]:
        """Notes that a step has read the pieces; the requests whose prompts are complete, which now run."""
        complete = []
        for request, begin, count in chunks:
            request.filled = begin + count
            if request.filled == request.prompt:
                self.reading.remove(request)
                self.running.append(request)
                complete.append(request)
        if self.settings.attention == "view":  # read in pieces, a short prompt behind a long one is complete first,
            self.running.sort(key=lambda r: r.pages[0])  # but the rows of a step lie side by side from the first one's
        return complete

    def decode(self) -> list[Request]:
        """The rows that the next step computes. In a static batch that are also those which have their answer."""
        if self.settings.continuous:
            return self.running
        return [] if self.reading else self.running

    def done(self, request: Request) -> bool:
        return request.count >= request.answer

    def retire(self) -> None:
        """Lets go of the requests that have their answers; a static batch goes as a whole."""
        gone = [r for r in self.running if self.done(r)]
        if not gone or (not self.settings.continuous and (self.reading or len(gone) < len(self.running))):
            return
        self.running = [r for r in self.running if not self.done(r)]
        for request in gone:
            self._release(request)

    def abort(self, request: Request) -> None:
        """Forgets a request, wherever it is, and gives its memory back."""
        if request in self.waiting:
            self.waiting.remove(request)
        elif request in self.reading or request in self.running:
            if not self.settings.continuous:  # its row stays where it is until the batch ends
                request.answer = request.count
                return
            (self.reading if request in self.reading else self.running).remove(request)
        self._release(request)

    def _release(self, request: Request) -> None:
        if request.pages:
            self.pool.free(request.pages)
            request.pages = []
