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
  as before is equivalent, and so is one that is listed in tests/mutation/equivalent.toml, with the reason.
- tests/mutation/rooms.toml says which tests a room has, the near and quick ones first. They run in one pytest -x; the
  first failure ends it. The file of the test that failed is then run without the mutant (once): a test that fails
  anyway kills nothing, is named, and the rest goes on without it. After --limit seconds a mutant counts as killed by
  a hang.
- The result is a line of the CSV (--out) for each mutant: room, file:line, both lines, what became of it (killed, hang,
  survived, equivalent), by which test, the first line of what that test says, seconds. The table is read again at the
  start: an interrupted run goes on where it was. Delete it to begin anew.

A survivor is a test that is missing, or equivalent: judge it, write the test, run it again with --only.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, fields
from pathlib import Path

from mutants import REPO, Mutant, code_lines, draw, judged, rooms, tracked

# ---- the copy, and what is built and run in it


class Copy:
    """A copy of the lab in which one file at a time is wrong."""

    def __init__(self, folder: Path, names: list[str], limit: float):
        self.repo, self.cache, self.limit = folder / "lab", folder / "cache", limit
        self.failing: dict[str, list[str]] = {}  # tests that fail without a mutant, of each file that was looked at
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
        leave_out = [test for tests_ in self.failing.values() for test in tests_]
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
        found = re.search(r"^(?:FAILED|ERROR) (.+?)(?: - (.*))?$", out, re.M)
        told = next((line[1:].strip() for line in out.splitlines() if line.startswith("E  ")), "")
        return "killed", found[1] if found else "?", (told or (found[2] or "" if found else out.strip()[-200:]))[:300]

    def paths(self, tests: list[str]) -> list[str]:
        """Where the tests of the table are; those that are not there are left out."""
        found = []
        for name in tests:
            found += [str(p.relative_to(self.repo)) for p in [self.repo / "tests" / name] if p.exists()]
        return found

    def passes(self, test: str) -> bool:
        """Whether a test passes without any mutant. Its whole file is run, once: tests may leave something behind."""
        file = test.partition("::")[0]
        if file not in self.failing:
            _, out = self.run(
                [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", file], self.limit
            )
            self.failing[file] = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", out, re.M)
        return test not in self.failing[file]


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
                if m.outcome == "killed" and re.match(
                    r"(labkit\.\S*)?CompileError|\w+: (In file included from |\S+: (fatal )?error: )", m.says
                ):
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


def nearest(lines: list[int], to: int) -> int:
    """Where a line is now that was there: others may have the same text."""
    return min(lines, key=lambda n: abs(n - to))


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
    # also where a shell's background job ignores it: the tests end with the driver
    for ended in (signal.SIGTERM, signal.SIGINT):
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
            there = [n for n, text in code_lines(m.file).items() if text.strip() == m.original]
            if not there:
                print(f"{m.id}: {m.file} has no line {m.original!r} any more", flush=True)
                continue
            m.place = f"{m.file}:{nearest(there, m.line)}"
            reason = known.get((Path(m.file).name, m.original, m.mutated))
            if reason:
                m.outcome, m.test, m.says = "equivalent", "", reason
            else:
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
