"""Segment sums (one row per graph node from its edges): scatter_add_ or index_add_?"""
import logging
import statistics

import torch
import torch_npu

logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
say = logging.info

NODES, EDGES, WIDTH = 8192, 16384, 64
CALLS, ROUNDS = 10, 7


class ScatterAdd:
    def __init__(self, owner, messages):
        self.owner = owner.unsqueeze(1).expand_as(messages)
        self.messages = messages

    def __call__(self):
        sums = torch.zeros(NODES, WIDTH, device="npu")
        return sums.scatter_add_(0, self.owner, self.messages)


class IndexAdd:
    def __init__(self, owner, messages):
        self.owner = owner
        self.messages = messages
        self.sums = torch.zeros(NODES, WIDTH, device="npu")

    def __call__(self):
        return self.sums.index_add_(0, self.owner, self.messages)


def us_per_call(build):
    first = torch.npu.Event(enable_timing=True)
    last = torch.npu.Event(enable_timing=True)
    first.record()
    for _ in range(CALLS):
        build()
    last.record()
    last.synchronize()
    return first.elapsed_time(last) * 1e3 / CALLS


def main():
    torch.set_num_threads(1)
    torch.manual_seed(4)
    owner = torch.randint(0, NODES, (EDGES,)).to("npu")
    messages = torch.randn(EDGES, WIDTH).to("npu")
    ways = {"scatter_add_": ScatterAdd(owner, messages), "index_add_": IndexAdd(owner, messages)}

    results = [way() for way in ways.values()]
    say("%d edges of %d float32 into %d nodes; results agree: %s",
        EDGES, WIDTH, NODES, torch.allclose(*results, atol=1e-4))

    for way in ways.values():
        us_per_call(way)
    took = {name: [] for name in ways}
    for turn in range(ROUNDS):
        for name in sorted(ways, reverse=turn % 2 == 0):
            took[name].append(us_per_call(ways[name]))

    middle = {name: statistics.median(us) for name, us in took.items()}
    for name, us in took.items():
        say("%-13s %8.2f us for the sums of all nodes (%d x %d calls, %.2f to %.2f us)",
            name, middle[name], ROUNDS, CALLS, min(us), max(us))
    say("for these sums index_add_ needs 1/%.1f of the time of scatter_add_",
        middle["scatter_add_"] / middle["index_add_"])


main()
