"""330 abuses of the lab itself: does the parent live, is the verdict right, is anything left behind or changed?

    python scripts/abuse_trial.py --seed 1 --count 330 [--only fork] [--write]

The rule, stated before the first run: an abuse is a family, one of its bodies, and for kernels a place (before the
copy, after it, in the other block, in a constructor that runs when the library is loaded). A seeded generator deals
families in turn and draws body and place; numbers in the bodies are drawn too. Everything is bounded in its own text: at most 12
processes, 64 threads, 400 descriptors, 1 GB. Run it in a cgroup of its own all the same.

A body is `fatal` (it never returns: the launch must be an error) or `benign` (it returns: the result must be right, or
the launch an error). After each abuse the same process makes a healthy launch, whose numbers must be right, and ends
its runner; then no process and no new file may be left in the working folder, HOME, TMPDIR or XDG folders, which are the
trial's own. Sources are handed to labkit.kernel: it must refuse them by an error that is meant for people, or run them
right. Cache and place are tried in a fresh process each: right, or such an error. The family "outside" goes for what is not the kernel's: files of a
folder beside, the process that launched it, a port; there nothing may have changed.

What the trial does not see: files written elsewhere on the machine (it compares those folders only).
"""

# ruff: noqa: E501 - C++ and tables, a case a line

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from abuse_cases import FIELDS, GOOD, HEAD, KERNEL, KERNELS, MEANT, PLACES, SOURCES, draw

ROOT = Path(__file__).resolve().parents[1]
# ---- in the process that is abused


def descendants(root: int) -> list[int]:
    sys.path.insert(0, str(ROOT))
    from labkit.build.process import descendants as below

    return below(root)


class Outside:
    """What no abuse may reach: a folder, which ABUSE_OUTSIDE names, a port (ABUSE_PORT), this process's limits."""

    def __init__(self) -> None:
        self.folder = Path(os.environ["ABUSE_OUTSIDE"])
        self.port = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.port.bind(("127.0.0.1", 0))
        self.port.setblocking(False)
        os.environ["ABUSE_PORT"] = str(self.port.getsockname()[1])

    def laid_out(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        (self.folder / "folder").mkdir(parents=True)
        (self.folder / "victim").write_text("as it was")
        self.before = self._seen()

    def _seen(self) -> dict:
        files = {p.name: p.lstat() for p in self.folder.iterdir()}
        said = {n: (s.st_mode, s.st_mtime_ns, s.st_nlink, s.st_size) for n, s in files.items()}
        return said | {"limit": resource.getrlimit(resource.RLIMIT_NOFILE)}

    def changed(self) -> str:
        now = self._seen()
        found = [n for n in {*self.before, *now} if self.before.get(n) != now.get(n)]
        try:
            found += ["port"] if self.port.recv(16) else []
        except BlockingIOError:
            pass
        return f" outside: {' '.join(sorted(found))}" if found else ""


def files(*folders: Path) -> set[str]:
    return {str(p) for f in folders for p in f.rglob("*") if "__pycache__" not in p.parts}


def inside(rows: list[dict]) -> None:
    """Runs abuses one after the other in this process; a line of JSON on descriptor 9 for each."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # orphans come here
    import torch

    import labkit
    from labkit.launch import runner

    here, watched = Path.cwd(), [Path.cwd(), Path(os.environ["TMPDIR"]), Path(os.environ["HOME"])]
    x = torch.arange(64, dtype=torch.int32).npu()
    good = labkit.kernel(text=GOOD, timeout=5)
    outside = Outside()

    def launched(kernel) -> str:
        z = torch.zeros(64, dtype=torch.int32).npu()
        record = kernel[2](x, z)
        if any(f.severity == "error" for f in record.findings):
            return "finding"
        return "right" if bool((z.cpu() == x.cpu()).all()) else "wrong"

    assert launched(good) == "right"
    runner.forget(good.chip)
    mine = set(descendants(os.getpid()))
    for row in rows:
        began, before = time.monotonic(), files(*watched)
        outside.laid_out()
        try:
            if row["family"] == "source":
                file = here / "abuse.asc"
                file.write_bytes(SOURCES[row["body"]](row["n"]))
                before.add(str(file))
                kernel = labkit.kernel(file, timeout=5, **({"entry": "abuse"} if row["body"] == "two kernels" else {}))
            else:
                parts = dict.fromkeys(PLACES, "") | {"head": HEAD}
                parts[row["place"]] = row["text"]
                if row["place"] == "load":
                    parts["load"] = "struct AtLoad { AtLoad() { %s } }; static AtLoad at_load;" % row["text"]
                kernel = labkit.kernel(text=KERNEL % parts, timeout=1)
            got = launched(kernel)
        except Exception as error:
            got = f"{type(error).__name__}" if str(error).strip() else f"{type(error).__name__} without a word"
        try:
            healthy = launched(good)
        except Exception as error:
            healthy = f"{type(error).__name__}: {str(error)[:80]}"
        runner.forget(good.chip)
        until = time.monotonic() + 3
        while (left := set(descendants(os.getpid())) - mine) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        new = sorted(files(*watched) - before)
        row |= {"got": got, "healthy": healthy, "left": f"{len(left)} processes" * bool(left) + " ".join(new)[:80]}
        row["left"] += outside.changed()
        row["seconds"] = round(time.monotonic() - began, 2)
        os.write(9, (json.dumps(row) + "\n").encode())


HEALTHY = (
    """
import os, sys
import torch, labkit
x = torch.arange(64, dtype=torch.int32).npu(); z = torch.zeros(64, dtype=torch.int32).npu()
record = labkit.kernel(sys.argv[1] if len(sys.argv) > 1 else None, text=None if len(sys.argv) > 1 else %r, timeout=20)[2](x, z)
right = bool((z.cpu() == x.cpu()).all()) and not any(f.severity == "error" for f in record.findings)
os.write(int(os.environ["ABUSE_ANSWER"]), b"right" if right else b"wrong")
"""
    % GOOD
)


# ---- the trial


class Trial:
    """Folders of its own, and a warm cache that cases with a damaged one get a copy of."""

    def __init__(self, home: Path) -> None:
        self.home, self.cache = home, home / "cache"
        self.count = 0
        code = (
            "from labkit.build import runtime; from labkit.device import build\n"
            "for made in (runtime.library(), build.library()): print(made.parent)"
        )
        words = os.environ | {"PYTHONPATH": str(ROOT)}
        made = subprocess.run(
            [sys.executable, "-c", code], env=words, capture_output=True, text=True, check=True
        ).stdout
        for entry in map(Path, made.split()):  # what takes minutes to build is copied
            if "shipped" not in entry.parts:
                shutil.copytree(entry, self.cache / "build" / entry.name)
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        assert self.fresh({}, self.cache)[0] == "right", "the lab does not work here at all"
        self.whole = home / "whole"
        shutil.copytree(self.cache, self.whole)

    def environment(self, cache: Path, folder: Path) -> dict[str, str]:
        for name in ("cwd", "home", "tmp"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        words = {**os.environ, "LABKIT_CACHE": str(cache), "HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"),
                 "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "LABKIT_PROGRESS": "off", "LABKIT_LANG": "en",
                 "ABUSE_OUTSIDE": str(self.home / "outside")}  # fmt: skip
        return {k: v for k, v in words.items() if not k.startswith("XDG_")}

    def scratch(self) -> Path:
        self.count += 1
        return self.home / f"case{self.count}"

    def kernels(self, rows: list[dict]) -> list[dict]:
        """Rows of one process; what it did not answer died with it."""
        folder, (read, write) = self.scratch(), os.pipe()
        words = self.environment(self.cache, folder)
        child = subprocess.Popen(
            [sys.executable, __file__, "--inside"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=words, cwd=folder / "cwd", start_new_session=True, preexec_fn=lambda: os.dup2(write, 9), pass_fds=(9,),
        )  # fmt: skip
        os.close(write)
        child.stdin.write(json.dumps(rows).encode())
        child.stdin.close()
        watch = threading.Timer(60 * len(rows), child.kill)  # an abuse may have stopped it
        watch.start()
        with open(read, encoding="utf-8") as lines:
            done = [json.loads(line) for line in lines]
        child.wait()
        watch.cancel()
        lost = self.swept(child.pid)
        for row in rows[len(done) :]:
            row |= {"got": "", "healthy": f"the process died ({child.returncode})", "left": "", "seconds": 0}
        if lost and done:
            done[-1]["left"] += f" {lost} processes after the end"
        shutil.rmtree(folder, ignore_errors=True)
        return done + rows[len(done) :]

    def swept(self, _pid: int) -> int:
        """Ends what came to this process as an orphan; how many there were."""
        until = time.monotonic() + 3
        while (left := descendants(os.getpid())) and time.monotonic() < until:
            self._reap()
            time.sleep(0.02)
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self._reap()
        return len(left)

    @staticmethod
    def _reap() -> None:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass

    def fresh(
        self, more: dict, cache: Path, cwd: Path | None = None, arguments: tuple = (), prepare=None, drop=()
    ) -> tuple:
        """(got, left) of a healthy launch in a new process."""
        folder, (read, write) = self.scratch(), os.pipe()
        words = self.environment(cache, folder) | {"ABUSE_ANSWER": str(write)} | more
        for name in drop:
            words.pop(name, None)
        before = files(folder)
        child = subprocess.Popen(
            [sys.executable, "-c", HEALTHY, *arguments], env=words, cwd=cwd or folder / "cwd", stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True, pass_fds=(write,), preexec_fn=prepare,
        )  # fmt: skip
        os.close(write)
        try:
            said = child.communicate(timeout=300)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            child.kill()
            said = "hangs"
        answer = os.read(read, 64).decode()
        os.close(read)
        last = (said.strip().splitlines() or [""])[-1]
        error = next((line for line in reversed(said.splitlines()) if line.split(":")[0].split(".")[-1] in MEANT), "")
        got = answer or (error.split(":")[0].split(".")[-1] if error else f"other: {last[:80]}")
        lost, new = self.swept(child.pid), files(folder) - before
        shutil.rmtree(folder, ignore_errors=True)
        return got, f"{lost} processes" * bool(lost) + " ".join(sorted(new))[:80]

    def damaged(self, kind: str, n: int) -> tuple[str, str, str]:
        """(got with a damaged cache, got once more, left)."""
        cache = self.cache  # in its place: entries know the paths of others
        shutil.rmtree(cache)
        shutil.copytree(self.whole, cache, copy_function=os.link)  # what is damaged here gets a file of its own
        build, rng = cache / "build", random.Random(n)

        def cut(pattern: str, to) -> None:
            for file in build.glob(pattern):
                if file.is_file():
                    data = file.read_bytes()
                    file.unlink()
                    file.write_bytes(to(data))
                    file.chmod(0o755)

        part = lambda data: data[: rng.randrange(1, max(2, len(data)))]  # noqa: E731
        mode = None
        if kind in ("cut library", "empty library", "library of zeros"):
            cut("libtwin-*/libtwin.so", {"c": part, "e": lambda d: b"", "l": lambda d: bytes(len(d))}[kind[0]])
        elif kind == "cut kernel":
            cut("kernel-*/*.so", part)
        elif kind == "device cut":
            cut("labdevice-*/*.so", part)
        elif kind == "cut headers":
            cut("headers-*/include/*.h", part)
        elif kind == "no headers":
            [shutil.rmtree(p) for p in build.glob("headers-*/include")]
        elif kind == "cut pch":
            cut("*/*.gch", part)
        elif kind == "junk files":
            [(build / f"junk-{i}").write_bytes(rng.randbytes(99)) for i in range(20)]
            [(build / f"kernel-{i:024}").mkdir() for i in range(20)]
        elif kind == "no build folder":
            shutil.rmtree(build)
        elif kind == "build is a file":
            shutil.rmtree(build)
            build.write_text("x")
        elif kind == "left locks":
            [Path(f"{p}.lock").touch() for p in build.iterdir()]
        elif kind == "left temporaries":
            [(build / f".tmp-{i}").mkdir() for i in range(20)]
        elif kind in ("read-only", "no permission"):
            mode = 0o500 if kind == "read-only" else 0
            for p in (build, cache):
                p.chmod(mode)
        if kind == "two at once":
            for entry in [*build.glob("kernel-*"), *build.glob("twin-runner-*"), *build.glob("headers-*")]:
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            other = subprocess.Popen(
                [sys.executable, "-c", HEALTHY], env=self.environment(cache, self.scratch()) | {"ABUSE_ANSWER": "2"},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        first, left = self.fresh({}, cache)
        if kind == "two at once":
            other.wait(300)
        if mode is not None:
            for p in (cache, build):
                p.chmod(0o755)
        if build.is_file() and first != "right":  # the error said: move it. What was there is back, to save minutes
            build.unlink()
            shutil.copytree(self.whole / "build", build, copy_function=os.link)
        return first, self.fresh({}, cache)[0], left

    def odd(self, kind: str, n: int) -> tuple[str, str]:
        """(got, left) in an odd place."""
        home = self.scratch()
        home.mkdir(parents=True)
        names = {"space": f"a b {n}", "quote": f"it's \"{n}\"", "chinese": f"算子{n}", "newline": f"a\nb{n}", "dash": f"-rf{n}",
                 "percent": f"%s%n{n}$HOME`id`", "deep": "/".join(["d" * 40] * 20)}  # fmt: skip
        cwd, more, arguments, prepare, drop, cache = home, {}, (), None, (), self.cache
        if kind in names:
            cwd = home / names[kind]
            cwd.mkdir(parents=True)
            (cwd / "own.asc").write_text(GOOD)
            arguments = ("own.asc",)
        elif kind == "gone":
            cwd = home / "gone"
            cwd.mkdir()
            prepare = lambda: os.rmdir(cwd)  # noqa: E731
        elif kind == "no home":
            drop = ("HOME",)
        elif kind == "no path":
            more = {"PATH": "/nonexistent"}
        elif kind == "no tmp":
            more = {"TMPDIR": str(home / "nothing")}
        elif kind == "read-only cwd":
            cwd = home / "ro"
            cwd.mkdir(mode=0o500)
        elif kind == "locale C":
            more = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
        elif kind == "closed streams":
            prepare = lambda: [os.close(f) for f in (0, 1)]  # noqa: E731
        elif kind == "few descriptors":
            prepare = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))  # noqa: E731
        elif kind == "umask":
            prepare = lambda: os.umask(0o777)  # noqa: E731
        elif kind == "file for a cache":
            cache = home / "file"
            cache.write_text("x")
        elif kind == "no environment":
            drop = tuple(k for k in os.environ if k not in ("PATH", "PYTHONPATH"))
        got, left = self.fresh(more, cache, cwd, arguments, prepare, drop)
        shutil.rmtree(home, ignore_errors=True)
        return got, left


def judge(row: dict) -> str:
    """ "ok", or what is wrong."""
    got, wrong = row["got"], []
    errors = {"LaunchError", "CompileError", "finding"}
    if row["family"] in KERNELS:
        allowed = errors if row["fatal"] else errors | {"right"}
    else:
        allowed = {"right", "finding", *MEANT}
    if got not in allowed:
        wrong.append(f"verdict {got or 'none'}")
    if row["healthy"] != "right":
        wrong.append(f"afterwards {row['healthy']}")
    if row["left"].strip():
        wrong.append("left behind")
    return "; ".join(wrong) or "ok"


def run(rows: list[dict], home: Path, tell=lambda row: None) -> list[dict]:
    """All of them; ten kernels or sources to a process."""
    trial, done = Trial(home), []
    together = [r for r in rows if r["family"] in KERNELS or r["family"] == "source"]
    for begin in range(0, len(together), 10):
        done += trial.kernels(together[begin : begin + 10])
        for row in done[-10:]:
            row["verdict"] = judge(row)
            tell(row)
    apart = [r for r in rows if r["family"] in ("cache", "place")]
    for row in sorted(apart, key=lambda r: r["family"] == "cache"):  # the cache is damaged last
        began = time.monotonic()
        if row["family"] == "cache":
            row["got"], row["healthy"], row["left"] = trial.damaged(row["body"], row["n"])
        else:
            row["got"], row["left"] = trial.odd(row["body"], row["n"])
            row["healthy"] = "right"  # each is a process of its own
        row["seconds"] = round(time.monotonic() - began, 2)
        row["verdict"] = judge(row)
        done.append(row)
        tell(row)
    return sorted(done, key=lambda r: r["number"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=330)
    parser.add_argument("--only", default="", help="a family")
    parser.add_argument("--write", action="store_true", help="data/abuse_trial.csv")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.inside:
        inside(json.load(sys.stdin))
        return 0
    rows = [r for r in draw(asked.seed, asked.count) if asked.only in ("", r["family"])]
    with tempfile.TemporaryDirectory(prefix="labkit-abuse-", ignore_cleanup_errors=True) as home:
        done = run(rows, Path(home), lambda r: print(*(r.get(f, "") for f in FIELDS), sep=" | ", flush=True))
    counts = Counter((r["family"], r["verdict"] == "ok") for r in done)
    for family in dict.fromkeys(r["family"] for r in done):
        print(f"{family}: {counts[family, True]} of {counts[family, True] + counts[family, False]}")
    if asked.write:
        with open(ROOT / "data" / "abuse_trial.csv", "w", encoding="utf-8", newline="") as out:
            table = csv.DictWriter(out, FIELDS, extrasaction="ignore", lineterminator="\n")
            table.writeheader()
            table.writerows(done)
    bad = sum(r["verdict"] != "ok" for r in done)
    print(f"{len(done) - bad} of {len(done)} as they must be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
