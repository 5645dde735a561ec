"""Workers as jobs of a Slurm queue, by dask-jobqueue's own class; `sbatch` and `scancel` are stand-ins that start and
end the job's script here, so what is tried is everything but Slurm.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from batches import fake_work

pytest.importorskip("dask_jobqueue")

from labkit.batch import schedule
from labkit.batch.plan import Job

SBATCH = """#!/bin/sh
cp "$1" {home}/script    # as Slurm does: dask-jobqueue removes its own
setsid sh {home}/script >{home}/said 2>&1 &
echo "Submitted batch job $!"
"""
SCANCEL = """#!/bin/sh
echo $1 >>{home}/cancelled
kill -TERM -- -$1
"""


@pytest.fixture
def queue(tmp_path, monkeypatch) -> Iterator[Path]:
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text.format(home=tmp_path))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    # A job that does not come up is waited for without an end, as one that stands in a queue.
    signal.signal(signal.SIGALRM, lambda *_: pytest.fail((tmp_path / "said").read_text()))
    signal.alarm(120)
    yield tmp_path
    signal.alarm(0)


def test_notebooks_on_jobs_of_a_queue(queue):
    from dask_jobqueue import SLURMCluster

    work = queue / "work"
    work.mkdir()
    with SLURMCluster(
        queue="npu", cores=2, processes=1, memory="2GB", job_extra_directives=["--gres=npu:2"], interface="lo",
        worker_extra_args=["--resources npu=2"], scheduler_options={"dashboard_address": None}, python=sys.executable,
        local_directory=str(queue), log_directory=str(queue), job_script_prologue=[
            f"export PYTHONPATH={Path(__file__).parents[1] / 'support'}:{Path(__file__).parents[2]}"],
    ) as cluster:  # fmt: skip
        cluster.scale(jobs=1)
        todo = [Job(n, "", 0, "", str(work), {}, {}, "", "d") for n in ("a", "b", "c", "d")]
        place = schedule.Place(cluster.scheduler_address, resources={"npu": 1})
        told: list[str] = []
        found = {j.name: (answer, why) for j, answer, why in
                 schedule.run(todo, place, timeout=60, cell_timeout=60, work=fake_work, say=told.append)}  # fmt: skip
    assert sorted(found) == ["a", "b", "c", "d"] and all(answer["result"]["ok"] for answer, _ in found.values())
    script = (queue / "script").read_text()
    assert "#SBATCH -p npu" in script and "#SBATCH --gres=npu:2" in script
    assert (queue / "cancelled").is_file(), "the job did not end with the cluster"
