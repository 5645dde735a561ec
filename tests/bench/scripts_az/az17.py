"""log_softmax over an evaluation set through a graph runner; prints a markdown table."""
import statistics

import torch
import torch_npu

BATCH = 128
BATCHES = 8
TAIL = 96
RUNS = 3


class GraphRunner:
    """Captures fn for the shape and dtype it is called with and replays that."""

    def __init__(self, fn):
        self.fn = fn
        self.sig = None

    def _capture(self, x):
        self.static_in = x.clone()
        side = torch.npu.Stream()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            for _ in range(3):
                self.fn(self.static_in)
        torch.npu.current_stream().wait_stream(side)
        torch.npu.synchronize()
        self.graph = torch.npu.NPUGraph()
        with torch.npu.graph(self.graph):
            self.static_out = self.fn(self.static_in)
        self.sig = (tuple(x.shape), x.dtype)

    def __call__(self, x):
        if self.sig != (tuple(x.shape), x.dtype):
            self._capture(x)
        self.static_in.copy_(x)
        self.graph.replay()
        return self.static_out


def score(logits):
    return torch.log_softmax(logits.float(), dim=-1)


def epoch_us(runner, data):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    start.record()
    for batch in data:
        runner(batch)
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop) * 1e3


torch.set_num_threads(1)
print("| vocab | rows | copy + replay, us per batch | range over runs | million rows/s |")
print("|---:|---:|---:|---:|---:|")
for vocab in (512, 2048):
    rows = [BATCH if i % 4 != 3 else TAIL for i in range(BATCHES)]
    data = [torch.randn(n, vocab, device="npu", dtype=torch.float16) for n in rows]
    runner = GraphRunner(score)
    want = torch.log_softmax(data[0].cpu().float(), -1)
    torch.testing.assert_close(runner(data[0]).cpu(), want, rtol=1e-2, atol=1e-2)
    epoch_us(runner, data)
    runs = [epoch_us(runner, data) for _ in range(RUNS)]
    mid = statistics.median(runs)
    print(f"| {vocab} | {sum(rows)} | {mid / BATCHES:.1f} | {min(runs) / BATCHES:.1f} to {max(runs) / BATCHES:.1f} "
          f"| {sum(rows) / mid:.2f} |")
print(f"\n{BATCHES} batches of {BATCH} or {TAIL} rows, {RUNS} runs after one untimed run.")
