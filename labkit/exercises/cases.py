"""What a check runs: cases with arguments, golden and tolerance. golden.py of an operator makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

# dtype name -> (rtol, atol). Integers are exact; a float's default is a few units in its last place around 1.
TOLERANCE = {"float64": (1e-9, 1e-12), "float32": (1e-5, 1e-6), "float16": (1e-3, 1e-3), "bfloat16": (1e-2, 1e-2)}
TOLERANCE |= {"complex128": TOLERANCE["float64"], "complex64": TOLERANCE["float32"], "complex32": TOLERANCE["float16"]}

# What fills an output before the launch: small whole numbers that every dtype holds exactly and that no case should
# produce, so that an element that was never written is seen.
POISON_FLOAT = -1216.0
POISON_INT = 107


@dataclass(frozen=True)
class Out:
    """An output argument. dtype: a torch dtype, or its name."""

    shape: Sequence[int] | int
    dtype: Any


@dataclass(frozen=True)
class InOut:
    """An argument that is read and written; the tensor is copied before each launch."""

    tensor: Any


@dataclass(frozen=True)
class OnHost:
    """An argument that stays on the CPU (adapters), for an operator that must refuse it."""

    tensor: Any

    def __repr__(self) -> str:
        return f"tensor{tuple(self.tensor.shape)} on the CPU"


@dataclass(frozen=True)
class OnFirstCard:
    """An argument that stays on the first card while the others lie on the second one (adapters, probe "guard")."""

    tensor: Any

    def __repr__(self) -> str:
        return f"tensor{tuple(self.tensor.shape)} on the first card"


@dataclass(frozen=True)
class Refuses:
    """In place of `expected` (adapters): the call must raise, with one of the words in its text.
    missing: the diagnosis when it does not.
    """

    words: tuple[str, ...]
    missing: str = "op-accepts"


@dataclass(frozen=True)
class Case:
    """One launch and what must come out of it.

    args: in the order of the kernel's parameters; tensors on the CPU, `Out`, `InOut`, numbers.
    expected: one tensor, or a tuple in the order of the Out and InOut arguments.
    tolerance: (rtol, atol), None = by dtype. blocks: None = the spec's.
    tile: elements of the output that one block handles at a time; split: first element of each block, and the end;
    layout: "contiguous", or "interleaved" when tile t belongs to block t % blocks. They serve diagnosis and map only.
    timed: this case's time is reported and budgeted. budgeted: of a kernel, the budget holds here, too, where it is
    kept for the timed case. poison: the value that fills the outputs.
    probe: what is done with an operator (kind "adapter"): see labkit/exercises/operators.py. run(operator, args, case):
    in place of operator(*args). chip: of a program's run, "" = the default. mistakes() of a kernel or program:
    (sentence, result) of wrong results that have a name; of probe "grad" mistakes(gradient of the result, *args):
    (sentence, number of the argument, its gradient). spoiled: of a program, the lines that it prints where the last
    byte of what each block writes is changed; None: any others.
    """

    name: str
    args: tuple
    expected: Any
    tolerance: tuple[float, float] | None = None
    blocks: int | None = None
    tile: int | None = None
    split: Sequence[int] | None = None
    layout: str = "contiguous"
    timed: bool = False
    budgeted: bool = False
    poison: float | None = None
    probe: str = "call"
    run: Callable | None = None
    chip: str = ""
    mistakes: Callable[..., Sequence[tuple]] | None = None
    spoiled: Sequence[str] | None = None


def tolerance_of(dtype: str, given: tuple[float, float] | None) -> tuple[float, float]:
    """(rtol, atol) for results of `dtype` (a name without "torch.")."""
    return tuple(given) if given is not None else TOLERANCE.get(dtype, (0.0, 0.0))
