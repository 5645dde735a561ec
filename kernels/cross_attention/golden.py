"""Cases of notebook 08.02's exercises: a small attention kernel, a softmax with a tail, the gradients."""

from __future__ import annotations

import re

import torch

from labkit import messages
from labkit.exercises import Case, Out

SIDE, SLOTS = 128, 3
TOLERANCE = (4e-3, 2e-3)  # shares are rounded to half before they are multiplied


def say(en: str, zh: str) -> str:
    return zh if messages.language() == "zh" else en


def attention(q, k, v):
    """softmax(q k^T / sqrt(dim)) v in double, on [heads, rows, dim]."""
    q, k, v = q.double(), k.double(), v.double()
    return torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5, -1) @ v


def workspace(blocks: int):
    return torch.full((blocks * SLOTS * 5 * SIDE * SIDE // 2,), -77.0)


def _case(seed, heads, rows, keys, dim, blocks, rising=True, lowest=32.0, falling=False, rise=4.0, **how):
    """rising: later keys have larger scores, so that the maximum rises from step to step, `rise` in
    k, of which scores have 2 * scale; else most are negative,
    around -lowest * scale. falling: earlier keys have the larger scores."""
    made = torch.Generator().manual_seed(seed)
    q, k, v = (torch.randint(-8, 9, (heads, n, dim), generator=made) / 8 for n in (rows, keys, keys))
    q[:, :, 0] = 2.0
    k[:, :, 0] = (torch.arange(keys) // SIDE * rise).clamp(max=4 * rise) if rising else -16.0
    if falling:
        k[:, :, 0] = k[:, :, 0].flip(1)
    if lowest > 32:
        q[:, :, 0], k[:, :, 0] = 256.0, -lowest / 256
    v += 0.0 if rising else 1.0  # sums that do not cancel
    q, k, v = q.half(), k.half(), v.half()
    args = (q, k, v, Out((heads, rows, dim), torch.float16), workspace(blocks), heads, rows, keys, dim, dim**-0.5)
    name = f"heads={heads} queries={rows} keys={keys} dim={dim}"
    return Case(
        name, args, attention(q, k, v).float(), TOLERANCE, blocks=blocks, tile=SIDE * dim, layout="interleaved", **how
    )


def correct_cases(seed, quick):
    """(heads, rows, keys, dim, blocks): one step a task; several, whose maximum rises from one to the next; and some
    in which the first step has the largest scores. In one the maximum rises by 14 and more, so that next to nothing is
    left of what was there before."""
    sizes = ((2, 128, 128, 64, 1), (1, 197, 256, 80, 2), (3, 77, 640, 80, 1), (2, 16, 300, 48, 1))
    made = [_case(seed + i, *size) for i, size in enumerate(sizes)]
    steep = _case(seed + 5, 1, 32, 132, 48, 1, rise=50.0 + seed % 50)
    return [*made, _case(seed, 1, 50, 400, 48, 1, falling=True), steep]


def tail_cases(seed, quick):
    """Texts of 77 to 256 tokens, and shorter ones; most scores are negative, so that a zero in their place counts. In
    one case all are near -19,000: a number that is very small beside other scores is the largest there."""
    sizes = ((2, 128, 128, 64, 1), (2, 197, 77, 80, 2), (1, 100, 64, 80, 1), (1, 40, 33, 48, 1), (1, 64, 65, 80, 1),
             (1, 130, 197, 80, 1), (1, 128, 240, 80, 1))  # fmt: skip
    made = [_case(seed + i, *size, rising=False) for i, size in enumerate(sizes)]
    return made[:2] + [_case(seed, 1, 64, 77, 48, 1, rising=False, lowest=131_072.0), *made[2:]]


def ahead_cases(seed, quick):
    """One step alone, few steps, many; the last is timed: eight steps of one task, in a class of a few heads."""
    heads = 2 + seed % 2 if seed else 1
    sizes = ((1, 16, 16, 16, 1), (3, 197, 77, 80, 2), (2, 130, 700, 48, 1), (heads, 128, 1024, 128, 1))
    last = len(sizes) - 1
    return [_case(seed + i, *size, timed=i == last) for i, size in enumerate(sizes)]


def grad_cases(seed, quick):
    """One head; double, so that what is wrong is no rounding. The sums of exp come as the forward pass keeps them."""
    made, cases = torch.Generator().manual_seed(seed), []
    for rows, keys, dim, scale in ((3, 2, 2, 1.0), (5, 7, 4, 0.5), (16, 9, 8, 0.25)):
        q, k, v, grad = (torch.randint(-8, 9, (n, dim), generator=made).double() / 4 for n in (rows, keys, keys, rows))
        leaves = [t.clone().requires_grad_() for t in (q, k, v)]
        scores = leaves[0] @ leaves[1].T * scale
        out = torch.softmax(scores, -1) @ leaves[2]
        out.backward(grad)
        lse = torch.logsumexp(scores, -1).detach()
        args = (q, k, v, grad, out.detach(), lse, scale)
        cases.append(Case(f"{rows} queries, {keys} keys", args, tuple(t.grad for t in leaves), (1e-9, 1e-9)))
    return cases


def run_grad(function, args, case):
    """The answer, or which of the arguments it has changed."""
    given = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
    made = function(*given)
    names = ("q", "k", "v", "grad", "out", "lse")
    if changed := ", ".join(n for n, a, b in zip(names, given, args) if not torch.equal(a, b)):
        return say(f"changed in place: {changed}", f"就地改动了 {changed}")
    return made


def grad_asked(text, builds):
    """By hand, from what the forward pass has kept."""
    if re.search(r"\bautograd\b|\.backward\(|requires_grad", re.sub(r"#[^\n]*", "", text)):
        return say(
            "PyTorch's autograd makes these gradients: they were to come from P, D and dS, without the scores.",
            "这些梯度是 PyTorch 的 autograd 求出的：应当由 P、D 和 dS 得出，不保存分数。",
        )
    return ""
