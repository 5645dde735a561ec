"""Running one case of an exercise: build, move, launch, bring back.
The only module of this room that meets the device.
"""

from __future__ import annotations

import contextlib
import gc
import io
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from labkit import messages
from labkit.exercises.cases import POISON_FLOAT, POISON_INT, Case, InOut, OnFirstCard, OnHost, Out
from labkit.exercises.diagnose import tensor_to_numpy
from labkit.exercises.spec import Spec
from labkit.launch.record import expect
from labkit.program.runnable import HostProgram

DEVICE = "npu"


@dataclass
class Output:
    """One output after the launch. got, initial: arrays of the output's shape; dtype: torch's name."""

    got: np.ndarray
    initial: np.ndarray
    dtype: str


def build(text: str, filename: str, entry: str):
    """The kernel `entry` of an Ascend C text, which messages call `filename`. Raises labkit.CompileError."""
    from labkit.launch.kernel import kernel

    return kernel(text=text, filename=filename, entry=entry)


class TritonKernel:
    """A function of @triton.jit, launched as a kernel is: made[grid](*args, **constants) gives the launch's record.
    element_wise: (line of the text, how and why) of its loads and stores that go element by element.
    """

    def __init__(self, jit, filename: str):
        self.jit, self.filename, self.element_wise = jit, filename, []

    def __getitem__(self, grid):
        return lambda *args, **constants: self._launch(
            grid if isinstance(grid, tuple) or callable(grid) else (grid,), args, constants
        )

    def _launch(self, grid: tuple, args: tuple, constants: dict):
        from labkit.triton import driver, element_wise

        with driver.recording() as launched:
            made = self.jit[grid](*args, **constants)
        if not launched:  # on a node Triton's own driver launches, and leaves no record
            return None
        self.element_wise = element_wise(made)
        record = launched[-1]
        for f in record.findings:
            if not f.file.endswith(".asc"):  # Triton keeps what it compiled by its text, not by its file
                f.file = self.filename
        return record


def triton(text: str, filename: str, entry: str) -> TritonKernel:
    """The Triton kernel `entry` of a module text; it is compiled when it is launched. Raises what the text raises, and
    TypeError where `entry` is no function of @triton.jit."""
    import labkit.triton

    labkit.triton.install()
    made = module(text, filename)[entry]
    if not hasattr(getattr(made, "fn", made), "starting_line_number") and not hasattr(made, "starting_line_number"):
        raise TypeError(messages.text("exercise.no-jit", name=entry))
    return TritonKernel(made, filename)


def made_of(spec: Spec, text: str, filename: str):
    """The kernel of a text, by the exercise's kind. Raises as `build` and `triton` do."""
    return (triton if spec.kind == "triton" else build)(text, filename, spec.entry)


def program(text: str, name: str):
    """The program of an Ascend C text with a main(). Raises labkit.CompileError."""
    return HostProgram(text, name)


def function(text: str, filename: str, entry: str) -> Callable:
    """The Python function `entry` of a module text. Raises what the text raises;
    KeyError when it defines no such name.
    """
    return module(text, filename)[entry]


def module(text: str, filename: str) -> dict[str, Any]:
    """The names that a module text defines, and torch where it is used: a notebook has imported it. Raises what the
    text raises.

    dataclasses, pickle and typing look a class's module up by its name: the newest text stands there, as a module that
    was loaded anew does. What an older one defined keeps its own names.
    """
    import linecache

    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    made, before = types.ModuleType("exercise"), sys.modules.get("exercise")
    made.__file__ = filename
    if "torch." in text:
        import torch

        made.torch = torch
    sys.modules["exercise"] = made
    try:
        exec(compile(text, filename, "exec"), made.__dict__)
    except BaseException:
        if before is None:
            del sys.modules["exercise"]
        else:
            sys.modules["exercise"] = before
        raise
    return made.__dict__


@contextlib.contextmanager
def quietly():
    """Launches inside neither print nor raise for findings: the check shows them itself, once."""
    seen = expect("*")
    expect._open.append(seen)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield seen
    finally:
        expect._open.remove(seen)


@contextlib.contextmanager
def uncollected():
    """Python's cycle collector waits. An operator that calls itself for ever leaves no stack to a finalizer: what the
    collector happened to take up at that depth, an older torch.library.Library say, would never be released.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def run_kernel(spec: Spec, kernel, case: Case, place: str | None = None):
    """(outputs, record) of one launch. Raises labkit.LaunchError when it does not finish."""
    import torch

    place = place or DEVICE
    args, made = [], []
    for arg in case.args:
        if isinstance(arg, Out):
            dtype = getattr(torch, arg.dtype) if isinstance(arg.dtype, str) else arg.dtype
            poison = (
                case.poison
                if case.poison is not None
                else (POISON_FLOAT if dtype.is_floating_point else 0 if dtype is torch.bool else POISON_INT)
            )
            shape = (arg.shape,) if isinstance(arg.shape, int) else tuple(arg.shape)
            cpu = torch.full(shape, poison, dtype=dtype)
        elif isinstance(arg, InOut):
            cpu = _tensor(arg.tensor).clone()
        else:
            # a copy on the CPU too: a submission that writes its input must not change the case
            args.append(_tensor(arg).to(place, copy=True) if _is_array(arg) else arg)
            continue
        on_device = cpu.to(place).clone() if place == "cpu" else cpu.to(place)
        made.append((on_device, cpu))
        args.append(on_device)
    with quietly() as seen:
        if spec.run:
            record = spec.function(spec.run)(kernel, tuple(args), case)
        else:
            record = kernel[case.blocks or spec.blocks](*args)
        outputs = []
        for on_device, cpu in made:
            got, name = tensor_to_numpy(on_device)
            outputs.append(Output(got, tensor_to_numpy(cpu)[0], name))
    return outputs, record if record is not None else (seen.records[-1] if seen.records else None)


def run_program(spec: Spec, made, case: Case, spoil: bool = False):
    """(what is compared with the case's expected, the program's Result): the lines that it printed, or what golden's
    `run` makes of the Result. spoil: what its launches write is changed before the program can fetch it.
    """
    settings = {"spoil": True} if spoil else {}
    result = made(*case.args, **settings, **({"chip": case.chip} if case.chip else {}))
    # the last line too where nothing ends it
    lines = result.output.removesuffix("\n").split("\n") if result.output else []
    return spec.function(spec.run)(result, case) if spec.run else lines, result


def arguments(case: Case, place: str) -> tuple:
    """The arguments of an operator's case, its tensors copied to `place`."""

    def placed(a):
        if isinstance(a, OnHost):
            return a.tensor
        if isinstance(a, OnFirstCard):
            return _placed(a.tensor, "npu:0")
        a = a.tensor if isinstance(a, InOut) else a
        return _placed(a, place) if hasattr(a, "data_ptr") else a

    return tuple(map(placed, case.args))


def _placed(tensor, place: str):
    """A copy there, with the same strides: what a view of a larger tensor keeps."""
    import torch

    if place == "meta":
        return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    if tensor.is_contiguous() and not tensor.storage_offset():
        return tensor.detach().clone().to(place)
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage()).to(place)
    return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def run_function(spec: Spec, made: Callable, case: Case):
    """What the function returns for one case; its prints go to the notebook.
    Tensors are on the device where the spec says so.
    """
    args = tuple(_copy(a.tensor if isinstance(a, InOut) else a) for a in case.args)
    if spec.on_device:
        args = tuple(_tensor(a).to(DEVICE) if _is_array(a) else a for a in args)
    return spec.function(spec.run)(made, args, case) if spec.run else made(*args)


def _copy(value, inside: bool = False):
    """Of containers all levels. Tensors inside of one stay the same: a copy of a parameter is no leaf."""
    if hasattr(value, "clone"):
        return value if inside else value.clone()
    if type(value) in (list, tuple, set):
        return type(value)(_copy(v, True) for v in value)
    if type(value) is dict:
        return {name: _copy(v, True) for name, v in value.items()}
    return value.copy() if isinstance(value, (np.ndarray, list, dict)) else value


def _is_array(value) -> bool:
    return isinstance(value, np.ndarray) or hasattr(value, "data_ptr")


def _tensor(value):
    import torch

    return torch.from_numpy(np.ascontiguousarray(value)) if isinstance(value, np.ndarray) else value
