"""How far each exercise keeps a submission from its own verdict: data/camp_promises.csv.

    python scripts/camp_promises.py [--write]

`way` is what labkit.camp.remote finds by our own solution. `rests_on`: what a submission would have to forge.
`hidden`: whether a grade's cases are others than the shown ones.
"""

from __future__ import annotations

import csv
import sys
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPO))

from labkit.camp import helper, hidden, wire  # noqa: E402
from labkit.camp import way as ways  # noqa: E402
from labkit.camp.asked import fields_of  # noqa: E402
from labkit.exercises.spec import load_all  # noqa: E402

RESTS = {
    "predict": "nothing: a value is read and compared here",
    "kernel": "values are compared here; findings and times come from the process that runs the kernel's own code",
    "triton": "results are compared here; findings, times and accesses come from the process that runs its kernel",
    "program": "what it prints is compared here; findings and launches come from the program's own process",
    "adapter": "results and gradients are compared here; streams, opcheck and launches are seen beside its code",
    "value": "nothing: results are compared here",
    "proxy": "nothing: golden.py's run stays here and calls the function by value",
    "helper": "golden.py's run stands beside its code, and could be made to say what it expects",
}


def hidden_of(spec) -> str:
    """How a grade's cases differ from those that a learner was shown: drawn with the seed, derived, or not at all."""
    if spec.kind == "predict" or spec.needs == "npu":
        return ""
    if hidden.derived(spec.id, 5):
        return "derived"
    cases = spec.function(spec.cases)
    shown, drawn = ([wire.encode(fields_of(c), functions=[]) for c in cases(n, False)] for n in (0, 5))
    return "as shown" if shown == drawn else "drawn"


def rows() -> list[dict]:
    made = []
    for spec in load_all():
        way = "value" if spec.kind == "predict" else ways.way(spec)
        reached = []
        if way == "helper":
            reached = helper.carried(spec.golden_path.read_text(encoding="utf-8"), spec.run)
        kind = way if spec.kind == "python" else spec.kind
        made.append(
            {
                "exercise": spec.id,
                "kind": spec.kind,
                "way": way,
                "hidden": hidden_of(spec),
                "carried": " ".join(reached),
                "rests_on": RESTS[kind],
            }  # fmt: skip
        )
    return made


def main() -> None:
    made = rows()
    for (kind, way), count in sorted(Counter((r["kind"], r["way"]) for r in made).items()):
        print(f"{kind:8} {way:7} {count}")
    print(Counter(r["hidden"] for r in made if r["kind"] == "python"))
    if "--write" in sys.argv[1:]:
        with open(REPO / "data" / "camp_promises.csv", "w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(made[0]), lineterminator="\n")
            table.writeheader()
            table.writerows(made)


if __name__ == "__main__":
    main()
