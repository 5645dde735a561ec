"""A row's address that goes by the wrong length: which name in an index is longer than the tensor's rows."""

from __future__ import annotations

import re

from labkit import messages
from labkit.exercises.cases import Case, InOut, Out
from labkit.exercises.diagnose import Diagnosis


def of_finding(found: Diagnosis, case: Case, line: str, text: str, entry: str) -> str:
    """Of an access behind a tensor's end (gm-bounds): the sentence, "" where the numbers do not show it exactly.

    line: the line of code; text: the file with the kernel `entry`, whose scalar arguments give names their values.
    A row of the tensor has `width` elements; the index is some row times a longer name, and the offset is just that.
    """
    if found.key != "gm-bounds" or not isinstance(argument := found.numbers.get("argument"), int):
        return ""
    shape, size = _shape(case.args[argument]) if argument < len(case.args) else ((), 0)
    indices = re.findall(r"\w+\[\s*(\w+)\s*\*\s*(\w+)\s*\]", line)
    if len(shape) < 2 or len(indices) != 1:
        return ""
    width, offset = shape[-1], found.numbers.get("offset", -1)
    rows = found.numbers.get("size", 0) // (width * size or 1)
    values = _scalars(case, text, entry)
    for name, other in (indices[0], indices[0][::-1]):
        length = values.get(name, 0)
        fits = offset > 0 and length > width and offset % (length * size) == 0 and offset // (length * size) < rows
        if fits and other not in values:
            index = re.search(r"\w+\[[^\]]*\]", line)[0]
            return messages.text(
                "slip.row-length",
                index=index,
                tensor=found.numbers.get("tensor", "?"),
                width=width,
                name=name,
                length=length,
            )
    return ""


def _shape(argument) -> tuple[tuple[int, ...], int]:
    """(shape, bytes of an element)"""
    if isinstance(argument, Out):
        import torch

        dtype = getattr(torch, argument.dtype) if isinstance(argument.dtype, str) else argument.dtype
        shape = (argument.shape,) if isinstance(argument.shape, int) else tuple(argument.shape)
        return shape, dtype.itemsize
    tensor = argument.tensor if isinstance(argument, InOut) else argument
    return (tuple(tensor.shape), tensor.dtype.itemsize) if hasattr(tensor, "shape") else ((), 0)


def _scalars(case: Case, text: str, entry: str) -> dict[str, int]:
    found = re.search(rf"__global__[^;{{]*?\b{re.escape(entry)}\s*\(([^)]*)\)", text)
    names = [part.split()[-1].lstrip("*&") for part in found[1].split(",") if part.split()] if found else []
    if len(names) != len(case.args):
        return {}
    return {name: arg for name, arg in zip(names, case.args) if isinstance(arg, int)}
