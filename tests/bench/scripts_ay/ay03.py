"""Latency of an embedding lookup as the request handler sees it.

One request = token ids in host memory -> device -> lookup -> wait until the rows are there.
Requests come one at a time, so nothing overlaps and each one is waited for.
"""
import logging
import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("embed-latency")

VOCAB, DIM = 16000, 1024
LENGTHS = (64, 512)
WARM, REQUESTS = 20, 120


def one_request(table, ids):
    started = time.perf_counter()
    rows = F.embedding(ids.to("npu"), table)
    torch.npu.synchronize()
    ended = time.perf_counter()
    return (ended - started) * 1e6, rows


def main():
    gen = torch.Generator().manual_seed(0)
    table = torch.randn(VOCAB, DIM, generator=gen).half().npu()
    log.info("device %s, table %d x %d fp16 (%.0f MB)", torch.npu.get_device_name(0), VOCAB, DIM,
             table.numel() * 2 / 1e6)
    for length in LENGTHS:
        requests = [torch.randint(0, VOCAB, (length,), generator=gen) for _ in range(WARM + REQUESTS)]
        _, rows = one_request(table, requests[0])
        assert torch.equal(rows.cpu(), table.cpu()[requests[0]])
        for ids in requests[1:WARM]:
            one_request(table, ids)
        us = np.array([one_request(table, ids)[0] for ids in requests[WARM:]])
        p50, p90 = np.percentile(us, [50, 90])
        log.info("length %4d: request latency P50 %.1f us, P90 %.1f us, slowest %.1f us "
                 "(%d requests after %d warm ones; upload of the ids and the wait are part of it)",
                 length, p50, p90, us.max(), len(us), WARM)


if __name__ == "__main__":
    main()
