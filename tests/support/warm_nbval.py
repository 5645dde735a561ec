"""nbval as labkit.notebook.verify runs it, by a process that has imported what takes long: pytest, ipykernel, torch.

Each run is a fork of it, and so is the notebook's kernel. labkit is imported by the kernel alone, since its device
refuses to work in a fork of a process that has it. The environment is the run's; what libraries read of it as they are
loaded (threads, instruction sets) is that of the first run, so there is a process for each kind of host.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace


class Warm:
    """env: all variables of the runs but for those that a run changes."""

    def __init__(self, env: dict[str, str]):
        self.env = env
        self.process = subprocess.Popen(
            [sys.executable, __file__], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "up\n"

    def nbval(self, words: list[str], cwd: Path, **more: str) -> SimpleNamespace:
        """returncode, stdout (with standard error) of pytest with these words. more: of the environment."""
        with tempfile.NamedTemporaryFile("r", encoding="utf-8", errors="replace") as said:
            now = os.environ.get("PYTEST_CURRENT_TEST", "")
            request = {"words": words, "cwd": str(cwd), "said": said.name}
            request["env"] = self.env | {"PYTEST_CURRENT_TEST": now} | more
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            return SimpleNamespace(returncode=int(line or -1), stdout=said.read())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.process.stdout.close()


# ---- over there


class Kernel:
    """A process that waits to be told what kernel it is; for jupyter_client, what subprocess.Popen would be."""

    stdin = stdout = stderr = returncode = None

    def __init__(self):
        told, self.tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)  # jupyter_client sends signals to the kernel's whole group
            os.close(self.tell)
            with os.fdopen(told, encoding="utf-8") as file:
                text = file.read()
            become(json.loads(text)) if text else os._exit(0)
        os.close(told)
        while os.getpgid(self.pid) != self.pid:
            time.sleep(0.001)
        self.alive = os.pidfd_open(self.pid)

    def start(self, words: list[str], **how) -> Kernel:
        how = {"words": words, "env": dict(how["env"]), "cwd": how.get("cwd") or os.getcwd()}
        with os.fdopen(self.tell, "w", encoding="utf-8") as file:
            json.dump(how, file)
        return self

    def poll(self) -> int | None:
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int | None:
        return self._look(timeout)

    def _look(self, seconds: float | None) -> int | None:
        if self.returncode is None and select.select([self.alive], [], [], seconds)[0]:
            self.returncode = 0
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def become(how: dict) -> None:
    """The kernel of a notebook; does not return."""
    import numpy
    from ipykernel import kernelapp

    os.chdir(how["cwd"])
    os.environ.clear()
    os.environ.update(how["env"])
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(nothing, fd)
    numpy.random.seed()  # as in a process that has just begun
    sys.argv = how["words"][how["words"].index("-m") + 1 :]
    kernelapp.launch_new_instance()
    os._exit(0)


def one(request: dict, kernel: Kernel) -> None:
    """pytest in this fork; does not return."""
    import pytest
    from jupyter_client.provisioning import local_provisioner

    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    said = os.open(request["said"], os.O_WRONLY)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for fd, to in enumerate((nothing, said, said)):
        os.dup2(to, fd)
    local_provisioner.launch_kernel = kernel.start
    code = pytest.main(request["words"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(code))


def main() -> None:
    import ipykernel.kernelapp  # noqa: F401
    import jupyter_client  # noqa: F401
    import matplotlib  # noqa: F401
    import nbformat  # noqa: F401
    import nbval.plugin  # noqa: F401
    import numpy  # noqa: F401
    import torch  # noqa: F401

    print("up", flush=True)
    for line in sys.stdin:
        request, kernel = json.loads(line), Kernel()
        if not (child := os.fork()):
            one(request, kernel)
        os.close(kernel.tell)
        os.close(kernel.alive)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        for end in (os.kill, os.killpg):  # where nbval has not
            try:
                end(kernel.pid, signal.SIGKILL)
            except OSError:
                pass
        os.waitpid(kernel.pid, 0)
        print(code, flush=True)


if __name__ == "__main__":
    del sys.path[0]  # the folder of this file
    sys.modules.setdefault("rfc3987_syntax", None)  # see labkit/notebook/__init__.py
    main()
