"""From what was seen and read to findings. Each rule is a function that yields findings; what a finding says is in
labkit/messages/bench_lies.toml, under lies.<kind>."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median

from labkit import messages
from labkit.bench.lies.reading import Text, names_outliers, says

KINDS = (
    "warmup", "compile", "recompile", "no_sync", "sync_loop", "no_work", "mismatch", "inside", "hot_cache", "timer",
    "spread", "dropped", "one_shape", "order",
)  # fmt: skip
# From which share of the reported time on something is a finding: what a careful reader would call the result wrong.
_WAIT, _DRAIN, _COPY, _RANDOM, _FILLED, _QUANTUM, _PENDING, _CACHE = 0.05, 0.2, 0.05, 0.10, 0.25, 0.02, 0.05, 1.15
_SWITCHES = 3  # a comparison in turn changes sides at least so often

_COMPARES = (
    r"speed.?up|faster|slower|quicker|times as (fast|slow|long)|\b(as fast|the fastest)\b|\bagainst\b"
    r"|\bvs\b|versus|compar|winner|\bgain|improve|\bratio\b|\bbeats?\b|\d\s?[x×](?!\s*\w)"
    r"|加速|更快|对比|提升|倍"
)
_BANDWIDTH = r"bandwidth|\b[KMGT]i?B/s|\b[gt]bps\b|\bcold\b|\bHBM\b|\bDRAM\b|带宽|冷"
_WARM = r"\bwarm (cache|l2)|\bhot\b|l2.resident|in.l2|cached|from (the )?l2|l2 bandwidth|热"
_HOST = r"\bhost (time|side|cost)|dispatch|launch (cost|time|overhead|latency)|issu(e|ing)|enqueue|submi(t|ssion)|下发"
_TRANSFER = (
    r"transfer|\bcop(y|ies|ying)\b|end.to.end|\be2e\b|\bh2d\b|\bd2h\b|upload|download|host.to.|拷贝|搬运|传输|端到端"
)
_REQUEST = r"end.to.end|\be2e\b|latenc|request|response|round.?trip|\bclient|请求|响应|端到端|时延|延迟"
_EMPTY = r"overhead|\bempty\b|baseline cost|\bnull\b|空"
_DEVICE = r"\bnpu\b|ascend|\b910|\bgpu\b|\bcuda\b|昇腾"
_DTYPES = {
    "float16": r"\bfp16\b|\bfloat16\b|\bf16\b|half.precision",
    "bfloat16": r"\bbf16\b|\bbfloat16\b",
    "float32": r"\bfp32\b|\bfloat32\b|\bf32\b",
    "float64": r"\bfp64\b|\bfloat64\b",
    "int8": r"\bint8\b",
}
_BYTES = {"float16": 2, "bfloat16": 2, "float64": 8, "int64": 8, "int8": 1, "uint8": 1, "bool": 1, "int16": 2}


@dataclass(frozen=True)
class Finding:
    """kind: one of KINDS. line: in `file`. numbers: the evidence."""

    kind: str
    file: str
    line: int
    variant: str = ""
    numbers: dict = field(default_factory=dict, hash=False, compare=False)

    def lines(self, lang: str | None = None) -> list[str]:
        """[what was seen, why it matters, what to do]."""
        key = f"lies.{self.kind}.{self.variant}" if self.variant else f"lies.{self.kind}"
        return messages.lines(key, lang=lang, **self.numbers)

    def __str__(self) -> str:
        what, why, mend = self.lines()
        return f"{self.file}:{self.line}: {self.kind}: {what}\n    {why}\n    {mend}"


@dataclass
class Observed:
    """One run of the script: the regions of watch.py, what it printed, and the same regions with an L2 that each kernel
    finds empty (None: not run)."""

    regions: list[dict]
    output: str
    cold: list[dict] | None = None


class Case:
    """What the rules look at."""

    def __init__(self, text: Text, seen: Observed, script: str):
        self.text, self.seen, self.script = text, seen, script
        regions = seen.regions
        if text.first_dropped:
            count: dict = defaultdict(int)
            kept = []
            for r in regions:
                count[_place(r)] += 1
                if count[_place(r)] > text.first_dropped:
                    kept.append(r)
            regions = kept or regions
        self.regions = regions
        self.claims = f"{seen.output}\n{text.strings}"
        self.groups: dict[tuple, list[dict]] = defaultdict(list)
        for r in regions:
            self.groups[_place(r), _signature(r)].append(r)

    def find(self, kind: str, place, variant: str = "", **numbers) -> Finding:
        file, line = (place[0], place[1]) if place else (self.script, 1)
        return Finding(kind, file.rpartition("/")[2], line, variant, {k: _shown(v) for k, v in numbers.items()})


def _place(r: dict) -> tuple:
    return tuple(map(tuple, r["via"]))


def _signature(r: dict) -> tuple:
    return tuple(r["names"]), tuple(map(tuple, r["shapes"])), tuple(r["dtypes"]), tuple(r["on_host"])


def _shown(value):
    if isinstance(value, float):
        return f"{value:.3g}" if value < 10 else f"{value:,.0f}"
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple, set)) else value


def _names(names, most: int = 3) -> str:
    names = sorted({n.rpartition("::")[2] for n in names})
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def judge(text: Text, seen: Observed, script: str) -> list[Finding]:
    """All findings, in the order of KINDS, one of each kind and place."""
    case = Case(text, seen, script)
    found = [f for rule in _RULES for f in rule(case)]
    only: dict[str, Finding] = {}
    for f in found:
        only.setdefault(f.kind, f)
    return sorted(only.values(), key=lambda f: KINDS.index(f.kind))


# ---- the first runs


def _first_runs(c: Case) -> Iterator[Finding]:
    compiled = [r for r in c.regions if r["graphs"]]
    for group in _by_place(compiled).values():
        again = sum(r["again"] for r in group)  # a new torch.compile() in each round is no recompilation
        if again and (again == sum(r["graphs"] for r in group) or again >= 2):
            shapes = {str(s) for r in group for s in r["shapes"]}
            yield c.find(
                "recompile", group[0]["line"], count=sum(r["graphs"] for r in group), regions=len(group),
                shapes=len(shapes),
            )  # fmt: skip
            return
    places = {_place(r) for r in compiled}
    for r in compiled:
        yield c.find("compile", r["line"], graphs=r["graphs"], us=r["value_us"], others=_others(c, r))
    for r in c.regions:
        if r["first"] and _place(r) not in places:
            cost = max(r["value_us"], r["host_us"])
            yield c.find("warmup", r["line"], names=_names(r["first"]), us=cost, others=_others(c, r))


def _others(c: Case, region: dict) -> str:
    """The median of the group's other samples, for comparison."""
    rest = [max(r["value_us"], 0.0) for r in c.groups[_place(region), _signature(region)] if r is not region]
    rest = rest or [r["value_us"] for r in c.regions if _place(r) == _place(region) and r is not region]
    return _shown(float(median(rest))) + " us" if rest else messages.text("lies.no_other")


def _by_place(regions: list[dict]) -> dict[tuple, list[dict]]:
    groups: dict[tuple, list[dict]] = defaultdict(list)
    for r in regions:
        groups[_place(r)].append(r)
    return groups


# ---- where the clock stands


def _unsynchronised(c: Case) -> Iterator[Finding]:
    for r in c.regions:
        if r["kind"] != "host" or not r["kernels"]:
            continue
        if not r["waited_behind"] and r["pending_end_us"] > 0:
            if says(_HOST, c.claims):
                continue
            yield c.find("no_sync", r["end_line"], us=r["value_us"], left=r["pending_end_us"], kernels=r["kernels"])
        elif r["pending_start_us"] > _PENDING * r["value_us"]:
            yield c.find("no_sync", r["line"], "before", us=r["value_us"], left=r["pending_start_us"])


def _waits(c: Case) -> Iterator[Finding]:
    ending: dict[tuple, int] = defaultdict(int)  # samples that end in the same place: with one wait for ten of them,
    for r in c.regions:  # nine lose nothing
        ending[str(r["end_line"]), _signature(r)] += 1
    for group in c.groups.values():
        losses = [loss for r in group if not r["tool"] and r["kernels"] and not r["first"] for loss in _lost(r)]
        if losses and 2 * len(losses) <= ending[str(losses[0][0]["end_line"]), _signature(losses[0][0])]:
            continue
        losses = [loss for loss in losses if not _answers(c, loss[0])]
        several = len(losses) >= 3 or any(r["waits"] >= 3 for r, *_ in losses)
        if losses and several:
            r, lost, least, lines = sorted(losses, key=lambda x: x[1] / x[0]["value_us"])[len(losses) // 2]
            share = lost / r["value_us"]
            if share > least:
                place = lines[0] if lines else r["line"]
                yield c.find("sync_loop", place, us=r["value_us"], lost=lost, share=100 * share, kernels=r["kernels"])


def _answers(c: Case, r: dict) -> bool:
    """The latency of a request: its wait is that for the answer, which the host reads within the sample."""
    return r["kind"] == "host" and r["copies"] > 0 and r["waits_by_reading"] == r["waits"] and bool(
        says(_REQUEST, c.claims)
    )  # fmt: skip


def _lost(r: dict) -> Iterator[tuple[dict, float, float, list]]:
    """(region, us that its waits cost, the share from which on that is a finding, lines): against the same work issued
    without a wait, which takes what the device works or what the host issues, whichever is longer."""
    if r["kind"] == "host" and r["waits"] and r["waited_behind"]:
        # A wait at the end alone is the drain that a sample needs; it only hurts where the sample is one call.
        least = _WAIT if r["waits_before_last"] else _DRAIN
        yield r, r["value_us"] - max(r["busy_us"], r["value_us"] - r["wait_us"]), least, r["wait_lines"]
    elif r["kind"] == "event" and r["waits"] and r["waited_behind"]:
        yield r, r["value_us"] - max(r["busy_us"], r["host_us"] - r["wait_us"]), _WAIT, r["wait_lines"]
    elif r["kind"] == "event" and r["waits_between"] and r["busy_us"] > r["host_us"]:
        yield r, r["value_us"] - r["busy_us"], _WAIT, r["between_lines"]


# ---- what was timed


def _nothing(c: Case) -> Iterator[Finding]:
    idle = [r for r in c.regions if not r["kernels"] and not r["copies"] and not r["on_host"]]
    if not idle or (len(idle) < len(c.regions) and says(_EMPTY, c.claims)):
        return
    if len(idle) > len(c.regions) / 4 or len(c.groups) > 1:
        r = idle[-1]
        yield c.find("no_work", r["line"], us=r["value_us"], count=len(idle), all=len(c.regions))


def _mismatched(c: Case) -> Iterator[Finding]:
    on_host = [r for r in c.regions if r["on_host"] and not r["kernels"] and not r["copies"]]
    about_device = says(_DEVICE, c.claims) or c.text.words & {"npu", "cuda", "torch_npu"}
    if on_host and about_device and not says(r"\bcpu\b", c.claims):
        r = on_host[-1]
        yield c.find("mismatch", r["line"], "host", names=_names(r["on_host"]), calls=r["calls"])
    timed = [r for r in c.regions if r["kernels"]]
    floats = {d for r in timed for d in r["dtypes"] if d in _DTYPES}
    claimed = {d for d, words in _DTYPES.items() if says(words, c.seen.output)}
    if not claimed:
        claimed = {d for d, words in _DTYPES.items() if says(words, c.text.strings)}
    if timed and floats and claimed - floats:
        yield c.find("mismatch", timed[-1]["line"], "dtype", claimed=sorted(claimed - floats), seen=sorted(floats))
    sides = _sides(c)
    for one, other in _pairs(sides):
        mine, its = ({d for r in side for d in r["dtypes"] if d in _DTYPES} for side in (one, other))
        if mine and its and mine != its and not claimed and says(_COMPARES, c.claims):
            yield c.find("mismatch", other[0]["line"], "sides", one=sorted(mine), other=sorted(its))
        elif bool(one[0]["kernels"]) != bool(other[0]["kernels"]) and not says(r"\bcpu\b", c.claims):
            host = one if one[0]["on_host"] and not one[0]["kernels"] else other
            if host[0]["on_host"]:
                yield c.find(
                    "mismatch", host[0]["line"], "host", names=_names(host[0]["on_host"]), calls=host[0]["calls"]
                )


def _inside(c: Case) -> Iterator[Finding]:
    for r in c.regions:
        if not r["value_us"] or r["first"]:
            continue
        if r["copies"] and r["kernels"] and r["copy_us"] > _COPY * r["value_us"] and not says(_TRANSFER, c.claims):
            yield c.find(
                "inside", r["line"], "copy", count=r["copies"], us=r["copy_us"], of=r["value_us"],
                share=100 * r["copy_us"] / r["value_us"], bytes=float(r["copy_bytes"]),
            )  # fmt: skip
        base = max(r["host_us"], r["value_us"])
        subject = len(r["makers"]) and r["calls"] and not _other_work(r)
        for part, least in (("random_us", _RANDOM), ("filled_us", _FILLED)):
            if r[part] > least * base and not subject:
                yield c.find(
                    "inside", r["line"], "made", names=", ".join(r["makers"]), us=r[part], of=base,
                    share=100 * r[part] / base,
                )  # fmt: skip


def _other_work(r: dict) -> bool:
    """Kernels besides those that fill tensors."""
    fills = {"normal_", "uniform_", "random_", "fill_", "zero_", "bernoulli_", "arange", "randperm", "copy_"}
    return any(n.rpartition("::")[2] not in fills for n in r["names"])


def _cached(c: Case) -> Iterator[Finding]:
    if c.seen.cold is None:
        return
    cold = defaultdict(list)
    for r in c.seen.cold:
        cold[_place(r), _signature(r)].append(r["busy_us"])
    for key, group in c.groups.items():
        if group[0]["kernels"] and cold.get(key):
            warm, without = median(r["busy_us"] for r in group), median(cold[key])
            if warm and without > _CACHE * warm:
                yield c.find("hot_cache", group[0]["line"], warm=warm, cold=without, times=without / warm)


def about_memory(text: Text, output: str) -> bool:
    """Does the script speak of what comes from memory, so that a warm L2 would be a lie?"""
    claims = f"{output}\n{text.strings}\n{' '.join(text.words).replace('_', ' ')}"
    return bool(says(_BANDWIDTH, claims)) and not says(_WARM, claims)


# ---- the clock and the samples


def _coarse(c: Case) -> Iterator[Finding]:
    if c.text.cpu_clock and any(r["clock"].startswith(("process_time", "thread_time")) for r in c.regions):
        name, line = c.text.cpu_clock
        yield c.find("timer", (c.script, line), "cpu", name=name)
    if c.text.quantum and c.regions:
        quantum, line = c.text.quantum
        usual = median(r["value_us"] for r in c.regions if r["kind"] == "host") if any(
            r["kind"] == "host" for r in c.regions
        ) else 0.0  # fmt: skip
        if usual and quantum > _QUANTUM * usual:
            yield c.find("timer", (c.script, line), step=float(quantum), us=usual, share=100 * quantum / usual)


def _spread(c: Case) -> Iterator[Finding]:
    counts = [len(g) for key, g in c.groups.items()]
    if not counts:
        return
    by_place = [len(g) for g in _by_place(c.regions).values()]
    few = median(counts) <= 1 and (median(by_place) <= 1 or len(c.groups) > 1)
    if few and not (len(counts) == len(c.regions) and max(by_place) >= 5 and c.text.spread):
        r = c.regions[-1]
        yield c.find("spread", r["line"], "once", kernels=r["kernels"], groups=len(counts))
    elif not c.text.spread:
        line = (c.script, c.text.mean_line) if c.text.mean_line else c.regions[-1]["end_line"]
        lows = [r["value_us"] for r in c.regions]
        yield c.find("spread", line, c.text.how, samples=len(lows), least=min(lows), most=max(lows))


def _dropped(c: Case) -> Iterator[Finding]:
    if c.text.drops and c.regions and not names_outliers(c.claims):
        yield c.find("dropped", (c.script, c.text.drops[0].line), samples=len(c.regions))


def _one_shape(c: Case) -> Iterator[Finding]:
    shapes = {frozenset(map(tuple, r["shapes"] or r["host_shapes"])) for r in c.regions if r["kernels"] or r["on_host"]}
    if len(shapes) != 1:
        return
    (only,) = shapes
    largest = _largest(only)
    if not largest or _stated(largest, c.claims, {_BYTES.get(d, 4) for r in c.regions for d in r["dtypes"]}):
        return
    r = c.regions[-1]
    yield c.find("one_shape", r["line"], shape=str(list(largest)))


def _largest(shapes) -> tuple:
    return max(shapes, key=lambda s: (_product(s), s), default=())


def _product(shape) -> int:
    total = 1
    for n in shape:
        total *= n
    return total


def _stated(shape, text: str, widths: set[int]) -> bool:
    """Does the text name the shape: a dimension, the number of elements or of bytes, also as 4M or 4 Mi?"""
    numbers = {n for n in (*shape, _product(shape)) if n > 1} or {1}
    numbers |= {_product(shape) * width for width in widths}
    digits = text.replace(",", "").replace("_", "")
    for n in numbers:
        if re.search(rf"(?<![\d.]){n}(?![\d]|\.\d)", digits):
            return True
        for unit, factor in (("k", 1e3), ("m", 1e6), ("g", 1e9), ("k", 2**10), ("m", 2**20), ("g", 2**30)):
            if n >= factor and n % factor == 0 and re.search(rf"(?<![\d.]){int(n // factor)}\s?{unit}", digits, re.I):
                return True
    return False


# ---- comparisons


def _sides(c: Case) -> dict[tuple, list[dict]]:
    """The candidates of comparisons: regions by what runs, where it is called from, and the shapes."""
    sides: dict[tuple, list[dict]] = defaultdict(list)
    for r in c.regions:
        if r["kernels"] or r["on_host"]:
            callers = tuple(map(tuple, r["callers"]))
            what = tuple(r["names"]), tuple(r["dtypes"]), _place(r), tuple(sorted(r["on_host"])), callers
            sides[what, _shapes(r)].append(r)
    return sides


def _shapes(r: dict) -> tuple:
    return tuple(sorted(map(tuple, r["shapes"] or r["host_shapes"])))


def _pairs(sides: dict[tuple, list[dict]]) -> Iterator[tuple[list[dict], list[dict]]]:
    """Two that do different things to tensors of the same size."""
    keys = list(sides)
    for i, (what, shapes) in enumerate(keys):
        for other, its in keys[i + 1 :]:
            if what != other and shapes and its and _largest(shapes) in its and _largest(its) in shapes:
                yield sides[what, shapes], sides[other, its]


def _ordered(c: Case) -> Iterator[Finding]:
    if not says(_COMPARES, c.claims) and not c.text.words & {"Compare", "speedup", "speed_up"}:
        return
    for one, other in _pairs(_sides(c)):
        both = sorted([(r["start"], 0) for r in one] + [(r["start"], 1) for r in other])
        switches = sum(a[1] != b[1] for a, b in zip(both, both[1:]))
        if switches < min(_SWITCHES, 2 * min(len(one), len(other)) + 1):
            yield c.find("order", other[0]["line"], one=len(one), other=len(other), switches=switches)
            return


_RULES = (
    _first_runs, _unsynchronised, _waits, _nothing, _mismatched, _inside, _cached, _coarse, _spread, _dropped,
    _one_shape, _ordered,
)  # fmt: skip
