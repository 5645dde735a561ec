"""Where does what is timed find its inputs? A run of its own (watch.py --held): before each operator the modelled L2 is
asked for the tensors that it takes.
"""

from __future__ import annotations

import bisect

from torch.utils._python_dispatch import TorchDispatchMode

from labkit.bench.lies.values import _tensors
from labkit.device import held_l2


class Touched(TorchDispatchMode):
    """notes: clocks.Notes, for the number of the last reading. Operators of other threads are not seen."""

    def __init__(self, notes):
        super().__init__()
        self.notes = notes
        self.steps: list[tuple[int, list, list]] = []  # (reading, [(address, bytes, of these in the L2)], addresses)

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
        taken = {address for address, *_ in reads}  # a view's result, and what an operator changes, is no new one
        addresses = [tensor.untyped_storage().data_ptr() for tensor in _tensors(made)]
        self.steps.append((self.notes.readings, reads, [a for a in addresses if a not in taken]))
        return made

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
