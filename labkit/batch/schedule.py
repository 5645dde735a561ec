"""Where the notebooks run: Dask. A local cluster by default, any other by the address of its scheduler.

A worker that is lost costs its notebooks another try on another worker. Which of those that it held was to blame nobody
knows; so whoever has lost three workers waits until the others are done and is then tried alone, and only one that ends
workers then too is given up.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass

from labkit import messages
from labkit.batch import job as one
from labkit.batch.plan import Job

_TRIES = 2  # workers that may end with one notebook before the next is its last
_CONNECT_S = 20
_LOST = "KilledWorker"  # Dask's word


@dataclass(frozen=True)
class Place:
    """address: of a Dask scheduler, "" for a local cluster of `workers` processes. resources: what a notebook takes of
    a worker's, e.g. {"npu": 1}. devices: see job.run.
    """

    address: str = ""
    workers: int = 1
    resources: Mapping[str, float] | None = None
    devices: list[int] | None = None


class NoCluster(RuntimeError):
    """There is no scheduler at the address."""


def resources(text: str) -> dict[str, float]:
    """ "npu=1,memory=4" -> {"npu": 1.0, "memory": 4.0}. Raises ValueError."""
    found = {}
    for word in filter(None, (w.strip() for w in text.replace(" ", ",").split(","))):
        name, _, amount = word.partition("=")
        try:
            found[name] = float(amount)
        except ValueError:
            raise ValueError(messages.text("batch.bad-resource", word=word)) from None
        if not name or not 0 < found[name] < math.inf:  # nor NaN
            raise ValueError(messages.text("batch.bad-resource", word=word))
    return found


@contextmanager
def _client(place: Place):
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set({"distributed.scheduler.allowed-failures": _TRIES, "distributed.comm.timeouts.connect": "20s",
                          "distributed.admin.tick.limit": "1h"}):  # fmt: skip
        if place.address:
            try:
                client = Client(place.address, timeout=_CONNECT_S)
            except (OSError, ValueError, TimeoutError) as error:
                raise NoCluster(messages.text("batch.no-cluster", address=place.address, error=error)) from None
            with client:
                yield client
            return
        # A worker's notes go into a folder that vanishes; nothing listens beyond this machine.
        with tempfile.TemporaryDirectory(prefix="labkit-dask-", ignore_cleanup_errors=True) as folder:
            with LocalCluster(
                n_workers=place.workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                worker_dashboard_address=None,
                resources=dict(place.resources or {}),
                local_directory=folder,
                silence_logs=logging.CRITICAL,
                memory_limit=0,
            ) as cluster, Client(cluster) as client:  # fmt: skip
                try:
                    yield client
                finally:
                    # A worker that was lost is being started anew. Dask's nanny, closed meanwhile, joins a process that
                    # has not begun: AssertionError, and the last answer would be lost with it.
                    with suppress(TimeoutError, asyncio.TimeoutError):
                        client.wait_for_workers(place.workers, timeout=_CONNECT_S)


def run(
    jobs: list[Job],
    place: Place,
    *,
    timeout: float,
    cell_timeout: int,
    say: Callable[[str], None] = lambda text: print(text, file=sys.stderr, flush=True),
    started: Callable[[object], None] | None = None,
    work: Callable[..., dict] = one.run,
) -> Iterator[tuple[Job, dict | None, str]]:
    """(job, answer of job.run, "") as they end; (job, None, why) for one that no worker could end.

    started(client): called once, when the jobs are handed in. work: what a worker calls. Raises NoCluster.
    """
    from distributed import as_completed

    with _client(place) as client:
        if place.address:
            _look(client, place, say)

        def submit(j: Job, turn: str):
            return client.submit(
                work, asdict(j), place.devices, timeout, cell_timeout,
                key=f"labkit-batch-{j.name}-{j.digest}-{os.getpid()}-{turn}",
                resources=dict(place.resources or {}) or None,
                pure=False,
            )  # fmt: skip

        futures, suspects = {submit(j, "together"): j for j in jobs}, []
        if started is not None:
            started(client)
        for future in as_completed(list(futures)):
            answer, why = _ended(future)
            if why == _LOST:
                suspects.append(futures[future])
            else:
                yield futures[future], answer, why
        for j in suspects:
            answer, why = _ended(submit(j, "alone"))
            yield j, answer, messages.text("batch.lost", tries=_TRIES + 1) if why == _LOST else why


def _ended(future) -> tuple[dict | None, str]:
    """(its answer, "") or (None, why there is none); waits for it."""
    error = future.exception()
    found = (future.result(), "") if error is None else (None, f"{type(error).__name__}: {error}")
    future.release()
    return found if type(error).__name__ != _LOST else (None, _LOST)


def _look(client, place: Place, say: Callable[[str], None]) -> None:
    """A cluster without workers, or without any that has the resources, may still get some: we say so and wait."""
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    fit = [w for w in workers if all(w["resources"].get(n, 0) >= v for n, v in (place.resources or {}).items())]
    if not fit:
        wanted = " ".join(f"{n}={v:g}" for n, v in (place.resources or {}).items())
        option = f' --resources "{wanted}"' if wanted else ""
        say(messages.text("batch.no-workers", count=len(workers), address=place.address, option=option))
