"""Watches a training run: what goes wrong is named, and what has to be done is done in the same step.

    watch = Monitor()
    run = train(model, images, 300, policy=Policy(), monitor=watch)
    watch.anomalies           # [Anomaly(step=41, kind='gradient spike', where='', action='clip')]
    pandas.DataFrame(watch.rows).plot(x="step", y="loss")

Looked at, from the data on: the batch on the host; the largest absolute value that each watched module puts out;
overflow and norms of gradients, how many are exactly zero; the loss of every rank; now and then the loss's curvature.
What the device finds comes back in the one read that a step has anyway. Limits are on the class, as numbers.

| kind | means | action |
|---|---|---|
| bad data | a pixel is no finite number | skip |
| blank data | all pixels of the batch are one value | skip |
| no labels | nothing in the batch is to be said | skip |
| rank not finite | the loss of `where` is inf or NaN, that of another rank is not | skip, on all ranks |
| ranks alike | all ranks have the same loss, again and again: they read the same data | stop |
| activation overflow | `where` puts out inf or NaN first of all | raise precision; in fp32 already: stop |
| dead layer | `where` puts out nothing but zeros | stop |
| scale too high | gradients overflow, and the scale falls not, or not soon enough | lower scale |
| no gradient | the gradients of `where` are all zero, those of others are not | stop |
| underflow | more than half of all gradients are exactly zero | raise scale; with none, or at its end: stop |
| loss spike | the loss is far above the last ones, or no number | skip |
| gradient spike | the norm is far above the last ones | clip, to their median |

A single overflow is no anomaly: that is how a loss scale finds its place.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from fnmatch import fnmatchcase
from statistics import median
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from labkit import device
from labkit.migrate import scenes as scenes_

HOST_BYTES_US = 10e3  # bytes a microsecond at which the host reads a batch; an assumption, charged to the virtual clock


@dataclass(frozen=True)
class Anomaly:
    """where: a module, a parameter or a rank; empty where it is the whole step."""

    step: int
    kind: str
    where: str
    action: str


class Monitor:
    """watch: patterns of the modules whose outputs are looked at, outermost first. every: steps between two looks at
    zeros among the gradients. curvature_every: steps between two estimates of the curvature, 0 for none (two
    forward and backward passes each). rows: one dict a step. Raises ValueError for every < 1, curvature_every < 0."""

    SETTLE = 20  # steps before a loss or a norm can be far from the last ones, and how many those are
    LOSS_FAR = 1.0  # this much, and ten times what it usually changes in a step, above the last five
    NORM_FAR = 10.0  # times the median
    OVERFLOWS = 12  # steps in a row, more than any start wants: 2 ** 16 falls to 16 in them
    ALIKE = 5  # steps in a row with equal losses on all ranks
    DEAD = 3  # steps in a row in which a layer or its gradient is zero
    LOWER = 2.0**-8  # times the scale, where halving does not get there
    RAISE = 2.0**8
    HIGHEST = 2.0**16

    def __init__(
        self,
        watch: tuple[str, ...] = ("*attention", "*attn", "*mlp", "*projector"),
        every: int = 10,
        curvature_every: int = 0,
    ):
        if every < 1 or curvature_every < 0:
            raise ValueError(f"every={every}, curvature_every={curvature_every}: want at least 1, and at least 0.")
        self.watch, self.every, self.curvature_every = watch, every, curvature_every
        self.rows: list[dict[str, Any]] = []
        self.anomalies: list[Anomaly] = []
        self.stopped = ""  # why, once a run must not go on
        self._losses, self._norms = deque(maxlen=self.SETTLE), deque(maxlen=self.SETTLE)
        self._hooks: list[Any] = []
        self._in_a_row: dict[str, int] = {}

    # ---- called by the training loop

    def attach(self, masters: Any, scale: Any) -> None:
        """Begins to look at a model's modules. Raises ValueError where no module has a watched name."""
        self.masters, self.scale = masters, scale
        self._peaks: dict[str, torch.Tensor] = {}
        names = [n for n, _ in masters.model.named_modules() if any(fnmatchcase(n.lower(), p) for p in self.watch)]
        self.modules = [n for n in names if not any(n.startswith(outer + ".") for outer in names)]
        if not self.modules:
            raise ValueError(f"No module has a name like {', '.join(self.watch)}: give watch= from named_modules().")
        for name in self.modules:
            module = masters.model.get_submodule(name)
            self._hooks.append(module.register_forward_hook(lambda _, __, out, name=name: self._peak(name, out)))
        of = {id(p): name for name, p in masters.model.named_parameters()}
        pairs = {id(m): id(p) for p, m in masters.pairs}
        self._parameters = [of[pairs.get(id(m), id(m))] for m in masters.parameters]

    def detach(self) -> None:
        """Takes the hooks away."""
        while self._hooks:
            self._hooks.pop().remove()

    def look(self, batch: dict[str, torch.Tensor]) -> None:
        """At a batch, on the host, before it is moved."""
        self._peaks.clear()
        pixels, labels = batch["pixel_values"], batch["labels"]
        low, high = torch.aminmax(pixels) if pixels.numel() else (torch.zeros(()), torch.zeros(()))
        self._batch = ""
        if not (math.isfinite(low) and math.isfinite(high)):
            self._batch = "bad data"
        elif low == high:
            self._batch = "blank data"
        elif not (labels != scenes_.IGNORED).any():
            self._batch = "no labels"
        if device.mode() == "sim":
            device.host_work((pixels.nbytes + labels.nbytes) / HOST_BYTES_US)

    def observe(self, number: int, loss: torch.Tensor) -> dict[str, torch.Tensor]:
        """What the step's one read is to bring: tensors of one dimension on the device. Gradients are unscaled."""
        filled = [(name, m.grad) for name, m in zip(self._parameters, self.masters.parameters) if m.grad is not None]
        self._normed, gradients = [name for name, _ in filled], [g for _, g in filled]
        none = loss.new_empty(0, dtype=torch.float32)
        # in the order in which the modules ran: the first that overflows is the cause
        found = {"peaks": torch.stack([p.float() for p in self._peaks.values()]) if self._peaks else none}
        found["norms"] = torch.stack(torch._foreach_norm(gradients)) if gradients else none
        if gradients and number % self.every == 0:
            whole = torch.cat([g.flatten() for g in gradients])
            found["filled"] = torch.count_nonzero(whole).float().reshape(1)
            self._size = whole.numel()
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            # a batch that this rank will not use is left out by all
            own = loss.new_full((1,), math.nan) if self._batch else loss.detach().float().reshape(1)
            found["ranks"] = own.new_empty(torch.distributed.get_world_size())
            torch.distributed.all_gather_into_tensor(found["ranks"], own)
        return found

    def judge(self, number: int, loss: float, norm: float, overflow: bool, noted: dict, used: float) -> bool:
        """Notes the step, acts, and says whether it has to be left out. used: the scale of this step's gradients."""
        ranks = [x for x in noted.get("ranks", []) if math.isfinite(x)]
        loss = sum(ranks) / len(ranks) if ranks else loss  # every rank has to judge alike
        kind, where, action = self._verdict(number, loss, norm, overflow, noted, used)
        self._used = used
        row = {"step": number, "loss": loss, "norm": norm, "scale": used, "overflow": overflow}
        row |= dict(zip([f"peak {n}" for n in self._peaks], noted["peaks"]))
        row |= {"zeros": 1 - noted["filled"][0] / self._size} if "filled" in noted else {}
        self.rows.append(row | {"kind": kind, "where": where, "action": action})
        if kind:
            self.anomalies.append(Anomaly(number, kind, where, action))
            self._act(kind, where, action, norm, used)
        elif not overflow:
            self._losses.append(loss)
            self._norms.append(norm)
        return action in ("skip", "stop", "raise precision", "lower scale", "raise scale")

    def bend(self, loss: Any) -> None:
        """Notes the curvature of the loss in the newest row. loss(): as curvature() wants it, without publishing."""

        def anew() -> None:
            self.masters.publish()
            loss()

        try:
            self.rows[-1]["curvature"] = curvature(anew, self.masters.parameters, seed=self.rows[-1]["step"])
        finally:
            self.masters.publish()
            for p in self.masters.parameters:
                p.grad = None

    # ---- what is wrong

    def _verdict(self, number, loss, norm, overflow, noted, used) -> tuple[str, str, str]:
        """(kind, where, action), the cause before its consequences; ("", "", "") where all is well."""
        if self._batch:
            return self._batch, "", "skip"
        ranks = noted.get("ranks", [])
        if bad := [i for i, x in enumerate(ranks) if not math.isfinite(x)]:
            if len(bad) < len(ranks):
                return "rank not finite", f"rank {bad[0]}", "skip"
        if self._again("alike", len(ranks) > 1 and len(set(ranks)) == 1) >= self.ALIKE:
            return "ranks alike", "", "stop"
        for name, peak in zip(self._peaks, noted["peaks"]):
            if not math.isfinite(peak):
                weights = self.masters.model.get_submodule(name).parameters()
                higher = any(p.dtype != torch.float32 for p in weights)
                return "activation overflow", name, "raise precision" if higher else "stop"
        for name, peak in zip(self._peaks, noted["peaks"]):
            if self._again(f"dead {name}", peak == 0) >= self.DEAD:
                return "dead layer", name, "stop"
        in_a_row = self._again("overflow", overflow)
        if overflow:
            if in_a_row < self.OVERFLOWS and (in_a_row == 1 or used < self._used):
                return "", "", ""
            return "scale too high", "", "lower scale" if used > self.scale.least else "stop"
        if verdict := self._zeros(noted, used):
            return verdict
        if not math.isfinite(loss):
            return "loss spike", "", "skip"
        if len(self._losses) == self.SETTLE:
            last = list(self._losses)
            usual = median(abs(b - a) for a, b in zip(last, last[1:]))  # a loss that falls steeply is no deviation
            if loss > median(last[-5:]) + max(self.LOSS_FAR, 10 * usual):
                return "loss spike", "", "skip"
            if norm > self.NORM_FAR * median(self._norms):
                return "gradient spike", "", "clip"
        return "", "", ""

    def _zeros(self, noted: dict, used: float) -> tuple[str, str, str] | None:
        if "filled" in noted and noted["filled"][0] < self._size / 2:
            can = self.scale.enabled and used < self.HIGHEST
            return "underflow", "", "raise scale" if can else "stop"
        parts: dict[str, float] = {}  # `model.vision_tower`, say: the largest norm in it
        for name, norm in zip(self._normed, noted["norms"]):
            part = ".".join(name.split(".")[:2])
            parts[part] = max(parts.get(part, 0.0), norm)
        for part, largest in parts.items():
            if self._again(f"no gradient {part}", largest == 0 and any(parts.values())) >= self.DEAD:
                return "no gradient", part, "stop"
        return None

    def _again(self, key: str, happened: bool) -> int:
        """How many steps in a row."""
        self._in_a_row[key] = self._in_a_row.get(key, 0) + 1 if happened else 0
        return self._in_a_row[key]

    # ---- what is done

    def _act(self, kind: str, where: str, action: str, norm: float, used: float) -> None:
        if action in ("skip", "raise precision"):
            self.scale.set(used)  # an overflow that came of this says nothing of the scale
        if action == "stop":
            self.stopped = f"{kind} {where}".strip()
        elif action == "raise precision":
            self.masters.raise_precision(where)
        elif action == "lower scale":
            self.scale.set(max(used * self.LOWER, self.scale.least))
        elif action == "raise scale":
            self.scale.set(min(used * self.RAISE, self.HIGHEST))
        elif action == "clip":
            torch.nn.utils.clip_grad_norm_(self.masters.parameters, median(self._norms), foreach=True)

    def _peak(self, name: str, out: Any) -> None:
        if not torch.is_grad_enabled():
            return
        numbers = (t for t in tree_leaves(out) if isinstance(t, torch.Tensor) and t.is_floating_point() and t.numel())
        first = next(numbers, None)
        if first is not None:
            self._peaks[name] = torch.linalg.vector_norm(first.detach(), math.inf)


def curvature(loss: Any, weights: list[torch.Tensor], step: float = 1e-2, seed: int = 0) -> float:
    """The trace of the loss's second derivatives, by Hutchinson's estimate with one random vector of signs.

    loss(): computes the loss anew and leaves fp32 gradients in `weights` (Masters: publish, forward, backward, gather).
    Second derivatives along the vector come from two gradients, `step` times the weights' own size to both sides, so
    that it works for kernels which have no second derivative. Weights and gradients are put back. What comes out is
    rough: it varies with the vector, and in half precision with rounding.
    """
    if not weights or not step > 0:
        raise ValueError("curvature() wants weights and a step above 0.")
    place, sizes = weights[0].device, [w.numel() for w in weights]
    signs = torch.randint(0, 2, (sum(sizes),), generator=torch.Generator().manual_seed(seed)).float().mul_(2).sub_(1)
    vector = [part.view_as(w) for part, w in zip(signs.to(place).split(sizes), weights)]
    with torch.no_grad():
        norms = torch.stack(torch._foreach_norm(weights)).tolist()
        far = [step * (norm / math.sqrt(n)) if norm else step for norm, n in zip(norms, sizes)]
        before, kept = [w.clone() for w in weights], [w.grad for w in weights]
    sides = []
    try:
        for way in (1, -1):
            with torch.no_grad():
                torch._foreach_copy_(
                    weights, torch._foreach_add(before, torch._foreach_mul(vector, [way * f for f in far]))
                )
            for w in weights:
                w.grad = None
            loss()
            sides.append([torch.zeros_like(w) if w.grad is None else w.grad for w in weights])
    finally:  # loss() may run out of memory, say: training goes on from the weights that were there
        with torch.no_grad():
            torch._foreach_copy_(weights, before)
        for w, grad in zip(weights, kept):
            w.grad = grad
    with torch.no_grad():
        across = torch._foreach_mul(torch._foreach_sub(*sides), vector)
        found = torch.stack([t.sum() for t in across]).tolist()
    return sum(value / (2 * f) for value, f in zip(found, far))
