"""One rank of labkit.ranks(): `python -m labkit.device.rank rank count store fd`. Takes functions from the pipe,
answers with their results.
"""

from __future__ import annotations

import contextlib
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
from pickle import PicklingError

from labkit import device, messages


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
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
