"""Step time of a small classifier whose whole training step is replayed as an NPUGraph."""
import argparse
import json
import statistics

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch_npu

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=64)
parser.add_argument("--steps", type=int, default=30)
parser.add_argument("--runs", type=int, default=4)
args = parser.parse_args()

dev = "npu:0"
torch.manual_seed(1)
torch.set_num_threads(1)


class StepRunner:
    def __init__(self, batch):
        self.net = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 64)).to(dev)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-3, capturable=True)
        self.x = torch.randn(batch, 128, device=dev)
        self.y = torch.randint(0, 64, (batch,), device=dev)
        self.graph = None

    def _step(self):
        self.opt.zero_grad(set_to_none=True)
        loss = F.cross_entropy(self.net(self.x), self.y)
        loss.backward()
        self.opt.step()
        return loss

    def _build(self):
        side = torch.npu.Stream()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            for _ in range(3):
                self._step()
        torch.npu.current_stream().wait_stream(side)
        self.graph = torch.npu.NPUGraph()
        with torch.npu.graph(self.graph):
            self.loss = self._step()

    def __call__(self):
        if self.graph is None:
            self._build()
        self.graph.replay()


def measure(steps):
    runner = StepRunner(args.batch)
    torch.npu.synchronize()
    begin, end = (torch.npu.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(steps):
        runner()
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) / steps


measure(2)
runs = [measure(args.steps) for _ in range(args.runs)]
step = statistics.median(runs)
print(json.dumps({
    "model": "mlp 128-256-64",
    "optimizer": "AdamW",
    "batch": args.batch,
    "mode": "npugraph replay",
    "runs": args.runs,
    "replays_per_run": args.steps,
    "replay_ms_per_step": round(step, 4),
    "replay_ms_range": [round(min(runs), 4), round(max(runs), 4)],
    "samples_per_s": round(args.batch / step * 1e3),
}, indent=2))
