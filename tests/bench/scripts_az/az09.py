# What does the host cost per op when the ops are tiny?
# The same chain of in-place adds is issued twice: op by op from Python, and as one captured graph.
# The interval between two events covers the gaps in which the device waits for the host, so
#     exposed dispatch = (interval op by op - interval of the replay) / number of ops
# Capture happens before any event is recorded.
import csv
import statistics
import sys

import torch
import torch_npu

OPS = 100
TRIALS = 10
WIDTHS = [8, 1024, 32768]

torch.set_num_threads(1)


def interval_us(launch):
    first = torch.npu.Event(enable_timing=True)
    last = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    first.record()
    launch()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1e3


def prepare(width):
    v = torch.zeros(width, device="npu")

    def chain():
        for _ in range(OPS):
            v.add_(1.0)

    chain()
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        chain()
    graph.replay()
    v.zero_()
    chain()
    graph.replay()
    assert v[0].item() == 2 * OPS, "replay and eager must both add OPS"
    return chain, graph


writer = csv.writer(sys.stdout)
writer.writerow(["elements", "ops", "trials", "eager_us_per_op", "replay_us_per_op", "exposed_dispatch_us_per_op",
                 "trial_iqr_us_per_op"])
for width in WIDTHS:
    chain, graph = prepare(width)
    for _ in range(3):
        interval_us(chain)
        interval_us(graph.replay)
    eager, replay = [], []
    for trial in range(TRIALS):
        if trial % 2:
            eager.append(interval_us(chain) / OPS)
            replay.append(interval_us(graph.replay) / OPS)
        else:
            replay.append(interval_us(graph.replay) / OPS)
            eager.append(interval_us(chain) / OPS)
    exposed = [e - r for e, r in zip(eager, replay)]
    q1, q2, q3 = statistics.quantiles(exposed, n=4)
    writer.writerow([width, OPS, TRIALS, f"{statistics.median(eager):.2f}", f"{statistics.median(replay):.2f}",
                     f"{q2:.2f}", f"{q3 - q1:.2f}"])
