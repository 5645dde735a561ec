"""The server's inside: requests in, tokens out, the model on the device. One thread calls step(); nothing here waits.

Time is the device's virtual clock where there is one. `play` runs a load whose arrivals are on that clock, as the
simulation does; the endpoint calls submit() and step() as real requests come.
"""

from __future__ import annotations

import time
from itertools import islice

import torch

from labkit import device
from labkit.serving.batching import QueueFull, Scheduler, TooLong
from labkit.serving.input_cache import InputCache
from labkit.serving.model import PROMPT_ROWS, Decoder
from labkit.serving.runner import Row, Runner, Sent
from labkit.serving.settings import PIECES, PIECES_AHEAD, PIECES_RECORDED, Request, Settings

__all__ = ["Engine", "QueueFull", "TooLong"]


def now_us() -> float:
    """The host's place on the virtual clock; on a node the time of day."""
    return device.clock().host_us if device.mode() == "sim" else time.perf_counter() * 1e6


class Engine:
    """A model, its cache, and the requests that it works on."""

    def __init__(self, settings: Settings, decoder: Decoder | None = None, seed: int = 0):
        self.settings = settings
        self.runner = Runner(settings, decoder, seed)
        self.plan = Scheduler(settings)
        self.inputs = InputCache(settings.cached_inputs if settings.input_cache else 0)
        self._features: dict[int, Sent] = {}  # by request: on the device, or on their way
        self.steps = 0

    # ---- requests

    def submit(self, request: Request) -> None:
        """Takes a request into the queue. Raises TooLong, QueueFull, ValueError."""
        if request.tokens is None:  # a simulated load says how many; any will do
            text = request.prompt - (PROMPT_ROWS if request.features is not None else 0)
            request.tokens = [(7 * request.id + i) % 256 for i in range(text)]
        if request.features is not None and len(request.tokens) + PROMPT_ROWS > request.prompt:
            request.prompt = len(request.tokens) + PROMPT_ROWS
        self.plan.submit(request)

    def abort(self, request: Request) -> None:
        """Forgets a request whose client has gone, in whatever state it is, and frees what it holds."""
        self.plan.abort(request)
        self.plan.retire()
        self._features.pop(request.id, None)

    def requests(self) -> list[Request]:
        return [*self.plan.waiting, *self.plan.reading, *self.plan.running]

    @property
    def idle(self) -> bool:
        return not (self.plan.waiting or self.plan.busy)

    def held(self) -> dict[str, int]:
        """What requests hold now; all zero where there are none."""
        pool = self.plan.pool
        return {
            "requests": len(self.plan.waiting) + len(self.plan.reading) + len(self.plan.running),
            "pages": pool.total - pool.free_pages,
            "features": len(self._features),
        }

    # ---- steps

    def step(self) -> list[tuple[Request, int, bool]]:
        """Reads prompts, then makes a token for each running request: (request, token, whether that was its last).
        [] where nothing was to be done, or the features of the first one are still on their way.
        """
        made: list[tuple[Request, int, bool]] = []
        chunks = self.plan.prefill(self._here)
        if chunks:
            tokens = self.runner.prefill([self._piece(*c) for c in chunks], self._send_ahead)
            complete = self.plan.read(chunks)
            for chunk, token in zip(chunks, tokens):
                if chunk.request in complete:
                    self._features.pop(chunk.request.id, None)
                    self._token(chunk.request, token, made)
            self.plan.retire()
        running = list(self.plan.decode())
        if running:
            ahead = self._send_few_ahead if self.settings.graph else self._send_ahead
            rows = [Row([r.made[-1] if r.made else 0], r.length - 1, r.pages) for r in running]
            for request, token in zip(running, self.runner.decode(rows, ahead)):
                if not self.plan.done(request):
                    self._token(request, token, made)
            self.plan.retire()
        if chunks or running:
            self.steps += 1
        elif self.plan.waiting:
            first = self._features.get(self.plan.waiting[0].id)
            if first is None or first.pieces < PIECES:
                self._send_ahead()
            if device.mode() == "sim":
                device.host_work(1.0)  # the host looks again a little later; its clock does not run by itself
        return made

    def _token(self, request: Request, token: int, made: list) -> None:
        request.made.append(token)
        request.count += 1
        now = now_us()
        if request.count == 1:
            request.first_us = now
        if self.plan.done(request):
            request.done_us = now
        made.append((request, token, self.plan.done(request)))

    def _piece(self, request: Request, begin: int, count: int) -> Row:
        tokens = request.tokens
        if request.features is not None:
            tokens = [0] * PROMPT_ROWS + tokens  # these rows are replaced by the features'
        features = None
        if begin == 0 and request.features is not None:
            features = self._take(request)
        return Row(tokens[begin : begin + count], begin, request.pages, features)

    # ---- features

    def _take(self, request: Request) -> torch.Tensor:
        sent = self._features.get(request.id) or self._fetch(request)
        if sent.event is not None:
            torch.npu.current_stream().wait_event(sent.event)
        return sent.tensor

    def _fetch(self, request: Request) -> Sent:
        kept = self.inputs.get(request.features) if self.settings.input_cache else None
        if kept is None:
            kept = self.runner.fetch(request.features)
            if self.settings.input_cache:
                self.inputs.put(request.features, kept)
        self._features[request.id] = kept
        return kept

    def _send_ahead(self, pieces: int = PIECES_AHEAD) -> None:
        """Sends at most so many pieces of the features that are needed next, on the second stream. It is called when a
        step's own inputs are on their way: over the link one copy waits for the other.
        """
        if not self.settings.pinned:
            return
        for request in islice(self.plan.waiting, self.settings.batch):  # later ones would only take up memory
            if request.features is None:
                continue
            sent = self._features.get(request.id) or self._fetch(request)
            while sent.pieces < PIECES:
                if not pieces:
                    return
                self.runner.send(sent)
                pieces -= 1

    def _send_few_ahead(self) -> None:
        """Beside a recorded step, which is short."""
        self._send_ahead(PIECES_RECORDED)

    def _here(self, request: Request) -> bool:
        if request.features is None or not self.settings.pinned:
            return True
        return request.id in self._features and self._features[request.id].there

    # ---- a load on the virtual clock

    def play(self, requests: list[Request]) -> list[Request]:
        """Runs a load whose arrivals are on the virtual clock, which begins at 0; the requests with their times."""
        if device.mode() != "sim":
            raise RuntimeError("a load is played on the virtual clock of the simulated device")
        requests = [r.fresh() for r in requests]
        self.runner.warm()
        torch.npu.synchronize()
        with device.clock_from_zero("labkit.serving"):
            coming = 0
            while coming < len(requests) or not self.idle:
                while coming < len(requests) and requests[coming].arrival_us <= now_us():
                    self.submit(requests[coming])
                    coming += 1
                before = self.steps
                self.step()
                if self.steps == before:  # nothing was to be done: time passes
                    if not self.plan.waiting:
                        device.host_work(max(0.0, requests[coming].arrival_us - now_us()) + 1e-3)
        return requests
