"""Mismatch: what was timed is not what the report says, or two that are compared differ in more than is meant."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from math import gcd, prod
from statistics import median

from labkit.bench.lies import words
from labkit.bench.lies.case import Case, Finding, largest_of, names_of, pairs_of, shapes_of, sides_of
from labkit.bench.lies.reading import says
from labkit.bench.lies.sizes import stated

_MOVED = 0.1  # of the device's time, in copies on it
_SWITCHES = 6  # two that change sides at least so often are measured in turn


def mismatched(c: Case) -> Iterator[Finding]:
    on_host = [r for r in c.regions if r["on_host"] and not r["kernels"] and not r["copies"] and not r["graphs"]]
    about_device = says(words.DEVICE, c.claims) or c.text.words & {"npu", "cuda", "torch_npu"}
    if on_host and about_device and not says(words.CPU, c.claims):
        r = on_host[-1]
        yield c.find("mismatch", r["line"], "host", names=names_of(r["on_host"]), calls=r["calls"])
    timed = [r for r in c.regions if r["kernels"]]
    if timed and not any(r["backward"] for r in timed):
        if says(words.TRAINING, c.seen.output) and not says(words.ONLY, c.claims):
            yield c.find("mismatch", timed[-1]["line"], "forward", said=says(words.TRAINING, c.seen.output))
    floats = {d for r in timed for d in r["dtypes"] if d in words.DTYPES}
    report = "\n".join(line for line in c.seen.output.split("\n") if not says(words.DISCLAIMS, line))
    report = re.sub(words.REFERENCE, "", report, flags=re.IGNORECASE)
    claimed = {d for d, pattern in words.DTYPES.items() if says(pattern, report)}
    if not claimed:
        strings = re.sub(words.REFERENCE, "", c.text.strings, flags=re.IGNORECASE)
        claimed = {d for d, pattern in words.DTYPES.items() if says(pattern, strings)}
    if c.text.words & {"double", "float64"}:  # made by the script, but not timed: what results are held against
        claimed.discard("float64")
    if timed and floats and claimed - floats and _said_alone(report, floats):
        yield c.find("mismatch", timed[-1]["line"], "dtype", claimed=sorted(claimed - floats), seen=sorted(floats))
    if timed and (shape := _unseen(c, timed)):
        seen = str(list(largest_of(shapes_of(timed[-1]))))
        yield c.find("mismatch", timed[-1]["line"], "shape", claimed=shape, seen=seen)
    for pair in c.seen.apart:
        line = pair["line"][0] if pair["line"] else None
        names = {"one": names_of(pair["one"]), "other": names_of(pair["other"])}
        if pair.get("part") and not says(words.ALIKE, c.claims):
            continue
        if "apart" in pair:
            yield c.find(
                "mismatch", line, "results", shape=str(pair["shape"] or [1]), share=100 * pair["apart"], **names
            )
        elif not says(words.FEWER, c.claims):
            yield c.find("mismatch", line, "fewer", mine=pair["fewer"][0], its=pair["fewer"][1], **names)
    sides = sides_of(c)
    for side in sides.values():
        if part := _divisor(side):
            yield c.find("mismatch", side[0]["line"], "divisor", by=part, calls=_times(side))
        elif part := _outer(c, side):
            name = names_of(side[0]["names"])
            yield c.find("timer", side[0]["line"], "calls", by=part, calls=_times(side), name=name)
        elif over := _counted(side):
            yield c.find("mismatch", side[0]["line"], "counted", counted=over[0], rows=over[1], calls=_times(side))
    if wrong := _reported(c, list(sides.values())):
        yield c.find("mismatch", wrong[0]["line"], "divisor", by=wrong[1], calls=_times(wrong[2]))
    yield from _sizes(c, sides)
    yield from _left_out(c, sides)
    for one, other in pairs_of(sides):
        mine, its = (
            {d for r in side for d in r["takes_of"] or r["dtypes"] if d in words.DTYPES} for side in (one, other)
        )
        if mine and its and not mine & its and not mine | its <= claimed and c.compares:
            yield c.find("mismatch", other[0]["line"], "sides", one=sorted(mine), other=sorted(its))
        elif (gives := _other_type(one, other)) and not set(gives) <= claimed and c.compares:
            yield c.find("mismatch", other[0]["line"], "gives", one=gives[0], other=gives[1])
        elif one[0]["backward"] != other[0]["backward"] and c.compares and not _both_labelled(c.seen.output):
            yield c.find("mismatch", other[0]["line"], "backward")
        elif (part := _shared(one, other)) and c.compares:
            yield c.find("mismatch", other[0]["line"], "calls", by=part, one=_times(one), other=_times(other))
        elif bool(one[0]["kernels"]) != bool(other[0]["kernels"]) and not says(words.CPU, c.claims):
            host = one if one[0]["on_host"] and not one[0]["kernels"] else other
            if host[0]["on_host"] and not host[0]["graphs"]:  # what is captured runs later
                yield c.find(
                    "mismatch", host[0]["line"], "host", names=names_of(host[0]["on_host"]), calls=host[0]["calls"]
                )


def restored(c: Case) -> Iterator[Finding]:
    """An operator that changes its input, as the report names it alone; and in each call the copy that puts the input
    back, which the report does not speak of."""
    if says(words.PUT_BACK, c.claims):
        return
    kernel = bool(says(words.KERNEL, c.claims))
    for r in c.regions:
        names = {n.rpartition("::")[2] for n in r["names"]}
        others = names - {"copy_", "clone"}
        if len(others) == 1 < len(names) and r["moved_us"] > _MOVED * r["busy_us"]:
            (name,) = others
            # "cumsum_ us": the one that works in place is named as such
            in_place = "" if kernel else r"(?<=_)(?![\w])" if name.endswith("_") else r"_(?!\w)"
            if re.search(rf"\b{re.escape(name)}{in_place}", c.seen.output):
                share = 100 * r["moved_us"] / r["busy_us"]
                yield c.find("inside", r["line"], "restored", name=name, us=r["moved_us"], of=r["busy_us"], share=share)
                return


def alternatives(c: Case) -> bool:
    """Does the script compare ways to the same result, and not look at the results itself?"""
    told = f"{c.claims}\n{' '.join(c.text.words).replace('_', ' ')}"
    if not c.compares or c.seen.failed or c.text.words & _CHECKS or says(words.LESS, c.claims):
        return False
    kinds = {what for what, _ in sides_of(c)}
    return len(kinds) > 1 and bool(says(words.SAME, told)) and not says(words.CONTRAST, c.claims)


_CHECKS = {
    "allclose", "equal", "assert_close", "array_equal", "assert_allclose", "isclose", "assert_array_equal",
    "assert_array_almost_equal", "assert_almost_equal", "assertTrue",
}  # fmt: skip


def _both_labelled(output: str) -> bool:
    """Has the report figures of the way there and others of both ways, by these names?"""
    rows = [line for line in output.split("\n") if re.search(r"\d\.\d", line)]
    both = [bool(says(words.BOTH_WAYS, line)) for line in rows]
    return any(both) and any(says(words.ONE_WAY, line) and not two for line, two in zip(rows, both))


def _other_type(one: list[dict], other: list[dict]) -> tuple[str, str] | None:
    """The types of two results that have the same shape, where these differ: a constant in float32 promotes a whole
    half-precision side."""
    found = [({tuple(r["gives_of"]) for r in side}, {str(r["gives"]) for r in side}) for side in (one, other)]
    (mine, shape), (its, other_shape) = found
    if shape != other_shape or not len(mine) == len(its) == len(shape) == 1:
        return None
    a, b = (types.pop() for types in (mine, its))
    floats = len(a) == len(b) == 1 and {*a, *b} <= {*words.DTYPES} - {"int8"}
    return (a[0], b[0]) if floats and a != b else None


def _said_alone(output: str, floats: set[str]) -> bool:
    """Does a line name a type and none that was timed? "fp16 in, fp32 sums" names the one that was. Where another line
    names that one, it has to give a figure."""
    lines = [(text, {d for d, pattern in words.DTYPES.items() if says(pattern, text)}) for text in output.split("\n")]
    stated = any(types & floats for _, types in lines)
    others = [text for text, types in lines if types and not types & floats]
    return not any(types for _, types in lines) or any(not stated or says(words.MEASURED, text) for text in others)


def _times(side: list[dict]) -> int:
    """How often a sample does the same: the greatest common divisor of its kernels' numbers."""
    return gcd(*side[-1]["calls_of"].values()) if side[-1]["calls_of"] else 0


def _shared(one: list[dict], other: list[dict]) -> int:
    """The number by which both sides divide a sample, where one does so many calls in it and the other fewer; or 0."""
    times = _times(one), _times(other)
    for part in set(one[-1]["parts"]) & set(other[-1]["parts"]) - {1, 60, 1000, 10**6, 10**9}:
        whole = [n > 0 and n % part == 0 for n in times]
        fewer = times[1] if whole[0] else times[0]
        if part > 1 and whole[0] != whole[1] and 0 < fewer < part:
            return part
    return 0


def _divisor(side: list[dict]) -> int:
    """The number by which a sample of `n` equal calls is divided where it is near to n and is not n: the calls before
    the clock are counted too, or a loop's bound was changed in one place. Sizes of the tensors are no such number."""
    times = {_times([r]) for r in side}
    sizes = {n for r in side for shape in (*r["shapes"], *r["host_shapes"]) for n in (*shape, prod(shape))}
    if len(times) != 1 or (n := times.pop()) < 3:
        return 0
    for part in set.intersection(*(set(r["parts"]) for r in side)) - sizes - {60, 100, 1000}:
        if n / 2 < part < 2 * n and n % part and part % n:
            return part
    return 0


def _outer(c: Case, side: list[dict]) -> int:
    """The number of rounds by which a sample is divided that makes several calls in each, all of one operator, where
    the report names that operator and calls the result the time of a call: in one line, or the rounds are a loop around
    a loop of plain calls."""
    names = {n.rpartition("::")[2] for r in side for n in r["names"]}
    if len(names) != 1 or len({_times([r]) for r in side}) != 1 or (n := _times(side)) < 4:
        return 0
    name = names.pop()
    lines = [line for line in c.seen.output.split("\n") if name in line]
    one = rf"{words.A_CALL}|\b(one|each|an?|per) ([\w.]+\.)?{re.escape(name)}\b"
    if name.strip("_") in c.text.inner and name.strip("_") in c.seen.output:
        lines += [line for line in c.seen.output.split("\n") if says(words.A_CALL, line)]
    said = [line for line in lines if says(one, line) and not says(words.SEVERAL, line)]
    rounds = set.intersection(*(set(r["parts"]) for r in side)) - {1, 60, 100, 1000, 10**6, 10**9}
    whole = any(n in (*r["parts"], *r["counts"]) for r in side)
    return next((part for part in rounds if said and not whole and part < n and n % part == 0), 0)


def _reported(c: Case, sides: list[list[dict]]) -> tuple[dict, int, list[dict]] | None:
    """(a sample, divisor, its side): the figures of the report are the samples of n equal calls divided by another
    number than n, the same for every candidate and shape. For who divides where no reading is seen any more: in arrays.
    """
    figures = [(float(t), 0.51 * 10.0 ** -len(t.partition(".")[2])) for t in re.findall(r"\b\d+\.\d+\b", c.seen.output)]
    calls = [_times(side) for side in sides]
    if len(sides) < 2 or min(calls) < 3 or len(set(calls)) > 1:
        return None
    n, usual = calls[0], [median(r["value_us"] for r in side) for side in sides]
    if any(n in (*r["parts"], *r["counts"]) for side in sides for r in side):
        return None  # divided by the right one, and seen to be

    def shown(by: int) -> bool:
        return all(
            any(abs(us / by / unit - x) <= near and x > 40 * near for x, near in figures for unit in (1, 1e3))
            for us in usual
        )

    found = [by for by in range(n // 2 + 1, 2 * n) if shown(by)]
    return (sides[0][0], found[0], sides[0]) if len(found) == 1 and found[0] != n else None


def _counted(side: list[dict]) -> tuple[int, int] | None:
    """(counted, done): a rate of more rows than the calls of a sample have taken, by a part of a batch: the last batch,
    which is not whole, is left out and counted. Calls on batches of several sizes say nothing."""
    rows = {s[0] for r in side for s in map(largest_of, (map(tuple, r["gives"]), map(tuple, r["takes"]))) if s}
    times = {_times([r]) for r in side}
    if len(rows) != 1 or len(times) != 1 or (batch := rows.pop()) < 2 or (n := times.pop()) < 2:
        return None
    for counted in set.intersection(*(set(r["counts"]) for r in side)):
        if n * batch < counted < (n + 1) * batch:
            return counted, n * batch
    return None


def _unseen(c: Case, timed: list[dict]) -> str:
    """The first shape that the script printed, like 4096x4096 or (64, 512), of which no number was anywhere: not a
    dimension of a tensor that was timed, nor a product or a quotient of some."""
    shapes = {tuple(shape) for r in timed for shape in (*r["shapes"], *r["host_shapes"])}
    dims = {n for shape in shapes for n in shape}
    seen = {a * b for shape in shapes for a in shape for b in shape} | dims | {prod(shape) for shape in shapes}
    counts = {n for r in timed for n in (*r["calls_of"].values(), r["calls"])} | {len(c.regions)}
    for pattern, known in ((words.SHAPE, set()), (words.EXTENT, counts)):
        for match in re.finditer(pattern, c.seen.output, re.I):
            text = match[match.lastindex]
            if match[0].lower().startswith("batch") and not _batches(c.seen.output):
                continue
            numbers = {int(n) for n in re.findall(r"\d+", text)}
            times = {d * k for d in dims for k in known}  # rows that are worked off in parts
            if not any(n in seen | known | times or any(d and d % n == 0 for d in dims) for n in numbers):
                return text
    return _unseen_batch(c, timed) or _unseen_row(c, shapes)


def _unseen_row(c: Case, shapes: set[tuple]) -> str:
    """Of lines that differ in their numbers alone, as rows of a table do: the first whole shape that no tensor had,
    where that of another line is one."""
    rows: dict[str, list[tuple[str, tuple]]] = defaultdict(list)
    for line in c.seen.output.split("\n"):
        said = [(m[0], tuple(map(int, re.findall(r"\d+", m[0])))) for m in re.finditer(words.WHOLE_SHAPE, line)]
        alike = re.sub(r"[\d.]+", "#", line)
        for place, one in enumerate(said):
            rows[f"{place}: {alike}"].append(one)
    sizes = {prod(shape) for shape in shapes}
    for row in rows.values():
        if any(shape in shapes for _, shape in row):
            if other := [text for text, shape in row if shape not in shapes and prod(shape) not in sizes]:
                return other[0]
    return ""


def _unseen_batch(c: Case, timed: list[dict]) -> str:
    """The first batch of several in the report that nothing had as its first dimension, where others had theirs, and
    something of a size that no batch has was timed as well: the data ended before the batch did."""
    said = _batches(c.seen.output)
    firsts = {shape[0] for r in timed for shape in map(tuple, r["gives"]) if shape}
    missing = [n for n in said if n not in firsts]
    return (
        str(missing[0])
        if missing and set(said) & firsts and firsts - set(said) and len(firsts) < len(set(said))
        else ""
    )


def _batches(output: str) -> list[int]:
    """The sizes of batches in a report: none where its batches are counted, from 0 on."""
    said = [int(m[1]) for m in re.finditer(words.BATCH, output, re.I)]
    return [] if 0 in said else said


def _sizes(c: Case, sides: dict[tuple, list[dict]]) -> Iterator[Finding]:
    """Two that are measured in turn, or said to be compared, and never on tensors of the same size."""
    whole: dict[tuple, list[dict]] = defaultdict(list)
    for (what, _), group in sides.items():
        whole[what] += group
    kinds = list(whole)
    compares = len(kinds) == 2 and c.compares
    for i, what in enumerate(kinds):
        for other in kinds[i + 1 :]:
            one, two = whole[what], whole[other]
            both = sorted([(r["start"], 0) for r in one] + [(r["start"], 1) for r in two])
            if not compares and sum(a[1] != b[1] for a, b in zip(both, both[1:])) < _SWITCHES:
                continue
            if not one[0]["kernels"] or not two[0]["kernels"] or not c.compares:
                continue
            common = _common(c, one, two)
            mine, its = ({largest_of(s for s in shapes_of(r) if s not in common) for r in side} for side in (one, two))
            takes = [
                {prod(s) for r in side for s in map(tuple, r["takes"]) if prod(s) > 1 and s not in common}
                for side in (one, two)
            ]  # views count
            work = [median(_elements(r, common) for r in side) for side in (one, two)]
            if _packed(one, two) or _in_parts(one, two) or _in_parts(two, one):
                continue
            apart = not mine & its and all(takes) and not takes[0] & takes[1] and max(work) > 1.1 * min(work)
            if apart or _never_alike(one, two):
                shown = [str(list(max(side, key=prod))) for side in (mine, its)]
                yield c.find("mismatch", two[0]["line"], "sizes", one=shown[0], other=shown[1])
                return


def _left_out(c: Case, sides: dict[tuple, list[dict]]) -> Iterator[Finding]:
    """Two optimizers that are compared, of which one never takes as many elements as the other does: parameters are
    left out of it. Not where the report says so, or gives both numbers."""
    taken: dict[tuple, set[int]] = defaultdict(set)
    for (what, _), side in sides.items():
        taken[what] |= {r["updates"] for r in side if not r["backward"]} - {0}  # the step alone: models may differ
    every = [what for what in taken if taken[what]]
    if not c.compares or says(words.FROZEN, c.seen.output):
        return
    for i, what in enumerate(every):
        for other in every[i + 1 :]:
            mine, its = max(taken[what]), max(taken[other])
            same_line = what[2][:1] == other[2][:1]
            told = all(stated((n,), c.seen.output, set()) for n in (mine, its))
            if same_line and not taken[what] & taken[other] and not told:
                line = next(side[0]["line"] for (w, _), side in sides.items() if w == other)
                yield c.find("mismatch", line, "left_out", mine=mine, its=its)
                return


def _never_alike(one: list[dict], two: list[dict]) -> bool:
    """Of two in turn: does hardly any sample take and give as many elements as its neighbour of the other side, though
    some other one may?"""
    order = sorted([(r["start"], 0, r) for r in one] + [(r["start"], 1, r) for r in two], key=lambda x: x[:2])
    met = [_unlike(a[2], b[2]) for a, b in zip(order, order[1:]) if a[1] != b[1]]
    return len(met) >= _SWITCHES and sum(met) > 0.9 * len(met)


def _unlike(a: dict, b: dict) -> bool:
    mine, its = ({tuple(s) for s in r["takes"] if prod(s) > 1} for r in (a, b))
    taken = [{prod(s) for s in some} for some in (mine - its, its - mine)]
    given = [{prod(s) for s in r["gives"] if prod(s) > 1} for r in (a, b)]
    return all(taken) and all(given) and not taken[0] & taken[1] and not given[0] & given[1]


def _in_parts(one: list[dict], two: list[dict]) -> bool:
    """Does one side work off in parts, block by block, what the other does at once: an operator of both that runs k
    times as often there, on tensors of a k-th of the rows or columns?"""
    mine, its = one[-1]["calls_of"], two[-1]["calls_of"]
    often = {mine[n] // its[n] for n in mine.keys() & its if mine[n] % its[n] == 0} - {1}
    whole = {tuple(s) for s in two[-1]["shapes"]}
    parts = [(tuple(s), k) for s in one[-1]["shapes"] if len(s) > 1 for k in often]
    return any((s[0] * k, *s[1:]) in whole or (*s[:-1], s[-1] * k) in whole for s, k in parts)


def _packed(one: list[dict], two: list[dict]) -> bool:
    """Do both give results of the same shapes, and does one of them take in one tensor what the other takes in two or
    three of the result's shape, side by side?"""
    given = [defaultdict(set), defaultdict(set)]  # what they take, by the shape of the result
    for side, taken in zip((one, two), given):
        for r in side:
            taken[largest_of(map(tuple, r["gives"]))] |= {tuple(s) for s in r["takes"]}
    return given[0].keys() == given[1].keys() and all(_side_by_side(s, given[0][s], given[1][s]) for s in given[0])


def _side_by_side(shape: tuple, *taken: set[tuple]) -> bool:
    wide = {(*shape[:-1], k * shape[-1]) for k in (2, 3)} if shape else set()
    return any(mine <= {shape} and its & wide and its <= wide | {shape} for mine, its in (taken, taken[::-1]))


def _common(c: Case, one: list[dict], two: list[dict]) -> set[tuple]:
    """What both take that says nothing about how much is done: a table, weights, where one of the two gives fewer of
    the same rows, and the report does not say that it is meant to."""
    if says(words.LESS, c.claims):
        return set()
    for a, b in zip(one, two):
        mine, its = (largest_of(map(tuple, r["gives"])) for r in (a, b))
        if len(mine) != len(its) or mine == its or not mine or mine[1:] != its[1:] or 1 in (mine[0], its[0]):
            return set()
    shapes = [{s for r in side for s in shapes_of(r)} for side in (one, two)]
    return shapes[0] & shapes[1]


def _elements(r: dict, common: set[tuple] = frozenset()) -> float:
    return prod(largest_of(s for s in shapes_of(r) if s not in common)) * r["kernels"] / len(r["names"])
