import torch
import torch_npu
import argparse
import json
import time

import numpy as np


class Evaluation:
    def __init__(self, batch, hidden):
        torch.manual_seed(batch)
        self.model = torch.nn.Sequential(torch.nn.Linear(hidden, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 16))
        x, target = torch.randn(batch, hidden), torch.randn(batch, 16)
        with torch.no_grad():
            self.expected = torch.nn.functional.mse_loss(self.model(x), target).item()
        self.model.npu().eval()
        self.x, self.target = x.npu(), target.npu()

    def step(self):
        return torch.nn.functional.mse_loss(self.model(self.x), self.target)

    def round(self, steps):
        losses = []
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(steps):
            losses.append(self.step().item())
        torch.npu.synchronize()
        us = (time.perf_counter() - begin) / steps * 1e6
        assert np.allclose(losses, self.expected, rtol=1e-3)
        return us


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--rounds", type=int, default=6)
    args = parser.parse_args()
    out = {}
    for batch in (64, 256):
        job = Evaluation(batch, 512)
        for _ in range(15):
            job.step()
        torch.npu.synchronize()
        us = [job.round(args.steps) for _ in range(args.rounds)]
        p10, p50, p90 = (round(float(v), 1) for v in np.percentile(us, [10, 50, 90]))
        out[f"batch {batch}, hidden 512, float32"] = {
            "device time per evaluation step, us": {"P10": p10, "P50": p50, "P90": p90},
            "rounds": args.rounds, "steps per round": args.steps,
        }
    print(json.dumps(out, indent=1))
    for case, figures in out.items():
        print(f"{case}: the NPU works {figures['device time per evaluation step, us']['P50']} us on a step")


if __name__ == "__main__":
    main()
