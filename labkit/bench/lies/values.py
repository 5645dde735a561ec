"""Do two that are compared give the same? What each operator between two readings took and gave, by its values.

A run of its own (watch.py --values): reading values back takes time on the virtual clock, so nothing is timed in it.
"""

from __future__ import annotations

import hashlib
import threading
import time
from dataclasses import dataclass, field
from itertools import combinations, product
from math import prod

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_SECONDS, _KEPT = 20.0, 1 << 27  # of reading values back; bytes of them that are kept: then no more is looked at
_MOST_BYTES, _SAMPLE = 1 << 28, 1 << 12  # a tensor; elements that are compared
_DRAWN = ("rand", "dropout", "bernoulli", "normal_", "uniform_", "multinomial", "exponential")
_REGIONS = 3  # of each candidate on the same inputs
_SOURCES = 64
_TINY = 1e-3  # of the largest update
_APART = {torch.float16: 0.05, torch.bfloat16: 0.1}  # of the largest value; no order of roundings makes so much
_APART_FLOAT = 0.02
_UNWRITTEN = ("aten::empty", "aten::empty_like", "aten::new_empty", "aten::empty_strided", "aten::new_empty_strided")
_FEWER = 0.8  # of the other's results
_VIEWS = {
    "t",
    "view",
    "_unsafe_view",
    "reshape",
    "transpose",
    "permute",
    "expand",
    "unsqueeze",
    "squeeze",
    "slice",
    "select",
}


@dataclass
class _Step:
    """An operator. number: of the last reading before it. reads: (address, where its contents come from: digests of
    tensors that no operator made; None: not known). gives: (address, contents). changes: addresses that it reads and
    writes. parts: (number of what it gives, elements, place in memory, contents of all that memory): where it writes a
    part of a tensor."""

    number: int
    name: str
    reads: list[tuple[int, frozenset | None]]
    gives: list[tuple[int, tuple]] = field(default_factory=list)
    changes: list[int] = field(default_factory=list)
    parts: list[tuple] = field(default_factory=list)


@dataclass
class _Whole:
    """A tensor in memory of its own. written: what of it an operator wrote; None: it was made with contents."""

    dtype: torch.dtype
    shape: torch.Size
    stride: tuple
    offset: int
    written: torch.Tensor | None = None


@dataclass
class _Seen:
    """A region: the tensors it takes, its operators, all that they give, and of that what no operator in it reads."""

    takes: frozenset
    names: tuple
    outs: list[tuple]
    ends: list[tuple]
    region: object
    trains: bool = False  # it changes what it takes, and the ends are what it changes it by


class Values(TorchDispatchMode):
    """notes: clocks.Notes, for the number of the last reading."""

    def __init__(self, notes):
        super().__init__()
        self.notes, self.steps, self.spent, self.kept, self.until = notes, [], 0.0, 0, None
        self._fresh: set[int] = set()  # addresses written since the last reading: no region has them as an input
        self._made_of: dict[int, frozenset] = {}  # address -> the tensors that its contents were computed from
        self._wholes: dict[int, _Whole] = {}  # address -> the tensor that an operator made there
        self._number = -1
        self._firsts: dict[tuple, int | None] = {}  # names of operators: where they stand one behind the other first
        self.plain: set[bytes] = set()  # tensors of one or two values: a mask, zeros

    def in_threads(self) -> None:
        """Also in the threads that the script starts from now on."""
        real, values = threading.Thread.run, self

        class Beside(TorchDispatchMode):
            def __torch_dispatch__(self, function, types, args=(), kwargs=None):
                return values.__torch_dispatch__(function, types, args, kwargs)

        def run(thread):
            with Beside():
                real(thread)

        threading.Thread.run = run

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, step = kwargs or {}, None
        if self.until is None:
            begin = time.thread_time_ns()
            step = self._step(function, args, kwargs)
            self.spent += (time.thread_time_ns() - begin) * 1e-9
        made = function(*args, **kwargs)
        if step is not None:
            begin = time.thread_time_ns()
            self._gives(step, _tensors(made), function._schema, kwargs)
            self.spent += (time.thread_time_ns() - begin) * 1e-9
            if self.until is None and (self.spent > _SECONDS or self.kept > _KEPT):
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
                if written and (argument.kwarg_only or step.name == "aten::copy_"):  # out= is not read
                    continue
                made_of = self._made_of.get(address)
                if made_of is None and address not in self._fresh:
                    digest, plain = _digest(tensor)
                    made_of = None if digest is None else frozenset([digest])
                    self.plain |= made_of if plain else set()
                step.reads.append((address, made_of))
        return step

    def _gives(self, step: _Step, tensors: list[torch.Tensor], schema, kwargs) -> None:
        known = [made_of for _, made_of in step.reads]
        whole = frozenset().union(*known) if known and None not in known else frozenset()
        drawn = any(word in step.name for word in _DRAWN)
        into = [kwargs.get(a.name) for a in schema.arguments if a.kwarg_only and a.alias_info is not None]
        filled = {t.untyped_storage().data_ptr() for t in _tensors(into)}.union(step.changes)
        before = {address for address, _ in step.reads} | filled
        for tensor in tensors:
            address = tensor.untyped_storage().data_ptr()
            if step.reads:  # else it comes from the host, or is filled
                self._fresh.add(address)
            self._made_of.pop(address, None)
            if whole and len(whole) <= _SOURCES and not drawn:
                self._made_of[address] = whole
            if address not in before:
                blank = tensor.new_zeros(0, dtype=torch.bool, device="cpu") if step.name in _UNWRITTEN else None
                self._wholes[address] = _Whole(
                    tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(), blank
                )
            whole_of = self._wholes.get(address)
            if address in filled and whole_of is not None and tensor.dtype == whole_of.dtype:
                self._writes(step, tensor, whole_of)
            step.gives.append((address, contents := _contents(tensor)))
            self.kept += 400 + (0 if contents[2] is None else contents[2].nbytes)
        self.steps.append(step)

    def _writes(self, step: _Step, tensor: torch.Tensor, whole: _Whole) -> None:
        """Of memory that is written in parts: all of it, in which what nobody has written is no number."""
        written, size = whole.written, tensor.untyped_storage().nbytes() // tensor.element_size()
        if written is not None and size <= _MOST_BYTES:
            if not written.numel():
                written = whole.written = torch.zeros(size, dtype=torch.bool)
            written.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).fill_(True)
        if tensor.numel() == prod(whole.shape) or prod(whole.shape) > size:
            return
        at = whole.shape, whole.stride, whole.offset
        shape, dtype, some = contents = _contents(tensor.as_strided(*at))
        if some is not None and written is not None and written.numel():
            blank = ~written.as_strided(*at).flatten()
            some[np.asarray(blank[:: max(1, blank.numel() // _SAMPLE)])] = np.nan
            contents = shape, dtype, some
        place = tensor.storage_offset(), tuple(tensor.shape)
        step.parts.append((len(step.gives), tensor.numel(), place, contents))
        self.kept += 400 + (0 if some is None else some.nbytes)

    def differences(self, regions) -> list[dict]:
        """Pairs of candidates, {"line": of the one that came second, "one", "other": its operators} and either "apart",
        of the largest value: of the same tensors they compute different ones; or "fewer": (how many elements, the
        other's), on a tensor that both take."""
        seen: dict[tuple, dict[frozenset, list[_Seen]]] = {}
        for region in regions:
            begin, end = region.between
            if self.until is not None and end > self.until or region.graphs:
                continue  # what is captured or compiled there is run by others
            steps = [s for s in self.steps if begin <= s.number < end]
            if made := _seen(steps, region) or self._trained(steps, region):
                same = seen.setdefault(tuple(sorted(made.names)), {}).setdefault(made.takes, [])
                if len(same) < _REGIONS:
                    same.append(made)
        found = []
        for (one, mine), (other, its) in combinations(seen.items(), 2):
            if _deliberate(one, other):
                continue
            for a, b in product(mine.values(), its.values()):
                if pair := _compared(a, b, self.plain):
                    last = {side: _work(s[0].names)[-3:] for side, s in (("one", a), ("other", b))}
                    found.append({"line": b[0].region.via[:1], **last, **pair})
                    break
        return found

    def _trained(self, steps: list[_Step], region) -> _Seen | None:
        """Of a step that changes what it takes: what the first one of its kind in the program computed for that, from
        tensors that nothing had changed yet."""
        names = tuple(s.name for s in steps)
        if not any(s.changes for s in steps):
            return None
        if names not in self._firsts:
            every, count = [s.name for s in self.steps], len(names)
            found = (i for i, n in enumerate(every) if n == names[0] and tuple(every[i : i + count]) == names)
            self._firsts[names] = next(found, None)
        first = self._firsts[names]
        return None if first is None else _updates(self.steps[first : first + len(names)], region)


def _tensors(value) -> list[torch.Tensor]:
    return [t for t in tree_leaves(value) if isinstance(t, torch.Tensor) and t.device.type == "npu"]


def _digest(tensor: torch.Tensor) -> tuple[bytes | None, bool]:
    """(what stands in it, whatever its type's name; whether that is one value, or two). None where it is too large to
    look at."""
    if tensor.numel() * tensor.element_size() > _MOST_BYTES:
        return None, False
    flat = tensor.detach().to("cpu").contiguous().flatten()
    raw = np.asarray(flat.view(torch.uint8))
    digest = hashlib.blake2b(raw.tobytes(), digest_size=16, key=str(tuple(tensor.shape)).encode()[:64]).digest()
    return digest, _plain(flat)


def _plain(flat: torch.Tensor) -> bool:
    values = flat[:_SAMPLE].unique()
    return 1 <= len(values) <= 2 < len(flat) and bool(((flat == values[0]) | (flat == values[-1])).all())


def _contents(tensor: torch.Tensor) -> tuple:
    """(shape, dtype, some of its values)"""
    if not tensor.dtype.is_floating_point or tensor.numel() * tensor.element_size() > _MOST_BYTES:
        return tuple(tensor.shape), tensor.dtype, None
    flat = tensor.detach().to("cpu").flatten()
    flat = flat[:: max(1, flat.numel() // _SAMPLE)]
    return tuple(tensor.shape), tensor.dtype, np.asarray(flat.float())


def _seen(steps: list[_Step], region) -> _Seen | None:
    """None where the region draws numbers or changes what it takes."""
    produced: set[int] = set()
    takes, outs, read_at = set(), [], {}
    whole: set[int] = set()  # made here, not a view of what was there
    filled: dict[int, dict] = {}  # address -> its parts that were written: how many elements
    for i, step in enumerate(steps):
        if any(word in step.name for word in _DRAWN):
            return None
        for address, made_of in step.reads:
            read_at[address] = i
            if address not in produced:
                if made_of is None:
                    return None
                takes |= made_of
        if any(address not in produced for address in step.changes):
            return None
        parts = {part[0]: part[1:] for part in step.parts}
        for place, (address, contents) in enumerate(step.gives):
            if address not in produced and not parts.get(place) and all(address != a for a, _ in step.reads):
                whole.add(address)
            produced.add(address)
            if place in parts:
                count, where, all_of_it = parts[place]
                filled.setdefault(address, {})[where] = count
                if address in whole or sum(filled[address].values()) >= prod(all_of_it[0]):
                    contents = all_of_it
            outs.append((i, address, contents))
    outs = [o for o in outs if o[2][2] is not None]
    given = {address: i for i, address, _ in outs}  # of several calls into the same memory the last one's counts
    ends = [contents for i, address, contents in outs if read_at.get(address, -1) <= i == given[address]]
    if len(ends) != 1:  # one number beside others may be anything; alone it is the result
        outs, ends = ([o for o in some if o[-1][2].size > 1] for some in (outs, [(e,) for e in ends]))
        ends = [e for (e,) in ends]
    if not takes or not ends:
        return None
    return _Seen(frozenset(takes), tuple(s.name for s in steps), [o[2] for o in outs], ends, region)


def _updates(steps: list[_Step], region) -> _Seen | None:
    """The tensors by which a step changes what it takes, as gradients do. None where it draws numbers."""
    made: dict[int, tuple] = {}
    takes, outs, ends = set(), [], []
    for step in steps:
        if any(word in step.name for word in _DRAWN):
            return None
        for address, made_of in step.reads:
            if address not in made:
                if made_of is None:
                    return None
                takes |= made_of
        if any(address not in made for address in step.changes):
            ends += [made[a] for a, _ in step.reads if a in made and a not in step.changes and made[a] is not None]
        for address, contents in step.gives:
            made[address] = contents if contents[2] is not None else None
            outs.append(contents)
        for address in step.changes:
            made.setdefault(address, None)
    outs = [o for o in outs if o[2] is not None]
    if not takes or not ends:
        return None
    largest = max((float(np.abs(e[2]).max()) for e in ends if e[2].size), default=0.0)
    ends = [
        e for e in ends if e[2].size and np.abs(e[2]).max() > _TINY * largest
    ]  # a gradient that is 0 but for rounding
    return _Seen(frozenset(takes), tuple(s.name for s in steps), outs, ends, region, trains=True)


def _compared(a: list[_Seen], b: list[_Seen], plain: set[bytes] = frozenset()) -> dict | None:
    one, other = a[0], b[0]
    if not all(_apart(s.ends, side[0].outs)[0] <= 1e-3 for side in (a, b) for s in side):
        return None  # not the same each time
    mine, its = one.takes - plain, other.takes - plain  # what one makes itself may be given to the other, like a mask
    part = bool(mine and its) and (mine < its or its < mine)  # one of them leaves a weight out
    if one.takes == other.takes or mine == its and mine or part:
        apart, shape = min(_apart(one.ends, other.outs), _apart(other.ends, one.outs))
        if apart > max(_APART.get(end[1], _APART_FLOAT) for s in (one, other) for end in s.ends) and apart != np.inf:
            return {"apart": apart, "shape": list(shape), "part": part}
    alike = _moving(one.names) == _moving(other.names)  # a graph's replay has the same ones without the views
    if one.takes & other.takes and not one.trains and one.region.via[:1] == other.region.via[:1] and not alike:
        counts = [sum(prod(end[0]) for end in s.ends) for s in (one, other)]
        if min(counts) < _FEWER * max(counts):
            return {"fewer": counts}
    return None


def _apart(ends: list[tuple], outs: list[tuple]) -> tuple[float, tuple]:
    """How far that of `ends` is which is farthest from the nearest of `outs`, and its shape; inf where none of them has
    one that is the same."""
    near = [(n, tuple(end[0])) for end in ends if (n := _nearest(end, outs)) != np.inf]
    return max(near, default=(np.inf, ()))


def _work(names: tuple) -> list[str]:
    return [n for n in names if not n.startswith("profiler::")]


def _moving(names: tuple) -> list[str]:
    """The operators that are no views."""
    return [n for n in _work(names) if n.rpartition("::")[2] not in _VIEWS]


def _deliberate(one: tuple, other: tuple) -> bool:
    """Two single operators of different names: relu beside gelu."""
    short = [{name.rpartition("::")[2].strip("_") for name in names} for names in (one, other)]
    if any(len(s) != 1 for s in short):
        return False
    (a,), (b,) = short
    return a not in b and b not in a


def _nearest(value: tuple, others: list[tuple]) -> float:
    """How far the nearest of the others of its shape is, as a share of the largest value."""
    like = [o[2] for o in others if o[0] == value[0] and o[2].shape == value[2].shape]
    return min((_distance(value[2], o) for o in like), default=np.inf)


def _distance(a: np.ndarray, b: np.ndarray) -> float:
    """As a share of the largest value of `a`; 1 where one overflows (inf, NaN) and the other does not."""
    finite = np.isfinite(a) & np.isfinite(b)
    if (np.isfinite(a) != np.isfinite(b)).any():
        return 1.0
    if not finite.any():
        return 0.0
    return float(np.abs(a - b)[finite].max()) / (float(np.abs(a[finite]).max()) or 1.0)
