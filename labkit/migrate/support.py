"""Who runs an operator on a card: torch_npu's own kernel, PyTorch by other operators, or the CPU.

data/npu_operators.csv has what torch_npu registers, of its public sources; data/npu_functions.csv the types that its
documents name for PyTorch's functions. Both are facts about one version: scripts/npu_operators.py writes them.
"""

from __future__ import annotations

import csv
from functools import lru_cache
from typing import Any

import torch

from labkit import paths

VERSION = "torch_npu 9e73e708a, op-plugin 517f2e7d (August 2026), PyTorch 2.13"
ACLNN, ACLOP, NPU, VIEW, MADE_OF_OTHERS, CPU = "aclnn", "aclop", "torch_npu", "view", "others", "cpu"
# The simulated device hands attention to PyTorch's operator for backends that bring their own; torch_npu takes the call
# one step earlier, under its public name.
_SAME = {
    "_scaled_dot_product_fused_attention_overrideable": "scaled_dot_product_attention",
    "_scaled_dot_product_fused_attention_overrideable_backward": "scaled_dot_product_attention",
}
_COMPOSITE, _IMPLICIT = ("ExplicitAutograd", "ExplicitAutogradNonFunctional"), "ImplicitAutograd"


@lru_cache(maxsize=1)
def operators() -> dict[str, str]:
    """Operator ("add.Tensor", "mm") -> aclnn, aclop or torch_npu: how torch_npu runs it on the card."""
    with open(paths.data_dir() / "npu_operators.csv", encoding="utf-8", newline="") as lines:
        return {row["operator"]: row["kernel"] for row in csv.DictReader(lines)}


@lru_cache(maxsize=1)
def functions() -> dict[str, dict[str, str]]:
    """Function ("torch.addmm") -> its row of data/npu_functions.csv."""
    with open(paths.data_dir() / "npu_functions.csv", encoding="utf-8", newline="") as lines:
        return {row["function"]: row for row in csv.DictReader(lines)}


def support(operator: Any) -> str:
    """One of the six words above for an operator as PyTorch's dispatcher has it (an OpOverload)."""
    name = operator._schema.name.partition("::")[2]
    overload = operator._schema.overload_name
    if operator.namespace == "npu":
        return ACLNN
    if operator.is_view:
        return VIEW
    if operator.namespace != "aten":  # somebody's own: the table's operator of that name is another
        own = operator._schema.name + (f".{overload}" if overload else "")
        if _dispatches(own, "PrivateUse1"):
            return NPU
        return MADE_OF_OTHERS if any(_dispatches(own, f"Composite{k}") for k in (*_COMPOSITE, _IMPLICIT)) else CPU
    table, full = operators(), f"{name}.{overload}" if overload else name
    for asked in (full, _SAME.get(name, "")):
        if asked in table:
            return table[asked]
    # of a structured operator the form with out= has the kernel, and the other two call it
    if _has(full, "CompositeExplicitAutogradNonFunctional") or name.endswith("_"):
        plain = name.removesuffix("_")
        for asked in (f"{plain}.out", f"{plain}.{overload}_out", *_outs(plain, overload)):
            if asked in table:
                return table[asked]
    if _has(full, "CompositeImplicitAutograd"):
        return MADE_OF_OTHERS
    if any(_has(full, f"Composite{kind}") for kind in _COMPOSITE):
        # The form with out= is made of this one, or (linalg_lstsq) this one of it: then that one needs a kernel.
        outs = _outs(name, overload)
        return MADE_OF_OTHERS if not outs or any(_has(o, "CompositeExplicitAutograd") for o in outs) else CPU
    return CPU


def _has(full: str, key: str) -> bool:
    return _dispatches(f"aten::{full}", key)


def _dispatches(name: str, key: str) -> bool:
    return torch._C._dispatch_has_kernel_for_dispatch_key(name, key)


def _outs(plain: str, overload: str) -> list[str]:
    """The overloads with out= that take what this one takes: their arguments begin the same."""
    packet = getattr(torch.ops.aten, plain, None)
    own = getattr(packet, overload or "default", None)
    if own is None:
        return []
    wanted = [(a.name, str(a.type)) for a in own._schema.arguments]
    found = []
    for other in packet.overloads():
        schema = getattr(packet, other)._schema
        given = [(a.name, str(a.type)) for a in schema.arguments if not a.is_out]
        if len(given) < len(schema.arguments) and given == wanted:
            found.append(f"{plain}.{other}")
    return found


def documented(name: str) -> tuple[str, frozenset[str]] | None:
    """(function, types of its first argument) where torch_npu's documents limit them for an aten operator's name."""
    plain = name.partition("::")[2].removesuffix("_")
    for prefix in ("torch.", "torch.nn.functional.", "torch.Tensor.", "torch.linalg.", "torch.special."):
        row = functions().get(prefix + plain)
        if row and row["types"]:
            return prefix + plain, frozenset(row["types"].split())
    return None
