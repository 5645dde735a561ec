"""The simulated device's operators against published times: how far each class is off, and where its constants come
from. Times are asked of the device's own cost function (lab_operator_ns), from shapes alone.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial

from labkit import chips, messages, paths
from labkit.calibration.accuracy import quantile
from labkit.calibration.fit import write as write_constants
from labkit.device import library, rates

_BYTES = {"half": 2, "bfloat16": 2, "float": 4, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "bool": 1}
_FLOATING = ("half", "bfloat16", "float")
# What the L2 holds when the operator begins: nothing (a benchmark that evicts it), its arguments, or what others of its
# kind leave that pass over more than it has room for (an optimizer's step).
STATES = ("cold", "warm", "stream")

# constant -> (start, how far it may be off: the factor that is one standard deviation). Vector classes all start alike:
# launches of 1.5 us, 8 cycles for 64 elements. What no row tells about stays there.
_SHARED = {
    "hbm": (1.6e12, 1.15),  # msopprof's 1.8 TB/s; 1.49 read by the published data_copy
    "l2_read": (3.3e12, 1.3),  # skillyard: 32 MB at 3.4 TB/s
    "l2_write": (3.3e12, 1.3),
    "back": (0.5, 1.5),
    "turn": (0.7, 1.5),
    "spread": (200e-9, 1.3),  # second review: 0.5 us on one core, 1.0 on 12, 1.1 on 20, 1.6 to 2.1 on 48
    "exposed": (0.6, 1.3),
    "cube_load": (100.0, 1.5),  # mskpp GM_TO_L1: 158 bytes/cycle on one core
    "int64_repeat": (240.0, 2.0),
    "ragged": (2.0, 2.0),
    "strided": (3.0, 2.0),
    "strided_row": (200.0, 2.0),
}
_KEYS = ("fixed", "block", "repeat", "row")
_VECTOR = ((1.5e-6, 1.2), (20e-9, 3.0), (8.0, 4.0), (100.0, 4.0))
_OWN = {
    "fill": ((1.3e-6, 1.2), (20e-9, 3.0), (1.0, 2.0), (1.0, 1.01)),
    "transpose": ((1.5e-6, 1.1), (60e-9, 3.0), (64.0, 2.0), (100.0, 2.0)),
    "gather": ((1.5e-6, 1.2), (20e-9, 3.0), (640.0, 4.0), (1.0, 1.01)),
    "optimizer": ((1.5e-6, 1.2), (200e-9, 3.0), (16.0, 4.0), (1.0, 1.01)),  # every core reads the scalars itself
    "foreach": ((1.5e-6, 1.2), (200e-9, 3.0), (8.0, 4.0), (1.0, 1.01)),
    "matmul": ((1.9e-6, 1.1), (60e-9, 3.0), (1.05, 1.15), (500.0, 2.0)),  # 64^3 takes 1.9 us (cann-bench)
    "attention": (
        (12.2e-6, 1.2),  # launch.mixed, and of pto-isa's cost model 10905 + 1788 + 1000 cycles
        (60e-9, 1.1),  # cores start as for a product: long sequences alone cannot tell it from a task's work
        (18.0, 2.0),
        (2000.0, 2.0),
    ),
    # no rows: times the forward's repeat, by what the second review found missing (a roofline is 59 % low; for the
    # forward 10 % high)
    "norm_backward": ((1.5e-6, 1.2), (20e-9, 3.0), (57.0, 1.01), (100.0, 4.0)),
    # no rows: mskpp's Sort32 and five levels of MrgSort, 32 + 5 * 33 cycles for 64 records
    "sort": ((1.5e-6, 1.2), (20e-9, 3.0), (200.0, 1.01), (500.0, 1.01)),
}
CLASSES = tuple(n for n in chips.load()["operators"] if n not in _SHARED)
CONSTANTS = {f"operators.{n}": p for n, p in _SHARED.items()} | {
    f"operators.{c}.{key}": p for c in CLASSES for key, p in zip(_KEYS, _OWN.get(c, _VECTOR))
}
_SIGMA = 0.15  # of a figure: operators of a class differ, and so do the versions of CANN that were measured
_FEW = 4  # rows of a class that another source must have, or the class is not cross-validated for this one


@dataclass(eq=False)
class Row:
    """A published time. how: dim=, groups=, causal, in place; perm= or stride=: how a copy's source lies."""

    id: str
    source: str
    chip: str
    operator: str
    state: str
    launches: int
    us: float
    operands: ctypes.Array
    along: list[int]
    groups: int
    causal: bool
    traffic: ctypes.Array = field(default_factory=lambda: (ctypes.c_double * 4)(-1, 0, 0, 0))
    kind: str = ""

    def modelled(self) -> float:
        """us on the chip whose constants the device has; what passes the L2 is worked out the first time."""
        found = ctypes.c_char_p()
        ns = library.lib().lab_operator_ns(
            self.operator.encode(),
            self.operands,
            len(self.operands),
            (ctypes.c_longlong * max(1, len(self.along)))(*self.along),
            len(self.along),
            self.groups,
            self.causal,
            STATES.index(self.state),
            self.traffic,
            found,
        )
        self.kind = (found.value or b"").decode()
        return ns / 1e3


def row(operator: str, inputs: str, outputs: str, how: str = "", state: str = "warm", **more) -> Row:
    """inputs, outputs: tensors as "half[4096x128];float[128]". Raises ValueError for an operator that the device is
    never charged for, because PyTorch takes it apart before."""
    if composite(operator):
        raise ValueError(messages.text("device.composite", name=operator))
    tensors = []
    for text, written in ((inputs, False), (outputs, True)):
        for i, (dtype, size) in enumerate(re.findall(r"(\w+)\[([^\]]*)\]", text)):
            sizes = [int(n) for n in size.split("x") if n]
            strides = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
            if not written and (found := re.search(r"perm=([\d,]+)", how)):
                order = [int(n) for n in found[1].split(",")]
                sizes, strides = [sizes[k] for k in order], [strides[k] for k in order]
            if not written and (found := re.search(r"stride=([\d,]+)", how)):
                strides = [int(n) for n in found[1].split(",")]
            same = i if written and "in place" in how else -1
            tensors.append((sizes, strides, _BYTES[dtype], dtype in _FLOATING, not written, written, same))
    operands = (library.Operand * len(tensors))()
    for operand, (sizes, strides, *rest) in zip(operands, tensors):
        operand.sizes[: len(sizes)], operand.strides[: len(sizes)] = sizes, strides
        operand.dims, operand.item, operand.floating, operand.reads, operand.writes, operand.same = len(sizes), *rest
    dims, groups = re.search(r"dim=(-?\d+)", how), re.search(r"groups=(\d+)", how)
    return Row(
        operator=operator,
        state=state,
        operands=operands,
        along=[int(dims[1])] if dims else [],
        groups=int(groups[1]) if groups else 0,
        causal="causal" in how,
        **({"id": "", "source": "", "chip": chips.DEFAULT, "launches": 1, "us": 0.0} | more),
    )


@lru_cache
def composite(operator: str) -> bool:
    """Whether PyTorch makes it of other operators (aten::linear: addmm or mm), which the device then is charged for."""
    import torch

    from labkit import device

    device.install()
    space, _, name = operator.partition("::")
    packet = getattr(getattr(torch.ops, space), name, None)
    if packet is None:
        return False

    def has(key: str) -> list[bool]:
        found = []
        for overload in (o for o in packet.overloads() if "out" not in o):
            with contextlib.suppress(RuntimeError):  # one of TorchScript's own, which nothing dispatches
                full = operator if overload == "default" else f"{operator}.{overload}"
                found.append(torch._C._dispatch_has_kernel_for_dispatch_key(full, key))
        return found

    return all(has("CompositeImplicitAutograd")) and not any(has("PrivateUse1"))


def published() -> list[Row]:
    """data/operator_published.csv, each row with its class."""
    with open(paths.data_dir() / "operator_published.csv", encoding="utf-8", newline="") as file:
        rows = [
            row(**{k: r[k] for k in ("operator", "inputs", "outputs", "how", "state", "id", "source", "chip")},
                launches=int(r["launches"]), us=float(r["us"]))
            for r in csv.DictReader(file)
        ]  # fmt: skip
    modelled(rows)
    return rows


def modelled(rows: Iterable[Row], constants: dict[str, float] | None = None) -> dict[str, float]:
    """us by a row's id, with these constants of the default chip in place of those of its table."""
    by_chip: dict[str, list[Row]] = {}
    for r in rows:
        by_chip.setdefault(r.chip, []).append(r)
    was, us = rates.chip(), {}
    try:
        for name, mine in by_chip.items():
            numbers, share = _chip(name)
            if constants is not None:
                numbers = numbers | {
                    n.removeprefix("operators."): rates.in_ns(n, v * share.get(n, 1.0)) for n, v in constants.items()
                }
            rates.put(numbers)
            us |= {r.id: r.modelled() for r in mine}
    finally:
        rates.apply(was or chips.DEFAULT)
    return us


@lru_cache
def _chip(name: str) -> tuple[dict[str, float], dict[str, float]]:
    """A chip's numbers as the device has them, and what of each constant of the default chip is its share."""
    if name == "910_9362":  # a die of A3: 20 cores at 1.5 GHz, 168 MB of L2 (CANN's ini)
        chips.variant(name, {"base": "910B3", "clock": {"hz": 1.5e9}, "memory": {"l2": 168 * 2**20}})
    mine, default = chips.flat(name), chips.flat()
    # Three digits: the tables hold four, and the last one must not change what the next fit finds.
    return rates.rates(name), {n: float(f"{mine[n] / default[n]:.3g}") for n in CONSTANTS if mine[n] != default[n]}


# ---- the fit


def fit(
    rows: list[Row], steps: int = 40, begin: dict[str, float] | None = None, only: Iterable[str] = ()
) -> dict[str, float]:
    """The most likely constants for these rows: bounded by what was known before (CONSTANTS), soft L1 over logarithms.
    Deterministic. begin: a fit of more rows, to start from. only: the classes whose constants are sought; all others
    stay as the chip's table has them, and the rows of other classes have no say.
    """
    import numpy as np
    from scipy.optimize import least_squares

    held = {n: chips.flat()[n] for n in CONSTANTS if n.split(".")[1] not in only} if only else {}
    names = [n for n in CONSTANTS if n not in held]
    rows = [r for r in rows if r.kind in only] if only else rows
    start, factor = np.array([CONSTANTS[n] for n in names]).T
    sure = np.log(factor)
    met = {r.kind for r in rows}
    free = [n.count(".") == 1 or n.split(".")[1] in met for n in names]

    def residuals(at: np.ndarray) -> np.ndarray:
        us = modelled(rows, held | dict(zip(names, start * np.exp(at))))
        return np.array([math.log(us[r.id] / r.us) / _SIGMA for r in rows] + list(at / sure))

    def cost(at: np.ndarray) -> float:
        return float((np.sqrt(1 + residuals(at) ** 2) - 1).sum())

    at = np.zeros(len(names)) if begin is None else np.log(np.array([begin[n] for n in names]) / start)
    for move in (
        () if begin else 2 * [d * s for d, f in zip(np.eye(len(names)) * math.log(2), free) if f for s in (1, -1)]
    ):
        best = cost(at)  # where another bottleneck hides a constant, a slope says nothing: first by halves and doubles
        while (tried := cost(at + move)) < best * 0.999:
            at, best = at + move, tried
    found = least_squares(residuals, at, loss="soft_l1", max_nfev=steps, diff_step=1e-2)
    return held | dict(zip(names, (start * np.exp(found.x)).tolist()))


def cross(rows: list[Row], say: Callable[[str], None] = lambda _: None) -> dict[str, float]:
    """us by a row's id, by constants that were fitted without its source. A row of whose class no other source has
    four rows is not cross-validated, and not in the answer. (Stated before the results; see data/README.md.)
    """
    seen: dict[str, float] = {}
    for source in sorted({r.source for r in rows}):
        others = [r for r in rows if r.source != source]
        count = Counter((r.kind, r.source) for r in others)
        enough = {kind for (kind, _), n in count.items() if n >= _FEW}
        mine = [r for r in rows if r.source == source and r.kind in enough]
        if mine:
            seen |= modelled(mine, fit(others))
            say(f"without {source}: {len(mine)} rows of it, median error {_middle(mine, seen):.1f} %")
    say(f"not cross-validated: {len(rows) - len(seen)} rows of classes that one source has alone")
    return seen


def _middle(rows: list[Row], us: dict[str, float]) -> float:
    """Median error in percent."""
    return 100 * quantile(sorted(abs(us[r.id] / r.us - 1) for r in rows), 0.5)


def total(rows: list[Row], us: dict[str, float]) -> float:
    """How far the sum over a trace's launches is off: 0.05 for 5 % too long."""
    return sum(r.launches * us[r.id] for r in rows) / sum(r.launches * r.us for r in rows) - 1


# ---- what people read


def table(rows: list[Row], us: dict[str, float], crossed: dict[str, float] | None) -> list[dict]:
    """A line for each class, one for each source of a class, and for all: rows, median error in percent with all rows
    in the fit; how many rows were judged by constants that had not seen their source, and their median error.
    """
    lines = []
    for kind in (*CLASSES, "all"):
        of_kind = [r for r in rows if kind in (r.kind, "all")]
        sources = sorted({r.source for r in of_kind})
        for source in ("all", *sources) if len(sources) > 1 else sources or ("none",):
            mine = [r for r in of_kind if source in (r.source, "all")]
            unseen = [r for r in mine if crossed and r.id in crossed]
            lines.append(
                {
                    "class": kind,
                    "source": source,
                    "rows": len(mine),
                    "error_percent": f"{_middle(mine, us):.1f}" if mine else "",
                    "unseen_rows": len(unseen) if crossed else "",
                    "unseen_error_percent": f"{_middle(unseen, crossed or {}):.1f}" if unseen else "",
                }
            )
    return lines


def write(lines: list[dict]) -> None:
    with open(paths.data_dir() / "operator_costs.csv", "w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(lines)


def judge(anew: bool, crossed: bool, written: bool, only: Iterable[str] = ()) -> None:
    """What `labkit clock operators` does and says."""
    say = partial(print, flush=True)  # the fits take minutes, and who reads through a pipe waits for a word
    rows = published()
    now = chips.flat()
    if anew:
        say(f"fitting constants of {', '.join(only) or 'all classes'} to published times")
    constants = fit(rows, only=only) if anew else {n: now[n] for n in CONSTANTS}
    us = modelled(rows, constants)
    unseen = cross(rows, say) if crossed else None
    lines = table(rows, us, unseen)
    for line in lines:
        print("  ".join(f"{value!s:>14}" for value in line.values()))  # fmt: skip
    trace = [r for r in rows if r.source.startswith("trace")]
    print(f"sum over the trace's launches: {total(trace, us):+.1%}")
    if unseen and (kept := [r for r in trace if r.id in unseen]):
        print(f"of its {len(kept)} cross-validated rows: {total(kept, us):+.1%}, unseen {total(kept, unseen):+.1%}")
    if written and anew:
        write_constants(constants)
    if written and unseen:
        write(lines)
