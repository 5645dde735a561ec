import json
import time

import torch
import torch_npu
from torch import nn

# What the fused AdamW step gets out of the HBM. Per parameter it reads the weight, the gradient and
# both moments and writes back weight and moments: 7 floats, 28 bytes.
BYTES_PER_PARAMETER = 7 * 4


class Tower(nn.Module):
    def __init__(self, width=768, depth=8):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))


def with_gradients(module):
    for parameter in module.parameters():
        parameter.grad = torch.randn_like(parameter)
    return module


def mean_step_seconds(optimizer, steps, warmup):
    for _ in range(warmup):
        optimizer.step()
    torch.npu.synchronize()
    t0 = time.perf_counter()
    for _ in range(steps):
        optimizer.step()
    torch.npu.synchronize()
    return (time.perf_counter() - t0) / steps


def main():
    steps, warmup = 40, 5
    tower = with_gradients(Tower().to("npu"))
    optimizer = torch.optim.AdamW(tower.parameters(), lr=1e-4, weight_decay=0.01, fused=True)
    count = sum(p.numel() for p in tower.parameters())
    seconds = mean_step_seconds(optimizer, steps, warmup)
    traffic = count * BYTES_PER_PARAMETER
    print(
        json.dumps(
            {
                "device": torch.npu.get_device_name(0),
                "optimizer": "AdamW(fused=True), float32",
                "parameters": count,
                "tensors": len(list(tower.parameters())),
                "steps": steps,
                "warmup_steps": warmup,
                "step_us_mean": round(seconds * 1e6, 1),
                "bytes_per_step": traffic,
                "hbm_bandwidth_gb_per_s": round(traffic / seconds / 1e9, 1),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
