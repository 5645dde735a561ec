"""The command: plan, leave out what is done, run the rest, keep each result as it comes, write the reports."""

from __future__ import annotations

import signal
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from labkit import messages, paths
from labkit.batch import job as one
from labkit.batch import report, schedule
from labkit.batch.plan import Job, plan
from labkit.batch.state import State

TIMEOUT_S = 1800.0  # a notebook
CELL_TIMEOUT_S = 600


def run(
    names: list[str],
    given: Mapping[str, str],
    out: Path,
    place: schedule.Place,
    *,
    chip: str = "",
    solved: bool = False,
    timeout: float = TIMEOUT_S,
    cell_timeout: int = CELL_TIMEOUT_S,
    again: str = "",
    **scheduling,
) -> int:
    """Exit code: 0 when all ran through, 1 when one did not, 2 for a call that cannot be done (nothing has run then).

    given: parameters as texts. again: "failed" or "all" notebooks are run although they are done.
    scheduling: more words for schedule.run.
    """
    state = State(out)
    with state.alone(), tempfile.TemporaryDirectory(prefix="labkit-batch-solved-") as scratch:
        jobs = plan(names, given, chip=chip, solved=solved, scratch=Path(scratch))
        done = {j.name: found for j in jobs if again != "all" and (found := state.found(j.name, j.digest))}
        done = {name: r for name, r in done.items() if again != "failed" or r["ok"]}
        todo = [j for j in jobs if j.name not in done]
        if done:
            print(messages.text("batch.resumed", done=len(done), of=len(jobs)), file=sys.stderr, flush=True)
        lost = _rest(todo, done, len(jobs), state, place, timeout, cell_timeout, scheduling) if todo else {}
        results = [(done | lost)[j.name] for j in jobs]
        report.write_all(out, results, dict(given) | ({"CHIP": chip} if chip else {}))
    failed = sum(not r["ok"] for r in results)
    words = {"ok": len(results) - failed, "of": len(results), "report": paths.display_path(out / "index.html")}
    print(messages.text("batch.summary", **words))
    return 1 if failed else 0


def _rest(
    todo: list[Job],
    done: dict,
    of: int,
    state: State,
    place: schedule.Place,
    timeout: float,
    cell_timeout: int,
    scheduling: dict,
) -> dict[str, dict]:
    """Runs them; adds to `done` what has a result. Returns those that no worker could end: tried again next time."""
    lost = {}
    before = signal.signal(signal.SIGTERM, _interrupt)  # the cluster is closed in order
    try:
        with report.Progress(of, len(done)) as progress:
            for j, answer, why in schedule.run(todo, place, timeout=timeout, cell_timeout=cell_timeout, **scheduling):
                if answer is None:
                    lost[j.name] = one.no_answer(asdict(j), why)["result"]
                else:
                    state.keep(j.name, j.digest, answer["result"], answer["notebook"], answer["page"])
                    done[j.name] = answer["result"]
                progress.ended((done | lost)[j.name])
    finally:
        signal.signal(signal.SIGTERM, before)
    return lost


def _interrupt(*_) -> None:
    raise KeyboardInterrupt
