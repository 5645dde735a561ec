"""Sources that the generator writes, drawn by a stated rule, for scripts/cann_headers.py.

    python scripts/generated_sources.py run/generated --headers DIR [--headers DIR ...]

The rule: of each family below the first EACH chains of scripts/drawn_chains.py that belong to it, in the order of their
numbers, by --seed (from 2 on the wider rule); no chain serves twice. Where a family is a way to cut, the candidate is
drawn from labkit.tuning's space of the chain. Without --headers the sources are only written.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from drawn_chains import Drawn, draw  # noqa: E402

EACH, MOST = 3, 2000  # of a family; numbers that are looked at


def _candidate(kernel, seed: str, **wanted) -> bool:
    """Whether the space has such a candidate; then the kernel is cut so."""
    from labkit import tuning

    space = tuning.generated(kernel)
    found = [p for p in space.candidates() if wanted.items() <= p.items()]
    if found:
        space.apply(random.Random(seed).choice(found))
    return bool(found)


def families() -> dict:
    """name -> whether a chain and its kernel belong to it; the kernel may be cut anew."""
    return {
        "narrow rows": lambda d, k: k.plan.narrow > 0 and k.plan.program.shape == "rows",
        "down columns": lambda d, k: k.plan.program.shape == "down",
        "logsumexp": lambda d, k: any(op in ("spread", "end_lse") for op, _ in d.steps),
        "int32": lambda d, k: d.inputs[0][1] == "int32",
        "one slot": lambda d, k: _candidate(k, d.seed, slots=1),
        "order down": lambda d, k: _candidate(k, d.seed, order="down"),
        "chosen tile": lambda d, k: len(k.shapes()) > 1 and _candidate(k, d.seed),
        "wide rows, two slots": lambda d, k: k.plan.program.shape == "wide" and k.plan.slots == 2,
    }


def sources(seed: int):
    """(family, number, source)."""
    from labkit import fusion

    wanted = {name: EACH for name in families()}
    for number in range(MOST):
        chain: Drawn = draw(seed, number)
        try:
            kernel = fusion.kernel(chain, chain.tensors(), name=f"chain_{number}")
            name = next((n for n, belongs in families().items() if wanted[n] and belongs(chain, kernel)), None)
        except fusion.Refused:
            continue
        if name:
            wanted[name] -= 1
            yield name, number, kernel.source
        if not any(wanted.values()):
            return
    raise SystemExit(f"{MOST} chains have too few of: {', '.join(n for n, left in wanted.items() if left)}")


def main() -> int:
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("folder", type=Path)
    ask.add_argument("--seed", type=int, default=14)
    ask.add_argument("--headers", action="append", default=[], help="as scripts/cann_headers.py check has it")
    given = ask.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    files = []
    for family, number, text in sources(given.seed):
        files.append(given.folder / f"{family.replace(' ', '_').replace(',', '')}_{number}.asc")
        files[-1].write_text(text, encoding="utf-8")
        print(files[-1], flush=True)
    if not given.headers:
        return 0
    words = [w for folder in given.headers for w in ("--headers", folder)]
    return subprocess.run([sys.executable, HERE / "cann_headers.py", "check", *words, *files]).returncode


if __name__ == "__main__":
    raise SystemExit(main())
