"""Latency of a small intent service: a worker thread owns the card, clients hand requests to it through a queue."""
import queue
import threading
import time
from concurrent.futures import Future
from typing import NamedTuple

import numpy as np
import torch
import torch.nn as nn
import torch_npu

FEATURES, CLASSES, ROWS = 512, 32, 8
WARM, BURSTS, BURST = 25, 120, 4


class Job(NamedTuple):
    rows: torch.Tensor
    submitted: float
    answer: Future


class Service:
    def __init__(self, model):
        self.model = model
        self.jobs = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.jobs.put(None)
        self.thread.join()

    def submit(self, rows):
        job = Job(rows, time.perf_counter(), Future())
        self.jobs.put(job)
        return job.answer

    @torch.no_grad()
    def _work(self):
        while (job := self.jobs.get()) is not None:
            try:
                scores = self.model(job.rows.npu()).softmax(dim=-1).cpu()
                job.answer.set_result((scores, time.perf_counter() - job.submitted))
            except Exception as error:  # the client sees it
                job.answer.set_exception(error)


def burst(service, pool, rng):
    chosen = [pool[i] for i in rng.integers(len(pool), size=BURST)]
    answers = [service.submit(rows) for rows, _ in chosen]
    latencies = []
    for (_, wanted), answer in zip(chosen, answers):
        scores, seconds = answer.result(timeout=30)
        assert torch.allclose(scores, wanted, atol=1e-4)
        latencies.append(1e6 * seconds)
    return latencies


def main():
    torch.manual_seed(1)
    rng = np.random.default_rng(1)
    host = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).eval()
    card = nn.Sequential(nn.Linear(FEATURES, 256), nn.ReLU(), nn.Linear(256, CLASSES)).eval()
    card.load_state_dict(host.state_dict())
    with torch.no_grad():
        pool = [(rows, host(rows).softmax(dim=-1)) for rows in torch.randn(20, ROWS, FEATURES)]

    places = [[] for _ in range(BURST)]
    with Service(card.npu()) as service:
        for _ in range(WARM):
            burst(service, pool, rng)
        for _ in range(BURSTS):
            for place, us in zip(places, burst(service, pool, rng)):
                place.append(us)

    print(f"closed loop: bursts of {BURST} requests of {ROWS} x {FEATURES} float32, the next burst after the last answer")
    print("from submit to the answer on the host (queue, upload, model, download), us")
    print(f"{'':14}{'P50':>9}{'P90':>9}{'P99':>9}{'longest':>9}{'count':>7}")
    everything = np.concatenate(places)
    for name, us in [*((f"place {i + 1}", np.array(p)) for i, p in enumerate(places)), ("all", everything)]:
        tail = f"{np.percentile(us, 99):9.1f}" if len(us) >= 400 else f"{'-':>9}"
        print(f"{name:14}{np.percentile(us, 50):9.1f}{np.percentile(us, 90):9.1f}{tail}{us.max():9.1f}{len(us):7}")


if __name__ == "__main__":
    main()
