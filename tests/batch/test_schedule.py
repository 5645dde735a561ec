"""Dask gives notebooks to workers: some are lost, some ask for devices, some are on another cluster."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter

import pytest
from batches import fake_work

pytest.importorskip("distributed")

from labkit.batch import schedule
from labkit.batch.plan import Job


def jobs(folder, *names: str) -> list[Job]:
    return [Job(n, "", 0, "", str(folder), {}, {}, "", "d") for n in names]


def ran(folder) -> Counter:
    return Counter(line.split()[0] for line in (folder / "log").read_text().splitlines())


def go(todo, place, **more):
    return {j.name: (answer, why) for j, answer, why in
            schedule.run(todo, place, timeout=9, cell_timeout=9, work=fake_work, **more)}  # fmt: skip


def test_sixty_on_two_workers_one_killed_on_the_way(tmp_path):
    names = [f"n{i}" for i in range(60)]

    def kill_one(client) -> None:
        pids = list(client.run(os.getpid).values())
        assert len(pids) == 2

        def later() -> None:
            while not (tmp_path / "log").is_file() or len((tmp_path / "log").read_text().splitlines()) < 15:
                time.sleep(0.01)
            os.kill(pids[0], signal.SIGKILL)

        threading.Thread(target=later, daemon=True).start()

    found = go(jobs(tmp_path, *names), schedule.Place(workers=2), started=kill_one)
    assert sorted(found) == sorted(names) and all(answer["result"]["ok"] for answer, _ in found.values())
    counts = ran(tmp_path)
    assert (
        set(counts) == set(names)
        and len({line.split()[1] for line in (tmp_path / "log").read_text().splitlines()}) >= 2
    )


def test_a_worker_that_a_notebook_takes_along_is_replaced_and_a_deadly_notebook_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(schedule, "_TRIES", 1)  # each costs the start of a worker
    found = go(jobs(tmp_path, "first", "deadly", "n1", "n2"), schedule.Place(workers=2))
    assert found["first"][0] is not None and found["n1"][0] and found["n2"][0]
    answer, why = found["deadly"]
    assert answer is None and "workers ended while they ran this notebook" in why
    assert schedule._TRIES + 1 <= ran(tmp_path)["deadly"] <= 2 * (schedule._TRIES + 1) and ran(tmp_path)["first"] >= 2


def test_the_end_waits_for_a_worker_that_is_being_started_anew(tmp_path, monkeypatch):
    """Dask's nanny, closed while it starts a worker, may join a process that has not begun: AssertionError, and the last
    notebook's answer is lost with it."""
    from distributed import LocalCluster

    monkeypatch.setattr(schedule, "_TRIES", 0)
    there, leave = [], LocalCluster.__exit__

    def counted(self, *error):
        there.append(len(self.scheduler.workers))
        return leave(self, *error)

    monkeypatch.setattr(LocalCluster, "__exit__", counted)
    found = go(jobs(tmp_path, "deadly"), schedule.Place(workers=2))
    assert there == [2] and found["deadly"][0] is None and "workers ended" in found["deadly"][1]


def test_a_cluster_by_its_address_with_resources(tmp_path):
    from distributed import LocalCluster

    told = []
    with LocalCluster(
        n_workers=1, threads_per_worker=4, processes=True, dashboard_address=None, resources={"npu": 1},
        host="127.0.0.1",
    ) as cluster:  # fmt: skip
        place = schedule.Place(cluster.scheduler_address, resources={"npu": 1})
        assert len(go(jobs(tmp_path, "a", "b", "c"), place, say=told.append)) == 3 and not told
        # A worker that has none: we say what to start, and go on when it is there.
        with pytest.raises(InterruptedError):

            def stop(client):
                raise InterruptedError

            go(jobs(tmp_path, "d"), schedule.Place(cluster.scheduler_address, resources={"card": 1}),
               say=told.append, started=stop)  # fmt: skip
    assert len(told) == 1 and "dask worker" in told[0] and '--resources "card=1"' in told[0]


def test_no_scheduler_is_said(monkeypatch):
    monkeypatch.setattr(schedule, "_CONNECT_S", 1)
    with pytest.raises(schedule.NoCluster, match="No Dask scheduler answers at tcp://127.0.0.1:9"):
        go([], schedule.Place("tcp://127.0.0.1:9"))


@pytest.mark.parametrize(
    "text, found",
    [("", {}), ("npu=1", {"npu": 1}), ("npu=1, gb=2.5", {"npu": 1, "gb": 2.5}), ("a=1 b=2", {"a": 1, "b": 2})],
)
def test_resources_are_read(text, found):
    assert schedule.resources(text) == found


@pytest.mark.parametrize("text", ["npu", "npu=", "=1", "npu=x", "npu=0", "npu=-1", "npu=nan", "npu=inf"])
def test_other_resources_are_refused(text):
    with pytest.raises(ValueError, match="not NAME=AMOUNT"):
        schedule.resources(text)
