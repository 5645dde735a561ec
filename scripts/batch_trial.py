"""Does a batch lose anything? 60 notebooks of the workbook on two workers; a worker is killed, then the whole batch.

    python scripts/batch_trial.py [--seed 1] [--count 60] [--out DIR]

By the seed: which notebooks (of both languages), after how many results a worker of the cluster gets SIGKILL, and after
how many the program itself with all that it started. Then the same command again, which must say how many are done, run
only the others, and end with every notebook right. Prints what it did; exit status 1 where something was lost.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from labkit.build.process import descendants  # noqa: E402


def workers(pid: int) -> list[int]:
    """Dask's worker processes below the batch: a nanny spawns each."""

    def words(p: int) -> str:
        try:
            return Path(f"/proc/{p}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            return ""

    return [p for p in descendants(pid) if "multiprocessing.spawn" in words(p)]


def results(out: Path) -> dict[str, float]:
    """name -> when its result was written."""
    return {p.stem: p.stat().st_mtime for p in (out / ".batch").glob("*.json")}


def wait_for(count: int, out: Path, child: subprocess.Popen) -> None:
    while child.poll() is None and len(results(out)) < count:
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rng = random.Random(asked.seed)
    every = sorted((ROOT / "notebooks").glob("[0-9]*/*.ipynb"))
    chosen = [str(p) for p in sorted(rng.sample(every, asked.count))]
    first, second = sorted(rng.sample(range(1, asked.count - 1), 2))
    out = asked.out or Path(tempfile.mkdtemp(prefix="labkit-batch-trial-"))
    command = [sys.executable, "-m", "labkit", "batch", *chosen, "--workers", "2", "--out", str(out)]
    began = time.monotonic()

    child = subprocess.Popen(command, cwd=ROOT, start_new_session=True)
    wait_for(first, out, child)
    lost = workers(child.pid)
    victim = rng.choice(lost)
    os.kill(victim, signal.SIGKILL)
    print(f"{len(lost)} workers; one was killed after {first} results", flush=True)
    wait_for(second, out, child)
    family = [child.pid, *descendants(child.pid)]
    for pid in family:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    child.wait()
    held = results(out)
    print(f"the batch was killed after {len(held)} results, {len(family)} processes", flush=True)

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(done.stderr.splitlines()[0] if done.stderr else "", done.stdout.strip(), sep="\n")
    now = results(out)
    again = [name for name in held if now.get(name) != held[name]]
    bad = [p.stem for p in (out / ".batch").glob("*.json") if not json.loads(p.read_text())["result"]["ok"]]
    print(f"{len(now)} of {asked.count} have a result, {len(bad)} failed {bad}, {len(again)} ran twice, "
          f"{time.monotonic() - began:.0f} s")  # fmt: skip
    return 1 if len(now) != asked.count or bad or again or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
