"""What a class is given: notebooks in nbgrader's layout, and a copy of the lab that has no solution.

    TO/release/ASSIGNMENT/*.ipynb   as nbgrader has it: each exercise's cell is a graded cell
    TO/student/                     labkit, kernels, data: what these notebooks need, to be given to everybody
    TO/class.toml                   the class seed, for `labkit grade --class`; it stays with the teacher

In the copy, a solution file holds its stub; known-wrong solutions, explanations and the answers of predictions are
gone; the cases that a learner's check runs are there as numbers, with what must come out of them. Where a case needs
code (a function to differentiate, an error to raise), the part of golden.py that makes it is there, and `Released`
says so. What is graded are other cases, drawn with the class seed.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import secrets
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from labkit import messages, paths
from labkit.camp import helper, wire
from labkit.camp.asked import freeze
from labkit.exercises.spec import Spec, folders, load, tomllib
from labkit.exercises.stub import normalise, template
from labkit.notebook import source as reader

_COPIED = ("labkit", "kernels", "data", "notebooks/source", "scripts", "pyproject.toml", "README.md", "README.zh.md",
           "LICENSE", "Makefile", "environment.yml", "environment.npu.yml")  # fmt: skip
_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".labkit", "answers_trial*", "camp_*")
_OF_PACKAGE = shutil.ignore_patterns("__pycache__", "*.pyc", "share", "shipped")  # of an installed one
_OF_KERNELS = shutil.ignore_patterns("__pycache__", "exercises", "golden.py", "mutants.toml")
_SHOWN = """

def {name}(seed, quick):
    from pathlib import Path

    from labkit.camp.asked import frozen

    return frozen(Path(__file__).parent / "shown" / ("{name}.quick" if quick else "{name}.full"))
"""
_ASK = {"en": "Ask your teacher.", "zh": "请问老师。"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass
class Released:
    """What was written. with_code: exercise -> the definitions of golden.py that its copy still has."""

    assignment: str
    notebooks: list[str] = field(default_factory=list)
    exercises: list[str] = field(default_factory=list)
    with_code: dict[str, list[str]] = field(default_factory=dict)

    def lines(self, to: Path) -> list[str]:
        words = {"folder": to, "notebooks": len(self.notebooks), "exercises": len(self.exercises)}
        told = [messages.text("camp.released", assignment=self.assignment, **words)]
        if self.with_code:
            told.append(messages.text("camp.released-code", names=", ".join(self.with_code)))
        return told


def release(to: Path, assignment: str, notebooks: list[str], *, seed: int | None = None, langs=("en",)) -> Released:
    """Writes release/, student/ and class.toml into `to`. notebooks: numbers, or parts of their names. seed: of the
    class; drawn if there is none yet. A second language gets an assignment of its own, ASSIGNMENT-zh.
    Raises ValueError: an assignment's name, a notebook that there is not, another seed than the class has.
    """
    if not _NAME.fullmatch(assignment):
        raise ValueError(messages.text("camp.bad-name", name=assignment))
    chosen = [src for src in map(reader.read, reader.sources()) if any(_means(n, src.path.stem) for n in notebooks)]
    unknown = [n for n in notebooks if not any(_means(n, src.path.stem) for src in chosen)]
    if unknown or not chosen:
        raise ValueError(messages.text("camp.no-notebook", names=", ".join(unknown) or "-"))
    to.mkdir(parents=True, exist_ok=True)
    _class(to / "class.toml", seed)
    made = Released(assignment)
    for lang in langs:
        folder = to / "release" / (assignment if lang == langs[0] else f"{assignment}-{lang}")
        shutil.rmtree(folder, ignore_errors=True)
        for src in chosen:
            text, asked = _notebook(src, lang)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{src.path.stem}.ipynb").write_text(text, encoding="utf-8")
            made.notebooks.append(f"{folder.name}/{src.path.stem}.ipynb")
            made.exercises += [name for name in asked if name not in made.exercises]
    made.with_code = student_copy(to / "student", made.exercises, "\n".join(_code(src) for src in chosen))
    return made


def _means(asked: str, stem: str) -> bool:
    return stem == asked or stem[:5] == asked or stem[6:] == asked


def _class(file: Path, seed: int | None) -> None:
    if file.exists():
        if seed is not None and seed != class_seed(file):
            raise ValueError(messages.text("camp.other-seed", file=file, seed=class_seed(file)))
        return
    file.write_text(f"# Keep it from the class: hidden cases follow from it.\nseed = {seed or secrets.randbits(48)}\n")
    file.chmod(0o600)


def class_seed(file: Path) -> int:
    """Raises ValueError where the file is not what `labkit release` writes, FileNotFoundError."""
    found = tomllib.loads(file.read_text(encoding="utf-8")).get("seed")
    if type(found) is not int:
        raise ValueError(messages.text("camp.no-seed", file=file))
    return found


def seed_of(class_seed: int, assignment: str) -> int:
    """Of an assignment's hidden cases, never that of the shown ones, which is 0."""
    digest = hashlib.sha256(f"{class_seed}/{assignment.removesuffix('-zh')}".encode()).digest()
    return 1 + int.from_bytes(digest[:3], "big")


# ---- notebooks


def _notebook(src, lang: str) -> tuple[str, list[str]]:
    """(text, ids of its exercises): as it is laid out for a learner, with nbgrader's words at the exercises' cells."""
    from labkit.notebook.work_copy import _text

    made, asked = json.loads(_text(src, lang, None)), []
    for cell in made["cells"]:
        name = cell["metadata"].get("labkit", {}).get("exercise")
        if cell["cell_type"] == "code" and name and name not in asked:
            asked.append(name)
            cell["metadata"]["nbgrader"] = {"schema_version": 3, "grade": True, "solution": True, "locked": False,
                                            "task": False, "grade_id": name, "points": 1}  # fmt: skip
    return json.dumps(made, ensure_ascii=False, indent=1) + "\n", asked


def _code(src) -> str:
    return src.path.read_text(encoding="utf-8")


# ---- the copy of the lab


def student_copy(to: Path, exercises: list[str], text: str) -> dict[str, list[str]]:
    """Writes the copy; what Released.with_code says. text: of the notebooks, whose cells may name parts of a golden."""
    shutil.rmtree(to, ignore_errors=True)
    for name in _COPIED:
        source = (paths.import_root() if name == "labkit" else paths.repo_root()) / name
        if source.is_dir():
            ignored = {"kernels": _OF_KERNELS, "labkit": _OF_PACKAGE}.get(name, _LEFT_OUT)
            shutil.copytree(source, to / name, ignore=ignored, symlinks=True)
        elif source.is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, to / name)
    with_code: dict[str, list[str]] = {}
    by_folder: dict[Path, list[Spec]] = {}
    for name in exercises:
        if name in folders():
            by_folder.setdefault(load(name).folder.parents[1], []).append(load(name))
    shown = set(re.findall(r"golden\.(\w+)", text))
    for folder, specs in by_folder.items():
        _operator(to / "kernels" / folder.name, folder, specs, shown, with_code)
    return with_code


def _operator(to: Path, folder: Path, specs: list[Spec], shown: set[str], with_code: dict) -> None:
    golden = (folder / "golden.py").read_text(encoding="utf-8") if (folder / "golden.py").is_file() else ""
    defined = {n.name for n in ast.parse(golden).body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    defined |= {
        t.id for n in ast.parse(golden).body if isinstance(n, ast.Assign) for t in n.targets if hasattr(t, "id")
    }
    kept, stored = set(shown & defined), {}
    for spec in specs:
        _exercise(to / "exercises" / spec.id, spec)
        if spec.kind == "predict":
            continue
        kept |= {spec.run} if spec.run else set()
        try:
            stored[spec.cases] = [freeze(spec.function(spec.cases)(0, quick)) for quick in (False, True)]
        except wire.NotPlain:
            kept.add(spec.cases)
            with_code[spec.id] = [spec.cases, *helper.carried(golden, spec.cases)]
    lines = ['"""The shown cases of these exercises, without what makes them (labkit release)."""', ""]
    if kept:
        lines.append(helper.alone(golden, *sorted(kept)))
    future = [k for k, line in enumerate(lines) if "from __future__" in line]
    text = "\n".join(lines)
    if future:  # it must stand first
        text = text.replace("from __future__ import annotations\n", "")
        text = text.replace('"""\n', '"""\nfrom __future__ import annotations\n', 1)
    (to / "shown").mkdir(parents=True, exist_ok=True)
    for name, (full, quick) in sorted(stored.items()):
        (to / "shown" / f"{name}.full").write_bytes(full)
        (to / "shown" / f"{name}.quick").write_bytes(quick)
        text += _SHOWN.format(name=name)
    if stored or kept:
        (to / "golden.py").write_text(text, encoding="utf-8")


def _exercise(to: Path, spec: Spec) -> None:
    """spec.toml without answers, and the stub in the solution's place; files of the cell's own go along."""
    to.mkdir(parents=True, exist_ok=True)
    data = tomllib.loads((spec.folder / "spec.toml").read_text(encoding="utf-8-sig"))
    for name in ("mutant", "budget"):  # a budget is a share of our solution's time
        data.pop(name, None)
    data["hints"] = [{lang: _hint(text, spec, lang) for lang, text in hint.items()} for hint in data["hints"]]
    data["why"] = {"en": "Your teacher has the explanation.", "zh": "讲解在老师那里。"}
    if spec.kind == "predict":
        answer = {k: v for k, v in data["answer"].items() if k in ("type", "unit", "choices")}
        data["answer"] = answer | {"withheld": True}
    (to / "spec.toml").write_text("".join(f"{k} = {_toml(v)}\n" for k, v in data.items()), encoding="utf-8")
    if spec.kind != "predict":
        (to / spec.solution_path.name).write_text(stubbed(spec), encoding="utf-8")
    for name in spec.public:
        if (spec.folder / name).is_file():
            shutil.copy2(spec.folder / name, to / name)


def _hint(text: str, spec: Spec, lang: str) -> str:
    """A hint, unless it has all of a solution in it, as the last one of a single line may."""
    said = normalise(text, spec.comment)
    bodies = [] if spec.kind == "predict" else [normalise(b, spec.comment) for b in template(spec).bodies()]
    return _ASK[lang] if any(len(b) > 12 and b in said for b in bodies) else text


def stubbed(spec: Spec) -> str:
    """The solution file with the stub where the solution was: it has the same regions."""
    ours, out, done = template(spec), [], 0
    for region in ours.regions:
        out += ours.lines[done : region.last - 1 - len(region.body)]
        out += [region.indent + line if line else "" for line in region.stub]
        done = region.last - 1
    return "\n".join([*out, *ours.lines[done:]]) + "\n"


def _toml(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (str, bool)) else repr(value)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name, ensure_ascii=False)
