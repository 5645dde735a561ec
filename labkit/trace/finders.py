"""What is wrong in a recording: every rule, for one rank and across ranks. The rules are in find_*.py."""

from __future__ import annotations

from labkit.trace import find_device, find_kernels, find_memory, find_ranks, find_steps, idle
from labkit.trace.finding import FLOOR, Finding
from labkit.trace.model import Trace


def find(traces: list[Trace], accounts: list[idle.Idle]) -> list[Finding]:
    """Findings, the most rewarding first. Of several ranks: what they share, and each rule's worst rank."""
    across = find_ranks.Across(traces, accounts)
    best: dict[str, Finding] = {}
    for i, (trace, account) in enumerate(zip(traces, accounts)):
        if not trace.compute().height:
            continue
        for finding in one(trace, account, across.waiting_us(i)):
            finding.rank = trace.rank if len(traces) > 1 else None
            if finding.code not in best or finding.gain_us > best[finding.code].gain_us:
                best[finding.code] = finding
    return sorted([*best.values(), *across.find()], key=lambda f: (-f.gain_us, f.code))


def one(trace: Trace, account: idle.Idle, waiting: float = 0.0) -> list[Finding]:
    """The findings of one rank. `waiting`: µs of its communication in which it only waited for other ranks."""
    rules = (*find_device.RULES, *find_kernels.RULES, *find_memory.RULES, *find_steps.RULES)
    step = account.length / trace.step_count()
    if step <= 0:
        return []
    context = find_device.Context(trace, account, step, waiting)
    return [finding for rule in rules for finding in rule(context) if finding.share >= FLOOR]
