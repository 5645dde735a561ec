"""The endpoint, over real sockets: whole and streamed answers, each refusal, clients that hang up, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time

import pytest

pytest.importorskip("transformers")
httpx = pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")

import torch
from served import process, reachable, until

from labkit import device

device.install()

from labkit.serving import Decoder, Engine, ladder
from labkit.serving.endpoint import FEATURES, MODEL, app

CONTINUOUS = ladder()[4][1].with_(queue=2, max_batch=2, max_length=512)  # without graphs, which take long to record


class Slow:
    """An engine whose steps can be held up, so that a test decides what waits."""

    def __init__(self, engine):
        self.inner, self.open = engine, threading.Event()
        self.open.set()
        self.fail = self.held_up = False

    def step(self):
        self.held_up = not self.open.is_set()
        self.open.wait()
        if self.fail:
            self.fail = False
            raise RuntimeError("out of memory")
        return self.inner.step()

    def __getattr__(self, name):
        return getattr(self.inner, name)


class Running:
    def __init__(self, settings, decoder):
        self.engine = Slow(Engine(settings, decoder))
        self.app = app(self.engine)
        config = uvicorn.Config(self.app, host="127.0.0.1", port=0, log_level="error")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        until(lambda: self.server.started)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.client = httpx.Client(base_url=self.url, timeout=60)

    def close(self):
        self.engine.open.set()
        self.client.close()
        self.server.should_exit = True
        self.thread.join(timeout=30)
        assert not self.thread.is_alive()

    @property
    def counts(self):
        return self.app.state.worker.counts

    def empty(self) -> bool:
        return not any(self.app.state.worker.held().values())


@pytest.fixture(scope="module")
def decoder():
    return Decoder()


@pytest.fixture
def server(decoder):
    running = Running(CONTINUOUS, decoder)
    yield running
    running.engine.open.set()
    until(running.empty)  # whatever a test did, nothing is left
    running.close()


def completion(**changes) -> dict:
    return {"model": MODEL, "prompt": "abc", "max_tokens": 3} | changes


def test_a_completion(server):
    got = server.client.post("/v1/completions", json=completion()).json()
    assert got["object"] == "text_completion" and len(got["choices"][0]["text"]) == 3
    assert got["choices"][0]["finish_reason"] == "length"
    assert got["usage"] == {"prompt_tokens": 3, "completion_tokens": 3, "total_tokens": 6}
    assert server.client.post("/v1/completions", json=completion()).json()["choices"] == got["choices"]


def test_streaming_gives_the_same_text(server):
    whole = server.client.post("/v1/completions", json=completion(max_tokens=5)).json()["choices"][0]["text"]
    asked = completion(max_tokens=5, stream=True, stream_options={"include_usage": True})
    with server.client.stream("POST", "/v1/completions", json=asked) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert lines[-1] == "[DONE]"
    parts = [json.loads(line) for line in lines[:-1]]
    assert "".join(p["choices"][0]["text"] for p in parts if p["choices"]) == whole
    assert parts[-1]["usage"]["completion_tokens"] == 5 and len(parts) == 7


def test_a_chat_with_features(server):
    parts = [{"type": "text", "text": "what is it"}, {"type": "image_url", "image_url": {"url": f"{FEATURES}7"}}]
    asked = {"model": MODEL, "messages": [{"role": "user", "content": parts}], "max_completion_tokens": 2}
    got = server.client.post("/v1/chat/completions", json=asked).json()
    assert len(got["choices"][0]["message"]["content"]) == 2 and got["usage"]["prompt_tokens"] > 64


def test_models_and_health(server):
    assert server.client.get("/v1/models").json()["data"][0]["id"] == MODEL
    health = server.client.get("/health").json()
    assert health["status"] == "ok" and health["times"] == "modelled" and not any(health["held"].values())


@pytest.mark.parametrize(
    "body, status",
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"[]", 400),
        (b"[" * 200_000, 400),
        (b'{"prompt": "\\ud800"}', 422),
        (completion(features=-1), 422),
        (completion(features=10**30), 422),
        (b"{}", 422),
        (completion(prompt=7), 422),
        (completion(prompt=""), 422),
        (completion(prompt=[1, 900]), 422),
        (completion(max_tokens=0), 422),
        (completion(max_tokens="many"), 422),
        (completion(max_tokens=True), 422),
        (completion(n=2), 422),
        (completion(stream="yes"), 422),
        (completion(stream_options=[]), 422),
        (completion(model="gpt"), 404),
        (completion(prompt="x" * 600), 400),
        (completion(max_tokens=600), 400),
        (completion(max_tokens=600, stream=True), 400),
        (b"x" * (2**20 + 1), 413),
    ],
)
def test_what_is_malformed_or_too_long_is_refused(server, body, status):
    given = {"content": body} if isinstance(body, bytes) else {"json": body}
    got = server.client.post("/v1/completions", **given)
    assert got.status_code == status and got.json()["error"]["message"]
    assert server.counts["refused"] == 1


def test_features_of_a_chat_are_counted_round_at_1000(server):
    part = {"type": "image_url", "image_url": {"url": FEATURES + 5000 * "1"}}
    asked = {"model": MODEL, "messages": [{"role": "user", "content": [part]}], "max_tokens": 1}
    assert server.client.post("/v1/chat/completions", json=asked).status_code == 200
    asked["messages"][0]["content"] = "\ud800"
    body = json.dumps(asked).encode()
    assert server.client.post("/v1/chat/completions", content=body).status_code == 422


@pytest.mark.parametrize(
    "asked", [None, [], "hi", [{"role": "user"}], [{"role": "user", "content": [{"type": "audio"}]}], [{"content": "x"}],
              [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x"}}]}]]
)  # fmt: skip
def test_a_malformed_chat_is_refused(server, asked):
    assert server.client.post("/v1/chat/completions", json={"model": MODEL, "messages": asked}).status_code == 422


def send(server, count: int, **changes) -> list[socket.socket]:
    """Requests whose answers nobody reads yet."""
    body = json.dumps(completion(**{"max_tokens": 100} | changes)).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    made = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(count)]
    for connection in made:
        connection.sendall(head + body)
    return made


def test_a_full_queue_says_when_to_come_back(server):
    running = send(server, 2)
    until(lambda: len(server.engine.plan.running) == 2)
    server.engine.open.clear()
    waiting = send(server, 2)
    until(lambda: len(server.app.state.worker._inbox) + len(server.engine.plan.waiting) == 2)
    refused = server.client.post("/v1/completions", json=completion())
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) >= 1
    server.engine.open.set()
    until(lambda: server.counts["finished"] == 4, 60)
    for connection in running + waiting:
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        connection.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("state", ["waiting", "running"])
def test_a_client_that_hangs_up_leaves_nothing(server, state, stream):
    memory = torch.npu.memory_allocated()
    others = send(server, 2 if state == "waiting" else 0, stream=stream)
    until(lambda: len(server.engine.plan.running) == len(others))
    if others:
        server.engine.open.clear()
    gone = send(server, 1, stream=stream, features=3)
    if not others:
        until(lambda: server.engine.plan.running)
        server.engine.open.clear()
    until(lambda: len(server.app.state.worker._answers) == len(others) + 1)
    gone[0].close()
    until(lambda: len(server.app.state.worker._answers) == len(others))
    server.engine.open.set()
    until(lambda: server.counts["aborted"] == 1)
    until(lambda: server.counts["finished"] == len(others), 60)
    until(server.empty)
    server.engine.inner.inputs._kept.clear()
    assert torch.npu.memory_allocated() <= memory
    for connection in others:
        connection.close()
    assert server.client.post("/v1/completions", json=completion()).status_code == 200


def test_a_client_that_hangs_up_is_noticed_while_tokens_come_fast(server):
    step = server.engine.inner.step
    server.engine.inner.step = lambda: time.sleep(0.01) or step()  # faster than LOOK_EVERY
    (gone,) = send(server, 1, max_tokens=400)
    until(lambda: server.engine.plan.running)
    gone.close()
    until(lambda: not server.app.state.worker._answers, 60)
    until(lambda: server.counts["aborted"] + server.counts["finished"] == 1)
    assert server.counts["aborted"] == 1


def test_an_engine_that_fails_ends_its_requests_and_goes_on(server):
    server.engine.fail = True
    assert server.client.post("/v1/completions", json=completion()).status_code == 500
    assert server.client.post("/v1/completions", json=completion()).status_code == 200


def test_an_engine_that_fails_does_not_end_what_it_has_not_yet_got(server):
    first = send(server, 1)
    until(lambda: server.engine.plan.running)
    server.engine.open.clear()
    until(lambda: server.engine.held_up)
    later = send(server, 1)
    until(lambda: len(server.app.state.worker._inbox) == 1)
    server.engine.fail = True
    server.engine.open.set()
    assert first[0].recv(100).startswith(b"HTTP/1.1 500") and later[0].recv(100).startswith(b"HTTP/1.1 200")
    assert server.counts["failed"] == server.counts["finished"] == 1
    for connection in first + later:
        connection.close()


def test_an_engine_that_fails_is_the_last_event_of_a_streamed_answer(server):
    server.engine.fail = True
    with server.client.stream("POST", "/v1/completions", json=completion(stream=True)) as answer:
        (event,) = [line.removeprefix("data: ") for line in answer.iter_lines() if line]
    assert json.loads(event)["error"] == {
        "message": "RuntimeError: out of memory", "type": "server_error", "param": None, "code": "engine"
    }  # fmt: skip


def test_a_static_batch_lets_go_too(decoder):
    running = Running(ladder()[0][1].with_(queue=4, max_length=512), decoder)
    gone, kept = send(running, 1), send(running, 1)
    until(lambda: running.engine.plan.running)
    running.engine.open.clear()
    until(lambda: len(running.app.state.worker._answers) == 2)
    gone[0].close()
    until(lambda: len(running.app.state.worker._answers) == 1)
    running.engine.open.set()
    until(lambda: running.counts["aborted"] == 1)
    until(lambda: running.counts["finished"] == 1, 60)
    until(running.empty)
    kept[0].close()
    running.close()


# ---- a process of its own


@pytest.mark.slow
def test_killed_and_started_again_it_serves_the_openai_client():
    openai = pytest.importorskip("openai")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    said = []
    for _ in range(2):
        with process(port) as server:
            until(lambda: reachable(url), 60)
            client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
            assert [m.id for m in client.models.list()] == [MODEL]
            asked = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 4}
            whole = client.chat.completions.create(**asked).choices[0].message.content
            parts = list(client.chat.completions.create(**asked, stream=True))
            assert "".join(p.choices[0].delta.content or "" for p in parts) == whole
            text = client.completions.create(model=MODEL, prompt="hello", max_tokens=4).choices[0].text
            with pytest.raises(openai.BadRequestError, match="do not fit"):
                client.completions.create(model=MODEL, prompt="x" * 3000)
            with pytest.raises(openai.NotFoundError):
                client.completions.create(model="other", prompt="x")
            said.append((whole, text))
            os.kill(server.pid, signal.SIGKILL)
            server.wait()
        assert not reachable(url)
    assert said[0] == said[1]
