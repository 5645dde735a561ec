"""From what was seen and read to findings. Each rule is a function that yields findings; what a finding says is in
labkit/messages/bench_lies.toml, under lies.<kind>."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from math import log10, prod
from statistics import median

from labkit import messages
from labkit.bench.lies import cache, figures, rates, turns, words
from labkit.bench.lies.case import (
    KINDS,
    Case,
    Finding,
    Observed,
    answers_request,
    by_place,
    largest_of,
    names_of,
    pairs_of,
    place_of,
    shapes_of,
    shown,
    sides_of,
    signature,
)  # fmt: skip
from labkit.bench.lies.mismatch import mismatched, restored
from labkit.bench.lies.operators import short
from labkit.bench.lies.reading import Text, names_outliers, says
from labkit.bench.lies.sizes import in_all, stated
from labkit.bench.lies.spread import few_samples
from labkit.bench.lies.turns import SWITCHES, changes, order_of
from labkit.bench.lies.words import decimals

# From which share of the reported time on something is a finding: what a careful reader would call the result wrong.
_WAIT, _DRAIN, _COPY, _RANDOM, _FILLED, _QUANTUM, _PENDING = 0.05, 0.2, 0.05, 0.10, 0.25, 0.02, 0.05
_DRAINED = 0.25  # of a sample by events: what the first launch of a drained queue takes, in a sample of few calls
_ISSUED = 0.3  # of what is called the kernel's time, in which the device waits for the host
_BYTES = {"float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int8": 1, "uint8": 1, "bool": 1, "int16": 2}
_VALUE = 16  # bytes of a value that is read, like a loss
_BATCH = 8  # calls of an operator for each wait, from which on the wait is the end of a batch
_MOVED = 1.5  # a figure with a first launch in it grows many times where that takes 50 times as long; noise does less
_ANOTHER = 1.2  # of two figures that should be one but for the noise


def judge(text: Text, seen: Observed, script: str) -> list[Finding]:
    """All findings, in the order of KINDS, one of each kind and place."""
    case = Case(text, seen, script)
    only: dict[str, Finding] = {}
    for f in (f for rule in _RULES for f in rule(case)):
        only.setdefault(f.kind, f)
    return sorted(only.values(), key=lambda f: KINDS.index(f.kind))


def moves(one: Observed, other: Observed) -> bool | None:
    """Does the report change where first launches and compilations take longer? A figure moved if the other report has
    none near it. What stands for a first run alone, given beside the others, may move. None: there are no figures."""
    left, right = _report(one), _report(other)
    if not left or not right:
        return None
    return any(all(not _near(a, b) for a in left) for b in right)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 0.01 or a * b > 0 and max(a / b, b / a) < _MOVED


def _differs(one: list[float], other: list[float]) -> bool:
    """Is a figure of a report more than noise away from what stands there in another one?"""
    pairs = zip(one, other) if len(one) == len(other) else ()
    return any(min(a, b) > 1 and max(a, b) > _ANOTHER * min(a, b) for a, b in pairs)


def _report(seen: Observed) -> list[float]:
    """The decimal figures of a report, and whole ones with a unit of time, without those of a first run that is given
    on its own, and not as the longest of several. Other whole numbers are left out: a warm-up until steady counts its
    rounds."""
    later = {signature(r) for r in seen.regions if not r["first"] and not r["graphs"]}
    firsts = [r for r in seen.regions if (r["first"] or r["graphs"]) and signature(r) in later and not r["among"]]
    alone = [n for r in firsts for n in r["alone"]]
    lines = [line for line in seen.output.split("\n") if not words.once(line)]
    return [n for n in (*decimals("\n".join(lines)), *words.whole_times("\n".join(lines))) if n not in alone]


# ---- the first runs


def _first_runs(c: Case) -> Iterator[Finding]:
    moved = moves(c.seen, c.seen.slow) if c.seen.slow else None
    if moved is False and c.seen.quick:
        moved = _differs(_report(c.seen), _report(c.seen.quick))
    # What Inductor has to build anew takes seconds by itself: beside them a slower start is no change.
    moved = True if any(r["again"] and r["alone"] for r in c.regions) else moved
    if moved is False or c.seen.failed and not decimals(c.seen.output):
        return  # whatever was read, no figure has it in it
    regions = [r for r in c.regions if id(r) not in c.once and (moved or not r["put_away"])]
    compiled = [r for r in regions if r["graphs"]]
    for group in by_place(compiled).values():
        again = sum(r["again"] for r in group)  # a new torch.compile() in each round is no recompilation
        if again and (again == sum(r["graphs"] for r in group) or again >= 2):
            shapes = {str(s) for r in group for s in r["shapes"]}
            yield c.find(
                "recompile", group[0]["line"], count=sum(r["graphs"] for r in group), regions=len(group),
                shapes=len(shapes),
            )  # fmt: skip
            return
    places = {place_of(r) for r in compiled}
    for group in by_place(compiled).values():
        if len(group) >= 3 and 2 * len(group) > sum(place_of(r) == place_of(group[0]) for r in c.regions):
            shapes = {str(s) for r in group for s in r["shapes"]}
            yield c.find(
                "recompile", group[0]["line"], count=sum(r["graphs"] for r in group), regions=len(group),
                shapes=len(shapes),
            )  # fmt: skip
    for r in compiled:
        yield c.find("compile", r["line"], graphs=r["graphs"], us=r["value_us"], others=_others(c, r))
    for r in regions:
        if r["first"] and place_of(r) not in places:
            cost = max(r["value_us"], r["host_us"])
            yield c.find("warmup", r["line"], names=names_of(r["first"]), us=cost, others=_others(c, r))


def _others(c: Case, region: dict) -> str:
    """The median of the group's other samples, for comparison."""
    rest = [max(r["value_us"], 0.0) for r in c.groups[place_of(region), signature(region)] if r is not region]
    rest = rest or [r["value_us"] for r in c.regions if place_of(r) == place_of(region) and r is not region]
    return shown(float(median(rest))) + " us" if rest else messages.text("lies.no_other")


# ---- where the clock stands


def _unsynchronised(c: Case) -> Iterator[Finding]:
    for r in c.regions:
        if not r["kernels"] and not r["copies"]:
            continue
        if r["kind"] != "host":  # events of one stream know nothing of another: the work ran beside them
            if r["among_threads"]:  # it is another thread's
                continue
            if r["busy_us"] > 1.25 * r["value_us"] or r["beside_us"] > 0:
                left = max(r["busy_us"] - r["value_us"], r["beside_us"])
                yield c.find("no_sync", r["line"], "beside", us=r["value_us"], busy=r["busy_us"], left=left)
            continue
        waited = r["waits"] or r["among_threads"] and any(o["waits"] for o in c.groups[place_of(r), signature(r)])
        if (any(r["open"]) or r["among_threads"]) and waited:  # it is the work of other requests that is left
            continue
        left = r["pending_end_us"]
        if left > 0 and not (r["waited_behind"] and left <= _PENDING * r["value_us"] + r["pending_start_us"]):
            if says(words.HOST, c.claims):
                continue
            yield c.find("no_sync", r["end_line"], us=r["value_us"], left=left, kernels=r["kernels"])
        elif r["pending_start_us"] > _PENDING * r["value_us"]:
            yield c.find("no_sync", r["line"], "before", us=r["value_us"], left=r["pending_start_us"])


def _waits(c: Case) -> Iterator[Finding]:
    ending: dict[tuple, int] = defaultdict(int)  # samples that end in the same place: with one wait for ten of them,
    for r in c.regions:  # nine lose nothing
        ending[str(r["end_line"]), signature(r)] += 1
    for group in c.groups.values():
        kernel = bool(says(words.KERNEL, c.claims)) and not says(words.HOST, c.claims)
        if any(r["among_threads"] for r in group):  # while one of them waits, the others issue
            continue
        work = [r for r in group if r["kernels"] or r["copies"] and r["waits_before_last"]]
        losses = [x for r in work if not r["tool"] and not r["first"] for x in _lost(r, kernel)]
        if losses and 2 * len(losses) <= ending[str(losses[0][0]["end_line"]), signature(losses[0][0])]:
            continue
        losses = [loss for loss in losses if not answers_request(c, loss[0]) and not _beside(c, loss[0])]
        if says(words.WAITED, c.seen.output):  # a call and its wait, and the report says so
            losses = [loss for loss in losses if loss[0]["waits_before_last"]]
        elif not says(words.NO_CALL, c.seen.output):  # or what else the time of a call may be
            losses = [loss for loss in losses if loss[0]["kind"] != "host" or loss[0]["waits_before_last"]]
        if says(words.COUNTED, c.seen.output):
            continue
        if says(words.GAPS, c.claims):  # the time between two events holds them, and the report says so
            losses = [loss for loss in losses if loss[0]["kind"] != "event" or loss[0]["waits"]]
        several = len(losses) >= 3 or any(r["waits"] >= 3 for r, *_ in losses)
        if losses and several:
            r, lost, least, lines = sorted(losses, key=lambda x: x[1] / x[0]["value_us"])[len(losses) // 2]
            share = lost / r["value_us"]
            if share > least:
                place = lines[0] if lines else r["line"]
                idle = "idle" if r["kind"] == "event" and not r["waits"] and r["busy_us"] <= r["host_us"] else ""
                yield c.find(
                    "sync_loop",
                    place,
                    idle,
                    us=r["value_us"],
                    lost=lost,
                    share=100 * share,
                    kernels=r["kernels"] or r["copies"],
                )


def _beside(c: Case, r: dict) -> bool:
    """Does the script measure the same work back to back as well? Then the wait is what it wants to show."""
    return any(
        signature(o) == signature(r) and place_of(o) != place_of(r) and o["waits"] == r["waits"]
        and max(o["calls_of"].values(), default=0) >= _BATCH * max(1, *r["calls_of"].values())
        for o in c.regions
    )  # fmt: skip


def _lost(r: dict, kernel: bool = False) -> Iterator[tuple[dict, float, float, list]]:
    """(region, us that its waits cost, the share from which on that is a finding, lines): against the same work issued
    without a wait, which takes what the device works or what the host issues, whichever is longer. kernel: the report
    calls it the kernel's own time, which holds no issuing: with a wait before each sample the device always waits."""
    if r["kind"] == "host" and r["waits"] and r["waited_behind"]:
        # A wait at the end alone is the drain that a sample needs; it only hurts where the sample is one call.
        many = max(r["calls_of"].values(), default=0)  # of the same operator: a batch has one wait, a step has its own
        if many >= _BATCH * r["waits"]:
            return
        least = _WAIT if r["waits_before_last"] else _DRAIN
        yield r, r["value_us"] - max(r["busy_us"], r["value_us"] - r["wait_us"]), least, r["wait_lines"]
    elif r["kind"] == "event" and r["waits"] and r["waited_behind"]:
        yield r, r["value_us"] - max(r["busy_us"], r["host_us"] - r["wait_us"]), _WAIT, r["wait_lines"]
    elif r["kind"] == "event" and r["waits_between"] and r["busy_us"] > r["host_us"]:
        yield r, r["value_us"] - r["busy_us"], _DRAINED, r["between_lines"]
    elif r["kind"] == "event" and r["waits_between"] and kernel and not r["waits"]:
        yield r, r["value_us"] - r["busy_us"], _ISSUED, r["between_lines"]


# ---- what was timed


def _nothing(c: Case) -> Iterator[Finding]:
    idle = [r for r in c.regions if not _works(r) and not r["copies"] and not r["on_host"] and not r["among_threads"]]
    if not idle or (len(idle) < len(c.regions) and says(words.EMPTY, c.claims.replace("_", " "))):
        return
    if all(r["waits"] for r in idle) and len(idle) <= _waits_alone(c):
        return
    if len(idle) > len(c.regions) / 4 or len(c.groups) > 1:
        r = idle[-1]
        yield c.find("no_work", r["line"], us=r["value_us"], count=len(idle), all=len(c.regions))


def _waits_alone(c: Case) -> int:
    """How many samples the rows may have that give a wait with nothing before it: each as many as what does work. A
    function that was not called beside them makes more."""
    lines = [line.replace("_", " ") for line in c.seen.output.split("\n")]
    rows = sum(bool(says(words.WAIT_ALONE, line) and decimals(line)) for line in lines)
    return rows * max((len(g) for g in c.groups.values() if _works(g[0])), default=0)


def _works(r: dict) -> bool:
    """Kernels, and on tensors that have elements."""
    return bool(r["kernels"]) and (not r["shapes"] or any(map(prod, r["shapes"])))


def _inside(c: Case) -> Iterator[Finding]:
    for r in c.regions:
        if not r["value_us"] or r["first"] or r["among_threads"]:  # what other threads make counts for none
            continue
        asked = says(words.TRANSFER, c.claims) or says(words.ASKED, c.claims)
        moved = r["copy_bytes"] > _VALUE * r["copies"]  # a value that is read is a wait
        if moved and r["kernels"] and r["copy_us"] > _COPY * r["value_us"] and not asked:
            yield c.find(
                "inside", r["line"], "copy", count=r["copies"], us=r["copy_us"], of=r["value_us"],
                share=100 * r["copy_us"] / r["value_us"], bytes=float(r["copy_bytes"]),
            )  # fmt: skip
        called = [f"{n}()" for n in sorted(r["beside"]) if n != "pin_memory" or not says(words.PREPARES, c.claims)]
        if called and (r["kernels"] or r["copies"]) and not says(rf"{words.ASKED}|{words.PACED}", c.claims):
            yield c.find("inside", r["line"], "host", names=called, of=r["value_us"])
        if r["checks"] and r["calls"] > len(r["checks"]) and _other_work(r) and not says(words.CHECKS, c.seen.output):
            yield c.find("inside", r["line"], "checked", names=r["checks"], of=r["value_us"])
        if r["totals"] and not r["backward"] and not r["updates"] and _of_others(c, r):
            yield c.find("inside", r["line"], "summed", names=r["totals"], of=r["value_us"])
        base = max(r["host_us"], r["value_us"])
        subject = len(r["makers"]) and r["calls"] and not _other_work(r)
        for part, least in (("random_us", _RANDOM), ("filled_us", _FILLED)):
            named = part == "filled_us" and all(re.search(rf"\b{n}\b", c.seen.output) for n in r["makers"])
            if r[part] > least * base and not subject and not named:  # the report says "zeros + scatter_"
                yield c.find(
                    "inside", r["line"], "made", names=", ".join(r["makers"]), us=r[part], of=base,
                    share=100 * r[part] / base,
                )  # fmt: skip


def _of_others(c: Case, r: dict) -> bool:
    """Is the report about other operators than those that make a sum, and speaks of no sum, loss or check?"""
    own = {short(n).strip("_") for n in r["names"]} - set(r["totals"])
    own |= {"matmul"} if own & {"mm", "bmm", "addmm"} else set()
    speaks = f"{c.claims}\n{' '.join(c.text.words)}".replace("_", " ")
    named = any(re.search(rf"\b{name}\b", c.seen.output) for name in own)
    return named and not says(words.CHECKS, c.seen.output) and not says(words.SUMS, speaks)


def _other_work(r: dict) -> bool:
    """Kernels besides those that fill tensors."""
    fills = {"normal_", "uniform_", "random_", "fill_", "zero_", "bernoulli_", "arange", "randperm", "copy_"}
    return any(n.rpartition("::")[2] not in fills for n in r["names"])


# ---- the clock and the samples


def _coarse(c: Case) -> Iterator[Finding]:
    for line, name, said, unit in c.text.units[:1]:
        yield c.find("timer", (c.script, line), "unit", name=name, said=said, unit=unit)
    for r in c.regions:
        if all(r["clock"].startswith(("process_time", "thread_time")) for r in c.regions):
            name, line = c.text.cpu_clock or ("CPUTIME", r["line"][1])
            yield c.find("timer", (c.script, line), "cpu", name=name)
    places = by_place(c.regions).values()
    for group in places:
        if (step := _step(group)) and step > _QUANTUM * (usual := median(r["host_us"] for r in group)):
            yield c.find("timer", group[0]["line"], step=step, us=usual, share=100 * step / usual)
    if c.text.quantum and c.regions:
        quantum, line, plain = c.text.quantum
        if plain and any(sum(r["kind"] == "host" for r in group) >= 3 for group in places):
            return  # a clock as a whole number, and the samples were seen above: it is a date, a name, a seed
        usual = median(r["value_us"] for r in c.regions)
        if usual and quantum > _QUANTUM * usual:
            yield c.find("timer", (c.script, line), step=float(quantum), us=usual, share=100 * quantum / usual)


def _step(group: list[dict]) -> float:
    """The steps of a clock in microseconds: differences that are all whole steps and not what really went by; or 0."""
    seen = [(r["shown"], r["host_us"]) for r in group if r["shown"] is not None and r["kind"] == "host"]
    total, true = (sum(column) for column in zip(*seen)) if seen else (0, 0)
    if len(seen) < 3:
        return 0.0
    if total <= 0:
        return true / len(seen)
    unit = min((1e6, 1e3, 1.0, 1e-3), key=lambda u: abs(log10(max(true, 1e-9) / (total * u))))
    us = [value * unit for value, _ in seen]
    off = max(abs(value - real) for value, (_, real) in zip(us, seen))
    if off < 0.6:  # time.time() as a float moves in steps of 0.24 us
        return 0.0
    for step in (1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1.0):
        if off < 1.01 * step and all(abs(value / step - round(value / step)) < 1e-2 for value in us):
            return step
    return 0.0


def _dropped(c: Case) -> Iterator[Finding]:
    report = "\n".join(line for line in c.claims.split("\n") if line not in c.text.docs)
    drops = [d for d in c.text.drops if not _elsewhere(c, d)]
    if drops and c.regions and not names_outliers(report):
        yield c.find("dropped", (c.script, drops[0].line), samples=len(c.regions))
    for r in c.regions:
        if r["thrown_us"] and not names_outliers(report):
            yield c.find("dropped", r["line"], samples=len(c.regions))


def _elsewhere(c: Case, drop) -> bool:
    """Is it seen that what was compared there is no sample, but a deadline or the time of a whole loop?"""
    seen = [sample for file, line, sample in c.seen.compared if drop.line <= line <= drop.end]
    return bool(seen) and not any(seen)


def _one_shape(c: Case) -> Iterator[Finding]:
    taken: dict[tuple, set] = defaultdict(set)  # what runs: the shapes at which it does
    for r in c.regions:
        if r["kernels"] or r["on_host"]:
            taken[tuple(r["names"]), tuple(r["on_host"]), place_of(r), str(r["callers"])].add(shapes_of(r))
    if not taken or any(len(shapes) > 1 for shapes in taken.values()):
        return
    each = [[tuple(n for n in shape if n > 1) or shape for shape in shapes] for (shapes,) in taken.values()]
    if not says(words.CONCLUDES, c.claims) and any(says(w, c.claims) for w in (words.REQUEST, words.HOST, words.RATE)):
        return  # of one service or program, and nothing is concluded for others
    largest = largest_of(set(each[0]).intersection(*each[1:]))  # weights may be packed in another way
    if not largest:
        return  # several shapes
    report = [line for line in c.seen.output.split("\n") if not says(words.DISCLAIMS, line)]
    if says(words.EVERY, "\n".join(report)):
        yield c.find("one_shape", c.regions[-1]["line"], "every", shape=str(list(largest)))
        return
    if c.compares and says(words.TIED, c.seen.output):
        return
    if any(stated((n,), c.seen.output, set()) for n in {n for r in c.regions for n in r["sums"]}):
        return  # the elements of all that an optimizer takes
    widths = {_BYTES.get(d, 4) for r in c.regions for d in r["dtypes"]}
    if stated(largest, c.claims, widths) or in_all(largest, c.seen.output, widths):
        return
    batches = set.intersection(
        *({s[0] for s in map(tuple, r["gives"]) if s} for r in c.regions if r["kernels"] or r["gives"])
    )
    if any(n > _VALUE and stated((n,), c.seen.output, set()) for n in batches):
        return  # as 256 candidates
    r = c.regions[-1]
    yield c.find("one_shape", r["line"], shape=str(list(largest)))


# ---- comparisons


def _balanced(sides: list[int]) -> bool:
    """There and back, a b b a: what changes steadily meanwhile counts for both sides alike."""
    places = [[i for i, side in enumerate(sides) if side == one] for one in (0, 1)]
    first, second = (sum(p) / len(p) for p in places)
    return abs(first - second) <= 0.05 * len(sides)


def _in_turn(sides: list[list[dict]]) -> set[int]:
    """The sides, by id of their first sample, that are measured in turn with another one from the same readings."""
    found = set()
    for i, one in enumerate(sides):
        for other in sides[i + 1 :]:
            if one[0]["line"] == other[0]["line"] and changes(order_of(one, other)) >= SWITCHES:
                found |= {id(one[0]), id(other[0])}
    return found


def _ways_of(c: Case, sides: dict[tuple, list[dict]]) -> Iterator[tuple[list[dict], list[dict]]]:
    """The candidates in pairs; where the text calls them ways to one result also those of which one works on wider
    tensors, as a projection in place of two."""
    yield from pairs_of(sides)
    if says(words.SAME, c.claims):
        for (what, shapes), (other, its) in combinations(sides, 2):
            wider = not (largest_of(shapes) in its and largest_of(its) in shapes) if shapes and its else False
            if wider and what[4] != other[4] and what[2][:1] == other[2][:1] and len(set(shapes) & set(its)) > 1:
                yield sides[what, shapes], sides[other, its]


def _both(one: list[dict], other: list[dict]) -> frozenset:
    return frozenset((signature(r), str(r["callers"])) for r in (one[0], other[0]))


def _warms(one: list[dict], other: list[dict]) -> bool:
    """The same operators on the same tensors, read by the same lines and called from two: a few samples and many. The
    few are a warm-up which reads the clock, perhaps until it is steady."""
    few, many = sorted((one, other), key=len)
    return signature(few[0]) == signature(many[0]) and few[0]["line"] == many[0]["line"] and 3 * len(few) <= len(many)


def _ordered(c: Case) -> Iterator[Finding]:
    concludes = c.compares and says(words.VERDICT, c.claims)
    if not concludes and not c.text.words & {"Compare", "speedup", "speed_up"}:
        return  # two figures beside each other, of which the reader is told no winner
    sides = {key: [r for r in side if not r["first"] and not r["graphs"]] for key, side in sides_of(c).items()}
    sides = {key: side for key, side in sides.items() if side}
    blocks, partners = [], _in_turn(list(sides.values()))
    turns = [_both(*pair) for pair in pairs_of(sides) if changes(order_of(*pair)) >= SWITCHES]
    taken = {two for two in turns if len(two) > 1}  # one that two lines read is no pair
    for one, other in _ways_of(c, sides):
        if _warms(one, other) or _both(one, other) in taken:  # the same two are measured in turn at another place
            continue
        if min(len(one), len(other)) == 1 and one[0]["line"] == other[0]["line"] and words.once(c.claims):
            continue  # the first one, given beside the later ones
        if one[0]["names"] == other[0]["names"] and says(words.BANDWIDTH, c.claims) and says(words.WARM, c.claims):
            continue  # the same operators with a full and with an empty L2
        order = order_of(one, other)
        switches = changes(order)
        if switches < min(SWITCHES, 2 * min(len(one), len(other)) + 1) and not _balanced(order):
            blocks.append((one, other, switches))
    for one, other, switches in blocks:  # two that have a partner each, with whom they are taken in turn: two cases
        kit = one[0]["kit"] and other[0]["kit"]  # waits until each is steady, and says where its samples drift
        if not kit and not {id(one[0]), id(other[0])} <= partners:
            yield c.find("order", other[0]["line"], one=len(one), other=len(other), switches=switches)
            return


_RULES = (
    _first_runs, _unsynchronised, _waits, _nothing, mismatched, _inside, restored, cache.warmed, _coarse, few_samples,
    _dropped, _one_shape, _ordered, turns.behind, turns.drained, rates.overstated, rates.unconverted, rates.undropped,
    figures.impossible,
)  # fmt: skip
