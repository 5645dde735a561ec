"""The lie detector's trial: scripts whose first line says what is wrong with them, judged by labkit.bench.check.

    python scripts/lie_trial.py tests/bench/scripts_a ...

`# right` or `# lies: kind, kind`: the first kind is the one that must be named, the others are wrong with it as well.
A folder with an expected.toml says it there instead.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from labkit import bench

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib


def expected(script: Path) -> list[str] | None:
    """The kinds that a script is said to have, [] for a right one, None for a helper."""
    key = script.parent / "expected.toml"
    if key.is_file():
        said = tomllib.loads(key.read_text(encoding="utf-8")).get(script.stem)
        return None if said is None else [said] if said else []
    first = script.read_text(encoding="utf-8").partition("\n")[0]
    if first.startswith("# right"):
        return []
    return [k.strip() for k in first.removeprefix("# lies:").split(",")] if first.startswith("# lies:") else None


def trial(folder: Path) -> tuple[int, int, int, int, int]:
    """(wrong ones named, wrong ones, right ones accused, right ones, false findings on wrong ones)"""
    named = wrong = accused = right = beside = 0
    for script in sorted(folder.glob("*.py")):
        kinds = expected(script)
        if kinds is None:
            continue
        begin = time.monotonic()
        verdict = bench.check(script, timeout=900)  # a busy machine is no finding
        seconds = time.monotonic() - begin
        false = [k for k in verdict.kinds if k not in kinds]
        if kinds:
            wrong += 1
            named += kinds[0] in verdict.kinds
            beside += len(false)
            state = "named " if kinds[0] in verdict.kinds else "MISSED"
        else:
            right += 1
            accused += bool(false)
            state = "ACCUSED" if false else "clear "
        print(f"{state} {script.stem:28} {seconds:5.1f} s  said {kinds or '-'}, found {verdict.kinds}"
              + (f"  {verdict.notes}" if verdict.notes else ""), flush=True)  # fmt: skip
    return named, wrong, accused, right, beside


if __name__ == "__main__":
    for name in sys.argv[1:]:
        named, wrong, accused, right, beside = trial(Path(name))
        print(f"{name}: {named} of {wrong} named, {accused} of {right} accused, {beside} further findings not listed")
