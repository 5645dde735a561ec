"""Where does what is timed find its inputs? A run of its own (watch.py --held): before each operator the modelled L2 is
asked for the tensors that it takes.

Of a table whose rows are picked the model takes as many bytes as there are rows, from its beginning, whatever the
indices say. So here its rows are in the L2 only if the same indices were used before, and since then less has passed
than the L2 holds, or if the whole table is.
"""

from __future__ import annotations

import bisect

from torch.utils._python_dispatch import TorchDispatchMode

from labkit import chips
from labkit.bench.lies.values import _tensors
from labkit.device import held_l2

GATHERS = frozenset({"index", "index_select", "gather", "embedding", "take"})  # csrc/facts.h


class Touched(TorchDispatchMode):
    """notes: clocks.Notes, for the number of the last reading. Operators of other threads are not seen."""

    def __init__(self, notes):
        super().__init__()
        self.room = float(chips.flat(chips.chosen())["memory.l2"])
        self.notes = notes
        self.steps: list[tuple[int, list, list]] = []  # (reading, [(address, bytes, of these in the L2)], addresses)
        self.passed = 0.0  # bytes of all operators so far
        self.picked: dict[tuple, float] = {}  # (table, indices): passed, when they were used last

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        reads = []
        given = list(zip(function._schema.arguments, args))
        given += [(a, kwargs[a.name]) for a in function._schema.arguments if a.name in kwargs]
        for argument, value in given:
            written = argument.alias_info is not None and argument.alias_info.is_write
            for tensor in _tensors(value):
                storage = tensor.untyped_storage()
                if not (written and argument.kwarg_only):  # out= is not read
                    size = min(tensor.numel() * tensor.element_size(), storage.nbytes())
                    reads.append((storage.data_ptr(), size, held_l2(tensor) if size else 0.0))
        made = function(*args, **kwargs)
        results = list(_tensors(made))
        if function._schema.name.rpartition("::")[2] in GATHERS and len(reads) > 1:
            reads[0] = self._rows(reads, sum(r.numel() * r.element_size() for r in results))
        self.passed += sum(size for _, size, _ in reads) + sum(r.numel() * r.element_size() for r in results)
        taken = {address for address, *_ in reads}  # a view's result, and what an operator changes, is no new one
        addresses = [tensor.untyped_storage().data_ptr() for tensor in results]
        self.steps.append((self.notes.readings, reads, [a for a in addresses if a not in taken]))
        return made

    def _rows(self, reads: list, size: float) -> tuple[int, float, float]:
        """What is picked from a table, as the other reads are."""
        (table, all_of_it, held), *indices = reads
        key = (table, *(address for address, *_ in indices))
        since = self.passed - self.picked.get(key, float("-inf"))
        self.picked[key] = self.passed
        whole = held >= 0.9 * all_of_it
        return table, size, size if whole or since < self.room else 0.0

    def held(self, region) -> float | None:
        """The share of a region's inputs that the L2 holds, of the one of which it holds the least; what the region
        itself has made is none. None: nothing is taken."""
        begin, end = (bisect.bisect_left(self.steps, n, key=lambda step: step[0]) for n in region.between)
        own: set[int] = set()
        least = None
        for _, reads, writes in self.steps[begin:end]:
            for address, size, held in reads:
                if size and address not in own:
                    least = min(held / size, 1.0 if least is None else least)
            own.update(writes)
        return least
