"""A process with two cards, for an operator that must work on the second: python -m labkit.exercises.second <file>.

The file holds (source, case), pickled by operators.py, and afterwards what was found.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from labkit import device
from labkit.exercises import operators
from labkit.operators import registration


def main(path: Path) -> None:
    source, case = pickle.loads(path.read_bytes())
    if source["python"]:
        device.install()
        operators.execute(source["text"], source["filename"])
    else:
        registration.register(text=source["text"], filename=source["filename"], folder=source["folder"])
    found, _, _ = operators.judge(None, operators.find(source["entry"]), case)
    path.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
