"""Does the suite notice? Small faults are put into a copy of the lab, one at a time, and the tests run against each.

    pip install --no-deps "universalmutator>=1.14,<2"
    python scripts/mutation.py --seed 1 --count 80                    # hours: a minute or two each on two idle cores
    python scripts/mutation.py --seed 1 --count 80 --only 17,23       # two of them again, say after a new test
    python scripts/mutation.py --seed 2 --count 15 --rooms exercise,source --list  # what would be tried

The mutants come from universalmutator's rules for C++ and Python. What is ours is the choice (by seed, and by what the
files hold: a file's chance is its lines of code, a function is changed at most once), the copy, building and running:

- The copy (--work, by default /tmp/labkit-mutation) has the files that git knows of the checkout, as they are now, and
  a build cache of its own, which begins as hard links to the lab's. The checkout is never touched.
- A mutant that does not compile is no mutant: the next one of its place is taken. One that compiles to the same library
  as before is equivalent. So is what a person judged to be, in tests/mutation/equivalent.toml, with the reason.
- tests/mutation/rooms.toml says which tests a room has, the near and quick ones first. They run in one pytest -x; the
  first failure ends it. The test that failed is then run without the mutant (once): one that fails anyway kills
  nothing, is named, and the rest goes on without it. After --limit seconds a mutant counts as killed by a hang.
- The result is a line of the CSV (--out) for each mutant: room, file:line, both lines, what became of it (killed, hang,
  survived, equivalent), by which test, the first line of what that test says, seconds. The table is read again at the
  start: an interrupted run goes on where it was. Delete it to begin anew.

A survivor is a test that is missing, or equivalent: judge it, write the test, run it again with --only.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import fnmatch
import io
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

REPO = Path(__file__).resolve().parents[1]
TABLES = REPO / "tests" / "mutation"
RULES = {".py": ["universal.rules", "python.rules"], ".cpp": ["universal.rules", "c_like.rules", "cpp.rules"]}
# Lines that hold no behaviour a test could see, or that no rule changes into something that compiles.
DULL = [
    r"^\s*(#|//|\*|@|import |from |using |namespace |template|static_assert|extern )",
    r"^\s*(public:|private:|assert )",
    r"^\s*[\])}]*[;,]?\s*(//.*|#.*)?$",
    r"^\s*(\"|'|r\"|f\"|R\"|b\")",
    r"messages\.text\(",
    r"static_assert",
    r"__repr__",
    r"TYPE_CHECKING",
]
# Rules whose mutants nearly never compile, or say nothing: whole lines as comments, empty strings, words of another
# language.
POOR = re.compile(r"^\s*(/\*.*\*/|pass|break;|continue;)\s*$")


@dataclass
class Mutant:
    """One fault. The names of the fields are the columns of the table."""

    id: int
    room: str
    place: str  # file:line
    original: str
    mutated: str
    outcome: str = ""
    test: str = ""
    says: str = ""
    seconds: float = 0.0

    @property
    def file(self) -> str:
        return self.place.rpartition(":")[0]

    @property
    def line(self) -> int:
        return int(self.place.rpartition(":")[2])


# ---- which mutants there are


def rooms() -> dict[str, dict]:
    return tomllib.loads((TABLES / "rooms.toml").read_text(encoding="utf-8"))


def tracked(repo: Path = REPO) -> list[str]:
    out = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=repo, capture_output=True, text=True, check=True
    )
    return [name for name in out.stdout.splitlines() if (repo / name).is_file()]


def sources(names: list[str], patterns: list[str]) -> list[str]:
    """The files of a room that hold code of their own: a header that only includes another has none."""
    mine = [
        n
        for n in names
        if Path(n).suffix in (".py", ".cpp", ".h") and any(fnmatch.fnmatch(n, p.replace("**", "*")) for p in patterns)
    ]
    return [n for n in mine if len(code_lines(n)) > 3]


def code_lines(name: str, repo: Path = REPO) -> dict[int, str]:
    """line number -> text (with its end) of the lines that may be changed."""
    lines = (repo / name).read_text(encoding="utf-8").splitlines(keepends=True)
    found, inside = {}, ""
    for number, line in enumerate(lines, 1):
        quotes = re.findall(r'"""|R"\(|\)"|/\*|\*/', line)
        was = inside
        for q in quotes:  # docstrings, raw strings, block comments
            inside = "" if inside else q
        if was or inside or quotes or any(re.search(d, line) for d in DULL):
            continue
        found[number] = line
    return found


def function_of(name: str, number: int, repo: Path = REPO) -> int:
    """The line that begins the function around a line, roughly: the last one that is indented no deeper than a
    method."""
    lines = (repo / name).read_text(encoding="utf-8").splitlines()
    begins = (
        r"^(    )?(async )?def |^class "
        if name.endswith(".py")
        else r"^ {0,4}[\w:<>,&*~ \[\]]+\(.*(\{|,)\s*(//.*)?$|^(class|struct|enum|namespace) "
    )
    return next((i for i in range(number, 0, -1) if re.match(begins, lines[i - 1])), 0)


def changes(name: str, number: int, line: str) -> list[str]:
    """What universalmutator makes of a line, without what only differs in a string or a comment."""
    from universalmutator import mutator

    rules = RULES[".py" if name.endswith(".py") else ".cpp"]
    with contextlib.redirect_stdout(io.StringIO()):
        made = mutator.mutants_regexp(
            [line if line.endswith("\n") else line + "\n"], rules, ignorePatterns=[], ignoreStringOnly=True
        )
    out = []
    for _, text, *_ in made:
        if [line.count(c) for c in "()[]{}"] != [text.count(c) for c in "()[]{}"] and not re.search(
            r"\(\d+[+-]1\)", text
        ):
            continue  # half a pair: it cannot compile
        if {w for w in re.findall(r"[A-Za-z_]\w*", line) if re.search(r"\d", w)} - set(
            re.findall(r"[A-Za-z_]\w*", text)
        ):
            continue  # the digit of a name, uint32_t
        bare = [re.sub(r'"(\\.|[^"\\])*"|(//|# ).*', '""', t).split() for t in (line, text)]
        if bare[0] != bare[1] and not POOR.match(text) and text.count("\n") == 1 and text not in out:
            out.append(text)
    return out


def draw(seed: int, wanted: set[str], names: list[str]) -> Iterator[tuple[str, str, int, list[str]]]:
    """(room, file, line, changes in the order to be tried), without end as far as there are functions: lines by
    chance."""
    rng = random.Random(seed)
    lines = [
        (room, name, number, text)
        for room, table in rooms().items()
        if not wanted or room in wanted
        for name in sources(names, table["files"])
        for number, text in sorted(code_lines(name).items())
    ]
    rng.shuffle(lines)
    seen = set()
    for room, name, number, text in lines:
        place = (name, function_of(name, number))
        if place in seen:
            continue
        made = changes(name, number, text)
        rng.shuffle(made)
        if made:
            seen.add(place)
            yield room, name, number, made


def judged() -> dict[tuple[str, str, str], str]:
    table = tomllib.loads((TABLES / "equivalent.toml").read_text(encoding="utf-8"))
    return {(e["file"], e["original"], e["mutated"]): e["reason"] for e in table.get("equivalent", [])}


# ---- the copy, and what is built and run in it


class Copy:
    """A copy of the lab in which one file at a time is wrong."""

    def __init__(self, folder: Path, names: list[str], limit: float):
        self.repo, self.cache, self.limit = folder / "lab", folder / "cache", limit
        self.sound: dict[str, bool] = {}  # test -> does it pass without a mutant?
        folder.mkdir(parents=True, exist_ok=True)
        there = (
            {
                str(p.relative_to(self.repo))
                for p in self.repo.rglob("*")
                if p.is_file() and "__pycache__" not in p.parts
            }
            if self.repo.exists()
            else set()
        )
        for name in names:
            here, to = REPO / name, self.repo / name
            if name not in there or here.read_bytes() != to.read_bytes():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(here, to)
        for name in there - set(names):
            (self.repo / name).unlink()
        lab = (
            Path(
                os.environ.get("LABKIT_CACHE")
                or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "labkit"
            )
            / "build"
        )
        if lab.is_dir() and not self.cache.exists():
            (self.cache / "build").mkdir(parents=True)
            subprocess.run(["cp", "-al", f"{lab}/.", str(self.cache / "build")], check=False, capture_output=True)
        self.env = {
            **os.environ,
            "PYTHONPATH": str(self.repo),
            "LABKIT_CACHE": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }

    def put(self, m: Mutant) -> None:
        path = self.repo / m.file
        lines = (REPO / m.file).read_text(encoding="utf-8").splitlines(keepends=True)
        assert lines[m.line - 1].strip() == m.original, f"{m.place} has changed since the mutant was drawn"
        indent = lines[m.line - 1][: len(lines[m.line - 1]) - len(lines[m.line - 1].lstrip())]
        lines[m.line - 1] = indent + m.mutated + "\n"
        path.write_text("".join(lines), encoding="utf-8")

    def restore(self, m: Mutant) -> None:
        shutil.copy2(REPO / m.file, self.repo / m.file)

    def run(self, command: list[str], limit: float) -> tuple[int | None, str]:
        """(exit status, output); None where the limit was reached and the whole session was ended."""
        with subprocess.Popen(
            command,
            cwd=self.repo,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        ) as process:
            try:
                out, _ = process.communicate(timeout=limit)
                return process.returncode, out
            except subprocess.TimeoutExpired:
                return None, ""
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def build(self, what: str, file: str) -> str | None:
        """A digest of what was built; "" where nothing is; None where it does not compile."""
        if file.endswith(".py"):
            status, _ = self.run([sys.executable, "-c", f"compile(open({file!r}).read(), {file!r}, 'exec')"], 60)
            return "" if status == 0 else None
        if what == "twin" and file.endswith(".cpp"):  # half of the mutants end here, in a second
            status, _ = self.run(
                ["g++", "-std=c++17", "-fsyntax-only", "-w", "-Ilabkit/twin/include", "-Ilabkit/twin/src", file], 120
            )
            if status != 0:
                return None
        code = {
            "twin": "from labkit.build import runtime; p = [runtime.library(), runtime.runner()]",
            "device": "from labkit.device import build; p = [build.library()]",
        }[what]
        status, out = self.run(
            [
                sys.executable,
                "-c",
                f"{code}\nimport hashlib\nprint('built', *(hashlib.sha256(q.read_bytes()).hexdigest() for q in p))",
            ],
            1800,
        )
        found = re.search(r"^built (.*)$", out, re.M)
        return found[1] if status == 0 and found else None

    def test(self, tests: list[str]) -> tuple[str, str, str]:
        """(outcome, test, first line of what it says)."""
        leave_out = [t for t, sound in self.sound.items() if not sound]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "--tb=short",
            "-o",
            "faulthandler_timeout=0",
        ]
        status, out = self.run([*command, *(f"--deselect={t}" for t in leave_out), *self.paths(tests)], self.limit)
        if status is None:
            return "hang", "", f"no end within {self.limit:.0f} s"
        if status == 0:
            return "survived", "", ""
        found = re.search(r"^(?:FAILED|ERROR) (\S+)(?: - (.*))?$", out, re.M)
        told = next((line[1:].strip() for line in out.splitlines() if line.startswith("E  ")), "")
        return "killed", found[1] if found else "?", (told or (found[2] or "" if found else out.strip()[-200:]))[:300]

    def paths(self, tests: list[str]) -> list[str]:
        """Where the tests of the table are; those that are not there are left out."""
        found = []
        for name in tests:
            found += [str(p.relative_to(self.repo)) for p in [self.repo / "tests" / name] if p.exists()]
        return found

    def passes(self, test: str) -> bool:
        """Whether a test passes without any mutant; remembered."""
        if test not in self.sound:
            self.sound[test] = (
                self.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test], self.limit)[0] == 0
            )
        return self.sound[test]


# ---- the run


def read(path: Path) -> list[Mutant]:
    kinds = {f.name: f.type for f in fields(Mutant)}
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Mutant(
                **{k: int(v) if kinds[k] == "int" else float(v) if kinds[k] == "float" else v for k, v in row.items()}
            )
            for row in csv.DictReader(file)
        ]


def write(path: Path, rows: list[Mutant]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, [f.name for f in fields(Mutant)], lineterminator="\n")
        out.writeheader()
        out.writerows(asdict(m) for m in sorted(rows, key=lambda m: m.id))


def try_out(copy: Copy, m: Mutant, table: dict, clean: dict[str, str]) -> bool:
    """Fills in what became of the mutant. False: it does not compile."""
    started = time.time()
    if table["build"] and table["build"] not in clean and not m.file.endswith(".py"):
        clean[table["build"]] = copy.build(table["build"], m.file) or ""
    copy.put(m)
    try:
        built = copy.build(table["build"], m.file)
        if built is None:
            return False
        if built and built == clean.get(table["build"]) and m.file.endswith(".cpp"):
            m.outcome, m.says = "equivalent", "compiles to the same library"
        else:
            for _ in range(6):
                m.outcome, m.test, m.says = copy.test(table["tests"])
                if m.outcome == "killed" and re.match(r"(labkit\.\S*)?CompileError", m.says):
                    return False  # a header that kernels do not compile with
                if m.outcome != "killed" or m.test == "?":
                    break
                copy.restore(m)
                if copy.passes(m.test):
                    break
                print(f"  fails without a mutant as well: {m.test}", flush=True)
                copy.put(m)
    finally:
        copy.restore(m)
    m.seconds = round(time.time() - started, 1)
    return True


def report(rows: list[Mutant]) -> str:
    ran = [m for m in rows if m.outcome]
    counted = [m for m in ran if m.outcome != "equivalent"]
    killed = [m for m in counted if m.outcome in ("killed", "hang")]
    lines = [
        f"{len(killed)} of {len(counted)} killed ({100 * len(killed) / max(1, len(counted)):.0f} %), "
        f"{len(ran) - len(counted)} equivalent"
    ]
    lines += [
        f"survived {m.id}: {m.room} {m.place}\n  - {m.original}\n  + {m.mutated}"
        for m in counted
        if m.outcome == "survived"
    ]
    lines += [
        f"says too little {m.id}: {m.test}: {m.says!r}"
        for m in killed
        if re.fullmatch(r"(assert (False|None|not True)|AssertionError)?", m.says)
    ]
    return "\n".join(lines)


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--seed", type=int, default=1)
    ask.add_argument("--count", type=int, default=80)
    ask.add_argument("--rooms", default="", help="only these, with commas between")
    ask.add_argument("--only", default="", help="mutants of the table to run again, with commas between")
    ask.add_argument("--limit", type=float, default=1200, help="seconds that a mutant's tests may take")
    ask.add_argument("--work", type=Path, default=Path("/tmp/labkit-mutation"))
    ask.add_argument("--out", type=Path, default=None, help="the table; by default mutants-<seed>.csv in --work")
    ask.add_argument("--list", action="store_true", help="say what would be tried, and stop")
    options = ask.parse_args()
    for ended in (
        signal.SIGTERM,
        signal.SIGINT,
    ):  # also where a shell's background job ignores it: the tests end with the driver
        signal.signal(ended, lambda number, _: sys.exit(128 + number))
    names, tables, known = tracked(), rooms(), judged()
    wanted = {r for r in options.rooms.split(",") if r}
    assert wanted <= set(tables), f"no such room: {sorted(wanted - set(tables))}; there are {', '.join(tables)}"
    places = draw(options.seed, wanted, names)
    if options.list:
        for i, (room, name, number, made) in zip(range(options.count), places):
            print(f"{i + 1}: {room} {name}:{number}\n  - {code_lines(name)[number].strip()}\n  + {made[0].strip()}")
        return
    out = options.out or options.work / f"mutants-{options.seed}.csv"
    copy, clean, rows = Copy(options.work, names, options.limit), {}, read(out)
    if options.only:
        for m in [m for m in rows if m.id in {int(i) for i in options.only.split(",")}]:
            line = next(n for n, text in code_lines(m.file).items() if text.strip() == m.original and n >= m.line - 200)
            m.place = f"{m.file}:{line}"
            try_out(copy, m, tables[m.room], clean)
            print(f"{m.id}: {m.outcome} {m.place} {m.test} {m.says}", flush=True)
            write(out, rows)
        return print(report(rows))
    for i, (room, name, number, made) in zip(range(options.count * 3), places):
        if len(rows) >= options.count:
            break
        if any(m.place == f"{name}:{number}" for m in rows):
            continue
        original = code_lines(name)[number].strip()
        for text in made[:4]:
            m = Mutant(i + 1, room, f"{name}:{number}", original, text.strip())
            reason = known.get((Path(name).name, m.original, m.mutated))
            if reason:
                m.outcome, m.says = "equivalent", reason
            elif not try_out(copy, m, tables[room], clean):
                continue
            rows.append(m)
            print(
                f"{m.id}: {m.outcome} {m.place} {m.seconds} s {m.test} {m.says}\n  - {m.original}\n  + {m.mutated}",
                flush=True,
            )
            write(out, rows)
            break
    print(report(rows))


if __name__ == "__main__":
    main()
