"""Of the operators within a sample: which are no work, and which look at results."""

from __future__ import annotations

import functools

_CHECKS = {"isfinite", "isnan", "isinf", "isclose", "allclose", "equal"}  # of results, and no work that is asked for
_LOOKS = {"empty", "empty_like", "empty_strided", "item", "_to_copy", "copy_", "set_", "is_pinned", "lift_fresh"}
_LOOKS |= {"resolve_conj", "resolve_neg", "numpy_T", "empty_permuted", "new_empty", "_local_scalar_dense"}
_REDUCES = {"sum", "norm", "linalg_vector_norm", "amax", "amin", "max", "min"}


def short(name: str) -> str:
    """The operator's name without its namespace."""
    return name.rpartition("::")[2]


def checks(called: set[str]) -> list[str]:
    """Of the operators called those that check results; isfinite() is made of three that are seen."""
    return sorted(called & _CHECKS | ({"isfinite"} if {"eq", "abs", "ne"} <= called else set()))


def looks(operator) -> bool:
    """Is the operator no work: a view, a new tensor without contents, or one that takes tensors of no elements?"""
    name = short(operator.name)
    given = [a for a in operator.inputs or () if hasattr(a, "shape")]
    return name in _LOOKS or _is_view(name) or bool(given) and all(0 in a.shape for a in given[:1])


@functools.lru_cache(maxsize=None)
def _is_view(name: str) -> bool:
    import torch

    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return False
    returns = [r for o in packet.overloads() for r in getattr(packet, o)._schema.returns]
    return any(r.alias_info is not None and not r.alias_info.is_write for r in returns)


def sums(kernels) -> list[str]:
    """The names of what only makes a number of each result and adds it to the ones before: a sum for a later check. []
    where such a number also goes into what is worked out, as that of a norm does."""
    single = [bool(k.inputs) and all(not a.shape for a in k.inputs) for k in kernels]
    mixed = any(any(not a.shape for a in k.inputs or ()) and not alone for k, alone in zip(kernels, single))
    made = {short(k.name) for k in kernels if k.inputs and k.inputs[0].shape and any(not o.shape for o in k.outputs)}
    added = {short(k.name) for k, alone in zip(kernels, single) if alone and len(k.inputs) > 1}
    checksum = made and made <= _REDUCES and added and added <= {"add", "add_"} and not mixed
    return sorted(made | added) if checksum else []
