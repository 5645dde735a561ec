"""The OpenAI-style endpoint of `labkit serve`: /v1/models, /v1/completions, /v1/chat/completions, /health.

Loopback only. Requests are answered by one Engine in a thread of its own; answers come whole or as server-sent events.
What goes wrong has its own answer: 400 (no JSON, or a prompt that is too long), 404 (another model), 413 (a body beyond
a megabyte), 422 (a field), 429 with Retry-After (a full queue), 503 (closing); in a streamed answer that has begun it
is the last event. A client that hangs up is noticed soon, tokens or not; its request is forgotten and what it held is
free. Greedy decoding: temperature and top_p are taken and ignored. The times that it reports are the device's, modelled
where that is simulated; what a client measures here is how fast this machine's CPU simulates.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import threading
import time
from collections import deque
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from labkit import device, messages
from labkit.serving import tokens
from labkit.serving.load import FEATURE_ROWS
from labkit.serving.settings import Request, Settings

MODEL = "labkit-llama"
MOST_BODY = 2**20
LOOK_EVERY = 0.05  # seconds between two looks whether the client is still there
FEATURES = "lab://"  # the URL of an image part: lab://7 are the features number 7


class Refused(Exception):
    """An answer with a status of its own."""

    def __init__(self, status: int, code: str, text: str, param: str | None = None, headers: dict | None = None):
        super().__init__(text)
        self.status, self.code, self.param, self.headers = status, code, param, headers

    def response(self) -> JSONResponse:
        kind = "invalid_request_error" if self.status < 429 else "server_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return JSONResponse({"error": error}, self.status, self.headers)


def _refused(error: Exception) -> Refused:
    return error if isinstance(error, Refused) else Refused(500, "engine", f"{type(error).__name__}: {error}")


class Worker:
    """The thread that owns the engine. Tokens go to an asyncio queue of each request: a number, None at the end, or
    an exception.
    """

    def __init__(self, engine):
        self.engine = engine
        self.counts = dict.fromkeys(("finished", "aborted", "refused", "failed"), 0)
        self._inbox: deque[tuple[str, Request]] = deque()
        self._answers: dict[int, tuple[asyncio.AbstractEventLoop, asyncio.Queue]] = {}
        self._taken: set[int] = set()  # what the engine has got and not ended; the thread's own
        self._wake, self._closing = threading.Event(), False
        self._thread = threading.Thread(target=self._run, name="labkit-engine", daemon=True)
        self._thread.start()

    def submit(self, request: Request) -> asyncio.Queue:
        """From the event loop. Raises Refused."""
        settings: Settings = self.engine.settings
        if self._closing:
            raise Refused(503, "closing", messages.text("serving.closing"))
        if request.prompt + request.answer > settings.max_length:
            text = messages.text(
                "serving.too_long", prompt=request.prompt, answer=request.answer, most=settings.max_length
            )
            raise Refused(400, "context_length_exceeded", text, "prompt")
        coming = sum(what == "submit" for what, _ in list(self._inbox))
        if settings.queue is not None and len(self.engine.plan.waiting) + coming >= settings.queue:
            text = messages.text("serving.queue_full", count=settings.queue)
            raise Refused(429, "queue_full", text, headers={"Retry-After": "1"})
        answer: asyncio.Queue = asyncio.Queue()
        self._answers[request.id] = asyncio.get_running_loop(), answer
        self._tell("submit", request)
        return answer

    def forget(self, request: Request) -> None:
        """The client has gone."""
        if self._answers.pop(request.id, None) is not None:
            self._tell("abort", request)

    def held(self) -> dict[str, int]:
        return self.engine.held() | {"answers": len(self._answers), "inbox": len(self._inbox)}

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        self._thread.join(timeout=30)

    def _tell(self, what: str, request: Request) -> None:
        self._inbox.append((what, request))
        self._wake.set()

    def _run(self) -> None:
        while not self._closing:
            self._wake.clear()
            self._read_inbox()
            if self.engine.idle:
                self._wake.wait(timeout=1)
                continue
            try:
                made = self.engine.step()
            except Exception as error:  # the engine's state is not to be trusted: all that it works on ends here
                self.counts["failed"] += len(self._taken)
                for request in self.engine.requests():
                    self.engine.abort(request)
                for number in list(self._taken):
                    self._send(number, error)
                continue
            for request, token, last in made:
                self._send(request.id, token)
                if last:
                    self._send(request.id, None)
        for number in list(self._answers):
            self._send(number, Refused(503, "closing", messages.text("serving.closing")))

    def _read_inbox(self) -> None:
        while self._inbox:
            what, request = self._inbox.popleft()
            if what == "abort":
                self.counts["aborted"] += 1
                self._taken.discard(request.id)
                self.engine.abort(request)
            else:
                self._taken.add(request.id)
                try:
                    self.engine.submit(request)
                except (ValueError, RuntimeError) as error:  # the queue filled up meanwhile
                    refused = Refused(429, "queue_full", str(error), headers={"Retry-After": "1"})
                    self._send(request.id, refused)

    def _send(self, number: int, what) -> None:
        if what is None or isinstance(what, Exception):
            self._taken.discard(number)
        known = self._answers.get(number)
        if known is None:
            return
        if what is None or isinstance(what, Exception):
            self.counts["finished"] += what is None
            self._answers.pop(number, None)
        loop, answer = known
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(answer.put_nowait, what)


# ---- what a client sends


async def _body(http: HttpRequest) -> dict[str, Any]:
    read = bytearray()
    async for part in http.stream():
        read += part
        if len(read) > MOST_BODY:
            raise Refused(413, "body_too_large", messages.text("serving.body", most=MOST_BODY))
    try:
        found = json.loads(read)
    except (ValueError, RecursionError) as error:  # not UTF-8, no JSON, nested too deep
        raise Refused(400, "no_json", messages.text("serving.no_json", error=error)) from None
    if not isinstance(found, dict):
        raise Refused(400, "no_object", messages.text("serving.no_object"))
    return found


def _field(body: dict, name: str, kinds: type, default=None):
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):  # True is an int to Python
        raise Refused(422, "wrong_field", messages.text("serving.field", name=name), name)
    return value


def _wrong(name: str) -> Refused:
    return Refused(422, "wrong_field", messages.text("serving.field", name=name), name)


def _prompt_of_completion(body: dict) -> tuple[list[int], int | None]:
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], (str, list)):
        prompt = prompt[0]
    features = _field(body, "features", int)
    if features is not None and not 0 <= features < 1000:
        raise _wrong("features")
    if isinstance(prompt, str):
        return _encoded(prompt, "prompt"), features
    if isinstance(prompt, list) and prompt and all(type(t) is int and 0 <= t < 512 for t in prompt):
        return prompt, features
    raise _wrong("prompt")


def _encoded(text: str, name: str) -> list[int]:
    try:
        return tokens.encode(text)
    except UnicodeEncodeError:  # half of a pair of surrogates
        raise _wrong(name) from None


def _prompt_of_chat(body: dict) -> tuple[list[int], int | None]:
    said, features = [], None
    lines = body.get("messages")
    if not isinstance(lines, list) or not lines:
        raise _wrong("messages")
    for line in lines:
        if not isinstance(line, dict) or not isinstance(line.get("role"), str):
            raise _wrong("messages")
        content = line.get("content")
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else None
            if kind == "text" and isinstance(part.get("text"), str):
                said.append(f"{line['role']}: {part['text']}\n")
            elif kind == "image_url":
                url = part.get("image_url")
                url = url.get("url") if isinstance(url, dict) else None
                number = url.removeprefix(FEATURES) if isinstance(url, str) and url.startswith(FEATURES) else ""
                if not number.isdecimal():
                    raise _wrong("image_url")
                features = int(number[-3:])
            else:
                raise _wrong("messages")
    return _encoded("".join(said) + "assistant:", "messages"), features


# ---- what it gets


class Answer:
    """One request on its way, and the forms in which its tokens go back."""

    numbers = itertools.count()

    def __init__(self, worker: Worker, body: dict, chat: bool):
        self.worker, self.chat = worker, chat
        if _field(body, "model", str, MODEL) != MODEL:
            raise Refused(404, "model_not_found", messages.text("serving.model", model=body["model"]), "model")
        if _field(body, "n", int, 1) != 1:
            raise _wrong("n")
        asked = _field(body, "max_completion_tokens", int, _field(body, "max_tokens", int, 16))
        if asked < 1:
            raise _wrong("max_tokens")
        self.stream = _field(body, "stream", bool, False)
        options = _field(body, "stream_options", dict, {})
        self.usage_too = bool(options.get("include_usage"))
        prompt, features = (_prompt_of_chat if chat else _prompt_of_completion)(body)
        count = len(prompt) + (FEATURE_ROWS if features is not None else 0)
        if not prompt:
            raise _wrong("prompt")
        self.request = Request(next(self.numbers), 0.0, count, asked, features, prompt)
        self.name = f"{'chatcmpl' if chat else 'cmpl'}-{self.request.id}"
        self.created = int(time.time())
        self.queue = worker.submit(self.request)

    async def tokens(self, http: HttpRequest):
        """The tokens as they come; looks meanwhile whether the client is there. Raises Refused(499) where it is not."""
        looked = time.monotonic()
        try:
            while True:
                if time.monotonic() - looked >= LOOK_EVERY:
                    if await http.is_disconnected():
                        raise Refused(499, "client_gone", messages.text("serving.gone"))
                    looked = time.monotonic()
                try:
                    token = await asyncio.wait_for(self.queue.get(), LOOK_EVERY)
                except asyncio.TimeoutError:
                    continue
                if token is None:
                    return
                if isinstance(token, Exception):
                    raise token
                yield token
        finally:  # a whole answer has left the table already
            self.worker.forget(self.request)

    def usage(self) -> dict:
        made = self.request.count
        return {
            "prompt_tokens": self.request.prompt,
            "completion_tokens": made,
            "total_tokens": self.request.prompt + made,
        }

    def body(self, choices: list, usage: dict | None, part: bool) -> dict:
        kind = ("chat.completion" if self.chat else "text_completion") + (".chunk" if part and self.chat else "")
        made = {"id": self.name, "object": kind, "created": self.created, "model": MODEL, "choices": choices}
        return made if usage is None else made | {"usage": usage}

    async def whole(self, http: HttpRequest) -> Response:
        text = "".join([tokens.decode(t) async for t in self.tokens(http)])
        choice: dict[str, Any] = {"index": 0, "finish_reason": "length", "logprobs": None}
        choice |= {"message": {"role": "assistant", "content": text}} if self.chat else {"text": text}
        return JSONResponse(self.body([choice], self.usage(), False))

    async def events(self, http: HttpRequest):
        def event(choices: list, usage: dict | None = None) -> str:
            return f"data: {json.dumps(self.body(choices, usage, True))}\n\n"

        def choice(text: str | None, end: str | None = None) -> dict:
            made: dict[str, Any] = {"index": 0, "finish_reason": end, "logprobs": None}
            delta = {} if text is None else {"role": "assistant", "content": text}
            return made | ({"delta": delta} if self.chat else {"text": text or ""})

        try:
            async with contextlib.aclosing(self.tokens(http)) as coming:
                async for token in coming:
                    yield event([choice(tokens.decode(token))])
            yield event([choice(None, "length")])
            if self.usage_too:
                yield event([], self.usage())
            yield "data: [DONE]\n\n"
        except Exception as error:
            refused = _refused(error)
            if refused.status != 499:
                yield f"data: {refused.response().body.decode()}\n\n"


def app(engine=None, settings: Settings | None = None, seed: int = 0) -> Starlette:
    """The endpoint as an ASGI application. engine: the one to use; by default all steps, and 64 that may wait."""
    if engine is None:
        from labkit.serving.engine import Engine
        from labkit.serving.settings import ladder

        device.install()
        engine = Engine(settings or ladder()[-1][1].with_(queue=64), seed=seed)
    worker = Worker(engine)

    async def answer(http: HttpRequest, chat: bool) -> Response:
        try:
            made = Answer(worker, await _body(http), chat)
            if not made.stream:
                return await made.whole(http)
            return StreamingResponse(made.events(http), media_type="text/event-stream")
        except Refused as refused:
            worker.counts["refused"] += refused.status != 499
            return refused.response()
        except ClientDisconnect:
            return Response(status_code=499)
        except Exception as error:
            return _refused(error).response()

    async def completions(http: HttpRequest) -> Response:
        return await answer(http, False)

    async def chat(http: HttpRequest) -> Response:
        return await answer(http, True)

    async def models(http: HttpRequest) -> Response:
        one = {"id": MODEL, "object": "model", "created": 0, "owned_by": "labkit"}
        return JSONResponse({"object": "list", "data": [one | {"max_model_len": engine.settings.max_length}]})

    async def health(http: HttpRequest) -> Response:
        simulated = device.mode() == "sim"
        state = {"device": device.chip() or "npu", "times": "modelled" if simulated else "measured"}
        state |= {"device_ms": round(device.clock().host_us / 1e3, 3)} if simulated else {}
        return JSONResponse({"status": "ok"} | state | {"held": worker.held(), "counts": worker.counts})

    @contextlib.asynccontextmanager
    async def lifespan(_):
        yield
        worker.close()

    routes = [
        Route("/v1/models", models),
        Route("/health", health),
        Route("/v1/completions", completions, methods=["POST"]),
        Route("/v1/chat/completions", chat, methods=["POST"]),
    ]
    made = Starlette(routes=routes, lifespan=lifespan)
    made.state.worker = worker
    return made


def serve(port: int = 8000, settings: Settings | None = None, seed: int = 0) -> None:
    """Serves on 127.0.0.1 until it is interrupted."""
    import uvicorn

    uvicorn.run(app(settings=settings, seed=seed), host="127.0.0.1", port=port, log_level="warning")
