"""What a registered operator gives, seen in the worker: results, gradients, errors, launches. The parent compares."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from labkit.camp import told
from labkit.exercises import launch, operators


def observe(made, case) -> dict:
    """The answer for one case: `got` (results by value), `grads`, `meta`, `schema`, `raised`, `records`; `found` is a
    diagnosis that only this side can make (streams, opcheck).
    """
    answer: dict[str, Any] = {}
    with launch.quietly() as seen, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _DO.get(case.probe, _call)(made, case, answer)
        except Exception as error:
            answer |= told.raised(error)
    answer["records"] = [told.record(r) for r in seen.records]
    return {"value": answer}


def _call(made, case, answer: dict) -> None:
    args = operators._produced(case) if case.probe == "queued" else launch.arguments(case, _place(case))
    answer["got"] = operators._invoke(made, args, case)


def _place(case) -> str:
    return "npu:1" if case.probe == "guard" else launch.DEVICE


def _stream(made, case, answer: dict) -> None:
    kept: list = []

    def compared(got, _case):
        kept.append(got)

    before, operators._compared = operators._compared, compared
    try:
        found = operators._stream(None, made, case)
    finally:
        operators._compared = before
    answer |= {"got": kept[0] if kept else None, "found": found and (found.key, told.plain(found.numbers))}


def _meta(made, case, answer: dict) -> None:
    got = made(*launch.arguments(case, "meta"))
    many = isinstance(got, (tuple, list))
    answer["meta"] = [(tuple(t.shape), t.dtype, t.device.type, tuple(t.stride())) for t in (got if many else [got])]


def _schema(made, case, answer: dict) -> None:
    answer["schema"] = str(made.default._schema)


def _here(probe, made, case, answer: dict) -> None:
    """A probe that only this side can make."""
    found = probe(None, made, case)
    answer["found"] = found and (found.key, told.plain(found.numbers))


def _grad(made, case, answer: dict) -> None:
    import torch

    args = tuple(
        a.requires_grad_() if hasattr(a, "data_ptr") and a.is_floating_point() else a
        for a in launch.arguments(case, launch.DEVICE)
    )
    inputs = [a for a in args if hasattr(a, "data_ptr") and a.requires_grad]
    y = operators._invoke(made, args, case)
    answer |= {"got": y.detach(), "grad_fn": type(y.grad_fn).__name__ if y.grad_fn is not None else ""}
    if y.grad_fn is None:
        return
    weights = torch.linspace(-1, 2, y.numel(), dtype=torch.float64).reshape(y.shape).to(y.dtype).to(launch.DEVICE)
    answer["grads"] = [torch.autograd.grad(y, inputs, weights, retain_graph=True, allow_unused=True)]
    answer["grads"] += [torch.autograd.grad(y.sum(), inputs, None, retain_graph=True, allow_unused=True)]


_DO = {
    "stream": _stream,
    "meta": _meta,
    "schema": _schema,
    "opcheck": partial(_here, operators._opcheck),
    "back": partial(_here, operators._back),
    "grad": _grad,
}
