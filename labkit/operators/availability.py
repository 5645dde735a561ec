"""Whether an operator of this lab can be called on npu; the first question builds it."""

from __future__ import annotations

import labkit

_refused: dict[str, str] = {}  # operator -> why it could not be built


def missing(op: str, source: str) -> str:
    """ "" when torch.ops.lab.<op> has an implementation for npu, else why not, in a line. The first call builds it from
    `source`, an adapter's file; what could not be built is not tried again in this process.
    """
    import torch

    try:
        if torch._C._dispatch_has_kernel_for_dispatch_key(f"lab::{op}", "PrivateUse1"):
            return ""
    except RuntimeError:  # nobody has defined it yet
        pass
    if op not in _refused:
        try:
            labkit.register(source)
        except Exception as error:  # no compiler, no source, a mistake in it: the model still computes
            _refused[op] = (str(error).strip() or type(error).__name__).split("\n")[0]
    return _refused.get(op, "")
