"""A feature store on the device: what a client waits for a look-up, one client, closed loop."""
import time
from types import SimpleNamespace

import numpy as np
import torch
import torch_npu

ROWS, WIDTH = 20_000, 64
WANTED = (32, 128, 512)
EACH = 1_100


class Store:
    def __init__(self):
        self.host = torch.randn(ROWS, WIDTH, generator=torch.Generator().manual_seed(2))
        self.table = self.host.npu()

    def fetch(self, ids):
        """ids in host memory; returns features in host memory, as the client gets them"""
        return torch.index_select(self.table, 0, ids.npu()).cpu()


def traffic(rng, kinds, each):
    sizes = np.repeat(kinds, each)
    rng.shuffle(sizes)
    for n in sizes.tolist():
        yield torch.from_numpy(rng.integers(0, ROWS, n))


def serve(store, stream, clock=time.perf_counter):
    log = []
    for ids in stream:
        arrived = clock()
        features = store.fetch(ids)
        left = clock()     # features are in host memory here: the copy back has waited for the device
        log.append(SimpleNamespace(n=len(ids), us=(left - arrived) * 1e6))
        if len(log) % 97 == 0 and not torch.equal(features, store.host[ids]):
            raise RuntimeError("wrong features")
    return log


def main():
    rng = np.random.default_rng(40)
    store = Store()
    serve(store, traffic(rng, WANTED, 40))          # warm: each size, thrown away as a whole
    log = serve(store, traffic(rng, WANTED, EACH))
    print(f"look-up in {ROWS:,} x {WIDTH} float32: ids to the device, index_select, rows back to the host")
    print(f"{len(log):,} requests of {len(WANTED)} sizes, mixed, after {40 * len(WANTED)} for warming up; all are in the table")
    print(f"{'ids':>5} {'requests':>9} {'P50':>9} {'P90':>9} {'P99':>9} {'above P99':>10} {'longest':>10}   us, at the client")
    for n in WANTED:
        us = np.array([r.us for r in log if r.n == n])
        p50, p90, p99 = np.percentile(us, [50, 90, 99])
        print(f"{n:>5} {len(us):>9,} {p50:>9.1f} {p90:>9.1f} {p99:>9.1f} {(us > p99).sum():>10} {us.max():>10.1f}")
    print("With one client nothing queues: more clients wait longer than this. The copies are part of these times.")


main()
