"""Clocks for a script under observation: they show the virtual time, and remember who read them and what became of it.

A reading is a Tick, the difference of two is a Span: numbers that know the regions of the program they stand for. A
region is so what the script itself takes for one, however its timer is built: a class, a decorator, timeit.
"""

from __future__ import annotations

import asyncio
import builtins
import dataclasses
import datetime
import functools
import gc
import linecache
import numbers
import os
import statistics
import sys
import threading
import time
import timeit
from collections import Counter, deque
from collections.abc import KeysView, ValuesView
from dataclasses import dataclass
from types import GeneratorType

from labkit.bench.lies.words import decimals
from labkit.device.library import lib

READING_NS = 40.0  # what a reading of the clock costs the host here; two readings are never at the same time
_EPOCH_S = 1_767_225_600
_HOLDING = (list, tuple, set, frozenset, deque, KeysView, ValuesView)  # what a statistic is given its numbers in
_DEVICE = "device_us"
_TIMERS = ("timeit.py", "benchmark/utils/timer.py", "triton/testing.py", "contextlib.py", "functools.py")


@dataclass
class Region:
    """What lies between two readings. kind: "host" or "event". Times: ns of the host's virtual clock; for events those
    at which they were recorded. value_us: what the script takes for the duration. kept: it reached a statistic."""

    kind: str
    clock: str
    start: float
    end: float
    value_us: float
    via: tuple[tuple[str, int], ...]  # lines of the script's own files, innermost first, at the start
    end_via: tuple[tuple[str, int], ...]
    graphs: int = 0  # that torch.compile made within
    again: int = 0  # of these, for a function that it had compiled before
    tool: bool = False  # read by torch.utils.benchmark, which chooses how often it runs
    kit: bool = False  # taken by labkit.bench, which draws orders and gives intervals
    kept: bool = False
    shown: float | None = None  # the difference as the script sees it, in the unit of its clock
    parts: set[int] = dataclasses.field(default_factory=set)  # whole numbers by which the script divides it
    counts: set[int] = dataclasses.field(default_factory=set)  # whole numbers that the script divides by it
    numbers: tuple[int, int] = (0, 0)  # of the readings at its start, and the last one when the difference was made
    between: tuple[int, int] = (0, 0)  # the numbers of its two readings
    thread: int = 0  # that read its start
    touched: int = 0  # the last reading before a statistic or the output took it
    gone: int | None = None  # the last reading before nothing held its value any more
    among: bool = False  # it reached a statistic together with others
    alone: list[float] = dataclasses.field(default_factory=list)  # as which numbers the script wrote it out by itself


@dataclass
class _Reading:
    number: int
    clock: str
    at: float
    via: tuple[tuple[str, int], ...]
    graphs: int
    again: int
    tool: bool
    thread: int


class Notes:
    """What one observed run left."""

    def __init__(self, root: str, lines: set[str]):
        self.root, self.lines = root, lines
        self.regions: dict[tuple, Region] = {}
        self.waits: list[tuple[float, str, tuple]] = []  # (host ns at entry, name, via)
        self.captures = 0  # of graphs
        self.steps: list[tuple[float, int, int]] = []  # of optimizers: (host ns, which, elements it takes)
        self.beside: list[tuple[float, str]] = []  # (host ns, what): calls that are no work of the device
        self.holders: Counter[tuple] = Counter()  # by key of a region: the numbers that stand for it
        self.measurements: set[tuple] = set()  # regions of torch.utils.benchmark that it reports
        self.readings = 0
        self.compared: dict[tuple, set] = {}  # (file, line): regions whose values were held against something there
        self.answers = lambda place, value, other, how, true: true  # what the script is told of it

    def via(self) -> tuple[tuple[str, int], ...]:
        """The script's own frames, innermost first."""
        frame, found = sys._getframe(2), []
        while frame is not None:
            name = frame.f_code.co_filename
            if name in self.lines or self._own(name):
                found.append((name, frame.f_lineno))
            frame = frame.f_back
        return tuple(found)

    @functools.lru_cache(maxsize=None)  # noqa: B019  (one object a process)
    def _own(self, name: str) -> bool:
        return name.startswith(self.root + os.sep) and "site-packages" not in name

    def watched(self, name: str) -> bool:
        return name in self.lines or self._own(name) or name.startswith("<timeit") or name.endswith(_TIMERS)

    def read(self, clock: str) -> _Reading:
        library = lib()
        library.lab_host_work(READING_NS / 2)  # and half behind: nothing else happens at the time of a reading
        at = library.lab_host_ns()
        library.lab_host_work(READING_NS / 2)
        self.readings += 1
        made, again = graphs()
        tool, thread = _by_torch(sys._getframe(2)), threading.get_ident()
        return _Reading(self.readings, clock, at, self.via(), made + self.captures, again, tool, thread)

    def region(self, start: _Reading, end: _Reading, kind: str = "host", value_us=None, shown=None) -> tuple:
        key = (kind, start.number, end.number)
        if key not in self.regions:
            value = (end.at - start.at) / 1e3 if value_us is None else value_us
            self.regions[key] = Region(
                kind, start.clock, start.at, end.at, value, start.via, end.via,
                end.graphs - start.graphs, max(0, end.again - start.again), end.tool, shown=shown,
                numbers=(start.number, self.readings), between=(start.number, end.number), thread=start.thread,
            )  # fmt: skip
        return key

    def compares(self, value, other, how: str, true: bool) -> bool:
        """The line that is running compares two numbers, regions or plain readings. What it sorts are samples."""
        frame = sys._getframe(2)
        place = frame.f_code.co_filename, frame.f_lineno
        self.compared.setdefault(place, set()).update(getattr(value, "keys", ()))
        if hasattr(other, "keys") and ".sort(" in linecache.getline(*place):
            self.touch(value, other, among=True)
        return self.answers(place, value, other, how, true)

    def touch(self, *values, among: bool = False) -> None:
        """These values reach a statistic or the output. among: others reach it with them."""
        for value in values:
            if isinstance(value, (Span, NsSpan)):
                for key in value.keys:
                    self.regions[key].kept, self.regions[key].touched = True, self.readings
                    self.regions[key].among |= among
            elif isinstance(value, _HOLDING) and isinstance(next(iter(value), None), (Span, NsSpan, list, tuple)):
                self.touch(*value, among=len(value) > 1)


NOTES: Notes | None = None


def _by_torch(frame) -> bool:
    return frame.f_code.co_filename.endswith(_TIMERS[1])


def graphs() -> tuple[int, int]:
    """Graphs that torch.compile has made so far, and how often it compiled again what it had compiled before."""
    inside = sys.modules.get("torch._dynamo.utils")
    return inside.counters["stats"].get("unique_graphs", 0) if inside else 0, COMPILED.again


class _Compiled:
    """How often a function's code was compiled again. Each torch.compile() of it may compile it once, and once more
    after torch._dynamo.reset(): that is a first compilation, whenever it comes. slow_us: what a compilation costs more
    than it does."""

    def __init__(self):
        self.objects: Counter = Counter()  # torch.compile() calls for a code
        self.free: dict = {}  # first compilations that are still to come
        self.old: set = set()  # codes of which those belong to objects from before a reset
        self.again, self.slow_us, self._hooked = 0, 0.0, False

    def watch(self, torch) -> None:
        real = torch.compile

        @functools.wraps(real)
        def compile(model=None, *arguments, **named):
            self.hook()
            function = getattr(getattr(model, "__self__", model), "forward", getattr(model, "func", model))
            code = getattr(getattr(function, "__func__", function), "__code__", None)
            if code is not None:
                self.objects[code] += 1
                left = 0 if code in self.old else self.free.get(code, 0)  # a new object takes the old one's place
                self.old.discard(code)
                self.free[code] = left + 1
            return real(model, *arguments, **named)

        torch.compile = compile  # the name that its own decorator form and Module.compile() call, too

    def hook(self) -> None:
        """Importing dynamo takes a second: for a script that compiles."""
        if self._hooked:
            return
        self._hooked = True
        from torch import _dynamo as dynamo
        from torch._dynamo import convert_frame as frames

        compile_frame, reset = frames._compile, dynamo.reset

        @functools.wraps(compile_frame)
        def compiles(code, *arguments, **named):
            if not self.free.get(code, 1):
                self.again += 1
            self.free[code] = max(0, self.free.get(code, 1) - 1)
            lib().lab_host_work(self.slow_us * 1e3)
            return compile_frame(code, *arguments, **named)

        @functools.wraps(reset)
        def resets():
            self.free = {code: max(1, self.objects[code]) for code in {*self.free, *self.objects}}
            self.old = set(self.objects)
            return reset()

        frames._compile, dynamo.reset = compiles, resets


COMPILED = _Compiled()


def _arithmetic(plain, name: str):
    """An operation with real numbers; NotImplemented with an array, a tensor, a timedelta: they know what to do."""
    operation = getattr(plain, name)

    def made(self, *others):
        value = operation(plain(self), *others)
        if value is NotImplemented and all(isinstance(other, numbers.Real) for other in others):
            return getattr(float, name)(float(self), *map(float, others))
        return value

    return made


def _number(plain):
    """Span over float or int: arithmetic with numbers keeps the regions, with another Span joins them."""

    def keep(name: str):
        operation = _arithmetic(plain, name)

        def made(self, *others):
            value = operation(self, *others)
            if value is NotImplemented:
                return value
            keys = self.keys
            if name in ("__truediv__", "__floordiv__") and len(keys) == 1 and type(others[0]) is int:
                NOTES.regions[next(iter(keys))].parts.add(others[0])
            if name == "__rtruediv__" and len(keys) == 1 and type(others[0]) is int:
                NOTES.regions[next(iter(keys))].counts.add(others[0])
            for other in others:
                keys = keys | getattr(other, "keys", frozenset())
            return (NsSpan if isinstance(value, int) else Span)(value, keys)

        return made

    names = "add radd sub rsub mul rmul truediv rtruediv floordiv neg abs round".split()
    return {f"__{name}__": keep(f"__{name}__") for name in names if hasattr(plain, f"__{name}__")}


def _shown(plain):
    def shown(name: str):
        def made(self, *rest):
            NOTES.touch(self)
            text = getattr(plain, name)(plain(self), *rest)
            if len(self.keys) == 1:
                NOTES.regions[next(iter(self.keys))].alone += decimals(text)
            return text

        return made

    return {f"__{name}__": shown(f"__{name}__") for name in ("format", "repr", "str")}


def _compared(plain):
    def compare(name: str):
        def made(self, other):
            return NOTES.compares(self, other, name, getattr(plain, name)(self, other))

        return made

    return {f"__{name}__": compare(f"__{name}__") for name in ("lt", "le", "gt", "ge")}


def _new(plain):
    def new(cls, value, keys=frozenset()):
        made = plain.__new__(cls, value)
        made.keys = keys
        NOTES.holders.update(keys)
        return made

    return new


def _gone(self) -> None:
    """Nothing holds this number any more: where it was the last of its region, the script has put the reading away."""
    for key in self.keys:
        NOTES.holders[key] -= 1
        if not NOTES.holders[key]:
            NOTES.regions[key].gone = NOTES.readings


def _span(plain) -> dict:
    own = {"__new__": _new(plain), "__del__": _gone, "__hash__": plain.__hash__}
    return own | _number(plain) | _shown(plain) | _compared(plain)


Span = type("Span", (float,), _span(float))
NsSpan = type("NsSpan", (int,), _span(int))


def _tick(plain, span):
    def new(cls, value, reading=None):
        made = plain.__new__(cls, value)
        made.reading = reading
        return made

    def minus(self, other):
        if isinstance(other, (Tick, NsTick)):
            value, begin, end = plain(self) - plain(other), other.reading, self.reading
            device = begin.clock == end.clock == _DEVICE
            found = ("event", float(value)) if device else ("host", None)
            return span(value, frozenset([NOTES.region(begin, end, *found, shown=float(value))]))
        return plain(self) - other

    def scaled(name: str):
        operation = _arithmetic(plain, name)

        def made(self, *others):
            value = operation(self, *others)
            kind = Tick if isinstance(value, float) else NsTick
            return value if value is NotImplemented else kind(value, self.reading)

        return made

    names = ["__mul__", "__rmul__", "__truediv__", "__floordiv__", "__round__"]
    names += [name for name in ("__floor__", "__ceil__", "__trunc__") if hasattr(plain, name)]
    own = {"__new__": new, "__sub__": minus, "__hash__": plain.__hash__}
    return own | {name: scaled(name) for name in names} | _compared(plain)


Tick = type("Tick", (float,), _tick(float, Span))
NsTick = type("NsTick", (int,), _tick(int, NsSpan))


def _clock(name: str, real, base_s: float, nanoseconds: bool):
    @functools.wraps(real)
    def read(*which):
        if NOTES is None or not NOTES.watched(sys._getframe(1).f_code.co_filename):
            return real(*which)
        at = (reading := NOTES.read("process_time" if which and which[0] in _CPU else name)).at
        return NsTick(round(at) + int(base_s) * 10**9, reading) if nanoseconds else Tick(base_s + at * 1e-9, reading)

    return read


def watch_clock(device) -> None:
    """labkit.device.clock(): two clocks in one reading, the host's and when the device will be idle."""
    real = device.clock

    @functools.wraps(real)
    def clock():
        if NOTES is None or not NOTES.watched(sys._getframe(1).f_code.co_filename):
            return real()
        reading, now = NOTES.read("labkit.device.clock"), real()
        idle = dataclasses.replace(reading, clock=_DEVICE)
        return now._replace(host_us=Tick(reading.at / 1e3, reading), device_us=Tick(now.device_us, idle))

    device.clock = clock


def whole(real=int):
    """An int() that keeps what a Tick stands for: int(time.time() * 1000). For the script's own names only."""

    import numpy

    checks = {"__instancecheck__": lambda _, value: isinstance(value, real)}
    checks["__subclasscheck__"] = lambda _, other: issubclass(other, real)

    class made(int, metaclass=type("Meta", (type,), checks)):
        dtype = numpy.dtype(real)  # of numpy.zeros(3, dtype=int), which else would hold objects

        def __new__(cls, value=0, *rest, **base):
            if type(value) in (Tick, NsTick):
                return NsTick(real(value), value.reading)
            return real(value, *rest, **base)

    return made


_CPU = [getattr(time, f"CLOCK_{name}_CPUTIME_ID", None) for name in ("PROCESS", "THREAD")]


class Moment(datetime.datetime):
    """datetime.now(): the difference of two is a region as well."""

    reading: _Reading

    @classmethod
    def now(cls, tz=None):
        return cls._read(super().now, tz, tz)

    @classmethod
    def today(cls):
        return cls._read(super().today, None)

    @classmethod
    def utcnow(cls):
        return cls._read(super().utcnow, datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def _read(cls, real, tz, *arguments):
        if NOTES is None or not NOTES.watched(sys._getframe(2).f_code.co_filename):
            return real(*arguments)
        reading = NOTES.read("datetime.now")
        made = cls.fromtimestamp(_EPOCH_S + reading.at * 1e-9, tz)
        made.reading = reading
        return made

    def replace(self, *arguments, **named):
        made = super().replace(*arguments, **named)
        if hasattr(self, "reading"):
            made.reading = self.reading
        return made

    def timestamp(self):
        return Tick(super().timestamp(), self.reading) if hasattr(self, "reading") else super().timestamp()

    def __sub__(self, other):
        value = super().__sub__(other)
        if isinstance(other, Moment) and hasattr(self, "reading") and hasattr(other, "reading"):
            key = NOTES.region(other.reading, self.reading, shown=value.total_seconds())
            NOTES.regions[key].kept = True
        return value


_CLOCKS = ("time", "perf_counter", "monotonic", "process_time", "thread_time")


def install(notes: Notes) -> None:
    """From now on the script's readings are watched."""
    global NOTES
    NOTES = notes
    before = timeit.default_timer
    for name in _CLOCKS:
        base = _EPOCH_S if name == "time" else 100
        setattr(time, name, _clock(name, getattr(time, name), base, False))
        setattr(time, f"{name}_ns", _clock(name, getattr(time, f"{name}_ns"), base, True))
    for name, nanoseconds in (("clock_gettime", False), ("clock_gettime_ns", True)):
        setattr(time, name, _clock("perf_counter", getattr(time, name), 100, nanoseconds))
    asyncio.BaseEventLoop.time = _clock("monotonic", asyncio.BaseEventLoop.time, 100, False)
    timeit.default_timer = time.perf_counter
    for function in (timeit.Timer.__init__, timeit.timeit, timeit.repeat):
        function.__defaults__ = tuple(time.perf_counter if d is before else d for d in function.__defaults__)
    slept = time.sleep
    time.sleep = lambda seconds: lib().lab_host_work(float(seconds) * 1e9) if 0 <= seconds < 3600 else slept(seconds)
    for where, name in ((time, "sleep"), (builtins, "print"), (gc, "collect")):
        setattr(where, name, _beside(getattr(where, name), name))
    datetime.datetime = Moment
    for name in ("sum", "min", "max", "sorted"):
        setattr(builtins, name, _touching(getattr(builtins, name)))
    for name in ("mean", "fmean", "median", "stdev", "pstdev", "variance", "quantiles", "geometric_mean"):
        setattr(statistics, name, _touching(getattr(statistics, name)))


def _beside(function, name: str):
    @functools.wraps(function)
    def made(*arguments, **named):
        if NOTES is not None and NOTES.watched(sys._getframe(1).f_code.co_filename):
            NOTES.beside.append((lib().lab_host_ns(), name))
        return function(*arguments, **named)

    return made


def watch_numpy(numpy, torch) -> None:
    names = "array asarray mean median percentile quantile std var min max amin amax sum average sort fromiter"
    for name in names.split():
        setattr(numpy, name, _touching(getattr(numpy, name), name == "fromiter"))
    torch.Tensor.pin_memory = _beside(torch.Tensor.pin_memory, "pin_memory")
    for name in ("tensor", "as_tensor"):
        setattr(torch, name, _touching(getattr(torch, name), False))


def _touching(function, consumes: bool = True):
    """consumes: it takes what a generator gives; the script's own are read before, to see what that is."""

    @functools.wraps(function)
    def made(*arguments, **named):
        if NOTES is not None and not _by_torch(sys._getframe(1)):  # its Timer takes max() of each reading
            if consumes:
                own = (isinstance(a, GeneratorType) and NOTES.watched(a.gi_code.co_filename) for a in arguments)
                arguments = [list(a) if mine else a for a, mine in zip(arguments, own)]
            NOTES.touch(*arguments)
        return function(*arguments, **named)

    return made
