"""Does an upload on its own stream hide behind the computation? Batches per second, both ways, in turn."""
import statistics
import time

import torch
import torch_npu

torch.set_num_threads(1)

BATCHES, ROUNDS = 12, 8


def sequential(hosts, weight):
    total = torch.zeros((), device="npu")
    for host in hosts:
        x = host.to("npu", non_blocking=True)
        total += torch.softmax(x @ weight, dim=-1).amax()
    return total


class Prefetcher:
    def __init__(self, hosts):
        self.hosts = iter(hosts)
        self.lane = torch.npu.Stream()
        self.next = None
        self._fetch()

    def _fetch(self):
        host = next(self.hosts, None)
        if host is None:
            self.next = None
            return
        with torch.npu.stream(self.lane):
            self.next = host.to("npu", non_blocking=True)

    def __iter__(self):
        while self.next is not None:
            torch.npu.current_stream().wait_stream(self.lane)
            ready = self.next
            ready.record_stream(torch.npu.current_stream())
            self._fetch()
            yield ready


def overlapped(hosts, weight):
    total = torch.zeros((), device="npu")
    for x in Prefetcher(hosts):
        total += torch.softmax(x @ weight, dim=-1).amax()
    return total


def rate(function, hosts, weight):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(hosts, weight)
    torch.npu.synchronize()
    return len(hosts) / (time.perf_counter() - begin)


def main():
    torch.manual_seed(6)
    for rows, inner in ((256, 512), (256, 1024), (512, 512)):
        hosts = [torch.randn(rows, inner).pin_memory() for _ in range(BATCHES)]
        weight = torch.randn(inner, 256, device="npu")
        torch.testing.assert_close(sequential(hosts, weight), overlapped(hosts, weight))
        for function in (sequential, overlapped):
            rate(function, hosts, weight)
        one, two = [], []
        for number in range(ROUNDS):
            order = ((sequential, one), (overlapped, two))
            for function, store in order[::-1] if number % 2 else order:
                store.append(rate(function, hosts, weight))
        gains = sorted(b / a for a, b in zip(one, two))
        print(f"{rows} x {inner} float32, {BATCHES} batches a round: one stream {statistics.median(one):,.0f}/s ({min(one):,.0f} to {max(one):,.0f}), "
              f"two streams {statistics.median(two):,.0f}/s ({min(two):,.0f} to {max(two):,.0f}); "
              f"gain {statistics.median(gains):.2f} ({gains[0]:.2f} to {gains[-1]:.2f} over {ROUNDS} rounds)")


if __name__ == "__main__":
    main()
