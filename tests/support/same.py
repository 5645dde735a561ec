"""Whether two arrays or tensors are equal, so that a failed assertion says where they are not."""

from __future__ import annotations

import numpy as np


class Differ:
    """False, and as text what differs: pytest shows it as the value of `assert equal(...)`."""

    def __init__(self, text: str):
        self.text = text

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return self.text


def equal(got, want) -> bool | Differ:
    """np.array_equal or torch.equal of the two; what is false says how many elements differ, and the first of them."""
    tensors = not isinstance(got, np.ndarray) and hasattr(got, "detach")
    if tensors:
        import torch

        if torch.equal(got, want):
            return True
        got, want = (t.detach().cpu() for t in (got, want))
        got, want = (t.float() if t.dtype is torch.bfloat16 else t for t in (got, want))
    elif np.array_equal(got, want):
        return True
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return Differ(f"shape {got.shape} is not {want.shape}")
    wrong = np.argwhere(~np.atleast_1d(got == want))
    at = tuple(int(i) for i in wrong[0])
    first = [np.atleast_1d(x)[at] for x in (got, want)]
    return Differ(f"{len(wrong)} of {got.size} elements differ, the first at {at}: {first[0]!r} is not {first[1]!r}")
