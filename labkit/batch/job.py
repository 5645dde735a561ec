"""One notebook on a worker: a process of its own with a time limit, which leaves nothing behind.

    run(job)  in the worker  ->  python -m labkit.batch.job FOLDER  ->  papermill  ->  the notebook's kernel  -> ...

The process in the middle reads the end of a pipe that the worker holds. When the worker ends, however it ends, the pipe
closes; the process then ends everything below it, removes the folder and goes. Orphans come to it, not to init.
"""

from __future__ import annotations

import ctypes
import fcntl
import glob
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict
from pathlib import Path

from labkit import messages, paths
from labkit.build.process import descendants

_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 30.0  # for the process in the middle to end what it started


def run(job: dict, devices: list[int] | None, timeout: float, cell_timeout: int) -> dict:
    """Run one notebook (asdict of a plan.Job). What its cells do never raises here.

    devices: the NPUs of this worker's machine that may be taken, [] for those that it has, None where none is needed.
    timeout: seconds for the whole notebook, waiting for a device apart. Returns result, notebook, page.
    """
    from labkit.batch.plan import lab_digest

    where = socket.gethostname()
    if lab_digest() != job["lab"]:
        return no_answer(job, messages.text("batch.other-lab", host=where, folder=str(paths.repo_root())))
    folder = Path(tempfile.mkdtemp(prefix="labkit-batch-"))
    try:
        (folder / "job.json").write_text(
            json.dumps({"job": job, "devices": devices, "timeout": timeout, "cell_timeout": cell_timeout})
        )
        words = {
            **os.environ,
            **job["environment"],
            "PYTHONPATH": os.pathsep.join([str(paths.import_root()), *_path()]),
        }
        child = subprocess.Popen(
            [sys.executable, "-m", "labkit.batch.job", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=words, start_new_session=True,
        )  # fmt: skip
        said = child.stderr.read()[-4000:].decode(errors="replace")  # until it ends: it watches the time itself
        child.wait()
        answer = folder / "answer.json"
        if answer.is_file():
            return json.loads(answer.read_text(encoding="utf-8"))
        return no_answer(job, messages.text("batch.died", status=child.returncode, said=said.strip()[-500:]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _path() -> list[str]:
    return [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]


def no_answer(job: dict, why: str) -> dict:
    """What run() returns for a notebook that never ran to an end."""
    from labkit.notebook.run import Outcome

    result = Outcome(job["name"], job["title"], f"{job['name']}.ipynb", job["minutes"], ok=False, error=why)
    return {"result": asdict(result) | {"host": socket.gethostname(), "device": None}, "notebook": "", "page": ""}


# ---- the process in the middle


def main(folder: Path) -> None:
    """Reads job.json, writes answer.json."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    asked = json.loads((folder / "job.json").read_text(encoding="utf-8"))
    job, late, stop = asked["job"], threading.Event(), threading.Event()
    threading.Thread(target=_watch_worker, args=(folder,), daemon=True).start()
    with _device(asked["devices"]) as device:
        if device is not None:
            job["parameters"]["DEVICE"] = device
        from labkit.notebook import run

        watch = threading.Thread(target=_watch_time, args=(asked["timeout"], late, stop), daemon=True)
        watch.start()
        file, done = _work(run, job, folder, asked["cell_timeout"])
        was_late = late.is_set()
        stop.set()
        watch.join()
        end_all_below()
    run.to_html(file)
    texts = [p.read_text(encoding="utf-8") if p.is_file() else "" for p in (file, file.with_suffix(".html"))]
    answer = {"result": asdict(done), "notebook": texts[0], "page": texts[1]}
    if was_late:
        answer["result"] |= {"ok": False, "error": messages.text("batch.late", seconds=f"{asked['timeout']:g}")}
    answer["result"] |= {"host": socket.gethostname(), "device": device}
    part = folder / "answer.part"
    part.write_text(json.dumps(answer), encoding="utf-8")
    os.replace(part, folder / "answer.json")


def _work(run, job: dict, folder: Path, cell_timeout: int):
    """(the executed notebook, its Outcome)."""
    name = job["name"]
    (folder / "in").mkdir()
    file, out = folder / "in" / f"{name}.ipynb", folder / "out"
    out.mkdir()
    file.write_text(job["text"], encoding="utf-8")
    cwd = Path(job["folder"]) if os.path.isdir(job["folder"]) else folder / "in"
    done = run.one(None, out, job["parameters"], timeout=cell_timeout, file=file, name=name, cwd=cwd)
    done.title, done.minutes = job["title"], job["minutes"]
    return out / done.file, done


def _watch_worker(folder: Path) -> None:
    while os.read(0, 4096):
        pass
    shutil.rmtree(folder, ignore_errors=True)
    end_all_below()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _watch_time(seconds: float, late: threading.Event, stop: threading.Event) -> None:
    if not stop.wait(seconds):
        late.set()
        while not stop.wait(0.2):  # papermill sees its kernel die and returns
            end_all_below()


def end_all_below() -> None:
    """SIGKILL for every descendant of this process, until there is none; at most half a minute."""
    until = time.monotonic() + _GRACE_S
    while (below := descendants(os.getpid())) and time.monotonic() < until:
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.02)


# ---- one notebook a device


class _device:
    """Holds the first free device of this machine, by a lock that ends with this process; None where none is asked for.

    The locks lie in the lab's cache folder, under the machine's name: two users with two caches do not see each other.
    """

    def __init__(self, asked: list[int] | None) -> None:
        self._asked, self._handle = asked, None

    def __enter__(self) -> int | None:
        if self._asked is None:
            return None
        visible = visible_devices()
        wanted = self._asked or list(range(len(visible)))
        home = paths.cache_dir() / "batch"
        home.mkdir(parents=True, exist_ok=True)
        while wanted:
            for device in wanted:
                card = visible[device] if device < len(visible) else device
                handle = open(home / f"{socket.gethostname()}-{card}.lock", "a", encoding="ascii")
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    handle.close()
                    continue
                self._handle = handle
                return device
            time.sleep(0.1)
        return 0  # no card here: the notebook's own checks say SKIP, and why

    def __exit__(self, *_) -> None:
        if self._handle is not None:
            self._handle.close()


def visible_devices() -> list[int]:
    """The cards that a process may use, as the driver numbers them, in the order in which torch_npu counts them."""
    named = os.environ.get("ASCEND_RT_VISIBLE_DEVICES", "").strip()
    if named:
        return [int(n) for n in re.findall(r"\d+", named)]
    return sorted(int(re.search(r"\d+$", path)[0]) for path in glob.glob("/dev/davinci[0-9]*"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
