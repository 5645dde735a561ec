"""What learners handed in, brought into nbgrader's layout: TO/submitted/STUDENT/ASSIGNMENT/NOTEBOOK.ipynb.

It comes as a folder for each student, as zip files (also those that Moodle makes), or in that layout already. Nothing
is unpacked but notebooks and the learner's log, each under a name of ours, and nothing is run.
"""

from __future__ import annotations

import json
import os
import re
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from labkit import messages
from labkit.camp.submission import LARGEST

PROGRESS = "progress.jsonl"
_MOST = 2000  # files of one archive that are looked at
_MOODLE = re.compile(r"^((.*?)_\d+)_assignsubmission_file_?$")


@dataclass
class Collected:
    """told: a line for each thing that a teacher may want to look at: (kind, student, text); kinds: late, twice, name,
    missing, unreadable, nothing.
    """

    files: int = 0
    students: set[str] = field(default_factory=set)
    told: list[tuple[str, str, str]] = field(default_factory=list)

    def say(self, kind: str, student: str, **words) -> None:
        self.told.append((kind, student, messages.text(f"camp.collect-{kind}", student=student, **words)))

    def lines(self, to: Path) -> list[str]:
        words = {"files": self.files, "students": len(self.students), "folder": to}
        return [text for _, _, text in self.told] + [messages.text("camp.collected", **words)]


@dataclass
class _Found:
    student: str
    path: PurePosixPath
    data: bytes
    when: float


def collect(source: Path, to: Path, assignment: str, *, due: datetime | None = None,
            expected: list[str] | None = None) -> Collected:  # fmt: skip
    """expected: the stems of the assignment's notebooks; default: those of to/release/ASSIGNMENT, where it is there.
    due: later ones are told, and collected all the same. Of two of the same the later counts. Raises FileNotFoundError.
    """
    if not source.exists():
        raise FileNotFoundError(messages.text("camp.no-folder", folder=source))
    if expected is None:
        expected = sorted(p.stem for p in (to / "release" / assignment).glob("*.ipynb"))
    made, chosen = Collected(), {}
    for found in _found(source, made, assignment):
        name = found.path.name if found.path.name == PROGRESS else _named(found, expected, made)
        if not name:
            continue
        key = (found.student, name)
        if key in chosen and chosen[key].data != found.data:
            made.say("twice", found.student, name=name)
        if key not in chosen or found.when >= chosen[key].when:
            chosen[key] = found
    for (student, name), found in sorted(chosen.items()):
        folder = to / "submitted" / student / assignment
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(found.data)
        made.files += 1
        made.students.add(student)
        if name != PROGRESS:
            when = datetime.fromtimestamp(found.when, timezone.utc)
            (folder / "timestamp.txt").write_text(when.strftime("%Y-%m-%d %H:%M:%S.%f UTC"), encoding="ascii")
            if due is not None and when > due:
                made.say("late", student, name=name, minutes=int((when - due).total_seconds() // 60) + 1)
    for student in sorted(made.students):
        for stem in expected:
            if (student, f"{stem}.ipynb") not in chosen:
                made.say("missing", student, name=stem)
    told = made.students | {student for _, student, _ in made.told}
    for student in sorted(_folders(source) - told):  # else it would be in no list at all
        made.say("nothing", student)
    return made


def _folders(source: Path) -> set[str]:
    """The students who have a folder, whatever is in it."""
    root = source / "submitted" if (source / "submitted").is_dir() else source
    tops = [p.name for p in root.iterdir() if p.is_dir() and not p.name.startswith(".")] if root.is_dir() else []
    shared = _shared(_tops(root))
    return {_student(name, shared) for name in tops}


def _tops(root: Path) -> set[str]:
    """What stands directly in a folder, archives and notebooks without their ending."""
    return {p.stem if p.suffix in (".zip", ".ipynb") else p.name for p in root.iterdir()} if root.is_dir() else set()


def _named(found: _Found, expected: list[str], made: Collected) -> str:
    """The name of the assignment's notebook that this is: by what the notebook itself says, else by its file's name."""
    try:
        data = json.loads(found.data.decode("utf-8-sig", "replace"))
        says = str(data.get("metadata", {}).get("labkit", {}).get("id", ""))
        if not isinstance(data["cells"], list):
            raise TypeError("cells is no list")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        made.say("unreadable", found.student, name=found.path.name, error=type(error).__name__)
        says = ""
    stem = found.path.stem
    means = next((e for e in expected if e == says), "") or next((e for e in expected if stem.startswith(e)), "")
    if not means and expected:
        made.say("name", found.student, name=found.path.name, expected=", ".join(expected))
        return ""
    means = means or _plain(stem)
    if means != stem:
        made.say("renamed", found.student, name=found.path.name, expected=means)
    return f"{means}.ipynb"


def _found(source: Path, made: Collected, assignment: str) -> Iterator[_Found]:
    root = source / "submitted" if (source / "submitted").is_dir() else source
    if root.is_file():
        yield from _archive(root, made)
        return
    shared = _shared(_tops(root))
    for above, folders, files in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") or f == ".labkit")
        for name in sorted(files):
            path = Path(above) / name
            parts = path.relative_to(root).parts
            if path.is_symlink() or not stat.S_ISREG(path.stat().st_mode):
                continue
            if name.endswith(".zip"):
                yield from _archive(path, made, parts[0] if len(parts) > 1 else "", shared)
            elif name == PROGRESS or name.endswith(".ipynb") and ".ipynb_checkpoints" not in parts:
                if root.name == "submitted" and len(parts) > 2 and parts[1].removesuffix("-zh") != assignment:
                    continue  # of another assignment
                student = _student(parts[0] if len(parts) > 1 else path.stem, shared)
                if path.stat().st_size > LARGEST:
                    made.say("unreadable", student, name=name, error="size")
                    continue
                yield _Found(student, PurePosixPath(*parts), path.read_bytes(), _when(path))


def _when(path: Path) -> float:
    """nbgrader's timestamp.txt beside it, else the file's own time."""
    try:
        text = (path.parent / "timestamp.txt").read_text(encoding="ascii").strip().removesuffix(" UTC")
        return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()
    except (OSError, ValueError):
        return path.stat().st_mtime


def _archive(path: Path, made: Collected, student: str = "", shared: frozenset[str] = frozenset()) -> Iterator[_Found]:
    """A zip of one student, or one with a folder for each. Nothing in it is written anywhere but as a notebook."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [m for m in archive.infolist()[:_MOST] if not m.is_dir()]
            members = [m for m in members if PurePosixPath(m.filename).suffix == ".ipynb"
                       or PurePosixPath(m.filename).name == PROGRESS]  # fmt: skip
            tops = {PurePosixPath(m.filename).parts[0] for m in members if len(PurePosixPath(m.filename).parts) > 1}
            tops = {t for t in tops if not t.startswith(".")}
            many = not student and len(tops) > 1
            shared |= _shared(tops)
            for member in members:
                inner = PurePosixPath(member.filename)
                who = _student(inner.parts[0] if many and len(inner.parts) > 1 else student or path.stem, shared)
                if ".ipynb_checkpoints" in inner.parts or stat.S_ISLNK(member.external_attr >> 16):
                    continue
                if member.file_size > LARGEST:
                    made.say("unreadable", who, name=inner.name, error="size")
                    continue
                with archive.open(member) as file:
                    data = file.read(LARGEST + 1)
                if len(data) > LARGEST:  # its own size was a lie
                    made.say("unreadable", who, name=inner.name, error="size")
                    continue
                yield _Found(who, inner, data, datetime(*member.date_time, tzinfo=timezone.utc).timestamp())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        made.say("unreadable", _student(student or path.stem, shared), name=path.name, error=type(error).__name__)


def _shared(tops: set[str]) -> frozenset[str]:
    """The names that Moodle gives to more than one learner: only its number tells them apart."""
    names = [match[2] for match in map(_MOODLE.match, tops) if match]
    return frozenset(name for name in names if names.count(name) > 1)


def _student(name: str, shared: frozenset[str] = frozenset()) -> str:
    match = _MOODLE.match(name)
    return _plain(match[1 if match[2] in shared else 2] if match else name)


def _plain(name: str) -> str:
    """A name that is one folder's, whatever an archive says."""
    return re.sub(r"[^\w.@ -]", "_", name).strip(". ")[:80] or "unnamed"
