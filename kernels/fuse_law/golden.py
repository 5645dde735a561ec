"""Cases of notebooks 04.01 and 04.03: the traffic of chains, a chain of three operators in one kernel, five graphs."""

from __future__ import annotations

import torch

from labkit import messages
from labkit.exercises import Case, Out

MB = 10**6


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


# ---- traffic

CAP = [(["x"], "a"), (["a"], "b"), (["b"], "y")]  # x / 30, tanh, * 30
GATE = [(["g"], "s"), (["s", "u"], "y")]  # silu(g) * u
NORM = [(["x", "r"], "h"), (["h"], "n"), (["n", "w"], "y")]  # x + r, divided by its root mean square, times w
SQUARE = [(["x", "x"], "q"), (["q", "x"], "y")]  # x * x, + x
SKIP = [(["gate"], "act"), (["act", "up"], "prod"), (["prod", "act"], "out")]  # a = silu(gate); a * up + a


def traffic_cases(seed, quick):
    same = {name: 4 * MB for name in "abxygsuhnqr"}
    row = same | {"w": 4000}
    named = {"gate": 4 * MB, "up": 6 * MB, "act": 4 * MB, "prod": 4 * MB, "out": 4 * MB}
    return [
        Case("tanh(x / 30) * 30", (CAP, same, ["y"]), (24 * MB, 8 * MB)),
        Case("silu(g) * u", (GATE, same, ["y"]), (20 * MB, 12 * MB)),
        Case(say("norm(x + r) * w, x + r is kept", "norm(x + r) * w，保留 x + r"), (NORM, row, ["h", "y"]),
             (28 * MB + 4000, 16 * MB + 4000)),
        Case("x * x + x", (SQUARE, same, ["y"]), (20 * MB, 8 * MB)),
        Case("a * up + a, a = silu(gate)", (SKIP, named, ["out"]), (34 * MB, 14 * MB)),
        Case(say("norm(x + r) * w, only x + r is kept", "norm(x + r) * w，只保留 x + r"), (NORM, row, ["h"]),
             (28 * MB + 4000, 12 * MB + 4000)),
    ]  # fmt: skip


# ---- one kernel for relu(x * scale + r)


def fuse_cases(seed, quick):
    """(elements, blocks, scale): a part of a tile, whole tiles, whole tiles and a tail, an odd number."""
    g = torch.Generator().manual_seed(seed)
    sizes = ((2048, 1, 0.5), (2000, 1, -1.5), (20_000, 3, 2.0), (16_384, 4, 0.25), (777, 1, 1.0), (50_257, 6, -0.5))
    made = []
    for n, blocks, scale in sizes[:3] if quick else sizes:
        x, r = (torch.randint(-64, 65, (n,), generator=g).half() / 16 for _ in range(2))
        want = torch.relu(x.float() * scale + r.float()).half()
        made.append(Case(f"n={n}", (x, r, Out(x.shape, x.dtype), n, scale), want, blocks=blocks, tile=2048,
                         layout="interleaved", timed=n == 20_000))  # fmt: skip
    return made


# ---- which to fuse

# (head, moving, instructions) of each launch in us, as labkit.fusion.analyze gave them for the 910B1, rounded: softcap
# of 400 MB in float, mish of 32 MB in half, linear(64) and silu on 4096 rows, linear(1024) and relu on 1 row, residual
# and RMS norm on 4096 rows of 1024.
GRAPHS = {
    "softcap": ([(5.0, 689, 57), (3.4, 689, 213), (5.0, 689, 57)], (5.0, 689, 327)),
    "mish": ([(3.9, 20, 155), (3.4, 20, 34), (5.0, 31, 9)], (5.0, 20, 198)),
    "gate": ([(4.3, 0.2, 0.5), (3.9, 0.3, 0.9)], (11.7, 0.3, 0.9)),
    "decode": ([(4.3, 0.7, 1.0), (1.4, 0.0, 0.0)], (4.3, 0.7, 1.0)),
    "norm": ([(5.0, 8, 2), (4.9, 5, 23)], (5.0, 8, 25)),
}


def worth(graphs) -> list[str]:
    def time(launches):
        return sum(head + max(moving, computing) for head, moving, computing in launches)

    return sorted(name for name, (before, after) in graphs.items() if time(before) >= 1.2 * time([after]))


def choose_cases(seed, quick):
    drawn = torch.Generator().manual_seed(seed)

    def draw(long_head):
        h, m, i = (torch.randint(1, 200, (3,), generator=drawn) / 10).tolist()
        return (8 * h, m, i) if long_head else (h, 8 * m, 8 * i)

    made = [Case(name, ({name: graph},), worth({name: graph})) for name, graph in GRAPHS.items()]
    made.append(Case(say("all five", "全部五个"), (GRAPHS,), worth(GRAPHS)))
    heads = {"heads": ([(10.0, 2.0, 3.0), (10.0, 3.0, 2.0)], (10.0, 12.0, 1.0))}
    made.append(Case(say("heads longer than the rest", "head 比其余部分长"), (heads,), worth(heads)))
    for k in range(2 if quick else 6):
        graphs = {}
        for j in range(6):
            long = (j + k) % 2 == 1  # of every second graph the heads are most of the time
            before, (head, moving, instructions) = [draw(long) for _ in range(2 + j % 4)], draw(long)
            # near the limit, so that another formula is on its other side: 1.02 to 1.4 times as fast
            gain = (1.02, 1.38, 1.1, 1.3, 1.15, 1.25)[(j + k) % 6]
            scale = sum(h + max(m, i) for h, m, i in before) / gain / (head + max(moving, instructions))
            graphs[f"g{j}"] = before, (head * scale, moving * scale, instructions * scale)
        made.append(Case(say(f"drawn, {k + 1}", f"随机，{k + 1}"), (graphs,), worth(graphs)))
    # of a class: many launches before, which all count alike, and times of any size
    for k, most in enumerate((12, 60, 400) if seed else ()):
        graphs = {}
        for j in range(6):
            unit, count = 10.0 ** (2 * j - 4), most - j
            before, (head, moving, instructions) = [draw(j % 2) for _ in range(count)], draw(j % 2)
            gain = 1.2 * (
                1 + (0.4, -0.4)[(j + k) // 2 % 2] / most
            )  # without one of the last ones it is on the other side
            scale = sum(h + max(m, i) for h, m, i in before) / gain / (head + max(moving, instructions))
            after = head * scale, moving * scale, instructions * scale
            graphs[f"g{j}"] = [tuple(unit * us for us in launch) for launch in before], tuple(unit * us for us in after)
        made.append(Case(say(f"up to {most} launches", f"至多 {most} 次启动"), (graphs,), worth(graphs)))
    return made


def run_choose(function, args, case):
    return sorted(function(*args))
