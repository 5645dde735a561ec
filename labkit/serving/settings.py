"""What a server is: its switches, its sizes; and what a request is."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

from labkit import messages

LEAST_CHUNK = 64  # a prompt's features come in one piece

PIECES = 4  # that features are sent in, so that a step's own inputs need not wait for all of them
# Sent beside a step, so that the link is busy about as long as the step: of one that the host issues kernel by kernel
# (0.65 to 0.8 ms), and of a recorded one (0.25 to 0.35 ms); a piece takes 0.16 ms.
PIECES_AHEAD, PIECES_RECORDED = 5, 2

# In the order in which the notebook applies them.
STEPS = ("pinned", "input_cache", "paged", "continuous", "fused", "graph")


@dataclass(frozen=True)
class Settings:
    """The six steps, each a switch, and the sizes that they work with.

    pinned: inputs lie in pinned memory and go to the device in one copy a step; the features of requests that wait go
    ahead on a second stream. input_cache: features that were used lately stay on the device. paged: a request gets the
    pages of the KV cache that it needs, not the longest length that one may have. continuous: requests join and leave
    between steps, not in batches. fused: attention is one kernel of ours, lab::attention for prompts and
    lab::paged_attention, which reads the pages where they lie, for decode. graph: a decode step is recorded once and
    replayed.
    """

    pinned: bool = False
    input_cache: bool = False
    paged: bool = False
    continuous: bool = False
    fused: bool = False
    graph: bool = False

    max_length: int = 2048  # tokens of prompt and answer together
    slots: int = 8  # requests of that length that the KV cache has room for
    page: int = 16  # tokens of a page
    max_batch: int = 32
    cached_inputs: int = 64  # features that stay on the device
    prefill_tokens: int = 4096  # that one step takes, padding included
    chunk: int | None = None  # longest piece of a prompt in one step; None: whole prompts
    queue: int | None = None  # requests that may wait; None: any number

    def __post_init__(self):
        for name in ("max_length", "slots", "page", "max_batch", "prefill_tokens"):
            if getattr(self, name) < 1:
                raise ValueError(messages.text("serving.no_size", name=name, value=getattr(self, name)))
        for name in ("cached_inputs", "queue"):
            if (getattr(self, name) or 0) < 0:
                raise ValueError(messages.text("serving.negative", name=name, value=getattr(self, name)))
        if self.max_length % self.page or (self.chunk is not None and self.chunk < LEAST_CHUNK):
            raise ValueError(messages.text("serving.sizes", chunk=LEAST_CHUNK))

    @property
    def pages(self) -> int:
        return self.slots * self.max_length // self.page

    @property
    def batch(self) -> int:
        """The most requests that run at a time: whole lengths of the cache, or as many as their pages allow."""
        return self.max_batch if self.paged else min(self.slots, self.max_batch)

    @property
    def attention(self) -> str:
        """How keys are read: "view" (rows of a batch lie side by side), "gather" (copied together), or "fused"."""
        return "fused" if self.fused else "gather" if self.paged or self.continuous else "view"

    def with_(self, **changes) -> "Settings":
        return replace(self, **changes)

    def name(self) -> str:
        return "+".join(step for step in STEPS if getattr(self, step)) or "naive"


class Cost(NamedTuple):
    """What a piece of work took on the device's clock, modelled: its time, in it that of copies over the link and that
    of kernels, and the number of launches."""

    us: float
    copy_us: float = 0.0
    device_us: float = 0.0
    launches: int = 0


NAIVE = Settings()
_BUCKETS = (1, 2, 4, 8, 16, 32, 64)  # rows of a recorded step


def bucket(count: int, buckets: tuple[int, ...] = _BUCKETS) -> int:
    """The smallest of the sizes that holds so many; beyond the largest a multiple of it."""
    return next((size for size in buckets if size >= count), -(-count // buckets[-1]) * buckets[-1])


def ladder(settings: Settings = NAIVE) -> list[tuple[str, Settings]]:
    """(name, settings) of the naive server and of it with one step more at a time."""
    made = [("naive", settings)]
    for step in STEPS:
        settings = settings.with_(**{step: True})
        made.append((step, settings))
    return made


@dataclass(eq=False)
class Request:
    """One request, and how far it is. Times in microseconds of the virtual clock."""

    id: int
    arrival_us: float
    prompt: int  # tokens of the prompt, the rows of its features included
    answer: int  # tokens that are asked for
    features: int | None = None  # the number of the features that it comes with
    tokens: list[int] | None = None  # the prompt itself, where a model runs

    filled: int = 0  # tokens of the prompt whose keys are in the cache
    made: list[int] = field(default_factory=list)  # tokens of the answer
    count: int = 0  # how many those are (a simulation makes none)
    pages: list[int] = field(default_factory=list)
    first_us: float = -1.0
    done_us: float = -1.0

    @property
    def length(self) -> int:
        """Tokens whose keys the cache holds when the next token is made."""
        return self.prompt + self.count

    def fresh(self) -> "Request":
        """The same request, not yet begun."""
        return Request(self.id, self.arrival_us, self.prompt, self.answer, self.features, self.tokens)
