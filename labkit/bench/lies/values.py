"""Do two that are compared give the same? What each operator between two readings took and gave, by its values.

A run of its own (watch.py --values): reading values back takes time on the virtual clock, so nothing is timed in it.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_SECONDS, _MOST_BYTES, _SAMPLE = 40.0, 1 << 28, 1 << 14  # of reading values back; a tensor; elements that are compared
_DRAWN = ("rand", "dropout", "bernoulli", "normal_", "uniform_", "multinomial", "exponential")
_REGIONS = 3  # of each candidate on the same inputs
_APART = {torch.float16: 0.05, torch.bfloat16: 0.1}  # of the largest value; no order of roundings makes so much
_APART_FLOAT = 0.02


@dataclass
class _Step:
    """An operator. number: of the last reading before it. reads, gives: (address, contents); None: not known."""

    number: int
    name: str
    reads: list[tuple[int, bytes | None]]
    gives: list[tuple[int, tuple]] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)  # addresses that it reads and writes


class Values(TorchDispatchMode):
    """notes: clocks.Notes, for the number of the last reading."""

    def __init__(self, notes):
        super().__init__()
        self.notes, self.steps, self.spent, self.until = notes, [], 0.0, None
        self._fresh: set[int] = set()  # addresses written since the last reading: no region has them as an input
        self._number = -1

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.until is None:
            begin = time.thread_time_ns()
            step = self._step(function, args, kwargs)
            self.spent += (time.thread_time_ns() - begin) * 1e-9
        made = function(*args, **kwargs)
        if self.until is None:
            begin = time.thread_time_ns()
            for tensor in _tensors(made):
                address = tensor.untyped_storage().data_ptr()
                self._fresh.add(address)
                step.gives.append((address, _contents(tensor)))
            self.steps.append(step)
            self.spent += (time.thread_time_ns() - begin) * 1e-9
            if self.spent > _SECONDS:
                self.until = self.notes.readings
        return made

    def _step(self, function, args, kwargs) -> _Step:
        if self._number != self.notes.readings:
            self._number = self.notes.readings
            self._fresh.clear()
        step = _Step(self._number, function._schema.name, [])
        given = list(zip(function._schema.arguments, args)) + [
            (a, kwargs[a.name]) for a in function._schema.arguments if a.name in kwargs
        ]
        for argument, value in given:
            written = argument.alias_info is not None and argument.alias_info.is_write
            for tensor in _tensors(value):
                address = tensor.untyped_storage().data_ptr()
                if written and not argument.kwarg_only:
                    step.changes.append(address)
                if not (written and argument.kwarg_only) and tensor.numel() > 1:  # out= is not read
                    step.reads.append((address, None if address in self._fresh else _digest(tensor)))
        return step

    def differences(self, regions) -> list[dict]:
        """Pairs of candidates that took the same tensors and gave tensors of one shape with different values: {"line":
        of the one that came second, "shape", "one", "other": its operators, "apart": of the largest value}."""
        seen: dict[frozenset, dict[tuple, list]] = {}
        for region in regions:
            begin, end = region.between
            if self.until is not None and end > self.until:
                continue
            made = _candidate([s for s in self.steps if begin <= s.number < end])
            if made:
                leaves, names, outs = made
                same = seen.setdefault(leaves, {}).setdefault(names, [])
                if len(same) < _REGIONS:
                    same.append((outs, region))
        found = []
        for leaves, candidates in seen.items():
            for (one, first), (other, second) in combinations(candidates.items(), 2):
                if _deliberate(one, other) or not all(_steady(side) for side in (first, second)):
                    continue
                a, b = first[0][0], second[0][0]
                if a[-1][0] != b[-1][0]:
                    continue
                apart = min(_nearest(a[-1], b), _nearest(b[-1], a))
                if apart > _APART.get(a[-1][1], _APART_FLOAT):
                    found.append({"line": second[0][1].via[:1], "shape": list(a[-1][0]), "one": one[-3:],
                                  "other": other[-3:], "apart": apart})  # fmt: skip
        return found


def _tensors(value) -> list[torch.Tensor]:
    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor) and t.device.type == "npu"]


def _digest(tensor: torch.Tensor) -> bytes | None:
    """What stands in it, whatever its type's name; None where it is too large to look at."""
    if tensor.numel() * tensor.element_size() > _MOST_BYTES:
        return None
    raw = np.asarray(tensor.detach().to("cpu").contiguous().flatten().view(torch.uint8))
    return hashlib.blake2b(raw.tobytes(), digest_size=16, key=str(tuple(tensor.shape)).encode()[:64]).digest()


def _contents(tensor: torch.Tensor) -> tuple:
    """(shape, dtype, some of its values)"""
    if not tensor.dtype.is_floating_point or tensor.numel() * tensor.element_size() > _MOST_BYTES:
        return tuple(tensor.shape), tensor.dtype, None
    flat = tensor.detach().to("cpu").flatten()
    flat = flat[:: max(1, flat.numel() // _SAMPLE)]
    return tuple(tensor.shape), tensor.dtype, np.nan_to_num(np.asarray(flat.double()), posinf=0.0, neginf=0.0)


def _candidate(steps: list[_Step]) -> tuple[frozenset, tuple, list] | None:
    """(what the region takes, its operators, what they give); None where it draws numbers or changes what it takes."""
    produced: set[int] = set()
    leaves, outs = set(), []
    for step in steps:
        if any(word in step.name for word in _DRAWN):
            return None
        for address, digest in step.reads:
            if address not in produced:
                if digest is None:
                    return None
                leaves.add(digest)
        if any(address not in produced for address in step.changes):
            return None
        for address, contents in step.gives:
            produced.add(address)
            outs.append(contents)
    outs = [o for o in outs if o[2] is not None and o[2].size > 1]
    return (frozenset(leaves), tuple(s.name for s in steps), outs) if leaves and outs else None


def _deliberate(one: tuple, other: tuple) -> bool:
    """Two single operators of different names: relu beside gelu."""
    short = [{name.rpartition("::")[2].strip("_") for name in names} for names in (one, other)]
    if any(len(s) != 1 for s in short):
        return False
    (a,), (b,) = short
    return a not in b and b not in a


def _steady(side: list) -> bool:
    """Does a candidate give the same each time?"""
    return all(_nearest(outs[-1], side[0][0]) <= 1e-3 for outs, _ in side)


def _nearest(value: tuple, others: list[tuple]) -> float:
    """How far the nearest of the others of its shape is, as a share of the largest value."""
    largest = float(np.abs(value[2]).max()) or 1.0
    like = [o[2] for o in others if o[0] == value[0] and o[2].shape == value[2].shape]
    return min((float(np.abs(o - value[2]).max()) / largest for o in like), default=np.inf)
