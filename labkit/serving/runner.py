"""One step of the model on the device: inputs are brought there, the step is issued or replayed, tokens come back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from labkit import device
from labkit.serving.input_cache import InputCache
from labkit.serving.model import Decoder, Step, features_of
from labkit.serving.settings import PIECES, Cost, Settings, bucket

KEPT = 64  # features that stay in host memory: 11.8 MB each, and made anew in 0.05 s
_SPANS = (256, 512, 1024, 2048, 4096)  # keys that it looks at


def span_of(longest: int, settings: Settings, whole: bool) -> int:
    """Keys that a decode step looks at. A recorded step has one shape: the next of a few sizes."""
    if not whole:
        return longest
    return min(bucket(longest, _SPANS), settings.max_length)


@dataclass(eq=False)
class Sent:
    """Features on their way to the device."""

    host: torch.Tensor
    tensor: torch.Tensor
    pieces: int  # that were sent, of PIECES
    event: object  # behind the last one; None: nobody has to wait

    @property
    def there(self) -> bool:
        return self.pieces == PIECES and (self.event is None or self.event.query())


class Row(NamedTuple):
    """A row of a step: the tokens that it reads, how many stand in the cache before, and its pages."""

    tokens: list[int]
    begin: int
    pages: list[int]
    features: torch.Tensor | None = None


def _nothing() -> None:
    pass


class Runner:
    """Runs steps for rows that somebody else has chosen."""

    def __init__(self, settings: Settings, decoder: Decoder | None = None, seed: int = 0):
        self.settings = settings
        self.decoder = Decoder(seed) if decoder is None else decoder
        pages = settings.pages
        if settings.graph and settings.attention == "view":  # a recorded step may have more rows than there are slots
            pages = bucket(settings.batch) * settings.max_length // settings.page
        self.keys, self.values = self.decoder.pools(pages, settings.page)
        self._graphs: dict = {}
        self._side = torch.npu.Stream() if settings.pinned else None
        self._host = InputCache(KEPT)

    # ---- features

    def fetch(self, number: int) -> "Sent":
        """The features with that number: there, or where inputs are pinned, to be sent piece by piece."""
        kept = self._host.get(number)
        if kept is None:
            kept = features_of(number, self.settings.pinned)
            self._host.put(number, kept)
        if self._side is None:
            return Sent(kept, kept.npu(), PIECES, None)
        return Sent(kept, torch.empty(kept.shape, device="npu"), 0, None)

    def send(self, sent: "Sent") -> None:
        """The next piece, on the second stream. A step's own inputs wait for no more than a piece."""
        rows = len(sent.host) // PIECES
        part = slice(sent.pieces * rows, (sent.pieces + 1) * rows)
        with torch.npu.stream(self._side):
            sent.tensor[part].copy_(sent.host[part], non_blocking=True)
        sent.pieces += 1
        if sent.pieces == PIECES:
            sent.event = self._side.record_event()

    # ---- steps

    def prefill(self, rows: list[Row], meanwhile: Callable[[], None] = _nothing) -> list[int]:
        """Reads pieces of prompts; the token behind each. meanwhile: called when the step's inputs are on their way."""
        width, most = max(len(r.tokens) for r in rows), max(r.begin + len(r.tokens) for r in rows)
        own = all(r.begin == 0 for r in rows)
        how = "own" if own else "gather"
        arrays = self._arrays(rows, width, None if own else self._pages(most), False)
        arrays["last"] = np.array([i * width + len(r.tokens) - 1 for i, r in enumerate(rows)], np.int32)
        inserts = [(i, r.features) for i, r in enumerate(rows) if r.features is not None and r.begin == 0]
        moved = self._to_device(arrays)
        meanwhile()
        return self._back(self._issue(moved, how, most, rows, inserts))

    def decode(self, rows: list[Row], meanwhile: Callable[[], None] = _nothing) -> list[int]:
        """The next token of each row, whose `tokens` is its newest one."""
        settings, count = self.settings, len(rows)
        how = settings.attention
        if settings.graph:
            rows = list(rows) + [Row([0], 0, [])] * (bucket(count) - count)
        most = span_of(max(r.begin + 1 for r in rows), settings, settings.graph)
        if settings.graph and how == "fused":  # the kernel takes the lengths from memory
            most = settings.max_length
        arrays = self._arrays(rows, 1, None if how == "view" else self._pages(most), how == "fused")
        if settings.graph:
            return self._back(self._replay(arrays, how, most, rows, meanwhile))[:count]
        moved = self._to_device(arrays)
        meanwhile()
        return self._back(self._issue(moved, how, most, rows))[:count]

    def warm(self) -> None:
        """Records every shape of a decode step now, so that no request waits for it."""
        if self.settings.graph:
            spans = sorted({span_of(n, self.settings, True) for n in range(1, self.settings.max_length + 1)})
            spans = [1] if self.settings.fused else spans
            for rows in sorted({bucket(n) for n in range(1, self.settings.batch + 1)}):
                for span in spans:
                    self.decode([Row([0], span - 1, [])] * rows)

    def _pages(self, tokens: int) -> int:
        return -(-tokens // self.settings.page)

    def _arrays(self, rows: list[Row], width: int, pages: int | None, lengths: bool) -> dict:
        """What a step takes, on the host; padding is token 0 at place 0, written to page 0."""
        page = self.settings.page
        arrays = {"slots": np.zeros((len(rows), width), np.int64)}  # first, for the sake of alignment in _packed
        arrays |= {name: np.zeros((len(rows), width), np.int32) for name in ("ids", "positions")}
        for i, row in enumerate(rows):
            if not row.pages:
                continue
            n, places = len(row.tokens), np.arange(row.begin, row.begin + len(row.tokens))
            arrays["ids"][i, :n] = row.tokens
            arrays["positions"][i, :n] = places
            arrays["slots"][i, :n] = np.asarray(row.pages)[places // page] * page + places % page
        if pages is not None:
            arrays["table"] = np.zeros((len(rows), pages), np.int32)
            for i, row in enumerate(rows):
                held = row.pages[:pages]
                arrays["table"][i, : len(held)] = held
        if lengths:
            arrays["lengths"] = np.array([max(1, r.begin + len(r.tokens)) for r in rows], np.int32)
        return arrays

    def _packed(self, arrays: dict) -> torch.Tensor:
        """All arrays one behind the other, in pinned memory where that is a setting."""
        flat = torch.from_numpy(np.concatenate([a.reshape(-1).view(np.uint8) for a in arrays.values()]))
        return flat.pin_memory() if self.settings.pinned else flat

    def _to_device(self, arrays: dict) -> dict[str, torch.Tensor]:
        if not self.settings.pinned:
            return {name: torch.from_numpy(array).npu() for name, array in arrays.items()}
        return self._views(self._packed(arrays).to("npu", non_blocking=True), arrays)

    @staticmethod
    def _views(flat: torch.Tensor, arrays: dict) -> dict[str, torch.Tensor]:
        views, at = {}, 0
        for name, array in arrays.items():
            kind = torch.int64 if array.dtype == np.int64 else torch.int32
            views[name] = flat[at : at + array.nbytes].view(kind).view(array.shape)
            at += array.nbytes
        return views

    def _issue(self, moved: dict, how: str, most: int, rows: list[Row], inserts=()) -> torch.Tensor:
        step = Step(
            self.keys, self.values, moved["slots"].view(-1), moved["positions"], how, most,
            first=rows[0].pages[0] if how == "view" and rows[0].pages else 1,
            reserved=self.settings.max_length, table=moved.get("table"), lengths=moved.get("lengths"),
            fused=self.settings.fused,
        )  # fmt: skip
        with torch.no_grad():
            return self.decoder.next_tokens(moved["ids"], moved["positions"], moved.get("last"), step, inserts)

    def _back(self, tokens: torch.Tensor) -> list[int]:
        return tokens.cpu().tolist()

    def _replay(self, arrays: dict, how: str, most: int, rows: list[Row], meanwhile) -> torch.Tensor:
        key = (len(rows), most)
        if key not in self._graphs:
            flat = self._packed(arrays).npu()
            views = self._views(flat, arrays)
            self._issue(views, how, most, rows)  # loads what a first run loads; a capture runs nothing
            graph = torch.npu.NPUGraph()
            with torch.npu.graph(graph):
                tokens = self._issue(views, how, most, rows)
            self._graphs[key] = graph, flat, views, tokens
        graph, flat, views, tokens = self._graphs[key]
        if self.settings.pinned:
            flat.copy_(self._packed(arrays), non_blocking=True)
        else:
            for name, array in arrays.items():
                views[name].copy_(torch.from_numpy(array))
        meanwhile()
        graph.replay()
        return tokens


class stopwatch:
    """`with stopwatch() as w: ...; w.cost`: the virtual clock begins at zero inside."""

    def __enter__(self) -> "stopwatch":
        torch.npu.synchronize()
        self._counts = device.clock_from_zero("labkit.serving")
        self._counts.__enter__()
        return self

    def __exit__(self, *error) -> None:
        self._counts.__exit__(None, None, None)
        torch.npu.synchronize()
        spans = device.timeline()
        lengths = {
            copy: [s.end_us - s.start_us for s in spans if s.engine.startswith("copy") == copy]
            for copy in (True, False)
        }
        kernels = lengths[False]
        self.cost = Cost(device.clock().host_us, sum(lengths[True]), sum(kernels), len(kernels))
