"""A captured graph against issuing the same chain operator by operator."""
import random
import statistics
import time
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch_npu

torch.set_num_threads(1)

REPLAYS, ROUNDS = 10, 8


class Tower(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(depth))

    def forward(self, x):
        for layer, norm in zip(self.layers, self.norms):
            x = x + torch.relu(layer(norm(x)))
        return x


@contextmanager
def stopwatch(store, per):
    torch.npu.synchronize()
    begin = time.perf_counter()
    yield
    torch.npu.synchronize()
    store.append((time.perf_counter() - begin) / per * 1e6)


def capture(model, x):
    lane = torch.npu.Stream()
    lane.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(lane):
        for _ in range(3):
            model(x)
    torch.npu.current_stream().wait_stream(lane)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y = model(x)
    return graph, y


@torch.no_grad()
def main():
    torch.manual_seed(0)
    coin = random.Random(0)
    for rows, width, depth in ((1, 128, 6), (4, 128, 6), (4, 256, 4)):
        model = Tower(width, depth).npu().eval()
        x = torch.randn(rows, width, device="npu")
        graph, y = capture(model, x)
        graph.replay()
        torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-4)

        runs = {"eager": lambda: model(x), "graph": graph.replay}
        times = {name: [] for name in runs}
        for number in range(ROUNDS + 2):
            names = list(runs)
            coin.shuffle(names)
            for name in names:
                with stopwatch(times[name], REPLAYS):
                    for _ in range(REPLAYS):
                        runs[name]()
        eager, replay = times["eager"][2:], times["graph"][2:]  # two rounds of warm-up
        gain = [e / g for e, g in zip(eager, replay)]
        print(f"{rows} x {width}, depth {depth}, float32: eager {statistics.median(eager):.1f} us, graph {statistics.median(replay):.1f} us a pass; "
              f"eager / graph {statistics.median(gain):.2f} ({min(gain):.2f} to {max(gain):.2f} over {len(gain)} rounds in drawn order)")


main()
