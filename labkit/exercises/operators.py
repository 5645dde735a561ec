"""Checking an operator of PyTorch (kind "adapter"): C++ that labkit.register builds, or Python that uses torch.library.

A case calls the operator through the dispatcher; its `probe` says how:

    call      the operator is called; `expected` is compared, or is Refuses(words): then it must raise
    meta      with tensors of the meta device: shape, type and strides must be those of `expected`
    schema    `expected` is a schema: what is written and how many results there are must be as it says
    opcheck   torch.library.opcheck in the three utilities that PrivateUse1 allows
    grad      backward with a gradient of its own, and with that of sum(); `expected` is the function that the operator
              computes, made of PyTorch's own operators: what autograd gives for it in double is right
    back      the backward of sum() must launch a kernel, too
    queued    as call, right behind operators that produce its arguments and wait in the host's queue
    stream    the same on a stream of its own; the kernel must go there
    guard     the tensors lie on a second card (in a process of its own where this one has a single card)
"""

from __future__ import annotations

import functools
import os
import pickle
import re
import subprocess
import sys
import tempfile
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labkit import device, messages
from labkit.exercises import launch
from labkit.exercises.cases import Case, Refuses
from labkit.exercises.diagnose import VAGUE, Diagnosis, compare_values, first_error
from labkit.exercises.spec import Spec
from labkit.exercises.value_remarks import named, of_sign
from labkit.operators import registration
from labkit.operators.registration import RegistrationError, register

ALLOWED = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
KEYS = (
    "PrivateUse1",
    "CPU",
    "Meta",
    "AutogradPrivateUse1",
    "Autograd",
    "AutocastPrivateUse1",
    "CompositeExplicitAutograd",
    "CompositeImplicitAutograd",
)


@dataclass
class Operator:
    """A registered operator, callable. source: what a second process needs to make it again."""

    name: str
    op: Any
    source: dict = field(default_factory=dict, repr=False)

    def __call__(self, *args, **named):
        return self.op(*args, **named)

    @property
    def default(self):
        return getattr(self.op, self.op.overloads()[0])

    @property
    def arguments(self) -> list[str]:
        return [a.name for a in self.default._schema.arguments]

    def keys(self) -> list[str]:
        """The dispatch keys that it has an implementation for."""
        import torch

        name = self.default.name()
        return [key for key in KEYS if torch._C._dispatch_has_kernel_for_dispatch_key(name, key)]


# ---- making it

_libraries: list = []  # what the last Python text registered


def build(text: str, filename: str, spec: Spec) -> Operator | Diagnosis:
    """The operator that `text` registers. Raises CompileError, and what a Python text raises."""
    folder = spec.folder.parents[1]
    _clear([spec.entry])
    if spec.in_python:
        execute(text, filename)
    else:
        try:
            register(text=text, filename=filename, folder=folder)
        except RegistrationError as error:
            return Diagnosis("op-registration", {"message": str(error)})
    made = find(spec.entry)
    if made is None:
        return Diagnosis("op-missing", {"op": spec.entry})
    made.source = {
        "text": text,
        "filename": filename,
        "entry": spec.entry,
        "folder": str(folder),
        "python": spec.in_python,
    }
    keys = made.keys()
    if not {"PrivateUse1", "CompositeExplicitAutograd", "CompositeImplicitAutograd"} & set(keys):
        return Diagnosis("op-key", {"op": spec.entry, "keys": ", ".join(keys) or "-"})
    return made


def find(entry: str) -> Operator | None:
    import torch

    space, _, name = entry.partition("::")
    try:
        return Operator(entry, getattr(getattr(torch.ops, space), name))
    except AttributeError:
        return None


def _clear(names: list[str]) -> None:
    """Unregisters what the last Python text registered, and `names` from any library: exercises may share names."""
    device.install()
    defined = {name.partition(".")[0] for library in _libraries for name in library._op_defs}
    while _libraries:
        _libraries.pop()._destroy()
    registration.drop(sorted({*names, *defined}))


def execute(text: str, filename: str) -> dict:
    with _collecting(_libraries), _counting(filename):
        return launch.module(text, filename)


@contextmanager
def _collecting(into: list):
    """Notes every torch.library.Library that is made, the hidden ones of register_fake and custom_op too."""
    import torch.library

    original = torch.library.Library.__init__

    def init(self, *args, **kwargs):
        original(self, *args, **kwargs)
        into.append(self)

    torch.library.Library.__init__ = init
    try:
        yield
    finally:
        torch.library.Library.__init__ = original


@contextmanager
def _counting(filename: str):
    """Functions of that file that are registered raise where they return more than the schema says: PyTorch 2.13 reads
    behind the end of its returns there, and the process ends."""
    import torch

    original = torch.library.Library.impl

    def impl(self, op_name, fn, *args, **named):
        code = getattr(fn, "__code__", None)
        if code is None or code.co_filename != filename or not isinstance(op_name, str):
            return original(self, op_name, fn, *args, **named)
        name = op_name if "::" in op_name else f"{self.ns}::{op_name}"
        schemas = torch._C._jit_get_schemas_for_operator(name.partition(".")[0])
        most = max((len(s.returns) for s in schemas), default=0)

        @functools.wraps(fn)
        def counted(*given, **named):
            result = fn(*given, **named)
            if isinstance(result, (tuple, list)) and most > 1 and len(result) > most:
                raise TypeError(f"{code.co_name} returns {len(result)} values, and the schema of {name} has {most}.")
            return result

        return original(self, op_name, counted, *args, **named)

    torch.library.Library.impl = impl
    try:
        yield
    finally:
        torch.library.Library.impl = original


# ---- judging a case


def judge(spec: Spec, made: Operator, case: Case) -> tuple[Diagnosis | None, Any, Exception | None]:
    """(what is wrong, record of the last launch, the exception that was raised)."""
    found = error = None
    with launch.quietly() as seen, warnings.catch_warnings(), launch.uncollected():
        warnings.simplefilter("ignore")
        try:
            found = _PROBES[case.probe](spec, made, case)
        except Exception as raised:
            error = raised
    record = seen.records[-1] if seen.records else None
    broken = next((r for r in seen.records if r.errors or not r.finished), None)
    codes = ", ".join(dict.fromkeys(f.code for r in seen.records for f in r.errors))
    if isinstance(case.expected, Refuses) and case.probe != "guard":
        return _refusal(made, case, error, broken, codes), broken or record, error
    if broken is not None:
        return first_error(broken) or Diagnosis("launch", {"message": broken.crashed or str(error)}), broken, error
    if error is not None:
        return _explain(made, case, error), record, error
    if found is None and case.probe == "call" and not seen.records and _has_elements(case):
        found = Diagnosis("op-no-launch", {"op": made.name})
    return found, record, None


def _has_elements(case: Case) -> bool:
    return any(a.numel() for a in case.args if hasattr(a, "numel"))


def _refusal(made: Operator, case: Case, error: Exception | None, broken, codes: str) -> Diagnosis | None:
    wanted = case.expected
    if error is None:
        then = messages.text("exercise.then-found", codes=codes) if codes else ""
        return Diagnosis(wanted.missing, {"op": made.name, "case": case.name, "then": then})
    said = _first_line(error)
    if any(word.lower() in str(error).lower() for word in wanted.words) and broken is None and not _from_lab(error):
        return None
    if _HOST.search(str(error)):
        return Diagnosis("op-host-pointer", {"op": made.name, "message": said})
    return Diagnosis(
        "op-other-error", {"op": made.name, "case": case.name, "message": said, "words": " / ".join(wanted.words)}
    )


_HOST = re.compile(r"points to host memory|指向主机内存|of \S+ is on cpu|在 cpu 上")
_BACKEND = re.compile(r"Could not run '[^']+' with arguments from the '(\w+)' backend")
_NO_META = re.compile(
    r"no fake impl or Meta kernel|not implemented for Meta|UnsupportedOperatorException|from the 'Meta' backend"
)


def _from_lab(error: Exception) -> bool:
    """The lab's own refusal of a launch, which an operator that checks its arguments never reaches."""
    return bool(_HOST.search(str(error))) or type(error).__name__ in ("LaunchError", "ArgumentError")


def _explain(made: Operator, case: Case, error: Exception) -> Diagnosis:
    text, said = f"{type(error).__name__}: {error}", _first_line(error)
    common = {
        "op": made.name,
        "case": case.name,
        "type": type(error).__name__,
        "message": said,
        "keys": ", ".join(made.keys()) or "-",
    }
    if _NO_META.search(text):
        return Diagnosis("op-no-meta", common)
    if _BACKEND.search(text):
        return Diagnosis("op-key", common)
    if isinstance(error, RecursionError):
        return Diagnosis("op-recursion", common)
    if _HOST.search(text):
        return Diagnosis("op-host-pointer", common)
    if case.probe == "grad":
        return Diagnosis("op-grad-layout" if re.search("contiguous|stride|连续", text) else "op-grad-error", common)
    if case.probe == "meta":
        return Diagnosis("op-meta-error", common)
    return Diagnosis("op-raised", common)


def _first_line(error: Exception, limit: int = 300) -> str:
    text = next((line for line in str(error).split("\n") if line.strip()), "") or type(error).__name__
    return text if len(text) <= limit else text[: limit - 3] + "..."


# ---- probes


def _call(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    return _compared(_invoke(made, launch.arguments(case, launch.DEVICE), case), case)


def _invoke(made: Operator, args: tuple, case: Case):
    return case.run(made, args, case) if case.run else made(*args)


def _compared(got, case: Case) -> Diagnosis | None:
    return None if isinstance(case.expected, Refuses) else compare_values(got, case.expected, case.tolerance)


def _produced(case: Case) -> tuple:
    """The arguments, made by operators that the device has not begun when the host goes on."""
    return tuple(a.mul(1) if hasattr(a, "data_ptr") else a for a in launch.arguments(case, launch.DEVICE))


def _queued(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    return _compared(_invoke(made, _produced(case), case), case)


def _stream(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    import torch

    with torch.npu.stream(torch.npu.Stream()):
        args = _produced(case)
        before = device.timeline_since(device.clock().launches - 1)
        got = _invoke(made, args, case)
        after = device.timeline_since(device.clock().launches - 1)
    for producer, kernel in zip(before, after):
        if producer.stream != kernel.stream:
            return Diagnosis("op-stream", {"op": made.name, "got": kernel.stream, "expected": producer.stream})
    return _compared(got, case)


def _meta(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    got = made(*launch.arguments(case, "meta"))
    wanted = case.expected if isinstance(case.expected, (tuple, list)) else (case.expected,)
    got = got if isinstance(got, (tuple, list)) else (got,)
    if len(got) != len(wanted):
        return Diagnosis(
            "op-meta-shape", {"op": made.name, "got": f"{len(got)} tensors", "expected": f"{len(wanted)} tensors"}
        )
    for mine, right in zip(got, wanted):
        for key, one, two in (
            ("shape", tuple(mine.shape), tuple(right.shape)),
            ("dtype", mine.dtype, right.dtype),
            ("device", mine.device.type, "meta"),
            ("strides", mine.stride(), right.stride()),
        ):
            if one != two:
                return Diagnosis(f"op-meta-{key}", {"op": made.name, "got": str(one), "expected": str(two)})
    return None


def _schema(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    import torch

    def of(value):
        """Type, what is written, and whose memory it may be: all but the name."""
        alias = value.alias_info
        sets = (sorted(alias.before_set), sorted(alias.after_set)) if alias else ()
        return str(value.type), bool(alias and alias.is_write), len(sets), bool(alias) and sets[0] == sets[1]

    got, wanted = made.default._schema, torch._C.parse_schema(case.expected)
    if all(
        list(map(of, getattr(got, part))) == list(map(of, getattr(wanted, part))) for part in ("arguments", "returns")
    ):
        return None
    return Diagnosis("op-schema", {"op": made.name, "got": str(got)})


_SCHEMA = (("not defined as mutable but was mutated", "op-mutates"), ("not defined to alias", "op-aliases"))


def _opcheck(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    import torch

    outcome = torch.library.opcheck(
        made.default, launch.arguments(case, launch.DEVICE), test_utils=ALLOWED, raise_exception=False
    )
    for utility, said in outcome.items():
        if isinstance(said, BaseException):
            text = f"{type(said).__name__}: {said}"
            if _NO_META.search(text):
                return Diagnosis("op-no-meta", {"op": made.name, "message": _first_line(said)})
            key = next((key for words, key in _SCHEMA if words in text), "op-opcheck")
            name = re.search(r"Argument (\w+) is not", text)
            if key == "op-mutates" and name and _shares(made.default._schema, name[1]):
                return Diagnosis("op-schema", {"op": made.name, "got": str(made.default._schema)})
            return Diagnosis(
                key,
                {
                    "op": made.name,
                    "utility": utility,
                    "message": _first_line(said),
                    "argument": name[1] if name else "?",
                },
            )
    return None


def _leaves(case: Case) -> tuple:
    args = launch.arguments(case, launch.DEVICE)
    return tuple(a.requires_grad_() if hasattr(a, "data_ptr") and a.is_floating_point() else a for a in args)


def _shares(schema, name: str) -> bool:
    """Does the schema say that argument `name` may be the memory of another one, which is written?"""
    alias = {a.name: a.alias_info for a in schema.arguments if a.alias_info}
    mine = alias.pop(name, None)
    return bool(mine) and any(a.is_write and a.before_set & mine.before_set for a in alias.values())


def _grad(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    import torch

    names = made.arguments
    args = _leaves(case)
    wide = tuple(
        a.detach().double().requires_grad_() if hasattr(a, "data_ptr") and a.is_floating_point() else a
        for a in launch.arguments(case, "cpu")
    )
    inputs = [i for i, a in enumerate(args) if hasattr(a, "data_ptr") and a.requires_grad]
    y, right = _invoke(made, args, case), case.expected(*wide)
    if y.grad_fn is None or "NotImplemented" in type(y.grad_fn).__name__ or type(y.grad_fn).__name__ == "CppFunction":
        return Diagnosis("op-no-grad", {"op": made.name, "keys": ", ".join(made.keys())})
    if found := compare_values(y, right.to(y.dtype), case.tolerance):
        return found
    weights = torch.linspace(-1, 2, right.numel(), dtype=torch.float64).reshape(right.shape)
    for weight in (weights, None):
        into = weight.to(y.dtype).to(launch.DEVICE) if weight is not None else None
        got = torch.autograd.grad(
            y if weight is not None else y.sum(), [args[i] for i in inputs], into, retain_graph=True, allow_unused=True
        )
        wanted = torch.autograd.grad(
            right if weight is not None else right.sum(), [wide[i] for i in inputs], weight, retain_graph=True
        )
        wrong = [(i, _gradient(g, w, case)) for i, g, w in zip(inputs, got, wanted)]
        wrong = [(i, found) for i, found in wrong if found]
        if not wrong:
            continue
        turned = zip(got, wanted[::-1])
        if len(wrong) == len(inputs) == 2 and not any(_gradient(g, w, case) for g, w in turned):
            return Diagnosis("op-grad-swapped", {"op": made.name, "one": names[inputs[0]], "two": names[inputs[1]]})
        i, found = wrong[0]
        inner = found.lines()[0]
        if found.key in VAGUE:
            at, given = inputs.index(i), {names[j]: _array(args[j]) for j in inputs}
            inner = of_sign(_array(got[at]), _array(wanted[at]), given) or inner
        if case.mistakes and got[inputs.index(i)] is not None:
            known = case.mistakes(torch.ones_like(right) if weight is None else weight, *launch.arguments(case, "cpu"))
            inner = named(got[inputs.index(i)], [(say, w) for say, at, w in known if at == i], case.tolerance) or inner
        numbers = {"op": made.name, "argument": names[i], "detail": inner}
        return Diagnosis("op-grad-missing" if found.key == "op-grad-missing" else "op-grad", numbers, map=found.map)
    return None


def _back(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    y = _invoke(made, _leaves(case), case)
    with launch.quietly() as seen:
        y.sum().backward()
    return None if seen.records else Diagnosis("op-no-launch-back", {"op": made.name})


def _array(t):
    return t.detach().cpu().double().numpy()


def _gradient(got, wanted, case: Case) -> Diagnosis | None:
    if got is None:
        return Diagnosis("op-grad-missing")
    return compare_values(got, wanted.to(got.dtype), case.tolerance)


def _guard(spec: Spec, made: Operator, case: Case) -> Diagnosis | None:
    import torch

    if torch.npu.device_count() > 1:
        if not isinstance(case.expected, Refuses):
            return compare_values(made(*launch.arguments(case, "npu:1")), case.expected, case.tolerance)
        try:
            made(*launch.arguments(case, "npu:1"))
        except Exception as error:
            return _refusal(made, case, error, None, "")
        return _refusal(made, case, None, None, "")
    if device.mode() != "sim":
        return None  # a node with one card: nothing can be seen there
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case"
        path.write_bytes(pickle.dumps((made.source, case)))
        run = subprocess.run(
            [sys.executable, "-c", f"from {__name__} import second; second({str(path)!r})"],
            env={**os.environ, "LABKIT_NPUS": "2"},
            capture_output=True,
            text=True,
        )
        if run.returncode:
            raise RuntimeError(run.stderr.strip().split("\n")[-1])
        return pickle.loads(path.read_bytes())


def second(path: str) -> None:
    """In a process with two cards: what the operator of the file gives there.
    The file holds (source, case), pickled, and afterwards what was found."""
    source, case = pickle.loads(Path(path).read_bytes())
    if source["python"]:
        device.install()
        execute(source["text"], source["filename"])
    else:
        registration.register(text=source["text"], filename=source["filename"], folder=source["folder"])
    Path(path).write_bytes(pickle.dumps(judge(None, find(source["entry"]), case)[0]))


_PROBES = {
    "call": _call,
    "queued": _queued,
    "stream": _stream,
    "meta": _meta,
    "schema": _schema,
    "opcheck": _opcheck,
    "grad": _grad,
    "back": _back,
    "guard": _guard,
}
