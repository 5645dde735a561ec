"""labkit.fusion.compare(before, after, inputs...): do they compute the same, and where does a difference come from?

    same = labkit.fusion.compare(model, labkit.fusion.fuse(model, x), x)
    same.ok, same.source, same.where
    print(same)

The tolerance is not a number that somebody liked. The graph of `before` is run in double, without any rounding: that is
the golden. Then it is run DRAWS times with errors drawn at each operator: a place of its type where its result is
rounded, sqrt(n) places of float32 of all its terms where n terms are added up (sums of n roundings grow like sqrt(n):
Higham and Mary, 2019). MANY times the root mean square of what these runs are off, and half a place of the result
itself, is what rounding and order may do to each element; more is something else.

Where a difference comes from is tried, not guessed: the graph with one rounding left out (or put in) is computed, and
the roundings that make `before` into `after` are the source. What no rounding explains, and the order of sums could
have done, is the order of sums.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import fx
from torch.utils._pytree import tree_leaves

from labkit.fusion.rounded import CURVES, NARROW, Rounded, narrow, place, rounds, sum_length
from labkit.fusion.spelling import capture, is_tensor, name_of, value
from labkit.messages import text

DRAWS, MANY = 16, 6.0
SMALL = 2.0**-7  # of the largest number: an approximation that is worth its name is not farther off
EXPLAINED = 0.5  # of the squared difference, at least, goes away with the roundings that are named
MOST_ROUNDINGS = 24  # that are tried one by one
SOURCES = ("none", "order", "rounding", "approximation", "wrong")


@dataclass(frozen=True)
class Equivalence:
    """ok: `after` is off from the golden by no more than rounding and the order of sums may make it. source: of the
    difference between both, one of SOURCES; intermediates: operators of `before` whose results are no longer rounded,
    added: that are rounded now and were not (constants of `after` too); where: the first operator in the graph of
    `before` where they part ("" where they do not). before_error, after_error: root mean square against the golden;
    distance: the largest difference between both; share: the largest error of `after` as a share of what it may be.
    rounded, longest: how many results are rounded to `dtype` on the way, how many terms the longest sum has."""

    ok: bool
    source: str
    where: str
    intermediates: tuple[str, ...]
    added: tuple[str, ...]
    dtype: str
    before_error: float
    after_error: float
    distance: float
    share: float
    rounded: int
    longest: int
    allowed: list[torch.Tensor] = field(repr=False, compare=False, default_factory=list)

    @property
    def gain(self) -> float:
        """How many times nearer to the golden `after` is; below 1: farther off."""
        if self.after_error == self.before_error:
            return 1.0
        return self.before_error / self.after_error if self.after_error else math.inf

    @property
    def reason(self) -> str:
        """Of the tolerance, in words."""
        bits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}.get(self.dtype, 24)
        return text("fusion.same.reason", dtype=self.dtype, bits=bits, n=self.rounded, longest=self.longest, many=MANY)

    def __repr__(self) -> str:
        verdict = text(f"fusion.same.{'ok' if self.ok else 'not_ok'}", share=f"{min(self.share, 1e9):.2g}")
        names = ", ".join((*self.intermediates, *self.added)) or "-"
        return "\n".join(
            [
                verdict,
                text(f"fusion.same.{self.source}", where=self.where or "-", names=names),
                text("fusion.same.errors", before=f"{self.before_error:.2g}", after=f"{self.after_error:.2g}"),
                self.reason,
            ]
        )


def compare(before: Callable, after: Callable, *inputs, seed: int = 0) -> Equivalence:
    """before: a model, a function or a graph of PyTorch's own operators. after: the same fused, anything that can be
    called; of what can be captured as a graph it is also said where they part. inputs: tensors on the device where both
    run.
    Raises RuntimeError where `before` cannot be captured or has operators that the CPU has not in double, ValueError
    where both do not give as many tensors of the same shapes.
    """
    return Comparison(before, after, inputs, seed).outcome()


class _Function(torch.nn.Module):
    def __init__(self, function: Callable):
        super().__init__()
        self._function = function

    def forward(self, *inputs):
        return self._function(*inputs)


def graph_of(model: Callable, inputs: Sequence) -> fx.GraphModule:
    if isinstance(model, fx.GraphModule):
        graph = fx.Graph()  # ours to respell; the tensors are shared
        graph.output(graph.graph_copy(model.graph, {}))
        return capture(fx.GraphModule(model, graph), inputs)
    whole = model if isinstance(model, torch.nn.Module) else _Function(model)
    with torch.no_grad():
        return capture(whole, fresh(inputs))


def fresh(inputs: Sequence) -> tuple:
    """Copies with the same strides: a run may change its inputs."""
    return tuple(t.detach().clone() if isinstance(t, torch.Tensor) else t for t in inputs)


class Comparison:
    """The steps of compare()."""

    def __init__(self, before: Callable, after: Callable, inputs: Sequence, seed: int = 0, tolerance: bool = True):
        self.inputs, self.seed = inputs, seed
        self.before = graph_of(before, inputs)
        self.nodes = list(self.before.graph.nodes)
        self.after = self._graph_of_after(after)
        self.was, self.values = self._run(self.before)
        self.now, self.after_values = self._run(self.after if self.after is not None else after)
        self._same_shapes()
        self.golden = self._golden(self.before)
        self._after_exact: dict[fx.Node, torch.Tensor] = {}
        self._ours_exact: dict[fx.Node, torch.Tensor] = {}
        self.allowed = self._allowed() if tolerance else [torch.ones(()) for _ in self.was]

    def _graph_of_after(self, after: Callable) -> fx.GraphModule | None:
        plain = isinstance(after, (torch.nn.Module, types.FunctionType)) and not hasattr(after, "_orig_mod")
        if not plain or hasattr(after, "_torchdynamo_orig_callable"):
            return None
        try:
            return graph_of(after, self.inputs)
        except RuntimeError:  # then its results are all that is known of it
            return None

    def _run(self, f: Callable) -> tuple[list[torch.Tensor], dict[fx.Node, torch.Tensor]]:
        """As it is, on its device: results, and of a graph each operator's."""
        seen: dict[fx.Node, torch.Tensor] = {}
        with torch.no_grad():
            if isinstance(f, fx.GraphModule):
                made = Watched(f, seen).run(*fresh(self.inputs), enable_io_processing=False)
            else:
                made = f(*fresh(self.inputs))
        return [t.detach().cpu() for t in tree_leaves(made) if isinstance(t, torch.Tensor)], seen

    def _golden(self, module: fx.GraphModule) -> list[torch.Tensor]:
        try:
            return Rounded(module, exact=True).go(self.inputs)
        except NotImplementedError as error:
            raise RuntimeError(text("fusion.same.no_double", why=str(error).split("\n")[0])) from error

    def _same_shapes(self) -> None:
        shapes = [[tuple(t.shape) for t in made] for made in (self.was, self.now)]
        if shapes[0] != shapes[1]:
            raise ValueError(text("fusion.same.shapes", before=shapes[0], after=shapes[1]))

    def _allowed(self) -> list[torch.Tensor]:
        """For each result and each element, what rounding and order may do to it."""
        self.spread = self._spread(self.before)
        return [
            MANY * s + (place(w.dtype) * g.abs() + _least(w.dtype) if w.is_floating_point() else 0)
            for s, w, g in zip(self.spread, self.was, self.golden)
        ]

    def _spread(self, module, orders: bool = False, coarse=(), against=None) -> list[torch.Tensor]:
        """Root mean square over the draws."""
        against = self.golden if against is None else against
        total = [torch.zeros_like(g, dtype=torch.float64) for g in against]
        for k in range(DRAWS):
            g = torch.Generator().manual_seed(self.seed * DRAWS + k)
            for t, drawn, golden in zip(
                total, Rounded(module, draw=g, orders=orders, coarse=coarse).go(self.inputs), against
            ):
                t += (drawn.double() - golden.double()).nan_to_num(0.0, 0.0, 0.0).square()
        return [(t / DRAWS).sqrt() for t in total]

    # ---- errors

    def parts(self, got: Sequence[torch.Tensor]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """(error, what it may be) of each result that has elements; infinite where only one of them is a number."""
        for one, was, golden, allowed in zip(got, self.was, self.golden, self.allowed):
            if not one.numel():
                continue
            if not one.is_floating_point():
                yield (one != was).double() * math.inf, torch.ones(())
                continue
            most = torch.finfo(was.dtype).max
            off = (one.double() - golden).abs()
            both = (one.isnan() & golden.isnan()) | (~one.isfinite() & ~(golden.abs() <= most) & ~one.isnan())
            yield torch.where(both, 0.0, off.nan_to_num(math.inf, math.inf)), allowed

    def error(self, got: Sequence[torch.Tensor]) -> float:
        parts = [off.nan_to_num(0.0).flatten() for off, _ in self.parts(got)]
        return float(torch.cat(parts).square().mean().sqrt()) if parts else 0.0

    def share(self, got: Sequence[torch.Tensor]) -> float:
        return max(
            (float((off.nan_to_num(0.0, math.inf) / allowed).max()) for off, allowed in self.parts(got)), default=0.0
        )

    # ---- the source

    def outcome(self) -> Equivalence:
        algebra, constants = self._algebra()
        share = self.share(self.now)
        source, intermediates, added = self._source(share <= 1, algebra, constants)
        found = [n for n in self.nodes if rounds(n)]
        sums = [sum_length(n) for n in found]
        dtype = next((t.dtype for t in self.was if t.is_floating_point()), torch.float64)
        distance = max((float(_apart(a, b).max()) for a, b in zip(self.was, self.now) if a.numel()), default=0.0)
        return Equivalence(
            ok=share <= 1,
            source=source,
            where=self._where(source, [n for n in (*intermediates, *added) if isinstance(n, fx.Node)]),
            intermediates=tuple(n.name for n in intermediates),
            added=tuple(n if isinstance(n, str) else n.name for n in added),
            dtype=str(dtype).removeprefix("torch."),
            before_error=self.error(self.was),
            after_error=self.error(self.now),
            distance=distance,
            share=share,
            rounded=sum(value(n).dtype == dtype for n in found),
            longest=max(sums, default=1),
            allowed=self.allowed,
        )

    def _source(self, ok: bool, algebra: str, constants: list[str]) -> tuple[str, list[fx.Node], list]:
        if all(torch.equal(a.nan_to_num(0.0), b.nan_to_num(0.0)) for a, b in zip(self.was, self.now)) and ok:
            return "none", [], []
        if any(not a.is_floating_point() and not torch.equal(a, b) for a, b in zip(self.was, self.now)):
            return "wrong", [], []
        if algebra == "other":
            return ("approximation" if ok or self._is_small(self._first_apart("other")) else "wrong"), [], []
        dropped, added = self._roundings()
        if dropped or added:
            return "rounding", dropped, added
        if algebra == "constants":
            return "rounding", [], constants
        if algebra == "unknown" and not ok:
            return ("approximation" if self._is_small() else "wrong"), [], []
        return ("order" if self._by_order() else "approximation"), [], []

    def _is_small(self, where: str = "") -> bool:
        """Whether the difference is that of another approximation of a function: of the operator where they part, and
        `after` has something near to its result; or of any where that is not known."""
        curved = [n for n in self.nodes if name_of(n) in CURVES and where in ("", n.name)]
        if not curved or self._relative() > SMALL:
            return False
        if not where or curved[0] not in self._ours_exact:
            return True
        v = self._ours_exact[curved[0]]
        most = SMALL * float(v.abs().nan_to_num(0.0, 0.0, 0.0).max())
        return any(w.shape == v.shape and bool((_apart(v, w) <= most).all()) for w in self._after_exact.values())

    def _relative(self) -> float:
        """The largest difference as a share of the largest number of its result."""
        worst = [
            float(_apart(a, b).max() / (g.abs().nan_to_num(0.0, 0.0, 0.0).max() + 1e-300))
            for a, b, g in zip(self.was, self.now, self.golden)
            if a.numel()
        ]
        return max(worst, default=0.0)

    def _algebra(self) -> tuple[str, list[str]]:
        """Both graphs in double: "same", "other", "constants" where constants of `after` that are rounded to 16 bits
        explain it, "unknown" where the double of `after` is not to be had."""
        if self.after is None:
            return "unknown", []
        try:
            theirs, self._after_exact = self._exact(self.after)
        except (NotImplementedError, RuntimeError, TypeError):
            return "unknown", []
        if any(a.shape != b.shape for a, b in zip(theirs, self.golden)):
            return "unknown", []

        def same(allowed: Sequence[torch.Tensor]) -> bool:
            return all(bool((_apart(a, b) <= s + 1e-300).all()) for a, b, s in zip(theirs, self.golden, allowed))

        # in double a place is 2^-53: what is drawn for the types at hand, smaller by as much, and room for functions
        least = min((place(value(n).dtype) for n in self.nodes if rounds(n)), default=2.0**-24)
        tiny = [
            1e3 * MANY * s * (2.0**-53 / min(least, 2.0**-24)) + 1e-12 * g.abs()
            for s, g in zip(self.spread, self.golden)
        ]
        if same(tiny):
            return "same", []
        own = {n.target for n in self.before.graph.find_nodes(op="get_attr")}
        fresh_ones = [
            n.target
            for n in self.after.graph.find_nodes(op="get_attr")
            if n.target not in own and _attribute(self.after, n.target).dtype in NARROW
        ]
        if fresh_ones:
            drawn = self._spread(self.after, coarse=fresh_ones, against=theirs)
            if same([MANY * s + 1e-12 * g.abs() for s, g in zip(drawn, self.golden)]):
                self.allowed = [(a.square() + (MANY * s).square()).sqrt() for a, s in zip(self.allowed, drawn)]
                return "constants", fresh_ones
        return "other", []

    def _exact(self, module: fx.GraphModule) -> tuple[list[torch.Tensor], dict[fx.Node, torch.Tensor]]:
        seen: dict[fx.Node, torch.Tensor] = {}

        def keep(node: fx.Node, made) -> None:
            if isinstance(made, torch.Tensor) and node.op != "output":
                seen[node] = made.clone()

        return Rounded(module, exact=True, watch=keep).go(self.inputs), seen

    def _roundings(self) -> tuple[list[fx.Node], list[fx.Node]]:
        """(roundings that `after` leaves out, those that it adds): the fewest that explain the difference."""
        last = {n for out in self.before.graph.find_nodes(op="output") for n in out.all_input_nodes}
        types = {value(n).dtype for n in self.nodes if is_tensor(n)} & set(NARROW)
        tried = [(n, None) for n in narrow(self.nodes) if n not in last]
        tried += [
            (n, t) for n in self.nodes if rounds(n) and value(n).dtype == torch.float32 for t in sorted(types, key=str)
        ]
        if not tried:
            return [], []
        with_none = self._model([])
        start = best = self._off(with_none)
        effect = {c: self._moves(with_none, self._model([c])) for c in tried}
        tried = sorted((c for c in tried if effect[c] > 0), key=lambda c: -effect[c])[:MOST_ROUNDINGS]
        chosen: list = []
        for whole in ([c for c in tried if c[1] is None], [c for c in tried if c[1] is not None]):
            if len(whole) > 1 and (off := self._off(self._model(whole))) < 0.25 * best:  # all of a part
                chosen, best = whole, off
                for c in list(chosen):  # then those that matter
                    less = [d for d in chosen if d != c]
                    if (off := self._off(self._model(less))) <= best * 1.02:
                        chosen, best = less, off
        while len(chosen) < len(tried):
            found = min(((self._off(self._model([*chosen, c])), i) for i, c in enumerate(tried) if c not in chosen))
            if found[0] > 0.8 * best:
                break
            best, chosen = found[0], [*chosen, tried[found[1]]]
        if not chosen or best > (1 - EXPLAINED) * self._distance():
            return [], []
        place_of = {n: i for i, n in enumerate(self.nodes)}
        chosen = sorted(chosen, key=lambda c: place_of[c[0]]) if start > best else []
        return [n for n, t in chosen if t is None], [n for n, t in chosen if t is not None]

    def _model(self, changed: Sequence[tuple]) -> list[torch.Tensor]:
        """`before` with these roundings left out or put in."""
        kept = [n for n, t in changed if t is None]
        return Rounded(self.before, kept, {n: t for n, t in changed if t is not None}).go(self.inputs)

    def _off(self, modelled: Sequence[torch.Tensor]) -> float:
        """How far a model of `after` is from it, squared."""
        return sum(float(_apart(a, b).square().sum()) for a, b in zip(modelled, self.now))

    def _moves(self, a: Sequence[torch.Tensor], b: Sequence[torch.Tensor]) -> float:
        return sum(float(_apart(x, y).square().sum()) for x, y in zip(a, b))

    def _distance(self) -> float:
        return self._moves(self.was, self.now)

    def _by_order(self) -> bool:
        """Whether the order of sums could have made the difference: there are sums, and results that are as far apart
        come about when errors of their size are drawn, all else being rounded as before."""
        if not any(sum_length(n) > 1 for n in self.nodes):
            return False
        for i, (a, b) in enumerate(zip(self.was, self.now)):
            if not a.numel():
                continue
            spread = self._order_spread[i]
            room = 2 * MANY * spread + 2 * place(a.dtype) * a.double().abs() + _least(a.dtype)
            if bool((_apart(a, b) > room).any()):
                return False
        drawn = sum(float(s.square().sum()) for s in self._order_spread)
        return self._distance() <= 4 * MANY * drawn

    @property
    def _order_spread(self) -> list[torch.Tensor]:
        if not hasattr(self, "_orders"):
            self._orders = self._spread(self.before, orders=True, against=self._model([]))
        return self._orders

    # ---- the place

    def _where(self, source: str, intermediates: Sequence[fx.Node]) -> str:
        if source == "none":
            return ""
        if intermediates:
            return next(n.name for n in self.nodes if n in intermediates)
        last = [n for out in self.before.graph.find_nodes(op="output") for n in out.all_input_nodes]
        if self.after is None:
            return next((n.name for n, a, b in zip(last, self.was, self.now) if not torch.equal(a, b)), "")
        return self._first_apart(source) or (last[0].name if last else "")

    def _first_apart(self, source: str) -> str:
        """The first operator of `before` that has no counterpart in `after`: of those from whose result on nothing is
        found again, down to a result that differs. A counterpart has the same numbers, whatever its name."""
        ours, others, near = self.values, self.after_values, 0.0 if source in ("order", "rounding") else 8.0
        if self._after_exact and near:  # they are other formulas: in double that shows without any rounding
            self._ours_exact = ours = self._exact(self.before)[1]
            others, near = self._after_exact, 2.0**20
        theirs: dict[tuple, list[torch.Tensor]] = {}
        for v in others.values():
            theirs.setdefault(tuple(v.shape), []).append(v)
        found = set()
        for n in self.nodes:
            v = ours.get(n)
            if v is not None and any(_close(v, w, near) for w in theirs.get(tuple(v.shape), ())):
                found.add(n)
        first = None
        last = [n for out in self.before.graph.find_nodes(op="output") for n in out.all_input_nodes]
        todo = [n for n in last if n not in found] or last  # a result may be found at another place only
        reached = set(todo)
        while todo:
            for n in todo.pop().all_input_nodes:
                if n not in found and n not in reached and n in ours and n.op == "call_function":
                    reached.add(n)
                    todo.append(n)
        for n in self.nodes:
            if n in reached and rounds(n):
                first = n
                break
        return first.name if first is not None else ""


class Watched(fx.Interpreter):
    """Keeps each tensor as it was when it was made: on the host, or where it is."""

    def __init__(self, module: fx.GraphModule, seen: dict, host: bool = True):
        super().__init__(module)
        self.seen, self.host = seen, host

    def run_node(self, node: fx.Node):
        made = super().run_node(node)
        if isinstance(made, torch.Tensor) and node.op != "output":
            kept = made.detach().cpu() if self.host else made.detach()
            self.seen[node] = kept.clone()  # it may be changed later
        elif not self.host and node.op != "output":
            self.seen[node] = made
        return made


def _apart(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """|a - b|; what is no finite number counts as one that is farther off than any."""
    if not a.is_floating_point():
        return (a != b).double()
    return (_number(a) - _number(b)).abs()


def _number(t: torch.Tensor) -> torch.Tensor:
    most = 2.0**17  # beyond half; larger types rarely come near their end
    return t.double().nan_to_num(3 * most, 2 * most, -2 * most)


def _close(a: torch.Tensor, b: torch.Tensor, places: float) -> bool:
    if not a.numel() or not a.is_floating_point() or not b.is_floating_point():
        return torch.equal(a, b) if a.dtype == b.dtype else False
    if not places:
        return a.dtype == b.dtype and torch.equal(a, b)
    least = max(place(a.dtype), place(b.dtype))
    return bool((_apart(a, b) <= places * least * float(a.double().abs().max())).all())


def _least(dtype: torch.dtype) -> float:
    """Half the smallest number of the type."""
    info = torch.finfo(dtype)
    return info.tiny * info.eps / 2


def _attribute(module: fx.GraphModule, name: str) -> torch.Tensor:
    for part in name.split("."):
        module = getattr(module, part)
    return module
