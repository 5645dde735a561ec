"""What an exercise is: the data in `kernels/<op>/exercises/<id>/spec.toml`, read and validated.

An exercise is data so that the stub, the notebook cell, the check, the mutants and the class report all come from one
place. Nothing here builds or runs anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType

from labkit import messages, paths

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

KINDS = ("kernel", "triton", "program", "adapter", "python", "predict")
ANSWERS = ("number", "text", "choice")
HINT_LEVELS = 3
Text = dict  # {"en": ..., "zh": ...}


class SpecError(ValueError):
    """A spec.toml that cannot be used: `file: what is wrong; what to try`. Also an unknown exercise id."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


def pick(table: Text | None, lang: str | None = None) -> str:
    """The text of `table` in the language in force; English where it is missing."""
    if not table:
        return ""
    return (table.get(lang or messages.language()) or table.get("en", "")).strip()


@dataclass(frozen=True)
class Mutant:
    """A known-wrong solution and the diagnosis that its check must give.

    regions: text of each region ("" = the solution's own); value: a wrong prediction, as an expression.
    edit: (old, new) pairs that make our solution's only region the mutant, where it is long; each old stands once.
    say: the text for a learner who gives exactly this answer (predictions only).
    """

    name: str
    noticed: str
    regions: tuple[str, ...] = ()
    edit: tuple[tuple[str, str], ...] = ()
    value: str = ""
    say: Text | None = None


@dataclass(frozen=True)
class Budget:
    """max_ratio: time of the timed case over that of our solution; max_ub_bytes: peak of UB in use. Known on the twin
    alone, of the timed case over our solution: max_stored, max_loaded: bytes to and from GM; max_per_core: those that
    its busiest core stores; max_vector: instructions of V. shares: each core loads and stores as many bytes as ours.
    contiguous: no load or store of a Triton kernel may go element by element.
    """

    max_ratio: float | None = None
    max_ub_bytes: int | None = None
    max_stored: float | None = None
    max_vector: float | None = None
    shares: bool = False
    max_loaded: float | None = None
    max_per_core: float | None = None
    contiguous: bool = False


@dataclass(frozen=True)
class Answer:
    """How a prediction is judged. `value` is an expression over `given`, chip[...] and math;
    `callable` a name in golden.py. withheld: a student's copy has neither; the class is graded elsewhere.
    """

    type: str
    value: str = ""
    callable: str = ""
    unit: str | Text = ""
    rtol: float | None = None
    atol: float = 0.0
    choices: tuple[dict, ...] = ()
    withheld: bool = False


@dataclass(frozen=True)
class Spec:
    id: str
    folder: Path
    kind: str
    title: Text
    difficulty: int
    importance: int
    minutes: int
    lines: int = 0
    why: Text = field(default_factory=dict)
    hints: tuple[Text, ...] = ()
    entry: str = ""
    blocks: int = 1
    cases: str = "cases"
    run: str = ""
    asked: str = ""
    needs: str = ""
    device: bool = False
    public: tuple[str, ...] = ()
    question: Text = field(default_factory=dict)
    given: dict = field(default_factory=dict)
    answer: Answer | None = None
    budget: Budget = Budget()
    mutants: tuple[Mutant, ...] = ()

    @property
    def op(self) -> str:
        return self.folder.parents[1].name

    @property
    def on_device(self) -> bool:
        """Does the check launch on the target? A Python exercise says so with `device = true`."""
        return self.kind in ("kernel", "triton", "adapter") or self.device or self.needs == "npu"

    @property
    def is_kernel(self) -> bool:
        """Is a kernel launched and its outputs compared? One in Ascend C or in Triton."""
        return self.kind in ("kernel", "triton")

    @property
    def in_python(self) -> bool:
        """An adapter is C++ (solution.asc) or uses torch.library (solution.py)."""
        return self.kind in ("python", "triton") or self.kind == "adapter" and (self.folder / "solution.py").is_file()

    @property
    def compiled(self) -> bool:
        """Does an answer have to be compiled, which takes seconds: C++, also where a Python function returns it?"""
        if self.kind == "predict" or not (self.folder / "solution.py").is_file():
            return self.kind != "predict"
        return (self.folder.parents[1] / "op_kernel").is_dir()  # an aclnn operator package

    @property
    def comment(self) -> str:
        return "#" if self.in_python else "//"

    @property
    def solution_path(self) -> Path:
        return self.folder / ("solution.py" if self.in_python else "solution.asc")

    @property
    def golden_path(self) -> Path:
        return self.folder.parents[1] / "golden.py"

    @cached_property
    def golden(self) -> ModuleType:
        """The operator's golden.py. Raises SpecError where it is missing."""
        return load_module(self.golden_path, f"labkit_golden_{self.op}")

    def function(self, name: str) -> Callable:
        """`name` of golden.py. Raises SpecError where it has none."""
        found = getattr(self.golden, name, None)
        if not callable(found):
            raise SpecError(
                f"{paths.display_path(self.golden_path)}: no callable {name!r}, which exercise {self.id} names; "
                "define it, or correct the name in spec.toml"
            )
        return found


def load_module(path: Path, name: str) -> ModuleType:
    """A Python file as a module, read anew. Raises SpecError where the file is missing."""
    if not path.is_file():
        raise SpecError(f"{paths.display_path(path)}: missing; an exercise of this folder names a callable in it")
    module = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def roots() -> list[Path]:
    """Folders of operators: kernels/ and those of LABKIT_KERNELS."""
    extra = [Path(p) for p in os.environ.get("LABKIT_KERNELS", "").split(os.pathsep) if p]
    return [paths.kernels_dir(), *extra]


def folders() -> dict[str, Path]:
    """Exercise id -> its folder, in the order of operator and id.
    Raises SpecError when two folders have the same id.
    """
    found: dict[str, Path] = {}
    for root in roots():
        for file in sorted(root.glob("*/exercises/*/spec.toml")):
            folder = file.parent
            if folder.name in found and found[folder.name] != folder:
                raise SpecError(
                    f"{paths.display_path(file)}: the id {folder.name!r} is taken by "
                    f"{paths.display_path(found[folder.name])}; rename the folder"
                )
            found[folder.name] = folder
    return found


def _folder(exercise_id: str) -> Path | None:
    """The folder of one exercise, without reading the names of all of them as folders() does."""
    if not exercise_id.isidentifier():
        return None
    found = [file.parent for root in roots() for file in root.glob(f"*/exercises/{exercise_id}/spec.toml")]
    return found[0] if len(set(found)) == 1 else folders().get(exercise_id)


_loaded: dict[tuple[Path, int], Spec] = {}


def load(exercise_id: str, folder: Path | None = None) -> Spec:
    """The spec of `exercise_id`. Raises SpecError: unknown id, or a spec.toml that does not hold together.
    folder: where folders() says that it is, for who loads many: to find one is to look into every operator's folder.
    """
    folder = folder or _folder(exercise_id)
    if folder is None:
        known = folders()
        close = _close(exercise_id, known)
        raise SpecError(
            f"no exercise {exercise_id!r}; "
            + (f"did you mean {close!r}? " if close else "")
            + f"labkit.progress() lists all {len(known)}"
        )
    file = folder / "spec.toml"
    key = (file, file.stat().st_mtime_ns)
    if key not in _loaded:
        _loaded[key] = read(file)
    return _loaded[key]


def load_all() -> list[Spec]:
    return [load(name, folder) for name, folder in folders().items()]


def _close(word: str, known) -> str | None:
    import difflib

    return next(iter(difflib.get_close_matches(word, list(known), 1)), None)


def read(file: Path) -> Spec:
    """Parse one spec.toml. Raises SpecError naming the file and the field."""

    def fail(what: str):
        raise SpecError(f"{paths.display_path(file)}: {what}")

    try:
        data = tomllib.loads(file.read_text(encoding="utf-8-sig"))  # some editors put a mark in front
    except UnicodeDecodeError as error:
        fail(f"not UTF-8 (byte {error.start}); save it as UTF-8, an editor may have written GBK")
    except tomllib.TOMLDecodeError as error:
        fail(f"not TOML: {error}")
    unknown = set(data) - {*Spec.__dataclass_fields__, "mutant"} | ({"folder", "mutants"} & set(data))
    if unknown:
        fail(f"unknown field {', '.join(sorted(unknown))}; the fields are described in labkit/notebook/README.md")
    if data.setdefault("id", file.parent.name) != file.parent.name:
        fail(f"id {data['id']!r} differs from the folder's name {file.parent.name!r}; they must be the same")
    if data.get("kind") not in KINDS:
        fail(f"kind is {data.get('kind')!r}; it must be one of {', '.join(KINDS)}")
    for name in ("title", "difficulty", "importance", "minutes"):
        if name not in data:
            fail(f"{name} is missing")
    try:
        if wrong := next(_no_texts(data), None):
            fail(f'{wrong} must be a table of two texts: {{ en = "...", zh = "..." }}')
        data["mutants"] = tuple(_mutant(m) for m in data.pop("mutant", []))
        data["budget"] = Budget(**data.get("budget", {}))
        data["hints"] = tuple(data.get("hints", ()))
        data["public"] = tuple(data.get("public", ()))
        if data["kind"] == "predict":
            answer = dict(data.get("answer") or {})
            answer["choices"] = tuple(answer.get("choices", ()))
            if not isinstance(answer.get("value", ""), str | bool):  # `value = 3`: an expression as well
                answer["value"] = repr(answer["value"])
            data["answer"] = Answer(**answer)
        spec = Spec(folder=file.parent, **data)
    except (TypeError, ValueError, AttributeError) as error:
        if isinstance(error, SpecError):
            raise
        fail(f"{error}; the fields are described in labkit/notebook/README.md")
    for what in problems(spec):
        fail(what)
    return spec


def _no_texts(data: dict) -> Iterator[str]:
    """The fields that are texts in two languages, and are not."""
    given = {name: data.get(name) for name in ("title", "why", "question")}
    given |= {f"hint {i + 1}": hint for i, hint in enumerate(data.get("hints", ()))}
    yield from (name for name, t in given.items() if t is not None and not _is_text(t))


def _is_text(table) -> bool:
    return isinstance(table, dict) and all(isinstance(t, str) for t in table.values())


def _mutant(data: dict) -> Mutant:
    data = dict(data)
    if "region" in data:
        data["regions"] = (data.pop("region"),)
    data["regions"] = tuple(data.get("regions", ()))
    data["edit"] = tuple((old, new) for old, new in data.get("edit", ()))
    data["value"] = str(data.get("value", ""))
    return Mutant(**data)


def problems(spec: Spec) -> list[str]:
    """What makes `spec` unusable or incomplete, one sentence each."""
    found = []
    for name in ("difficulty", "importance"):
        if not isinstance(getattr(spec, name), int) or not 1 <= getattr(spec, name) <= 5:
            found.append(f"{name} is {getattr(spec, name)!r}; it must be 1 to 5")
    texts = {"title": spec.title, "why": spec.why, **{f"hint {i + 1}": h for i, h in enumerate(spec.hints)}}
    if spec.kind == "predict":
        texts["question"] = spec.question
        if spec.answer.type not in ANSWERS:
            found.append(f"answer.type is {spec.answer.type!r}; it must be one of {', '.join(ANSWERS)}")
        if bool(spec.answer.value) + bool(spec.answer.callable) != (0 if spec.answer.withheld else 1):
            found.append("answer needs exactly one of `value` (an expression) and `callable` (a name in golden.py)")
        texts.update({f"choice {c.get('key')}": c for c in spec.answer.choices})
    elif not spec.entry and spec.kind != "program":
        found.append("entry is missing: the kernel or function that is checked")
    elif not spec.solution_path.is_file():
        found.append(f"{spec.solution_path.name} is missing beside it")
    for name, table in texts.items():
        for lang in messages.LANGUAGES:
            if not (table or {}).get(lang, "").strip():
                found.append(f"{name} has no {lang} text")
    if len(spec.hints) != HINT_LEVELS:
        found.append(f"{len(spec.hints)} hints; there must be {HINT_LEVELS}: nudge, where to look, nearly the code")
    if spec.needs not in ("", "npu"):
        found.append(f'needs is {spec.needs!r}; it must be "npu" or absent')
    for mutant in spec.mutants:
        if (
            spec.kind == "predict"
            and not mutant.value
            or spec.kind != "predict"
            and not (mutant.regions or mutant.edit)
        ):
            found.append(f"mutant {mutant.name!r} has no {'value' if spec.kind == 'predict' else 'region'}")
    return found
