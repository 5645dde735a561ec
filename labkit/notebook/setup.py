"""What a notebook's second cell does: labkit.setup(TARGET, DEVICE, SEED, STRICT, QUICK)."""

from __future__ import annotations

from labkit.exercises import session
from labkit.notebook import magics


def setup(
    TARGET: str = "auto", DEVICE: int = 0, SEED: int = 0, STRICT: bool = False, QUICK: bool = False
) -> session.Session:
    """Validate, choose the target, seed Python, numpy and torch, install the device, register the magics.

    Raises ValueError for a value that no notebook takes.
    An npu that cannot be used does not raise: checks then say SKIP.
    """
    begun = session.begin(TARGET, DEVICE, SEED, STRICT, QUICK)
    magics.register()
    return begun
