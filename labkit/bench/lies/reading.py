"""What a script's text says about its numbers: how samples are summed up, what it claims, how coarse its clock is."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from dataclasses import dataclass, field

from labkit.bench.lies.shown import shown
from labkit.bench.lies.tables import names_of_table
from labkit.bench.lies.units import finite, scale, step_of_rounding, wrong_units
from labkit.bench.lies.units import value as _value

CLOCKS = {
    "time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "thread_time",
    "process_time_ns", "thread_time_ns", "default_timer", "now", "utcnow", "elapsed_time", "timeit", "repeat",
    "blocked_autorange", "adaptive_autorange", "autorange", "clock_gettime", "clock_gettime_ns",
}  # fmt: skip
DEVICE_CLOCKS = {"host_us", "device_us"}  # of labkit.device.clock()
CPU_CLOCKS = {"process_time", "thread_time", "process_time_ns", "thread_time_ns"}
_SPREAD = {
    "percentile", "nanpercentile", "quantile", "nanquantile", "quantiles", "std", "nanstd", "stdev", "pstdev", "var",
    "variance", "pvariance", "iqr", "ptp", "sem", "mad", "median_abs_deviation", "describe", "boxplot", "hist", "ppf",
    "histogram", "violinplot", "interval", "bootstrap", "median", "median_high", "median_low", "nanmedian",
    "Compare", "fill_between", "errorbar", "kthvalue", "std_mean", "var_mean", "aminmax", "topk", "do_bench", "measure",
}  # fmt: skip
_TABLES = {"agg", "aggregate", "pivot_table", "apply"}
_SINKS = {"to_csv", "to_json", "to_parquet", "dump", "dumps", "writerow", "writerows", "savetxt", "save", "savez"}
_MEAN, _PASSING = {"mean", "fmean", "average", "nanmean"}, {"filter", "filterfalse", "compress"}
_TRIMS = {"trim_mean", "trimmed_mean", "trimboth", "trim1", "winsorize", "sigmaclip", "sigma_clip", "tmean"}
_CAPS = {"clip", "clamp", "minimum", "fmin", "delete", "masked_greater", "masked_where", "masked_outside", "between"}
_INDEX = r"^(round|lap|i|k|iter\w*|step|sample|run|rep\w*|index|idx|n|size|batch|rows|warm\w*|phase|epoch|shape)$"
_TIME = r"^(us|ms|ns|s|t|sec\w*|time\w*|lat\w*|dur\w*|micro\w*|milli\w*|elapsed\w*|value)$"
_SAID = (
    r"\bdrop(s|ped|ping)?\b(?!.?out)|discard|outlier|trim|exclud|reject|filter(ed)? out|remov|thrown|skipp|clipp"
    r"|winsor|\bkept\b|left out|set aside|\d+ of \d+|without (the )?\d+|interquartile mean|丢弃|离群|剔除"
)
_OF_WARMING = r"warm.?up|warming|first (\d+|few|call|lap|run|sample)|预热"


@dataclass
class Drop:
    line: int
    how: str
    end: int = 0  # its last line, where it is a comparison that can be seen when it runs


@dataclass
class Text:
    """What was read. quantum: the steps of the clock in us as the script reads it, where, and whether it is the clock
    itself that is rounded and no difference."""

    strings: str = ""
    numbers: set[float] = field(default_factory=set)  # that stand in the text
    docs: str = ""  # those of the strings that are docstrings
    words: set[str] = field(default_factory=set)
    inner: set[str] = field(default_factory=set)  # functions of which a loop that is all of another loop makes one call
    bare: set[tuple[str, int]] = field(default_factory=set)  # (file, line) of calls whose value nobody takes
    spreads: list[tuple[str, int]] = field(default_factory=list)  # (file, line) of what shows a spread
    mean_line: int = 0
    how: str = "mean"
    least: int = 0  # the line where the least sample is taken
    drops: list[Drop] = field(default_factory=list)
    quantum: tuple[float, int, bool] | None = None
    cpu_clock: tuple[str, int] | None = None
    units: list[tuple[int, str, str, str]] = field(default_factory=list)  # units.wrong_units

    @property
    def spread(self) -> bool:
        return bool(self.spreads)


def read(sources: dict[str, str]) -> Text:
    """sources: path -> text of each of the script's own files, the script first. Raises SyntaxError."""
    found = Text()
    for file, text in sources.items():
        with suppress(RecursionError):  # a sum of thousands of terms: what is not understood is no finding
            tree = ast.parse(text)
            _Reader(tree, found, file).run()
            found.units += wrong_units(tree)
            calls = (n for n in ast.walk(tree) if isinstance(n, ast.Expr) and isinstance(n.value, ast.Call))
            found.bare |= {(file, n.lineno) for n in calls}
    return found


def says(pattern: str, *texts: str) -> str | None:
    """The first word of the texts that the pattern matches, whatever its case."""
    for text in texts:
        if match := re.search(pattern, text, re.IGNORECASE):
            return match[0]
    return None


def names_outliers(text: str) -> bool:
    """Does a line say that samples are left out, and not only those of a warm-up?"""
    lines = (re.sub(r"[\s_]+", " ", line) for line in text.split("\n"))  # set_aside is a column of a table
    return any(says(_SAID, line) and not says(_OF_WARMING, line) for line in lines)


def _name(node) -> str:
    """The last part of a name: np.median -> median."""
    if isinstance(node, ast.Call):
        node = node.func
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Reader:
    def __init__(self, tree: ast.AST, found: Text, file: str = ""):
        self.tree, self.found, self.file = tree, found, file
        self.nodes = list(ast.walk(tree))
        self.times: set[str] = set()  # names that hold times, or lists of them
        self.orders: dict[str, int] = {}  # a name that was sorted, and from which line on
        self.masks: set[str] = set()  # a name that holds a comparison of times

    def run(self) -> None:
        texts = self._texts()
        self.found.strings += "\n" + "\n".join(texts)
        made = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        said = [ast.get_docstring(n, clean=False) for n in self.nodes if isinstance(n, made)]
        self.found.docs += "\n" + "\n".join(filter(None, said))
        for n in self.nodes:
            if isinstance(n, (ast.Name, ast.Attribute)):
                self.found.words.add(n.id if isinstance(n, ast.Name) else n.attr)
            elif isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self.found.words.add(n.name)
            elif isinstance(n, ast.keyword) and n.arg:
                self.found.words.add(n.arg)
            elif isinstance(n, ast.Constant) and finite(n.value) is not None:
                self.found.numbers.add(float(n.value))
            elif isinstance(n, ast.For) and len(n.body) == 1 and isinstance(within := n.body[0], ast.For):
                call = getattr(within.body[0], "value", None) if len(within.body) == 1 else None
                self.found.inner |= {_name(call)} if isinstance(call, ast.Call) else set()
        self._taint()
        self._statistics()
        self._drops()
        self._clocks()

    def _texts(self) -> list[str]:
        """The strings; of an f-string the whole, with 0 for what is filled in: f"64x{n}" is a shape, not "64 times"."""
        whole = [n for n in self.nodes if isinstance(n, ast.JoinedStr)]
        parts = {id(p) for n in whole for p in n.values}
        plain = [n for n in self.nodes if isinstance(n, ast.Constant) and id(n) not in parts]
        joined = ["".join(p.value if isinstance(p, ast.Constant) else " 0 " for p in n.values) for n in whole]
        return [n.value for n in plain if isinstance(n.value, str)] + joined

    # ---- which names hold times

    def _timed(self, node) -> bool:
        for n in _values(node):
            if isinstance(n, ast.Call) and _name(n) in CLOCKS:
                return True
            if isinstance(n, ast.Attribute) and n.attr in DEVICE_CLOCKS and isinstance(n.ctx, ast.Load):
                return True
            if isinstance(n, (ast.Name, ast.Attribute)) and _name(n) in self.times and isinstance(n.ctx, ast.Load):
                return True
        return False

    def _taint(self) -> None:
        makers = {n.name: n for n in self.nodes if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        for _ in range(6):
            before = len(self.times)
            for n in self.nodes:
                if isinstance(n, ast.Assign) and self._timed(n.value):
                    for target in n.targets:
                        self._hold(target)
                elif isinstance(n, (ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and n.value and self._timed(n.value):
                    self._hold(n.target)
                elif isinstance(n, (ast.For, ast.comprehension)) and self._timed(n.iter):
                    self._hold(n.target)
                elif isinstance(n, ast.Call) and _name(n) in ("append", "extend", "insert", "add", "update"):
                    if isinstance(n.func, ast.Attribute) and any(self._timed(a) for a in n.args):
                        self._hold(n.func.value)
                if isinstance(n, ast.Call) and _name(n) in makers:  # one's own add() too
                    for parameter, given in _bound(makers[_name(n)].args.args, n):
                        if self._timed(given) and not isinstance(given, ast.Lambda):
                            self.times.add(parameter)
            for name, function in makers.items():
                returned = [r.value for r in ast.walk(function) if isinstance(r, _GIVES) and r.value is not None]
                if any(self._timed(value) for value in returned):
                    self.times.add(name)
            if len(self.times) == before:
                break
        for n in self.nodes:
            if isinstance(n, ast.Assign) and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name):
                if self._sorts(n.value):
                    self.orders[n.targets[0].id] = n.lineno
                if self._masks(n.value):
                    self.masks.add(n.targets[0].id)
            if isinstance(n, ast.Call) and _name(n) == "sort" and isinstance(n.func, ast.Attribute):
                self.orders[_name(n.func.value)] = n.lineno

    def _hold(self, target) -> None:
        for n in ast.walk(target):
            if isinstance(n, ast.Attribute):
                self.times.add(n.attr)
            elif isinstance(n, ast.Name) and n.id != "self":
                self.times.add(n.id)

    def _sorts(self, node) -> bool:
        return isinstance(node, ast.Call) and _name(node) in _SORTING and self._timed(node)

    def _masks(self, node) -> bool:
        words = {_name(n) for n in ast.walk(node) if isinstance(n, ast.Attribute)} | set(_plain(node))
        if any(says(_INDEX, w) for w in words) and not any(says(_TIME, w) for w in words):
            return False  # a table's rows by their number
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], _ORDERS) and self._timed(node):
            return True
        compares = [n for n in ast.walk(node) if isinstance(n, ast.Compare) and isinstance(n.ops[0], _ORDERS)]
        plain = not any(isinstance(n, (ast.IfExp, ast.Lambda, ast.comprehension)) for n in ast.walk(node))
        return plain and any(self._timed(c) for c in compares)

    # ---- statistics

    def _statistics(self) -> None:
        least = most = 0
        places: dict[str, set[str]] = {}
        sums = {_name(n.target) for n in self.nodes if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)}
        sinks = []
        own = {n.name for n in self.nodes if isinstance(n, ast.FunctionDef)} & {"measure", "describe"}

        def shown(n) -> None:
            self.found.spreads.append((self.file, n.lineno))

        for n in self.nodes:
            name = _name(n) if isinstance(n, ast.Call) else ""
            if name in ("topk", "kthvalue") and not self._timed(n):
                continue  # the operator that is measured
            if name in _SPREAD - own or (name in ("stdev", "std") and n.args):
                shown(n)
            elif name in _TABLES and any(t in _SPREAD for t in _plain(n)):
                if self._timed(n) or any(self._put(name) for name in self._lists()):
                    shown(n)
            elif name in _SINKS:
                sinks.append(n)
            elif isinstance(n, ast.Attribute) and n.attr in ("iqr", "median", "raw_times", "times", "p99", "p90"):
                if isinstance(n.ctx, ast.Load) and self._timed(n.value) and not (n.attr in _OF_ONE and self._one_run()):
                    shown(n)
            elif name in _MEAN and self._timed(n):
                self.found.mean_line = self.found.mean_line or n.lineno
            elif name in ("min", "max") and any(k.arg == "key" for k in n.keywords):
                continue  # it picks a candidate, not a sample
            elif name in ("min", "amin") and self._timed(n):
                least = self.found.least = n.lineno
                if not self.found.mean_line:
                    self.found.mean_line, self.found.how = n.lineno, "min"
            elif name in ("max", "amax") and self._timed(n):
                most = n.lineno
            elif isinstance(n, ast.Subscript) and not isinstance(n.slice, ast.Slice) and _name(n.value) in self.orders:
                picked = places.setdefault(_name(n.value), set())
                picked.add(ast.unparse(n.slice))
                if _value(n.slice) == 0 and self._timed(n.value):
                    self.found.least = n.lineno
                if len(picked) > 1 or any(isinstance(x, (ast.BinOp, ast.Call)) for x in ast.walk(n.slice)):
                    shown(n)
            elif (
                isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) and _value(n.right) == 2 and self._timed(n.left)
            ):
                shown(n)  # a sum of squares
            elif name == "print" and any(
                isinstance(a, ast.Name) and self._is_list(a.id) or isinstance(a, ast.Call) and _name(a) in _TOOLS
                for a in n.args
            ):
                shown(n)
            elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div) and self._timed(n.left):
                if _name(n.left) in ("sum", *sums):
                    self.found.mean_line = self.found.mean_line or n.lineno
        if least and most:
            self.found.spreads.append((self.file, most))
        for n in sinks:  # a file of all samples shows their spread, a file of means does not
            if not self.found.mean_line or self._raw(n):
                shown(n)

    def _one_run(self) -> bool:
        """Is torch.utils.benchmark asked for nothing but timeit(), which takes one sample?"""
        calls = {_name(n) for n in self.nodes if isinstance(n, ast.Call)} & (_TOOLS | {"repeat"})
        return calls == {"timeit"}

    def _raw(self, node) -> bool:
        """Is a list of all samples in it, and not only its mean or its length?"""
        if isinstance(node, ast.Call) and _name(node) in _MEAN | {"sum", "min", "max", "len"}:
            return False
        if isinstance(node, ast.Name) and self._is_list(node.id):
            put = self._put(node.id)  # a dict is a row of a table of results
            return not put or not all(isinstance(x, ast.Dict) for x in put)
        return any(self._raw(child) for child in ast.iter_child_nodes(node))

    def _put(self, name: str) -> list:
        """What is appended to a list of that name."""
        calls = [n for n in self.nodes if isinstance(n, ast.Call) and _name(n) == "append" and n.args]
        return [n.args[0] for n in calls if isinstance(n.func, ast.Attribute) and _name(n.func.value) == name]

    def _lists(self) -> set[str]:
        """Names of lists of samples, also as rows of a table."""
        made = [n.args[0].id for n in self.nodes if isinstance(n, ast.Call) and _name(n) == "DataFrame" and n.args
                and isinstance(n.args[0], ast.Name)]  # fmt: skip
        return set(made)

    def _is_list(self, name: str) -> bool:
        """A name that holds all samples, or what torch.utils.benchmark reports of them."""
        if name not in self.times:
            return False
        if self._put(name):
            return True
        for n in self.nodes:
            if isinstance(n, ast.Assign) and any(_name(t) == name for t in n.targets):
                if isinstance(n.value, (ast.ListComp, ast.List)) or _name(n.value) in (_TOOLS | {"sorted", "repeat"}):
                    return True
        return False

    # ---- samples that are left out

    def _drops(self) -> None:
        drop = self.found.drops.append
        counted = {
            id(a) for n in self.nodes if isinstance(n, ast.Call) and _name(n) in ("len", "any", "all") for a in n.args
        }
        for n in self.nodes:
            if isinstance(n, (ast.ListComp, ast.GeneratorExp)) and len(n.generators) == 1:
                part = n.generators[0]
                if id(n) in counted or isinstance(n.elt, ast.Constant) or names_of_table(n):
                    continue  # how many, or which: nothing is left out
                if part.ifs and self._timed(part.iter) and any(self._bounds(t, part.target) for t in part.ifs):
                    drop(Drop(n.lineno, "filter", n.end_lineno))
            elif isinstance(n, ast.Call):
                name = _name(n)
                if name in _TRIMS and n.args and self._timed(n):
                    drop(Drop(n.lineno, name))
                elif name in _PASSING and len(n.args) == 2 and any(map(self._timed, n.args)):
                    drop(Drop(n.lineno, name))
                elif name == "nsmallest" and self._timed(n) and not (n.args and _value(n.args[0]) == 1):
                    drop(Drop(n.lineno, name))
                elif (
                    name in _CAPS and self._timed(n) or name == "where" and len(n.args) == 3 and self._masks(n.args[0])
                ):
                    drop(Drop(n.lineno, name))
                elif (
                    name == "query"
                    and self._timed(n)
                    and any(says(_TIME, word) for t in _plain(n) for word in re.findall(r"(\w+)\s*[<>]", t))
                ):
                    drop(Drop(n.lineno, name))
                elif name == "head" and isinstance(n.func, ast.Attribute) and self._sorts(n.func.value):
                    drop(Drop(n.lineno, name))
                elif name in ("remove", "discard") and n.args and self._timed(n):
                    if any(_name(c) in ("max", "min") for c in ast.walk(n.args[0]) if isinstance(c, ast.Call)):
                        drop(Drop(n.lineno, "remove"))
                elif (
                    name == "pop"
                    and isinstance(n.func, ast.Attribute)
                    and (_name(n.func.value) in self.orders or any(map(self._extreme, n.args)))
                ):
                    drop(Drop(n.lineno, "pop"))
            elif isinstance(n, ast.Delete):
                if any(isinstance(t, ast.Subscript) and self._extreme(t.slice) for t in n.targets):
                    drop(Drop(n.lineno, "del"))
            elif isinstance(n, ast.While):
                self._retry(n)
            elif isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load):
                if isinstance(n.slice, ast.Slice):
                    self._slice(n)
                elif self._timed(n.value) and (self._masks(n.slice) or _name(n.slice) in self.masks):
                    if not self._only_names(n, counted):
                        drop(Drop(n.lineno, "mask"))
            elif isinstance(n, ast.If) and self._masks(n.test) and not n.orelse:
                self._guard(n)

    def _only_names(self, mask: ast.Subscript, counted: set[int]) -> bool:
        """near = table[table.us < limit], of which only the number and the labels are used: which, not how long."""
        names = {_name(t) for n in self.nodes if isinstance(n, ast.Assign) and n.value is mask for t in n.targets}
        uses = [n for n in self.nodes if isinstance(n, ast.Name) and n.id in names and isinstance(n.ctx, ast.Load)]
        labels = {id(n.value) for n in self.nodes if isinstance(n, ast.Attribute) and n.attr in ("index", "empty")}
        return bool(uses) and all(id(n) in counted | labels for n in uses)

    def _extreme(self, node) -> bool:
        """The place of the largest or least sample: times.index(max(times)), np.argmax(times)."""
        calls = {_name(c) for c in ast.walk(node) if isinstance(c, ast.Call)}
        return bool(calls & {"max", "min", "argmax", "argmin"}) and self._timed(node)

    def _retry(self, n: ast.While) -> None:
        """A sample that is taken again until it is short: while t > limit: t = lap(), or a return under a limit."""
        inner = [x for part in n.body for x in ast.walk(part)]
        for x in inner:
            if isinstance(x, ast.If) and self._masks(x.test) and isinstance(x.test, ast.Compare):
                given = {_name(r.value) for r in x.body if isinstance(r, ast.Return) and r.value is not None}
                if given and _name(x.test.left) in given and isinstance(x.test.ops[0], (ast.Lt, ast.LtE)):
                    self.found.drops.append(Drop(x.lineno, "retry", x.test.end_lineno))
        if isinstance(n.test, ast.Compare) and isinstance(n.test.ops[0], (ast.Gt, ast.GtE)) and self._timed(n.test):
            name = _name(n.test.left)
            again = [x for x in inner if isinstance(x, ast.Assign) and any(_name(t) == name for t in x.targets)]
            kept = [x for x in inner if _name(x) in ("append", "extend") or isinstance(x, ast.AugAssign)]
            if name and not kept and any(self._timed(x.value) for x in again):
                self.found.drops.append(Drop(n.lineno, "retry", n.test.end_lineno))

    def _bounds(self, test, target) -> bool:
        """Does the test hold the sample against a limit?"""
        names = {x.id for x in ast.walk(target) if isinstance(x, ast.Name)}
        compares = [c for c in ast.walk(test) if isinstance(c, ast.Compare) and isinstance(c.ops[0], _ORDERS)]
        return any(names & {x.id for x in ast.walk(c) if isinstance(x, ast.Name)} for c in compares)

    def _slice(self, n: ast.Subscript) -> None:
        lower, upper = n.slice.lower, n.slice.upper
        in_order = self._sorts(n.value) or 0 < self.orders.get(_name(n.value), 0) <= n.lineno and self._timed(n.value)
        if in_order and (lower is not None or upper is not None) and id(n) not in shown(self.nodes):
            self.found.drops.append(Drop(n.lineno, "sorted"))

    def _guard(self, n: ast.If) -> None:
        """if t > limit: continue, or: if t < limit: times.append(t)"""
        if not any(self._timed(c) for c in ast.walk(n.test) if isinstance(c, ast.Compare)):
            return
        for inner in n.body:
            if isinstance(inner, ast.Continue):
                self.found.drops.append(Drop(n.lineno, "continue", n.test.end_lineno))
            elif isinstance(inner, ast.Expr) and (_name(inner.value) == "append" or isinstance(inner.value, ast.Yield)):
                if any(map(self._timed, getattr(inner.value, "args", [inner.value]))) and len(n.body) == 1:
                    self.found.drops.append(Drop(n.lineno, "append", n.test.end_lineno))

    # ---- the clock

    def _clocks(self) -> None:
        shows = [
            n for n in self.nodes if isinstance(n, ast.JoinedStr) or isinstance(n, ast.Call) and _name(n) == "print"
        ]
        printed = {id(part) for n in shows for part in ast.walk(n)}
        for n in self.nodes:
            quantum = None
            if isinstance(n, ast.Call) and _name(n) in CPU_CLOCKS:
                self.found.cpu_clock = self.found.cpu_clock or (_name(n), n.lineno)
            elif isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in ("int", "round") and n.args:
                if any(isinstance(c, ast.Call) and _name(c) in CLOCKS for c in ast.walk(n.args[0])):
                    if id(n) in printed:
                        continue
                    quantum = step_of_rounding(n)
            elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.FloorDiv):
                if any(isinstance(c, ast.Call) and _name(c) in CLOCKS for c in ast.walk(n.left)):
                    quantum = scale(n.left) * (_value(n.right) or 0)
            elif isinstance(n, ast.Attribute) and n.attr == "seconds" and self._timed(n.value):
                quantum = 1e6
            if quantum and quantum >= 1 and (self.found.quantum is None or quantum > self.found.quantum[0]):
                parts = list(ast.walk(n))
                plain = not any(isinstance(p, ast.Sub) or _name(p) in ("elapsed_time", "seconds") for p in parts)
                self.found.quantum = quantum, n.lineno, plain


_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_SORTING = {"sorted", "sort", "partition", "sort_values", "msort"}
_COUNTS = {"len", "shape", "numel", "size", "count", "qsize"}
_GIVES = (ast.Return, ast.Yield, ast.YieldFrom)
_OF_ONE = {"median", "iqr"}
_TOOLS = {"timeit", "blocked_autorange", "adaptive_autorange", "autorange"}


def _values(node):
    """The nodes of an expression, without what is only counted: len(times), times.shape."""
    todo = [node]
    while todo:
        n = todo.pop()
        if isinstance(n, ast.Call) and _name(n) in _COUNTS or isinstance(n, ast.Attribute) and n.attr in _COUNTS:
            continue
        yield n
        todo += ast.iter_child_nodes(n)


def _plain(node) -> list[str]:
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def _bound(parameters: list[ast.arg], call: ast.Call) -> list[tuple[str, ast.expr]]:
    """(name of a parameter, what the call gives for it)"""
    names = [p.arg for p in parameters]
    if isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords if k.arg in names)]
