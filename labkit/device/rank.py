"""One rank of labkit.ranks(): `python -m labkit.device.rank rank count store fd`. Takes functions from the pipe,
answers with their results. `... serve fd` becomes one for each request: see rank_server.py.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import io
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pickle import PicklingError

from labkit import device, messages
from labkit.device.library import lib


def main(rank: int, count: int, store: str, fd: int) -> None:
    pipe = Connection(fd)
    faulthandler.register(signal.SIGUSR1, all_threads=False)
    threading.Thread(target=_end_with, args=(os.getppid(), os.path.dirname(store)), daemon=True).start()
    import torch
    import torch.distributed as dist

    device.install()
    if device.mode() == "npu":
        torch.npu.set_device(rank)
    dist.init_process_group("hccl", init_method=f"file://{store}", rank=rank, world_size=count)
    pipe.send_bytes(b"R")
    while True:
        try:
            work = pipe.recv_bytes()
        except EOFError:
            _leave(os.path.dirname(store))
        pipe.send_bytes(_answer(rank, work))


def _answer(rank: int, work: bytes) -> bytes:
    import torch

    from labkit.device.parcel import packed, unpacked

    printed, noted = io.StringIO(), io.StringIO()
    try:
        function, arguments, seed, chip, words = unpacked(work)
        for name in [name for name in os.environ if name.startswith("LABKIT_") and name not in words]:
            del os.environ[name]
        os.environ.update(words)
        torch.manual_seed(seed)
        torch.npu.synchronize()
        torch.npu.set_stream(torch.npu.default_stream())
        if device.mode() == "sim":
            device.install(chip)
            device.noise(None)
            device.cold_l2(False)
            lib().lab_recorder_stop()  # the call before may have left it on
            device.reset_clock()
            device.clear_l2()  # tensors of the call before lay where this one's will
            for begin in device.at_a_ranks_call:
                begin()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(noted):
            result = function(rank, *arguments)
        for given in arguments:
            if hasattr(type(given), "after_rank"):  # labkit.camp.tamper
                given.after_rank()
        spans = device.timeline() if device.mode() == "sim" else []
        said = {"output": printed.getvalue(), "errors": noted.getvalue()}
        try:
            return b"R" + packed({"result": result, "spans": spans, **said}, unload=True)
        except (TypeError, AttributeError, PicklingError) as error:  # what pickle raises
            kind = f"{type(result).__module__}.{type(result).__name__}".removeprefix("builtins.")
            text = messages.text("device.rank_result", kind=kind, error=error)
            raise type(error)(text) from error
    except (Exception, SystemExit) as error:  # sys.exit() too: where it was called, and what had been printed
        frames = [(f.filename, f.lineno) for f in traceback.extract_tb(error.__traceback__) if f.filename != __file__]
        return b"E" + packed((type(error).__name__, str(error), frames, printed.getvalue(), noted.getvalue()))


def serve(fd: int) -> list[str]:
    """Forks at each request, and returns in the fork: the words that a rank's command line has. From then on all is as
    in a program that was started with them.
    """
    import torch.distributed  # noqa: F401

    if "LABKIT_RANKS_S" in os.environ:  # in a grader each rank imports it before the submission comes: 1 s a rank
        import torch._dynamo  # noqa: F401

    from labkit.device import parcel, simulated  # noqa: F401

    pipe, parent = Connection(fd), os.getppid()
    _hide_memory(True)  # a rank is not to reach into those of later pools
    sys.stdout.flush()
    pipe.send("up")
    while True:
        try:
            while not pipe.poll(0.5):  # a fork of the parent may hold the pipe's other end open
                if os.getppid() != parent:
                    os._exit(0)
            request = pipe.recv()
            if "ended" in request:  # its number is free for another process from then on
                pid, status = os.waitpid(request["ended"], os.WNOHANG)
                pipe.send(os.waitstatus_to_exitcode(status) if pid else None)
                continue
            fds = [recv_handle(pipe) for _ in range(2)]
        except (EOFError, ConnectionError):
            os._exit(0)
        try:
            forked = os.fork()
        except OSError as error:
            forked = -1
            pipe.send(error)
        if not forked:
            return _become(request, *fds, pipe)
        for each in fds:
            os.close(each)


def _become(request: dict, fd: int, log: int, server: Connection) -> list[str]:
    """In the fork: what starting a program would have made anew."""
    os.setsid()
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    server.send(os.getpid())  # once it can be signalled by its session
    server.close()
    _hide_memory(False)
    os.environ.clear()
    os.environ.update(request["environment"])
    if "numpy.random" in sys.modules:  # Python's own takes a new seed by itself; PyTorch's is always the same
        sys.modules["numpy.random"].seed()
    sys.argv[1:] = [*request["words"], str(fd)]
    return sys.argv[1:]


def _hide_memory(hide: bool) -> None:
    """PR_SET_DUMPABLE: hidden, no process without a capability may trace this one or open its memory."""
    ctypes.CDLL(None).prctl(4, int(not hide), 0, 0, 0)


def _end_with(parent: int, folder: str) -> None:
    """Watches the parent: a rank that hangs in a collective does not notice that the pipe is closed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    _leave(folder)


def _leave(folder: str) -> None:
    """Ends without gloo's shutdown, which waits for the other ranks. Removes the parent's folder, which may be left."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


if __name__ == "__main__":
    words = sys.argv[1:] if sys.argv[1] != "serve" else serve(int(sys.argv[2]))
    main(int(words[0]), int(words[1]), words[2], int(words[3]))
