"""Why a fused kernel is slower than its chain, or than it should be: labkit.fusion.why_slower.

    why = labkit.fusion.why_slower(kernel)              # against kernel.chain() and against the planner's own choice
    why.causes[0].kind, why.causes[0].us, why           # what it is, the time without it, all of it in words

Nothing is blamed on suspicion. Each cause comes with a change that takes it away; the changed kernel is built and
launched on the twin's clock, and the cause stands only where the time goes down with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from labkit import chips, device
from labkit.analysis.facts import Facts, facts
from labkit.analysis.whatifs import replay
from labkit.codegen import Refused, clock, tiling
from labkit.fusion.fused import FusedKernel
from labkit.fusion.split import best_split
from labkit.launch.record import LaunchRecord
from labkit.messages import text

LATE = 1.1  # times what was expected: less is within the predictor's error
WORTH = 0.05  # of the time: a change that saves less proves nothing
KINDS = ("tile", "cores", "launch", "banks", "casts", "layout", "edited", "order", "mixed", "bandwidth")


@dataclass(frozen=True)
class Cause:
    """kind: one of KINDS. us: the time with the change, modelled; changed: the kernels that were built for it, none
    where the launch's own instructions were replayed."""

    kind: str
    why: str
    change: str
    us: float
    saves_us: float
    changed: tuple[FusedKernel, ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class Slowness:
    """us: of the fused launch, with what lays its inputs out before it; chain_us: of the launches that it replaces;
    expected_us: what it was to take. causes: the one that costs most first. All modelled."""

    us: float
    chain_us: float | None
    expected_us: float
    causes: list[Cause]
    facts: Facts = field(repr=False)

    @property
    def slower(self) -> bool:
        return self.us > LATE * self.expected_us or (self.chain_us is not None and self.us > self.chain_us)

    def __repr__(self) -> str:
        chain = "-" if self.chain_us is None else f"{self.chain_us:.2f}"
        lines = [text("slower.head", us=f"{self.us:.2f}", chain=chain, expected=f"{self.expected_us:.2f}")]
        if not self.slower:
            lines.append(text("slower.healthy"))
        elif not self.causes:
            lines.append(text("slower.unknown"))
        for i, c in enumerate(self.causes, 1):
            how = text("slower.built" if c.changed else "slower.replayed")
            lines.append(text("slower.cause", n=i, why=c.why, change=c.change, how=how, us=f"{c.us:.2f}"))
        return "\n".join(lines)


def why_slower(fused, chain=None, *, expected_us: float | None = None) -> Slowness:
    """fused: a FusedKernel, for its example's sizes; chain: what it is held against, as its .chain() where it is None.
    expected_us: what it was to take; None: what the planner's own choice takes, by the predictor.

    Or two LaunchRecords, chain a record or several: then changes are replayed on the fused launch's own instructions,
    as labkit.explain does. Raises ValueError for a launch without counters.
    """
    if isinstance(fused, LaunchRecord):
        return _of_records(fused, chain, expected_us)
    return _Kernel(fused, chain, expected_us).slowness()


# ---- of a kernel


class _Kernel:
    def __init__(self, kernel: FusedKernel, chain, expected_us: float | None):
        self.kernel, self.made = kernel, kernel.prepare(kernel.example)
        self.own = FusedKernel(
            kernel.function, kernel.example[: kernel.count], kernel.name, "once", kernel.chip, kernel.checks
        )
        self.best = self.own.prepare(self.own.example)
        self.record = kernel.modelled()
        self.facts = facts(self.record)
        self.copying_us = _copying_us(kernel)
        self.us = self.record.time_us + self.copying_us
        chain = kernel.chain() if chain is None else chain
        self.chain_us = chain.modelled_us() if hasattr(chain, "modelled_us") else float(chain)
        self.given = expected_us is not None
        self.expected_us = expected_us if expected_us is not None else self.own.predict().us

    @property
    def starting(self) -> float:
        """The share of the time before the first instruction of the core that ends last, and behind its last."""
        table = chips.load(self.kernel.chip)
        start = table["scalar"]["start"] / table["clock"]["hz"] * 1e6
        return self.facts.launch + start / self.facts.time_us

    def slowness(self) -> Slowness:
        found = Slowness(self.us, self.chain_us, self.expected_us, [], self.facts)
        if found.slower:
            for tries in (self._changes(), self._last()):
                for cause in tries:
                    if cause.saves_us >= WORTH * self.us:
                        found.causes.append(cause)
                if found.causes:
                    break
        found.causes.sort(key=lambda c: -c.saves_us)
        return found

    def _cause(self, kind: str, time: float, changed: Sequence[FusedKernel] = (), key: str = "", **fields) -> Cause:
        words = {name: text(f"slower.{key or kind}.{name}", **fields) for name in ("why", "change")}
        return Cause(kind, words["why"], words["change"], time, self.us - time, tuple(changed))

    def _built(self, kind: str, kernel: FusedKernel, **fields) -> Cause:
        return self._cause(kind, kernel.modelled().time_us + self.copying_us, [kernel], **fields)

    def _changes(self) -> Iterator[Cause]:
        """Those that the planner would not have made, each alone."""
        kernel, made, best = self.kernel, self.made, self.best
        if kernel._text(made) != made.source:
            yield self._edit()
            return
        if kernel.rounding == "every":
            casts = [sum(s.op == "cast" for s in p.plan.program.steps) for p in (made, best)]
            if casts[0] > casts[1]:
                yield self._built("casts", self.own, many=casts[0], few=casts[1])
        if made.space.copied:
            yield from self._layout()
        if self.facts.bank > 0.05 and made.plan is not best.plan:
            yield from self._banks()
        yield from self._cut()

    def _edit(self) -> Cause:
        """A text that a person has changed, against the generator's."""
        plain = self.kernel.variant()
        plain._edited = {}
        now = facts(plain.modelled())
        waits = self.facts.bank - now.bank
        kind = "banks" if waits > 0.05 else "edited"
        fields = {"share": f"{100 * self.facts.bank:.0f}", "was": f"{100 * now.bank:.0f}"} if kind == "banks" else {}
        return self._built(kind, plain, **fields)

    def _banks(self) -> Iterator[Cause]:
        again = self.kernel.variant(plan=_replanned(self.kernel, self.made))
        now = facts(again.modelled())
        if now.bank < self.facts.bank - 0.05:
            share, was = (f"{100 * f.bank:.0f}" for f in (self.facts, now))
            yield self._built("banks", again, share=share, was=was)

    def _layout(self) -> Iterator[Cause]:
        """The same tensors as they would have to lie."""
        kernel, made = self.kernel, self.made
        laid = FusedKernel(kernel.function, _as_wanted(kernel, made), kernel.name, kernel.rounding, kernel.chip, False)
        if not laid.space.copied:
            us = laid.modelled().time_us
            names = ", ".join(made.space.copied)
            yield self._cause("layout", us, [laid], names=names, us=f"{self.copying_us:.2f}")

    def _cut(self) -> Iterator[Cause]:
        """Tiles, and the cores that they go to: one changed while the other stays as far as it can."""
        kernel, made = self.kernel, self.made
        plan = made.plan if made.plan.tile >= self.best.plan.tile else _replanned(kernel, made)
        cuts = tiling.ways(plan, made.geometry, kernel.chip)
        here, cut = made.cut.tall * made.cut.wide, made.cut
        same = [c for c in cuts if 0.9 <= c.blocks / cut.blocks <= 1.1 and c.tall * c.wide > 1.5 * here]
        found = self._least(plan, same)
        if found is not None and cut.tiles > cut.blocks:
            each = -(-cut.tiles // cut.blocks)
            then = found.tall * found.wide
            yield self._built("tile", kernel.variant(plan=plan, cut=found), tile=here, tiles=each, then=then)
        more = self._least(plan, [c for c in cuts if c.blocks > cut.blocks])
        if more is not None:
            places = self.facts.places
            changed = kernel.variant(plan=plan, cut=more)
            yield self._built("cores", changed, blocks=cut.blocks, places=places, then=more.blocks)
        fewer = self._least(plan, [c for c in cuts if c.blocks < cut.blocks])
        if fewer is not None and self.starting > 0.3:
            share = f"{100 * self.starting:.0f}"
            changed = kernel.variant(plan=plan, cut=fewer)
            yield self._built("launch", changed, blocks=cut.blocks, share=share, then=fewer.blocks)

    def _least(self, plan, cuts: list) -> tiling.Cut | None:
        timed = [(clock.predict(plan, self.made.geometry, c, self.kernel.chip).us, c) for c in cuts]
        if not timed:
            return None
        us, cut = min(timed, key=lambda t: t[0])
        return cut if us < (1 - WORTH) * self.record.time_us else None

    def _last(self) -> Iterator[Cause]:
        """What no other choice of the planner's changes: the work itself, in two parts, of fewer bytes, or together."""
        parts = best_split(self.kernel)
        if parts is not None:
            before = self.made.plan.tile
            us = sum(part.modelled().time_us for part in parts)
            few = self.made.cut.blocks < self.facts.places / 2
            if few and max(p.prepare(p.example).cut.blocks for p in parts) > 2 * self.made.cut.blocks:
                then = max(p.prepare(p.example).cut.blocks for p in parts)
                fields = {"blocks": self.made.cut.blocks, "places": self.facts.places, "then": then}
                cause = self._cause("cores", us, parts, **fields)
            else:
                then = min(p.plan.tile for p in parts)
                tiles = -(-self.made.cut.tiles // self.made.cut.blocks)
                cause = self._cause("tile", us, parts, tile=before, tiles=tiles, then=then)
            if cause.saves_us >= WORTH * self.us:
                yield cause
                return
        moves = max(self.facts.hbm, self.facts.l2, *(self.facts.pipes.get(p, 0.0) for p in ("MTE2", "MTE3")))
        if self.starting > 0.5:
            yield from self._together()
        elif moves > 0.6:
            yield from self._halved()

    def _together(self) -> Iterator[Cause]:
        """Eight times the rows in one launch."""
        own = self.own.example[: self.kernel.count]
        rank = max(t.dim() for t in own)
        most = max(t.shape[0] for t in own if t.dim() == rank) if rank else 0
        many = [
            t.new_empty((8 * most, *t.shape[1:]), device="meta")
            if rank and t.dim() == rank and t.shape[0] == most
            else t
            for t in own
        ]
        try:
            kernel = FusedKernel(self.kernel.function, many, self.kernel.name, "once", self.kernel.chip, False)
        except (Refused, RuntimeError):
            return
        us = kernel.modelled().time_us
        words = {"share": f"{100 * self.starting:.0f}", "us": f"{us:.2f}"}
        yield self._cause("launch", us / 8, [kernel], "launch_alone", **words)

    def _halved(self) -> Iterator[Cause]:
        """The same chain on numbers of half the size."""
        import torch

        size = {torch.float32: torch.float16}
        fewer = [t.to(size.get(t.dtype, t.dtype)) for t in self.own.example[: self.kernel.count]]
        share = f"{100 * max(self.facts.hbm, self.facts.l2):.0f}"
        if any(a.dtype != b.dtype for a, b in zip(fewer, self.own.example)):
            try:
                kernel = FusedKernel(self.kernel.function, fewer, self.kernel.name, "once", self.kernel.chip, False)
                yield self._built("bandwidth", kernel, share=share, bytes=_bytes(self.made, self.kernel))
                return
            except (Refused, RuntimeError):
                pass
        found = replay(self.record, self.facts)
        for change in found.changes if found else []:
            if change.name == "bytes":
                yield self._cause("bandwidth", change.us, share=share, bytes=_bytes(self.made, self.kernel))


def _bytes(made, kernel: FusedKernel) -> str:
    p = clock.predict(made.plan, made.geometry, made.cut, kernel.chip)
    return f"{p.read + p.written:,}"


def _replanned(kernel: FusedKernel, made):
    """Places and tile anew, as the planner gives them."""
    from labkit import codegen

    return codegen.plan(made.plan.program, kernel.chip, made.plan.narrow)


def _as_wanted(kernel: FusedKernel, made) -> list:
    """Tensors like the example's whose elements lie in the order in which the kernel takes them."""
    import torch

    laid = []
    copied = {o.name: o for o in made.space.inputs if o.copied}
    for name, t in zip(made.traced.names, kernel.example[: kernel.count]):
        if name in copied:
            axes = made.traced.axes[made.traced.placeholders[made.traced.names.index(name)]]
            order = [axes.index(a) for a in copied[name].axes if a in axes]
            order = [d for d in range(t.dim()) if d not in order] + order
            empty = torch.empty([t.shape[d] for d in order], dtype=t.dtype, device="meta")
            t = empty.permute([order.index(d) for d in range(t.dim())])
        laid.append(t)
    return laid


def _copying_us(kernel: FusedKernel) -> float:
    """What laying inputs out anew costs before the launch, as the device charges it."""
    import torch

    made = kernel.prepare(kernel.example)
    if not made.space.copied:
        return 0.0
    device.install(kernel.chip)
    with device.shapes_only(), torch.no_grad():
        torch.npu.synchronize()
        device.clear_l2()
        device.reset_clock()
        for name, t, like in zip(made.traced.names, kernel.example, _as_wanted(kernel, made)):
            if name in made.space.copied:
                there = torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="npu")
                torch.empty_strided(like.shape, like.stride(), dtype=t.dtype, device="npu").copy_(there)
        return sum(p.us for p in device.pieces())


# ---- of records

_REPLAYED: dict[str, str] = {
    "tiles": "tile", "instructions": "tile", "more_blocks": "cores", "balance": "cores", "fewer_blocks": "launch",
    "banks": "banks", "buffers": "order", "barriers": "order", "bytes": "bandwidth", "rows": "layout",
    "aligned": "layout", "vector": "order",
}  # fmt: skip


def _of_records(fused: LaunchRecord, chain, expected_us: float | None) -> Slowness:
    seen = facts(fused)
    several = [chain] if isinstance(chain, LaunchRecord) else list(chain or [])
    chain_us = sum(r.time_us for r in several) if several else None
    expected = expected_us if expected_us is not None else chain_us if chain_us is not None else fused.time_us
    found = Slowness(fused.time_us, chain_us, expected, [], seen)
    if not found.slower:
        return found
    late = chips.load(fused.chip)["launch"]["mixed"] * 1e6
    if _is_mixed(fused) and not any(_is_mixed(r) for r in several) and late >= WORTH * fused.time_us:
        words = {n: text(f"slower.mixed.{n}", us=f"{late:.2f}") for n in ("why", "change")}
        found.causes.append(Cause("mixed", words["why"], words["change"], fused.time_us - late, late))
    replayed = replay(fused, seen)
    for change in replayed.changes if replayed else []:
        kind = _REPLAYED.get(change.name)
        if kind and change.saves_us >= WORTH * fused.time_us and all(c.kind != kind for c in found.causes):
            words = text(f"explain.change.{change.name}", amount=f"{change.amount:g}")
            found.causes.append(Cause(kind, text(f"slower.{kind}.seen"), words, change.us, change.saves_us))
    found.causes.sort(key=lambda c: (c.kind == "bandwidth", -c.saves_us))  # fewer bytes always help: last
    return found


def _is_mixed(record: LaunchRecord) -> bool:
    return len({c["core"] == 2 for c in record.cores}) > 1
