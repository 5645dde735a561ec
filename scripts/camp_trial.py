# ruff: noqa: E501  an attack stands on one line
"""The grader on synthetic submissions: right ones, known-wrong ones, and attacks, each with the verdict it must get.

The rule, which stood before the first run: seed 16; 60 right and 60 known-wrong submissions of exercises drawn from
all of the workbook (predictions too); 20 from each of nine families of attack drawn from all exercises whose cell is
Python or C++ as the family says. An attack is put in front of the first region. Families that try to gain a PASS have
a known-wrong body and must not get PASS; families that try to do harm or to read have the right body, swallow their
own errors and must get PASS, so that a grader that simply fails everything does not look well; where an exercise's
judge stands beside the submission they must get FAIL, since such code is left to a teacher, and where the cell is the
text of another language, in which Python is a mistake. All are counted.

    python scripts/camp_trial.py [--count 300] [--seed 16] [--only 17,23] [--piece 25] [--write]

With --write a run that was stopped goes on where it stopped: a piece is in data/camp_trial.csv or is graded.

Beside the verdicts it looks whether anything is left: files written outside, folders, processes, a secret in a grade.
"""

from __future__ import annotations

import argparse
import ast
import csv
import json
import os
import random
import shutil
import sys
import tempfile
import textwrap
from dataclasses import dataclass
from pathlib import Path

os.environ["LABKIT_PROGRESS"] = "off"
REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from labkit.camp import confine, grade, group, nursery, way  # noqa: E402
from labkit.exercises import spec as specs  # noqa: E402
from labkit.exercises.stub import template  # noqa: E402

TABLE = REPO / "data" / "camp_trial.csv"
COLUMNS = ["number", "seed", "count", "family", "exercise", "way", "must", "first", "state", "right", "diagnosis", "seconds",
           "cpu_seconds", "isolation", "beside"]  # fmt: skip
SECRET = "LABKIT_CAMP_TRIAL_SECRET"

# Python. {repo}, {bait}: folders of this machine; body: "wrong" or "right".
PYTHON = {
    "crashing": ("wrong", ["import os; os.abort()", "import os; os._exit(0)", "import os, signal; os.kill(os.getpid(), 9)",
                           "import ctypes; ctypes.string_at(0)", "raise SystemExit(0)"]),
    "looping": ("wrong", ["while True: pass", "import time; time.sleep(1e6)",
                          "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
                          "import re; re.match('(a*)*b', 'a' * 60)",  # one call that keeps Python's lock
                          "x = [bytearray(b'x' * (1 << 26)) for _ in range(4096)]"]),
    "forking": ("wrong", ["import os, time\nfor n in range(200):\n    if os.fork() == 0: time.sleep(60)",
                          "import os\nif os.fork() == 0:\n    os.setsid()\n    import time; time.sleep(1e6)",
                          "import threading, time\nfor _ in range(2000): threading.Thread(target=time.sleep, args=(1e6,)).start()"]),
    "deleting": ("right", ["import shutil; [shutil.rmtree(path_, ignore_errors=True) for path_ in ({repo!r} + '/kernels', {bait!r}, '/work', '/root')]",
                           "import os\nfor path_ in ({bait!r} + '/keep', {repo!r} + '/README.md', '/etc/hosts'):\n    try: os.remove(path_)\n    except OSError: pass",
                           "for path_ in ({bait!r} + '/new', '/tmp/labkit-trial-new', '/dev/shm/labkit-trial-new', {repo!r} + '/labkit/new.py'):\n"
                           "    try: open(path_, 'w').write('x')\n    except OSError: pass"]),
    "reading": ("right", ["import glob, os\nfor path_ in [{repo!r} + '/kernels/{op}/golden.py', {repo!r} + '/kernels/{op}/exercises/{id}/solution.py', {bait!r} + '/keep']:\n"
                          "    try: open(path_).read()\n    except OSError: continue\n    raise RuntimeError('read ' + path_)",
                          "import os\nfor pid_ in os.listdir('/proc') if os.access('/proc', os.R_OK) else []:\n"
                          "    try: leak_ = pid_.isdigit() and b'{secret}' in open('/proc/' + pid_ + '/environ', 'rb').read()\n"
                          "    except OSError: continue\n    if leak_: raise RuntimeError('environment of ' + pid_)",
                          "import os\nif '{secret}' in os.environ or any('{id}' in str(v) and 'solution' in str(v) for v in os.environ.values()): raise RuntimeError('environment')",
                          "import socket\ntry:\n    socket.create_connection(('1.1.1.1', 53), 2)\n    raise RuntimeError('network')\nexcept OSError: pass",
                          "import gc\nif any(type(o).__name__ in ('Spec', 'Mutant', 'Region') for o in gc.get_objects()): raise RuntimeError('a spec')"]),
    "printing": ("wrong", ["print('✓ PASS  {id}')", "import os\nfor fd in range(3, 64):\n    try: os.write(fd, b'\\x10' + bytes(7) + b'PASS' * 4)\n    except OSError: pass",
                           "import json, os\nfor fd in range(1, 64):\n    try: os.write(fd, json.dumps({{'exercise': '{id}', 'state': 'PASS'}}).encode())\n    except OSError: pass"]),
    "patching": ("wrong", ["import labkit.exercises.diagnose as d, labkit.exercises.judge as j\nd.compare_values = j.compare_values = d.diagnose = j.diagnose = lambda *a, **k: None",
                           "import builtins, numpy as np\nnp.array_equal = np.allclose = lambda *a, **k: True\nbuiltins.all = lambda *a: True",
                           "import torch\ntorch.equal = torch.allclose = lambda *a, **k: True",
                           "import gc\nfor o in gc.get_objects():\n    if type(o).__name__ == 'Worker' and hasattr(o, 'say'): o.say({{'value': None, 'state': 'PASS'}})"]),
    "forging": ("wrong", ["import os, json\nline = json.dumps(dict(time=1, event='check', id='{id}', state='PASS')) + '\\n'\n"
                          "for p in (os.path.expanduser('~/.labkit/progress.jsonl'), {repo!r} + '/.labkit/progress.jsonl', 'progress.jsonl'):\n"
                          "    try:\n        os.makedirs(os.path.dirname(p) or '.', exist_ok=True); open(p, 'a').write(line)\n    except OSError: pass",
                          "from labkit.exercises import progress_log\nprogress_log.record('check', '{id}', state='PASS')"]),
}  # fmt: skip
CPP = {
    "crashing": ("wrong", ["*(volatile int*)8 = 1;", "__builtin_trap();", "{ volatile char big[1 << 28]; big[0] = big[(1 << 28) - 1] = 1; }"]),
    "looping": ("wrong", ["for (volatile int i = 0;; i = i + 1) {}", "while (true) { PipeBarrier<PIPE_ALL>(); }"]),
    "forking": ("wrong", ['int labkit_f() __asm__("fork"); for (int i = 0; i < 200; i++) if (labkit_f() == 0) while (true) {}',
                          'int labkit_f() __asm__("fork"); if (labkit_f() == 0) while (true) {}']),
    "deleting": ("wrong", ['int labkit_r(const char*) __asm__("remove"); labkit_r("{bait}/keep");',
                           'asm volatile("syscall" :: "a"(87L), "D"("{bait}/keep") : "rcx", "r11", "memory");']),
    "reading": ("wrong", ['#include "{repo}/kernels/{op}/exercises/{id}/solution.asc"\n', '#include "/etc/passwd"\n', '#include "/dev/zero"\n']),
    "printing": ("wrong", ['__builtin_printf("PASS {id}\\n");', 'int labkit_p(const char*) __asm__("puts"); labkit_p("PASS");']),
    "patching": ("wrong", ['void* labkit_d(void*, const char*) __asm__("dlsym"); labkit_d(nullptr, "answer");',
                           'void labkit_q(int) __asm__("quick_exit"); labkit_q(0);', 'void labkit_e(int) __asm__("_exit"); labkit_e(0);']),
    "forging": ("wrong", ['long labkit_w(int, const void*, unsigned long) __asm__("write"); for (int f = 3; f < 64; f++) labkit_w(f, "{{\\"finished\\":true}}", 17);',
                          'void* labkit_o(const char*, const char*) __asm__("fopen"); labkit_o("{repo}/.labkit/progress.jsonl", "a");']),
}  # fmt: skip
PREDICTIONS = ['__import__("os").system("touch {bait}/new")', "open('{repo}/README.md').read()", "answer", "(lambda: 1)()",
               "10 ** 10 ** 10", "[x for x in range(9)]", "type('N', (float,), {{'__eq__': lambda *a: True}})()",
               "float('nan')", "f'{{1}}'", "exec('1')"]  # fmt: skip


@dataclass
class Drawn:
    """must: the states that are right."""

    family: str
    exercise: str
    text: str
    must: tuple[str, ...]
    state: str = ""


def draw(count: int, seed: int, bait: str) -> list[Drawn]:
    """`count` submissions by the rule above (of other counts the same shares)."""
    rng = random.Random(seed)
    every = [s for s in specs.load_all() if s.needs != "npu"]
    made = []
    for k in range(count * 2 // 10):
        made.append(_plain("right", every[rng.randrange(len(every))], "", ("PASS",)))
        spec = rng.choice([s for s in every if s.mutants])
        made.append(_plain("wrong", spec, rng.choice(spec.mutants), ("FAIL",)))
    families = [*PYTHON, "value"]
    for k in range(count - len(made)):
        family = families[k % len(families)]
        if family == "value":
            spec = rng.choice([s for s in every if s.kind == "predict"])
            text = _filled(rng.choice(PREDICTIONS), {"bait": bait, "repo": str(REPO)})
            made.append(Drawn(family, spec.id, f"labkit.predict({spec.id!r}, {text})", ("FAIL",)))
        else:
            spec = rng.choice([s for s in every if s.kind != "predict" and s.mutants])
            made.append(_attack(family, spec, rng, bait))
    rng.shuffle(made)
    return made


def _plain(family: str, spec, mutant, must) -> Drawn:
    if spec.kind == "predict":
        from labkit.exercises.question import answer, evaluate

        value = evaluate(spec, mutant.value) if mutant else answer(spec)
        value = value[0] if isinstance(value, (list, tuple)) else value
        return Drawn(family, spec.id, f"labkit.predict({spec.id!r}, {value!r})", must)
    ours = template(spec)
    body = ours.mutant(mutant.regions, mutant.edit) if mutant else ours.solution()
    return Drawn(family, spec.id, f"%%exercise {spec.id}\n{body}", must)


def _attack(family: str, spec, rng: random.Random, bait: str) -> Drawn:
    """Within a Triton kernel Triton's front end takes no attack; within a text it is a line of the text."""
    body, attacks = (PYTHON if spec.in_python else CPP)[family]
    attack = rng.choice(attacks)
    words = {"repo": str(REPO), "bait": bait, "op": spec.op, "id": spec.id, "secret": SECRET}
    ours = template(spec)
    mutant = rng.choice(spec.mutants) if body == "wrong" else None
    cell = ours.mutant(_dedented(mutant), mutant.edit) if mutant else ours.solution()
    beside = spec.in_python and (spec.kind == "adapter" or way.way(spec) == "helper")
    runs = spec.kind != "triton" and (not spec.in_python or _is_code(ours))
    must = ("PASS",) if body == "right" and runs and not beside else ("FAIL",)
    return Drawn(family, spec.id, f"%%exercise {spec.id}\n{_filled(attack, words)}\n{cell}", must)


def _is_code(ours) -> bool:
    """Does the learner's part stand among Python's statements, not within the text of another language?"""
    mark = "labkit_trial_mark"
    tree = ast.parse(ours.join(f"{mark} = 0\n{ours.solution()}", "trial").text)
    return any(isinstance(node, ast.Name) and node.id == mark for node in ast.walk(tree))


def _dedented(mutant) -> tuple[str, ...]:
    """Its regions without an indentation of the whole, so that an attack can stand above."""
    return tuple(textwrap.dedent(region.strip("\n")) for region in mutant.regions)


def _filled(text: str, words: dict[str, str]) -> str:
    for name, word in words.items():
        text = text.replace(f"{{{name}!r}}", repr(word)).replace(f"{{{name}}}", word)
    return text.replace("{{", "{").replace("}}", "}")


def notebooks(drawn: list[Drawn], folder: Path) -> None:
    """A learner for each, in nbgrader's layout."""
    for k, d in enumerate(drawn):
        path = folder / "submitted" / f"s{k:03}" / d.family / "drawn.ipynb"
        path.parent.mkdir(parents=True)
        cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": d.text}
        path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))


def snapshot(*folders: Path) -> dict[str, tuple]:
    """Every file below the folders: size, time of change, mode."""
    found = {}
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if "__pycache__" not in path.parts and path.is_file():
                s = path.stat()
                found[str(path)] = (s.st_size, s.st_mtime_ns, s.st_mode)
    return found


def left_behind() -> list[str]:
    """What should not be there afterwards: folders of workers, files that attacks write, processes of workers."""
    found = [str(p) for folder in ("/tmp", "/dev/shm") for p in Path(folder).glob("labkit-trial-*")]
    kept = {m.process.pid for m in nursery._made}
    found += [f"process {pid}" for pid in confine._family(os.getpid()) if pid not in kept and _of_camp(pid)]
    found += [f"group {folder}" for folder in GROUPS if folder.exists()]
    return found + [f for f in os.listdir(tempfile.gettempdir()) if f.startswith("labkit-camp-") and f in OURS]


def _of_camp(pid: int) -> bool:
    """A worker; the judge has processes of its own, such as the twin's runner."""
    try:
        return b"labkit.camp." in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


OURS: set[str] = set()
GROUPS: set[Path] = set()


def trial(
    count: int, seed: int, say=lambda line: None, part: list[int] | None = None
) -> tuple[list[Drawn], list[grade.Grade], list[str]]:
    """(what was drawn, its grades, what was wrong beside the verdicts) of a part of a draw."""
    home = Path(tempfile.mkdtemp(prefix="camp-trial-"))
    os.environ[SECRET] = secret = "k7-" + os.urandom(6).hex()
    started = confine.start

    def start(*args, **settings):
        made = started(*args, **settings)
        OURS.add(made.home.name)
        GROUPS.update([made.group.folder] if made.group else [])
        return made

    confine.start = start
    try:
        bait = home / "bait"
        bait.mkdir()
        (bait / "keep").write_text(secret)
        os.chmod(bait, 0o777)
        everything = draw(count, seed, str(bait))
        drawn = everything if part is None else [everything[k] for k in part]
        notebooks(drawn, home)
        kept = (
            bait,
            home / "submitted",
            REPO / "labkit",
            REPO / "kernels",
            REPO / "notebooks",
            REPO / "data",
            REPO / ".labkit",
        )
        before = snapshot(*kept)
        seen = iter(drawn)

        def tell(g: grade.Grade) -> None:
            d = next(seen)
            d.state = g.state
            say(f"{g.student} {d.family:9} {g.exercise:20} {g.way:7} {g.state:6}{'' if g.state in d.must else '  WRONG'} "
                f"{g.diagnosis} {g.seconds} s, {g.cpu_seconds} CPU s  {g.lines[:1] if g.state not in d.must else ''}")  # fmt: skip

        grades = grade.grade(home, seed=seed, tell=tell)
        after = snapshot(*kept)
        wrong = [f"changed: {p}" for p in sorted(before.keys() | after.keys()) if before.get(p) != after.get(p)]
        wrong += [f"left: {what}" for what in left_behind()]
        wrong += [f"leaked to {g.student}" for g in grades if secret in json.dumps(g.lines)]
        return drawn, grades, wrong
    finally:
        confine.start = started
        shutil.rmtree(home, ignore_errors=True)
        os.environ.pop(SECRET, None)


def write(
    part: list[int], count: int, seed: int, drawn: list[Drawn], grades: list[grade.Grade], said: list[str]
) -> None:
    """Adds a part's rows to those of the other parts of this draw."""
    rows = [r for r in done(count, seed) if int(r["number"]) not in part]
    first = {int(r["number"]): r["first"] or r["state"] for r in done(count, seed)}
    for k, d, g in zip(part, drawn, grades, strict=True):
        rows.append({"number": k, "seed": seed, "count": count, "family": d.family, "exercise": d.exercise,
                     "way": g.way, "must": d.must[0],
                     "first": first.get(k, g.state), "state": g.state, "right": "yes" if g.state in d.must else "no",
                     "diagnosis": g.diagnosis, "seconds": g.seconds, "cpu_seconds": g.cpu_seconds,
                     "isolation": g.isolation, "beside": "; ".join(said)})  # fmt: skip
    with open(TABLE, "w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        table.writeheader()
        table.writerows(sorted(rows, key=lambda r: int(r["number"])))


def done(count: int, seed: int) -> list[dict]:
    """The rows of this draw that are there already."""
    if not TABLE.exists():
        return []
    with open(TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [r for r in rows if (r.get("seed"), r.get("count")) == (str(seed), str(count))]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("--count", type=int, default=300)
    words.add_argument("--seed", type=int, default=16)
    words.add_argument("--only", default="", help="these numbers alone, say 17,23: to time those again that were slow")
    words.add_argument("--piece", type=int, default=25, help="graded together, then looked whether anything is left")
    words.add_argument("--write", action="store_true", help="data/camp_trial.csv; pieces that are there are not redone")
    words.add_argument("--again", action="store_true", help="grade those again that were not as they must be; "
                       "the state of the first run stays in its column")  # fmt: skip
    asked = words.parse_args()
    if held := group.make(1500):  # should a limit fail, the machine survives
        held.join()
    everything, beside = [], []
    chosen = [int(n) for n in asked.only.split(",") if n] or range(asked.count)
    for start in range(0, asked.count, asked.piece):
        part = [k for k in range(start, min(start + asked.piece, asked.count)) if k in chosen]
        there = [r for r in done(asked.count, asked.seed) if asked.write and int(r["number"]) in part]
        kept = [r for r in there if r["right"] == "yes" or not asked.again]
        part = [k for k in part if k not in {int(r["number"]) for r in kept}]
        there = kept
        if part:
            drawn, grades, wrong = trial(asked.count, asked.seed, lambda line: print(line, flush=True), part)
            there += [{"right": "yes" if g.state in d.must else "no", "seconds": g.seconds, "cpu_seconds": g.cpu_seconds}
                      for d, g in zip(drawn, grades, strict=True)]  # fmt: skip
            beside += wrong
            if asked.write:
                write(part, asked.count, asked.seed, drawn, grades, wrong)
        everything += there
    right = sum(r["right"] == "yes" for r in everything)
    print(f"{right} of {len(everything)} as they must be; {confine.offers()}")
    for name in ("seconds", "cpu_seconds"):
        had = sorted(float(r[name]) for r in everything)
        print(f"{name}: median {had[len(had) // 2]}, longest {had[-1]}, over 10: {sum(s > 10 for s in had)}")
    print("\n".join(beside) or "nothing written outside, nothing left behind, nothing leaked")
    sys.exit(0 if right == len(everything) and not beside else 1)


if __name__ == "__main__":
    main()
