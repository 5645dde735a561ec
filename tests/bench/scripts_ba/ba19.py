"""Eager step against NPUGraph replay, new input copied in for both; capture is reported on its own."""
import json
import statistics
import time

import torch
import torch_npu

WIDTH, DEPTH, BATCH = 128, 5, 16
ROUNDS, STEPS = 15, 6


def body(x, weights):
    for w in weights:
        x = torch.relu(x @ w)
    return x


def main():
    torch.manual_seed(0)
    weights = [torch.randn(WIDTH, WIDTH, device="npu") / WIDTH**0.5 for _ in range(DEPTH)]
    inputs = [torch.randn(BATCH, WIDTH, device="npu") for _ in range(STEPS)]
    static_in = torch.zeros(BATCH, WIDTH, device="npu")

    for x in inputs:  # everything is loaded before capture
        static_in.copy_(x)
        body(static_in, weights)
    torch.npu.synchronize()

    graph = torch.npu.NPUGraph()
    t0 = time.perf_counter()
    with torch.npu.graph(graph):
        static_out = body(static_in, weights)
    torch.npu.synchronize()
    capture_us = (time.perf_counter() - t0) * 1e6

    def eager(x):
        static_in.copy_(x)
        return body(static_in, weights)

    def replay(x):
        static_in.copy_(x)
        graph.replay()
        return static_out

    for x in inputs:
        torch.testing.assert_close(replay(x).cpu(), eager(x).cpu())

    def round_us(step):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for x in inputs:
            step(x)
        torch.npu.synchronize()
        return (time.perf_counter() - begin) / STEPS * 1e6

    laps = {eager: [], replay: []}
    for r in range(ROUNDS):
        for step in ((eager, replay), (replay, eager))[r % 2]:
            laps[step].append(round_us(step))

    report = {"layers": DEPTH, "width": WIDTH, "batch": BATCH, "dtype": "float32", "rounds": ROUNDS,
              "unit": "us per step, input copy on the device included, one wait per round of %d steps" % STEPS,
              "capture_once_us": round(capture_us, 1)}
    for step, us in laps.items():
        report[step.__name__] = {"median": round(statistics.median(us), 1), "min": round(min(us), 1), "max": round(max(us), 1)}
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
