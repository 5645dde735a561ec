"""The confined child in which learners' code runs: python -m labkit.camp.worker <read fd> <write fd> <entries>.

It answers one request at a time and holds nothing that a submission might want: no spec, no golden, no solution, no
expected value. What it says is believed of nobody: the parent compares. Each request carries a token, and the answer
must have it, so that an answer cannot be written in advance.

A kernel's own code never runs in this process but in the twin's runner, which has neither of the pipes and cannot
read this process's memory.
"""

from __future__ import annotations

import contextlib
import ctypes
import inspect
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from labkit.camp import asked, lockdown, tamper, wire
from labkit.camp.told import finding, plain, raised, record


class Worker:
    """Serves until its pipe ends. made: what the last build gave; guard: where golden.py's `run` stands beside
    it, looks after each call whether it changed what judges it.
    """

    def __init__(self, requests: int, answers: int, beats: int = -1) -> None:
        self.requests, self.answers, self.beats, self.made, self.guard = requests, answers, beats, None, None

    def serve(self) -> None:
        while True:
            try:
                message = wire.receive(self.requests)
            except EOFError:
                return
            request = wire.decode(message, function=self._callback, device=True)
            self.token = request.pop("token")
            wire.send(self.answers, self._done(request))

    def _encoded(self, answer: dict) -> bytes:
        return wire.encode({"token": self.token, **answer}, result=True)

    def _callback(self, number: int):
        """A function of the parent's: called there, by value."""

        def call(*args, **named):
            message = self._encoded({"callback": number, "args": args, "named": named})
            self.pace.pause = True
            wire.send(self.answers, message)
            answer = wire.decode(wire.receive(self.requests), function=self._callback, device=True)
            self.pace.pause = False
            self.token = answer.pop("token")
            if "raised" in answer:
                raise RuntimeError(str(answer["raised"]))
            return answer["value"]

        return call

    def _done(self, request: dict) -> bytes:
        """The answer. What a learner's code returns is walked within its time and its try: a list that holds itself, or
        a dict whose keys raise, is an answer too, and no end of the worker."""
        from labkit.camp.pace import Pace
        from labkit.exercises.time_limit import TookTooLong
        from labkit.launch.record import LaunchError
        from labkit.source.errors import CompileError

        do, self.pace = request.pop("do"), Pace(*request.pop("pace", (60.0, 600.0, 120.0)), beat=self._beat)
        try:
            if do in ("warm", "settle", "kernel", "program"):  # a compiler may run, nothing of the learner's does
                return self._encoded(getattr(self, f"do_{do}")(**request))
            with self.pace.held():
                return self._encoded(self._guarded(getattr(self, f"do_{do}"))(**request))
        except TookTooLong as late:
            answer = {"late": late.seconds} | raised(late)
        except CompileError as error:
            answer = {"compile": {"problems": error.problems, "text": str(error), "line": getattr(error, "line", 0)}}
        except LaunchError as error:
            answer = {"launch": record(error.record)}
        except SyntaxError as error:
            answer = {"syntax": {"message": str(error.msg), "line": error.lineno or 0}}
        except BaseException as error:
            answer = raised(error)
        return self._encoded(answer)

    def _beat(self) -> None:
        with contextlib.suppress(OSError):  # a parent that is busy reads them later, and one is as good as a thousand
            os.write(self.beats, b".")

    def _guarded(self, do: Callable) -> Callable:
        return self.guard(do) if self.guard else do

    def _tampered(self, changed: str) -> None:
        """Says so and ends the process: whatever it said from now on would be worth nothing."""
        try:
            wire.send(self.answers, self._encoded({"replaced": changed}))
        finally:
            os._exit(1)

    # ---- requests

    def do_warm(self, cache: list[str], built: list[str], strict: bool, start: str) -> dict:
        """Before anything of a learner's is here: what every exercise needs, and the simulated device where it is used.
        Importing PyTorch is most of a worker's start, and half of the exercises do without.
        """
        _adopt(cache)
        from labkit.build import runtime

        library, runner = map(Path, built)  # their keys hold the place of the cache, which is another here
        runtime.library, runtime.runner = lambda: library, lambda: runner
        from labkit.exercises import launch  # noqa: F401

        if start:
            import torch  # noqa: F401

            from labkit.device import import_hook

            import_hook.watch()  # a forked worker has PyTorch already, without the device
        if start == "device":
            from labkit import device as npu
            from labkit.exercises import operators  # noqa: F401

            npu.install()
        elif strict:
            lockdown.deny(("memfd_create",))
        lockdown.hide_memory()
        return {"value": os.getpid()}

    def do_settle(self, read: list[str], write: list[str], devices: list[str], names: list[str]) -> dict:
        """Fewer files for what comes now."""
        lockdown.landlock(read, write, devices=devices, list_=names)
        return {"value": True}

    def do_kernel(self, text: str, filename: str, entry: str, timeout: float) -> dict:
        from labkit.camp import imports
        from labkit.exercises import launch

        self.made = launch.build(text, filename, entry)
        self.made.timeout = timeout
        foreign = imports.foreign([str(p) for p in self.made.build().values()])
        return {"foreign": foreign, "value": {"target": self.made.target, "entry": self.made.entry}}

    def do_triton(self, text: str, filename: str, entry: str) -> dict:
        from labkit.exercises import launch

        os.environ["TRITON_CACHE_DIR"] = os.path.join(os.environ["LABKIT_CACHE"], "triton")
        self.made = launch.triton(text, filename, entry)
        return {"value": True}

    def do_launch(self, blocks: int, args: tuple, schedule: str) -> dict:
        from dataclasses import replace

        from labkit.exercises import launch

        kernel = self.made if schedule == "program" else replace(self.made, schedule=schedule)
        placed = [a.to(launch.DEVICE) if hasattr(a, "data_ptr") else a for a in args]
        with launch.quietly():
            made = kernel[blocks](*placed)
            after = {k: a.cpu() for k, a in enumerate(placed) if hasattr(a, "data_ptr")}
        return {"value": record(made), "after": after, "element_wise": getattr(self.made, "element_wise", [])}

    def do_helped_launch(self, slice_: str, run: str, case: dict, blocks: int) -> dict:
        """A launch by golden.py's own `run`, which needs the kernel itself."""
        from labkit.exercises import launch

        outputs, made = launch.run_kernel(_spec(slice_, run, blocks=blocks), self.made, asked.case_of(case))
        told = {"element_wise": getattr(self.made, "element_wise", [])}
        return {"value": record(made), "outputs": [(o.got, o.initial, o.dtype) for o in outputs]} | told

    def do_program(self, text: str, name: str) -> dict:
        from labkit.camp import imports
        from labkit.exercises import launch

        self.made = launch.program(text, name)
        return {"foreign": imports.foreign([str(self.made.path)], program=True), "value": True}

    def do_run(self, args: tuple, chip: str, spoil: bool) -> dict:
        made = self.made(*args, spoil=spoil, **({"chip": chip} if chip else {}))
        return {
            "value": {
                "status": made.status,
                "output": made.output[:200_000],
                "findings": [finding(f) for f in made.findings],
                "launches": [(x.kernel, x.blocks, x.file, x.line, x.us, x.finished) for x in made.launches],
                "chip": made.chip,
                "late": made.late,
                "died": made.died,
            }
        }

    def do_function(self, text: str, filename: str, entry: str, beside: str = "") -> dict:
        """beside: what of golden.py will run here; what it imports is guarded too."""
        from labkit.exercises import launch

        make = launch.function
        if beside:
            tamper.load(beside)
            self.guard = tamper.guard(tamper.Seal(), self._tampered)
            make = self.guard(make)
        self.made = make(text, filename, entry)
        if beside and not tamper.compiles(beside):
            self.made = tamper.Guarded(self.made, self.guard)
        try:
            return {"value": list(inspect.signature(self.made).parameters)}
        except (TypeError, ValueError):
            return {"value": None}

    def do_call(self, args: tuple, named: dict) -> dict:
        return {"value": self.made(*args, **named)}

    def do_case(self, case: dict, device: bool, slice_: str = "", run: str = "") -> dict:
        """One case, by golden.py's `run` where there is one."""
        from labkit.exercises import launch

        return {"value": launch.run_function(_spec(slice_, run, device=device), self.made, asked.case_of(case))}

    def do_register(self, text: str, filename: str, entry: str, folder: str, python: bool) -> dict:
        from labkit.exercises import operators
        from labkit.exercises.diagnose import Diagnosis

        spec, make = SimpleNamespace(folder=Path(folder), entry=entry, in_python=python), operators.build
        if python:
            tamper.load(text)
            self.guard = tamper.guard(tamper.Seal(), self._tampered)
            make = self.guard(make)
        made = make(text, filename, spec)
        if isinstance(made, Diagnosis):
            return {"diagnosis": (made.key, plain(made.numbers))}
        self.made = made
        return {"value": {"keys": made.keys(), "arguments": made.arguments}}

    def do_probe(self, case: dict, slice_: str = "", run: str = "") -> dict:
        """What an operator gives for a case; nothing is compared here."""
        from labkit.camp import probes
        from labkit.exercises.cases import Case

        made: Case = asked.case_of(case, run=_spec(slice_, run).function(run) if run else None)
        return probes.observe(self.made, made)


def _spec(slice_: str, run: str, *, device: bool = False, blocks: int = 1):
    """What run_function and run_kernel ask of a spec."""
    namespace: dict[str, Any] = {"__name__": "golden", "__file__": "golden.py"}
    exec(compile(slice_, "golden.py", "exec"), namespace)
    return SimpleNamespace(run=run, on_device=device, blocks=blocks, function=namespace.__getitem__)


def _adopt(entries: list[str]) -> None:
    """The built things of the lab itself, from a folder that cannot be written, as entries of this process's cache."""
    mine = Path(os.environ["LABKIT_CACHE"])
    (mine / "build").mkdir(parents=True, exist_ok=True)
    for entry in entries:
        (mine / "build" / os.path.basename(entry)).symlink_to(entry)
    (mine / "build" / ".pruned").touch()


def serve(requests: int, answers: int, beats: int) -> None:
    """Until the pipe ends; then the process does."""
    for fd in (requests, answers, beats):
        os.set_inheritable(fd, False)
    os.set_blocking(beats, False)
    lockdown.hide_memory()
    ctypes.CDLL(None).setsid()
    Worker(requests, answers, beats).serve()
    os._exit(0)


if __name__ == "__main__":
    serve(*map(int, sys.argv[1:]))
