"""Processes for a benchmark (torch.multiprocessing): each with a device of its own, or all on one card.

What they run is sent by its code (labkit.device.parcel), so a function of a notebook will do. On the simulated device
each has its own virtual host, so host cores are never short: on a node they may be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.connection import Connection

from labkit import messages

_START_S, _ANSWER_S = 120.0, 600.0
# The server that simulated workers are forked from has imported torch, but has no device: that is made in each worker.
_PRELOADED = ["torch", "labkit.bench.scaling", "labkit.device.parcel"]
_IN_WORKERS = {"OMP_NUM_THREADS": "1", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
_NO_DEVICE_YET = {"LABKIT_DEVICE": "none"}  # for that server: a device does not survive a fork either


def _method(npus: int) -> str:
    """On a node spawn: its runtime does not survive a fork. Simulated workers start from a server, which is quicker,
    but not with several devices each: the server's environment, which says how many, is that of its first use."""
    from labkit import device

    return "spawn" if device.mode() == "npu" or npus > 1 else "forkserver"


class Workers:
    """`count` processes; a context manager. npus: devices that each of them sees (on the simulated device)."""

    def __init__(self, count: int, npus: int = 1):
        import torch.multiprocessing

        method, inherited = _method(npus), _IN_WORKERS | {"LABKIT_NPUS": str(npus)}
        context = torch.multiprocessing.get_context(method)
        if method == "forkserver":
            context.set_forkserver_preload(_PRELOADED)
            inherited |= _NO_DEVICE_YET
        before = {name: os.environ.get(name) for name in inherited}
        os.environ.update(inherited)  # it counts before torch is imported
        self.pipes: list[Connection] = []
        self.processes = []
        try:
            for _ in range(count):
                ours, theirs = context.Pipe()
                process = context.Process(target=_serve, args=(theirs,), daemon=True)
                process.start()
                theirs.close()
                self.pipes.append(ours)
                self.processes.append(process)
        finally:
            for name, value in before.items():
                os.environ.pop(name, None) if value is None else os.environ.__setitem__(name, value)
        try:
            self._answers(range(count), _START_S)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_) -> None:
        self.end()

    def call(self, which, function: Callable, *arguments) -> list:
        """function(state, number, *arguments) in the first `which` processes at once; state is a dict that a process
        keeps. What they return. Raises RuntimeError for the first that raised or died."""
        from labkit.device.parcel import packed

        for number in range(which):
            self.pipes[number].send_bytes(packed((function, number, arguments)))
        return self._answers(range(which), _ANSWER_S)

    def _answers(self, which, seconds: float) -> list:
        from labkit.device.parcel import unpacked

        made, wrong = [], None
        for number in which:  # all of them, so that none has an answer left that belongs to another question
            try:
                if not self.pipes[number].poll(seconds):
                    raise EOFError
                kind, value = unpacked(self.pipes[number].recv_bytes())
            except (EOFError, OSError):
                kind, value = "error", messages.text("bench.worker_died", status=self.processes[number].exitcode)
            made.append(value)
            if kind == "error" and wrong is None:
                wrong = messages.text("bench.worker", number=number, said=value)
        if wrong:
            raise RuntimeError(wrong)
        return made

    def end(self) -> None:
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()


def _serve(pipe: Connection) -> None:
    os.environ.pop("LABKIT_DEVICE", None)

    from labkit import device
    from labkit.device.parcel import packed, unpacked

    state: dict = {}
    try:
        device.install()
        pipe.send_bytes(packed(("made", None)))
    except Exception as error:
        pipe.send_bytes(packed(("error", f"{type(error).__name__}: {error}")))
        return
    while True:
        try:
            work = pipe.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)  # without torch's shutdown, which may wait
        try:
            function, number, arguments = unpacked(work)
            pipe.send_bytes(packed(("made", function(state, number, *arguments)), unload=True))
        except Exception as error:
            pipe.send_bytes(packed(("error", f"{type(error).__name__}: {error}")))
