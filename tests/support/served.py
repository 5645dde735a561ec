"""`labkit serve` in a process of its own, and waiting for what other threads and processes do."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time


def until(condition, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


@contextlib.contextmanager
def process(port: int):
    command = [sys.executable, "-m", "labkit", "serve", "--port", str(port), "--naive"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert "modelled" in server.stdout.readline()
        yield server
    finally:
        server.kill()
        server.wait()


def reachable(url: str) -> bool:
    import httpx

    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{url}/health").status_code == 200
    return False
