"""labkit.migrate.assess(model, example): what a card would do with a model, before anybody has one.

Counts are of one step on the simulated npu, times are modelled. A share is always given with its two numbers: so many
of so many calls.
"""

from __future__ import annotations

import html
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch

from labkit import chips
from labkit.figures.words import percent, size_text
from labkit.messages import aligned, text
from labkit.migrate.needs import Needs, needs
from labkit.migrate.recording import Call, record
from labkit.migrate.risks import Risk, risks
from labkit.migrate.support import VERSION, support


@dataclass(frozen=True)
class Operator:
    """One row. kernel: who runs it on a card (support.py). forward, backward, optimizer: calls. us: modelled."""

    name: str
    kernel: str
    types: tuple[str, ...]
    forward: int
    backward: int
    optimizer: int
    us: float

    @property
    def calls(self) -> int:
        return self.forward + self.backward + self.optimizer


@dataclass
class Assessment:
    """operators: all that reach the device, the dearest first. kernels: the names of the device's work, as a trace of
    the step shows them. computed: the step could not be run by its shapes alone, since it reads values."""

    chip: str
    training: bool
    operators: list[Operator]
    kernels: list[str]
    needs: Needs
    risks: list[Risk]
    computed: bool
    calls: list[Call] = field(repr=False)

    @property
    def supported(self) -> tuple[int, int]:
        """(operators that stay on the card, all operators)."""
        return sum(o.kernel != "cpu" for o in self.operators), len(self.operators)

    @property
    def supported_calls(self) -> tuple[int, int]:
        return sum(o.calls for o in self.operators if o.kernel != "cpu"), sum(o.calls for o in self.operators)

    def json(self, **options: Any) -> str:
        """All of it but single calls, as JSON text; options are json.dumps'."""
        data = {name: value for name, value in asdict(self).items() if name != "calls"}
        data["table"] = VERSION
        data["needs"] |= {"total": self.needs.total, "fits": self.needs.fits}
        return json.dumps(data, ensure_ascii=False, **options)

    # ---- to read

    def _facts(self) -> list[str]:
        n, (kept, every), (runs, calls) = self.needs, self.supported, self.supported_calls
        memory = {"weights": n.weights, "gradients": n.gradients, "states": n.states, "activations": n.activations}
        sizes = {name: size_text(value) for name, value in (memory | {"total": n.total, "hbm": n.hbm_bytes}).items()}
        fits = text("migrate.fits" if n.fits else "migrate.fits-not")
        times = {"device": f"{n.device_us:,.0f} us", "host": f"{n.host_us:,.0f} us", "cube": f"{n.cube_us:,.2g} us"}
        lines = [
            text("migrate.supported", kept=kept, all=every, calls=runs, every=calls),
            text("migrate.memory", chip=self.chip, fits=fits, **sizes),
            text("migrate.time", chip=self.chip, flops=f"{n.flops:.3g}", **times),
        ]
        return [*lines, *[text("migrate.computed")] * self.computed, text("migrate.source", version=VERSION)]

    def _rows(self) -> list[list[str]]:
        total = sum(o.us for o in self.operators) or 1.0
        names = ("operator", "kernel", "types", "forward", "backward", "optimizer", "share")
        rows = [[text(f"migrate.head-{name}") for name in names]]
        for o in self.operators:
            counts = [str(o.forward), str(o.backward), str(o.optimizer)]
            rows.append([o.name, text(f"migrate.by-{o.kernel}"), " ".join(o.types), *counts, percent(o.us / total)])
        return rows

    def _risk_lines(self) -> list[str]:
        return [
            f"{r.why} {text('migrate.where', calls=r.calls)} "
            + ", ".join(f"{name} ({count})" for name, count in r.where[:4])
            + (", ..." if len(r.where) > 4 else "")
            for r in self.risks
        ] or [text("migrate.no-risk")]

    def __str__(self) -> str:
        return "\n".join(
            [*self._facts(), "", *aligned(self._rows()), "", *(f"- {line}" for line in self._risk_lines())]
        )

    __repr__ = __str__

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict:
        head, *rows = [[html.escape(cell) for cell in row] for row in self._rows()]
        cells = "".join("<tr>" + "".join(f"<td>{c}</td>" for c in row) + "</tr>" for row in rows)
        body = "".join(f"<p>{html.escape(line)}</p>" for line in self._facts())
        body += "<table><tr>" + "".join(f"<th>{c}</th>" for c in head) + f"</tr>{cells}</table><ul>"
        body += "".join(f"<li>{html.escape(line)}</li>" for line in self._risk_lines()) + "</ul>"
        return {"text/plain": str(self), "text/html": body}


def assess(
    model: torch.nn.Module,
    example: Any = (),
    options: Mapping[str, Any] | None = None,
    *,
    loss: Callable[[Any], torch.Tensor] | None = None,
    optimizer: Callable | None = torch.optim.AdamW,
    states_each: int = 2,
    chip: str | None = None,
) -> Assessment:
    """Runs one step of `model(*example, **options)` on the simulated npu and says what a card makes of it.

    example: a tensor, or a sequence of arguments; options: arguments by name. loss: of the model's output to a scalar;
    the output's own `loss`, else the sum of its first floating-point tensor, if not given. optimizer: called with the
    parameters; None assesses inference alone. states_each: tensors that the optimizer keeps for each parameter. chip:
    of chips.names(), default 910B1. The model, its gradients and its device stay as they are; a copy is moved.
    Raises what the model raises, ValueError where no scalar can be made of its output, KeyError for another chip.
    """
    chip = chip or chips.DEFAULT
    if optimizer and not any(p.requires_grad for p in model.parameters()):
        optimizer = None  # nothing to learn
    arguments = (example,) if isinstance(example, torch.Tensor) or not isinstance(example, Sequence) else tuple(example)
    done = record(model, arguments, dict(options or {}), loss or _scalar, optimizer)
    table: dict[tuple[str, str], list[Call]] = {}
    for call in done.calls:
        kernel = support(call.operator)
        if not call.view and not (call.moves and not call.kernels):
            table.setdefault((call.name, kernel), []).append(call)
    rows = [_operator(name, kernel, calls) for (name, kernel), calls in table.items()]
    rows.sort(key=lambda o: (-o.us, o.name))
    return Assessment(
        chip,
        optimizer is not None,
        rows,
        done.kernels,
        needs(model, done, chip, states_each if optimizer else None),
        risks(done.calls),
        done.computed,
        done.calls,
    )


def _operator(name: str, kernel: str, calls: list[Call]) -> Operator:
    phases = Counter(c.phase for c in calls)
    types = sorted({str(t).removeprefix("torch.") for c in calls for t in c.types})
    return Operator(
        name, kernel, tuple(types), phases["forward"], phases["backward"], phases["optimizer"], sum(c.us for c in calls)
    )


def _scalar(out: Any) -> torch.Tensor:
    given = getattr(out, "loss", None)
    if isinstance(given, torch.Tensor):
        return given
    for leaf in torch.utils._pytree.tree_leaves(out if not hasattr(out, "to_tuple") else out.to_tuple()):
        if isinstance(leaf, torch.Tensor) and leaf.is_floating_point() and leaf.requires_grad:
            return leaf.sum()
    raise ValueError(text("migrate.no-loss"))
