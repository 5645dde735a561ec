"""Runs a benchmark script on the simulated device and writes down what lay between its readings of the clock.

    python -m labkit.bench.lies.watch OUT.json [FLAG ...] SCRIPT ARGUMENTS...

In a process of its own: the clocks are replaced for good. The device is a little noisy, an operator's first launch
costs 20 ms (labkit.device.noise), so that what a warm-up is for can be seen. --cold: each kernel finds an empty L2.
--shapes: operators are charged and not computed (labkit.device.shapes_only); a script that reads a value then ends.
--slow-first: a first launch, a compilation and a capture cost a second, so that whatever they enter moves.
--quick-first: a first launch costs nothing more, for rates: they are near nothing already where it is in them.
--values: what each operator takes and gives (values.py). --held: what of it the L2 holds (touched.py).
"""

from __future__ import annotations

import bisect
import contextlib
import functools
import importlib.util
import inspect
import itertools
import json
import os
import re
import runpy
import signal
import sys
import threading
from collections import Counter
from math import prod

from labkit.bench.lies import clocks, samples
from labkit.bench.lies.clocks import Region
from labkit.bench.lies.operators import checks, looks, short, sums

_FLAGS = ("--cold", "--shapes", "--slow-first", "--quick-first", "--values", "--held")
FIRST_LAUNCH_US, SLOW_FIRST_US = 20_000.0, 1_000_000.0
_BLOCK = 10
_REPORTS, _LONGEST = (".csv", ".json", ".jsonl", ".log", ".md", ".tsv", ".txt", ".yaml", ".html"), 200_000
_KIT = tuple(os.path.join("labkit", "bench", name) for name in ("timing.py", "duration.py"))
_RANDOM = {"randn", "rand", "randint", "normal", "randn_like", "rand_like", "randint_like", "randperm", "bernoulli"}
_RANDOM |= {"normal_", "uniform_", "random_"}
_FILLED = {"zeros", "ones", "full", "arange", "eye", "linspace", "zeros_like", "ones_like", "full_like", "tril", "triu"}


def main(arguments: list[str]) -> None:
    out, *rest = arguments
    flags = set(itertools.takewhile(lambda word: word in _FLAGS, rest))
    script, *given = rest[len(flags) :]
    script = os.path.abspath(script)
    notes = clocks.Notes(os.path.dirname(script), {script})
    notes.answers = samples.Deadlines().answers
    import numpy
    import torch

    import labkit.device
    from labkit.profiler.recorder import Recorder

    labkit.device.install()
    with open(script, encoding="utf-8") as file:
        text = file.read()
    if "cuda" in text and not re.search(r"torch_npu|\bnpu\b", text):
        import torch_npu.contrib.transfer_to_npu  # noqa: F401
    first = SLOW_FIRST_US if "--slow-first" in flags else 0.0 if "--quick-first" in flags else FIRST_LAUNCH_US
    labkit.device.noise(1, jitter=0.01, outliers=0.0, first_launch_us=first, hot_ms=1e9, slower=1.0)
    labkit.device.cold_l2("--cold" in flags)
    for library in ("pandas", "pyarrow"):  # built against a datetime of its size: loaded before ours takes its place
        if re.search(rf"\b({library}|labkit)\b", text) and importlib.util.find_spec(library):
            importlib.import_module(library)
    clocks.install(notes)
    clocks.watch_numpy(numpy, torch)
    clocks.watch_clock(labkit.device)
    _watch_device(notes, torch)
    clocks.COMPILED.slow_us = SLOW_FIRST_US if "--slow-first" in flags else 0.0
    clocks.COMPILED.watch(torch)
    if re.search(r"\b_dynamo\b|compile\b", text):
        clocks.COMPILED.hook()
    sys.argv = [script, *given]
    sys.path.insert(0, os.path.dirname(script))
    recorder, error = Recorder(shapes=True, stack=True), ""
    names = {"int": clocks.whole()} if re.search(r"int\(\s*(round\()?\s*(time\.|perf_counter|monotonic)", text) else {}
    written, values, touched = _written(out), None, contextlib.nullcontext()
    if "--values" in flags:
        from labkit.bench.lies.values import Values

        values = Values(notes)
        values.in_threads()
    if "--held" in flags:
        from labkit.bench.lies.touched import Touched

        touched = Touched(notes)
    if "--shapes" in flags:
        _end_with_its_threads()
    recorder.start()
    try:
        mode = values or (labkit.device.shapes_only() if "--shapes" in flags else contextlib.nullcontext())
        with mode, touched:
            runpy.run_path(script, names, run_name="__main__")
    except SystemExit as end:
        error = "" if end.code in (None, 0) else f"SystemExit: {end.code}"
    except BaseException as failed:  # whatever it is, what was seen until then counts
        error = f"{type(failed).__name__}: {failed}"
    session = recorder.stop()
    loaded = [getattr(m, "__file__", None) for m in list(sys.modules.values())]
    own = sorted({script, *(f for f in loaded if f and notes._own(f))})
    document = {"error": error, "files": own, "regions": _facts(notes, session, getattr(touched, "held", None))}
    document["apart"] = values.differences([r for r in notes.regions.values() if r.kept]) if values else []
    document["compared"] = [[*place, samples.among(notes, keys)] for place, keys in notes.compared.items()]
    document["written"] = [text for text in map(_report, dict.fromkeys(written)) if text]
    with open(out, "w", encoding="utf-8") as file:
        json.dump(document, file)
    sys.stdout.flush()
    os._exit(0)  # threads of the script must not keep the process


def _end_with_its_threads() -> None:
    """A thread that ends because it read a value ends the run too: the main thread may wait for what it was to say."""
    main, shown = threading.main_thread().ident, threading.excepthook
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored

    def ended(arguments: threading.ExceptHookArgs) -> None:
        shown(arguments)
        signal.pthread_kill(main, signal.SIGINT)

    threading.excepthook = ended


def _written(out: str) -> list[str]:
    """The list of files that are opened for writing from now on."""
    found: list[str] = []

    def opened(event: str, arguments: tuple) -> None:
        if event == "open" and isinstance(arguments[0], str) and set("wax+") & set(arguments[1] or ""):
            if arguments[0] != out and arguments[0].endswith(_REPORTS):
                found.append(os.path.abspath(arguments[0]))

    sys.addaudithook(opened)
    return found


def _report(name: str) -> str:
    """What a script wrote into a text file, where it is no longer than a report."""
    try:
        with open(name, encoding="utf-8") as file:
            return file.read(_LONGEST)
    except (OSError, UnicodeDecodeError):
        return ""


def _watch_device(notes: clocks.Notes, torch) -> None:
    """Events and waits, by the names by which a script reaches them."""
    import labkit.device
    from labkit.device import streams

    event = streams.Event
    record, elapsed = event.record, event.elapsed_time

    def recorded(self, stream=None):
        self._reading = notes.read("event")
        record(self, stream)

    def between(self, end):
        value = elapsed(self, end)
        if sys._getframe(1).f_code.co_filename.endswith(_KIT) and not _samples_of_kit(sys._getframe(1)):
            return value
        key = notes.region(self._reading, end._reading, "event", value * 1e3)
        notes.regions[key].kit = sys._getframe(1).f_code.co_filename.endswith(_KIT)
        return clocks.Span(value, frozenset([key]))

    event.record, event.elapsed_time = recorded, between

    def waiting(where, name: str):
        real = getattr(where, name)

        @functools.wraps(real)
        def waited(*arguments, **named):
            if where is not torch.Tensor or arguments[0].device.type != "cpu":
                notes.waits.append((clocks.lib().lab_host_ns(), name, notes.via()))
            try:
                return real(*arguments, **named)
            except RuntimeError:
                if labkit.device.only_shapes():  # whoever waits for the value may swallow the error, or wait for ever:
                    os._exit(0)  # the script is run again with values
                raise

        setattr(where, name, waited)

    begin = torch.npu.NPUGraph.capture_begin

    def captured(self, *arguments, **named):
        notes.captures += 1
        clocks.lib().lab_host_work(clocks.COMPILED.slow_us * 1e3)
        return begin(self, *arguments, **named)

    torch.npu.NPUGraph.capture_begin = captured
    for where in (torch.npu, torch.accelerator, torch.cuda, event, streams.Stream):
        waiting(where, "synchronize")
    for name in ("item", "cpu", "tolist", "numpy", "__float__", "__int__", "__index__", "__bool__"):
        waiting(torch.Tensor, name)

    def stepped(optimizer, *_) -> None:
        given = (p.numel() for g in optimizer.param_groups for p in g["params"] if p.grad is not None)
        notes.steps.append((clocks.lib().lab_host_ns(), id(optimizer), sum(given)))

    import torch.utils.benchmark
    import torch.utils.benchmark.utils.common as common
    from torch.optim.optimizer import register_optimizer_step_post_hook

    register_optimizer_step_post_hook(stepped)

    def times(self):  # whoever asks for a median or prints the measurement comes by here; a warm-up's nobody asks for
        for span in self._times:
            notes.measurements |= getattr(span, "keys", frozenset())
            notes.touch(span)
        return self._times

    common.Measurement.raw_times = property(times, lambda self, values: setattr(self, "_times", values))
    timer = torch.utils.benchmark.Timer  # what it does can be seen in a hundredth of its default time

    def block(self, min_run_time):
        """Calls in a block. Its own rule asks for a ten thousandth of overhead: here 10,000 calls and more."""
        self._timeit(_BLOCK)
        return _BLOCK

    if hasattr(timer, "_estimate_block_size"):
        timer._estimate_block_size = block
    for name, limits in (
        ("blocked_autorange", {"min_run_time": 0.005}),
        ("adaptive_autorange", {"min_run_time": 0.002, "max_run_time": 0.01}),
        ("timeit", {"number": 200}),
    ):
        setattr(timer, name, _limited(getattr(timer, name), limits))


def _samples_of_kit(frame) -> bool:
    """Is this a sample that labkit.bench will report, and none of its warm-up, nor a window of a throughput, whose
    events lie in each other?"""
    while frame is not None and frame.f_code.co_filename.endswith(_KIT):
        if frame.f_code.co_name in ("warm_up", "_windows"):
            return False
        frame = frame.f_back
    return True


def _limited(function, limits: dict[str, float]):
    signature = inspect.signature(function)

    @functools.wraps(function)
    def made(*arguments, **named):
        given = signature.bind(*arguments, **named)
        given.apply_defaults()
        given.arguments.update({k: min(given.arguments[k], v) for k, v in limits.items()})
        return function(*given.args, **given.kwargs)

    return made


# ---- from the run to facts about each region


def _beside(inside: list, marks: list[tuple], end: float) -> float:
    """ns that work is still under way when the event that ends the region is there, where none of it is on the event's
    stream: the two events time nothing of it. marks: (issued, stream, done) of each record of an event."""
    at = bisect.bisect_left(marks, (end,))
    if at == len(marks) or not inside or any(t.stream == marks[at][1] for t in inside):
        return 0.0
    return max(0.0, max(t.end for t in inside) - marks[at][2])


def _facts(notes: clocks.Notes, session, found=None) -> list[dict]:
    """A dict for each measurement. found: the share of a region's inputs in the L2, for whoever asked for it."""
    tasks = [t for t in session.tasks if not t.kind.startswith("event")]
    issued = [t.issued for t in tasks]
    marks = sorted((t.issued, t.stream, t.end) for t in session.tasks if t.kind == "event_record")

    def works(r: Region) -> set:
        inside = tasks[bisect.bisect_left(issued, r.start) : bisect.bisect_right(issued, r.end)]
        return {(t.name, *(o.shape for o in (*t.inputs, *t.outputs))) for t in inside}

    regions, thrown = samples.measured(notes, works)
    roots = _roots(session.ranges)
    ranges = [(r.start, i) for i, r in enumerate(session.ranges) if r.kind in ("op", "backward")]
    starts = [s for s, _ in ranges]
    working = {t.range for t in tasks}
    for i in sorted(working, reverse=True):  # an operator works on the device if one within it does
        while i >= 0:
            working.add(i)
            i = session.ranges[i].parent
    waits = [c for c in session.calls if "Synchronize" in c.name]
    wait_starts = [c.start for c in waits]
    ends = _ends(tasks)
    first: dict[str, float] = {}
    for t in tasks:
        if t.kind == "kernel":
            first.setdefault(t.name, t.issued)
    said = sorted(notes.waits)
    made = []
    crossed = _crossed(regions)
    begun, over = sorted(r.start for r in regions), sorted(r.end for r in regions)
    previous: dict = {}
    for region in regions:
        inside = tasks[bisect.bisect_left(issued, region.start) : bisect.bisect_right(issued, region.end)]
        held = waits[bisect.bisect_left(wait_starts, region.start) : bisect.bisect_right(wait_starts, region.end)]
        kernels = [t for t in inside if t.kind == "kernel"]
        last, launched = (max((t.issued for t in own), default=region.start) for own in (inside, kernels or inside))
        spans = ranges[bisect.bisect_left(starts, region.start) : bisect.bisect_right(starts, region.end)]
        tops = [session.ranges[i] for _, i in spans if session.ranges[i].parent < 0 or roots[i] == i]
        on_host = [
            session.ranges[i] for _, i in spans if i not in working and roots[i] == i and not looks(session.ranges[i])
        ]
        before = previous.get(region.via, region.start)
        explicit = [w for w in said if region.start <= w[0] <= region.end]
        between = [w for w in said if before <= w[0] <= region.start]
        previous[region.via] = region.end
        made.append(
            {
                "kind": region.kind,
                "clock": region.clock,
                "start": region.start / 1e3,
                "line": region.via[0] if region.via else None,
                "end_line": region.end_via[0] if region.end_via else None,
                "via": region.via,
                "value_us": region.value_us,
                "host_us": (region.end - region.start) / 1e3,
                "open": [
                    bisect.bisect_left(begun, t) - bisect.bisect_right(over, t) for t in (region.start, region.end)
                ],
                "among_threads": region.via in crossed,
                "held": found and found(region),
                "busy_us": _covered(inside) / 1e3,
                "beside_us": _beside(inside, marks, region.end) / 1e3 if region.kind == "event" else 0.0,
                "kernels": sum(t.kind == "kernel" for t in inside),
                "names": sorted({t.name for t in inside if t.kind == "kernel"}),
                "shapes": sorted({t.shape for k in inside for t in (*k.inputs, *k.outputs) if k.kind == "kernel"}),
                "dtypes": sorted({t.dtype for k in inside if k.kind == "kernel" for t in (*k.inputs, *k.outputs)}),
                "first": sorted({t.name for t in inside if t.kind == "kernel" and first[t.name] == t.issued}),
                "put_away": samples.put_away(region, inside, regions, works),
                "graphs": region.graphs,
                "again": region.again,
                "alone": region.alone,
                "among": region.among,
                "head_us": (_took(inside[0]) if inside else 0.0) / 1e3,
                "callers": sorted({place for r in tops for place in _caller(r, notes)}),
                "tool": region.tool,
                "kit": region.kit,
                "shown": region.shown,
                "parts": sorted(region.parts),
                "counts": sorted(region.counts),
                "thrown_us": thrown.get(id(region)),
                "calls_of": dict(Counter(t.name for t in inside if t.kind == "kernel")),
                "bytes": _passed(kernels),
                "takes": sorted({a.shape for t in inside[:1] for a in t.inputs}),
                "gives": sorted({o.shape for t in kernels[-1:] for o in t.outputs}),
                "gives_of": sorted({o.dtype for t in kernels[-1:] for o in t.outputs}),
                "takes_of": sorted({a.dtype for t in inside[:1] for a in t.inputs}),
                "sums": sorted({n for t in inside for n in map(_elements, (t.inputs, t.outputs)) if n}),
                "updates": sum({who: n for at, who, n in notes.steps if region.start <= at <= region.end}.values()),
                "backward": any("ackward" in session.ranges[i].name for _, i in spans),
                "beside": dict(Counter(name for at, name in notes.beside if region.start <= at <= region.end)),
                "pending_start_us": max(0.0, ends(region.start) - region.start) / 1e3,
                "pending_end_us": max(0.0, ends(region.end) - region.end) / 1e3,
                "waited_behind": any(c.end >= last for c in held),
                "waits": len(explicit),
                "waits_before_last": sum(w[0] < launched for w in explicit),
                "waits_by_reading": sum(w[1] != "synchronize" for w in explicit),
                "wait_us": sum(c.end - c.start for c in held) / 1e3,
                "wait_lines": _lines(explicit),
                "waits_between": len(between),
                "between_lines": _lines(between),
                "copies": sum(t.kind in ("copy_in", "copy_out") for t in inside),
                "moved_us": sum(_took(t) for t in kernels if short(t.name) in ("copy_", "clone")) / 1e3,
                "copy_us": sum(_took(t) for t in inside if t.kind in ("copy_in", "copy_out")) / 1e3,
                "copy_bytes": sum(t.bytes for t in inside if t.kind in ("copy_in", "copy_out")),
                "random_us": _making(tops, _RANDOM) / 1e3,
                "filled_us": _making(tops, _FILLED) / 1e3,
                "checks": checks({short(r.name) for r in tops}),
                "totals": sums(kernels),
                "makers": sorted({short(r.name) for r in tops if short(r.name) in _RANDOM | _FILLED}),
                "calls": len(tops),
                "on_host": dict(Counter(short(r.name) for r in on_host)),
                "host_dtypes": sorted({a.dtype for r in on_host for a in r.inputs or () if hasattr(a, "dtype")}),
                "host_shapes": sorted({a.shape for r in on_host for a in r.inputs or () if hasattr(a, "shape")}),
            }
        )
    return made


def _crossed(regions) -> set[tuple]:
    """Lines at which several threads measure at once: what lies in a region by time is not its own alone."""
    crossed, live = set(), []
    for region in sorted(regions, key=lambda r: r.start):
        live = [r for r in live if r.end > region.start]
        for other in live:
            if other.thread != region.thread:
                crossed |= {other.via, region.via}
        live.append(region)
    return crossed


def _caller(operator, notes: clocks.Notes) -> list[tuple[str, int]]:
    """The script's own line that called an operator."""
    for frame in operator.stack:
        name, _, rest = frame.rpartition("(")
        if notes.watched(name):
            return [(name, int(rest.partition(")")[0]))]
    return []


def _roots(ranges) -> list[int]:
    """For each range the outermost operator around it."""
    roots: list[int] = []
    for i, r in enumerate(ranges):
        within = r.parent >= 0 and ranges[r.parent].kind in ("op", "backward")
        roots.append(roots[r.parent] if within else i)
    return roots


def _took(task) -> float:
    return task.end - task.start


def _covered(tasks) -> float:
    """Time in which at least one of the tasks runs."""
    total, until = 0.0, 0.0
    for task in sorted(tasks, key=lambda t: t.start):
        total += max(0.0, task.end - max(until, task.start))
        until = max(until, task.end)
    return total


def _ends(tasks):
    """ends(t): when the device is done with what was issued until the host's time t."""
    at, until, latest = [], [], 0.0
    for task in tasks:
        latest = max(latest, task.end)
        at.append(task.issued)
        until.append(latest)

    def ends(t: float) -> float:
        i = bisect.bisect_right(at, t)
        return until[i - 1] if i else 0.0

    return ends


def _passed(kernels) -> int:
    """Bytes of all tensors that these kernels take and give, each time anew; 0 where one of them does not say it."""
    sides = [t for k in kernels for t in (k.inputs, k.outputs)]
    return sum(prod(t.shape) * _size(t.dtype) for side in sides for t in side) if all(sides) else 0


def _elements(tensors) -> int:
    """Of several tensors together; 0 of one, which has a shape."""
    return sum(prod(t.shape) for t in tensors) if len(tensors) > 1 else 0


@functools.lru_cache(maxsize=None)
def _size(dtype: str) -> int:
    import torch

    return getattr(torch, dtype).itemsize


def _making(tops, names: set[str]) -> float:
    return sum(r.end - r.start for r in tops if short(r.name) in names)


def _lines(waits) -> list:
    return [[*place, count] for place, count in Counter(w[2][0] for w in waits if w[2]).most_common(3)]


if __name__ == "__main__":
    main(sys.argv[1:])
