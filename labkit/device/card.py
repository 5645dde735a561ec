"""One simulated card that several processes use at once, each with its own virtual clock.

    file = card.make(folder)                       # in one of them, before
    with card.shared(file, seat, seats): ...       # in each, with another seat; all of them, at the same time

What they share is when the card's engines (cube, vector, copies) are free: an engine does one kernel at a time, in the
order in which they became ready. That is the model's assumption: no published measurement of a card under several
processes was found. Not modelled: what a change of the process costs the card, and that processes evict each other's
data from the L2.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

from labkit import messages
from labkit.device.library import lib

_CACHE_LINE = 64


def make(folder: str | None = None) -> str:
    """A new card's file, all engines free."""
    with tempfile.NamedTemporaryFile(prefix="labkit-card-", dir=folder, delete=False) as file:
        file.truncate(lib().lab_card_bytes() + _CACHE_LINE)
    return file.name


@contextlib.contextmanager
def shared(file: str, seat: int, seats: int) -> Iterator[None]:
    """Device 0 of this process is the card of `file` inside. Its clock goes on from where it stands: reset it before.
    A process waits until all seats are taken. Raises RuntimeError where the file is no card, or another process stood
    still for a minute and was not waited for."""
    if not lib().lab_sit_down(file.encode(), seat, seats):
        raise RuntimeError(messages.text("device.no_card", file=file, seat=seat, seats=seats))
    try:
        yield
    finally:
        whole = lib().lab_leave_card()
    if not whole:
        raise RuntimeError(messages.text("device.card_given_up"))
