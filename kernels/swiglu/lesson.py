"""Cases of the exercises of notebooks 03.07 and 03.08: models to change, graphs to rewrite, times to judge."""

from __future__ import annotations

import operator
import random

import torch
from torch import fx, nn
from torch.nn import functional as F

from labkit.exercises import Case

from . import claims

TIME = (1e-3, 0.0)  # a share may be computed in any order


# ---- replacing modules


class Old(nn.Module):
    """An MLP as LLaMA has it."""

    def __init__(self, width: int):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = (
            nn.Linear(width, 2 * width),
            nn.Linear(width, 2 * width),
            nn.Linear(2 * width, width),
        )

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class New(nn.Module):
    def __init__(self, old: Old):
        super().__init__()
        self.gate_proj, self.up_proj, self.down_proj = old.gate_proj, old.up_proj, old.down_proj

    forward = Old.forward


class Layer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm, self.mlp = nn.LayerNorm(width), Old(width)

    def forward(self, x):
        return x + self.mlp(self.norm(x))


def model(layers: int, width: int = 4, top: bool = False) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        *([Old(width)] if top else []), nn.Linear(width, width), nn.Sequential(*(Layer(width) for _ in range(layers)))
    )


class Block(nn.Module):
    """The same part under another name."""

    def __init__(self, width: int):
        super().__init__()
        self.feed_forward = Old(width)

    def forward(self, x):
        return self.feed_forward(x)


def deep(width: int = 4) -> nn.Module:
    torch.manual_seed(0)
    body = nn.ModuleList(nn.Sequential(nn.LayerNorm(width), Block(width)) for _ in range(2))
    return nn.ModuleDict({"body": body, "head": nn.ModuleDict({"expert": Old(width)})})


# "everything else": the values of parameters and buffers, which modules there are, and whether they train
SWAPPED = {"old ones left": 0, "same parameters": True, "everything else": "unchanged"}


def state_of(changed: nn.Module) -> dict:
    tensors = {n: t.detach().clone() for n, t in (*changed.named_parameters(), *changed.named_buffers())}
    return tensors | {n: m.training for n, m in changed.named_modules()}


def same_state(one: dict, other: dict) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(v, other[n]) if isinstance(v, torch.Tensor) else v == other[n] for n, v in one.items()
    )


def replace_cases(seed, quick):
    made = []
    for layers, top in ((2, False), (3, True)) if quick else ((2, False), (1, True), (3, True), (0, False)):
        names = (["0"] if top else []) + [f"{1 + top}.{i}.mlp" for i in range(layers)]
        made.append(
            Case(
                f"layers={layers}{' and one at the top' if top else ''}",
                (layers, top),
                {"names": names, **SWAPPED, "new ones": names},
            )
        )
    names = ["body.0.1.feed_forward", "body.1.1.feed_forward", "head.expert"]
    expected = {"names": names, **SWAPPED, "new ones": names}
    return [*made, Case("deeper, under other names", (None, False), expected)]


def run_replace(function, args, case):
    changed = deep() if args[0] is None else model(args[0], top=args[1])

    def held(*kinds):
        return {n: [id(p) for p in m.parameters()] for n, m in changed.named_modules() if isinstance(m, kinds)}

    before, state = held(Old), state_of(changed)
    names = function(changed, Old, New)
    kinds = [type(m).__name__ for m in changed.modules()]
    return {
        "names": list(names),
        "old ones left": kinds.count("Old"),
        "new ones": [name for name, m in changed.named_modules() if type(m).__name__ == "New"],
        "same parameters": held(Old, New) == before,
        "everything else": "unchanged" if same_state(state, state_of(changed)) else "changed",
    }


# ---- rewriting a graph


def fused(gate, up):
    """What the pass is to call."""
    return F.silu(gate) * up


@fx.wrap
def not_silu(x):
    """Has silu in its name alone."""
    return F.silu(x) + 1


@fx.wrap
def silu(x):
    """Has its name, and computes something else."""
    return x * torch.sigmoid(1.702 * x)


GRAPHS = (
    ("silu(g) * u", lambda g, u: F.silu(g) * u, 1),
    ("u * silu(g)", lambda g, u: u * F.silu(g), 1),
    ("twice", lambda g, u: F.silu(g) * u + F.silu(u) * g, 2),
    ("both are silu", lambda g, u: F.silu(g) * F.silu(u), 1),
    ("times a number", lambda g, u: F.silu(g) * 2 + u, 0),
    ("not_silu(g) * u", lambda g, u: not_silu(g) * u, 0),
    ("gelu(g) * u", lambda g, u: F.gelu(g) * u, 0),
    ("silu is an input", lambda silu, u: silu * u, 0),
    ("another function named silu", lambda g, u: silu(g) * u, 0),
    ("both factors are computed", lambda g, u: F.silu(g + 1) * (u - 1), 1),
    ("the product is used twice", lambda g, u: (lambda p: p.relu() - p.tanh())(F.silu(g) * u), 1),
    ("silu(g) once more", lambda g, u: (lambda s: s * u + s)(F.silu(g)), 1),
)


def products(plan):
    """A function with a product for each letter: s is silu(g) * u, t is u * silu(g), both of what came before; r is
    another function times u."""

    def function(g, u):
        total = g
        for letter in plan:
            part = {"s": lambda x: F.silu(x) * u, "t": lambda x: u * F.silu(x), "r": lambda x: F.relu(x) * u}[letter]
            total = total + part(total)
        return total

    return function


def drawn_plans(seed):
    """Of a class's seed: graphs of three and more products, of which some or all are to be replaced."""
    draw = random.Random(seed)
    made = ["s" * draw.randint(3, 5), *("".join(draw.choices("sstr", k=n)) for n in (3, 6, draw.randint(7, 40)))]
    return made if seed else []


def pass_cases(seed, quick):
    g = torch.Generator().manual_seed(seed)
    gate, up = (torch.randn(3, 8, generator=g, dtype=torch.float64) for _ in range(2))
    asked = [(name, i, count, 0 if count else 1) for i, (name, _, count) in enumerate(GRAPHS)]
    asked += [("drawn", plan, len(plan) - plan.count("r"), plan.count("r")) for plan in drawn_plans(seed)]
    return [
        Case(name, (which, gate, up), {"returned": n, "calls of fused": n, "products left": left, "result": True})
        for name, which, n, left in asked
    ]


def run_pass(function, args, case):
    which, gate, up = args
    asked = products(which) if isinstance(which, str) else GRAPHS[which][1]
    module = fx.symbolic_trace(asked)
    returned = function(module.graph, fused)
    module.graph.lint()
    module.recompile()
    calls, left = (sum(node.target is called for node in module.graph.nodes) for called in (fused, operator.mul))
    return {
        "returned": returned,
        "calls of fused": calls,
        "products left": left,
        "result": bool(torch.allclose(module(gate, up), asked(gate, up))),
    }


# ---- judging times


def audit_cases(seed, quick):
    peak = claims.peak()
    asked = [
        (15.6, claims.Shape()),
        (5.1, claims.Shape()),
        (0.3, claims.Shape(32, 1, 4096, 11008)),
        (1.0, claims.Shape(1, 2048, 4096, 11008)),
    ]
    asked = [(ms, shape, peak) for ms, shape in (asked[:2] if quick else asked)]
    asked.append((0.02, claims.Shape(3, 7, 640, 1792), 0.4 * peak))  # another model, on another chip
    return [
        Case(
            f"{ms} ms, {s.tokens} tokens",
            (ms, s.tokens, s.hidden, s.intermediate, most),
            s.flops / (ms * 1e-3) / most,
            TIME,
        )
        for ms, s, most in asked
    ]
