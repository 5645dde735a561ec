"""What a batch has done, on disk: a file for each notebook in OUT/.batch, written by a rename after everything else.

A process that is killed at any moment leaves complete files, or none and a `.tmp` that the next run removes.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import contextmanager
from pathlib import Path

from labkit import messages, paths


def write(file: Path, text: str) -> None:
    """`text` in `file`: all of it or what was there before, also when the machine stops."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_name(f".{file.name}.tmp")
    with open(part, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(part, file)


class State:
    """The results in one folder."""

    def __init__(self, out: Path) -> None:
        self.out, self._home = out, out / ".batch"
        self._home.mkdir(parents=True, exist_ok=True)

    @contextmanager
    def alone(self):
        """One batch at a time in a folder. Raises BlockingIOError with a sentence where another one works."""
        with open(self._home / "lock", "a", encoding="ascii") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise BlockingIOError(messages.text("batch.taken", folder=paths.display_path(self.out))) from None
            for part in [*self.out.glob(".*.tmp"), *self._home.glob(".*.tmp")]:
                part.unlink(missing_ok=True)
            yield

    def found(self, name: str, digest: str) -> dict | None:
        """The result of this notebook with this digest, where it is complete."""
        try:
            held = json.loads((self._home / f"{name}.json").read_text(encoding="utf-8"))
            return held["result"] if held["digest"] == digest and (self.out / f"{name}.ipynb").is_file() else None
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def keep(self, name: str, digest: str, result: dict, notebook: str, page: str) -> None:
        """The notebook with its outputs, its page, and last the entry by which it counts as done."""
        for text, ending in ((notebook, "ipynb"), (page, "html")):
            if text:
                write(self.out / f"{name}.{ending}", text)
        write(self._home / f"{name}.json", json.dumps({"digest": digest, "result": result}, indent=1) + "\n")
