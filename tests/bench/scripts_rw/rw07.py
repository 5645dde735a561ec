import argparse
import json
import time

import torch
import torch_npu

cli = argparse.ArgumentParser(description="eager launches against the replay of a captured graph")
cli.add_argument("--layers", type=int, default=8)
cli.add_argument("--width", type=int, default=128)
cli.add_argument("--batch", type=int, default=32)
cli.add_argument("--samples", type=int, default=120)
cli.add_argument("--host-threads", type=int, default=1)
args = cli.parse_args()
torch.set_num_threads(args.host_threads)

torch.manual_seed(0)
net = torch.nn.Sequential(*(
    layer for _ in range(args.layers) for layer in (torch.nn.Linear(args.width, args.width), torch.nn.GELU())
)).npu().eval()
slot = torch.randn(args.batch, args.width, device="npu")


@torch.no_grad()
def eager():
    return net(slot)


def sampled(fn):
    for _ in range(20):
        fn()
    torch.npu.synchronize()
    us = []
    for _ in range(args.samples):
        start = time.perf_counter()
        fn()
        torch.npu.synchronize()
        us.append((time.perf_counter() - start) * 1e6)
    us.sort()
    return {
        "best_case_us": round(us[0], 1),
        "median_us": round((us[(len(us) - 1) // 2] + us[len(us) // 2]) / 2, 1),
        "worst_case_us": round(us[-1], 1),
        "samples": len(us),
    }


for _ in range(3):
    eager()
torch.npu.synchronize()

start = time.perf_counter()
graph = torch.npu.NPUGraph()
with torch.npu.graph(graph), torch.no_grad():
    graph_out = net(slot)
torch.npu.synchronize()
capture_ms = (time.perf_counter() - start) * 1e3

slot.copy_(torch.randn(args.batch, args.width))
graph.replay()
difference = (graph_out - eager()).abs().max().item()

report = {
    "model": f"{args.layers} x (Linear {args.width} + GELU), batch {args.batch}, float32, inference",
    "clock": "host, one forward and torch.npu.synchronize() in every sample",
    "warmup_calls": 20,
    "eager": sampled(eager),
    "replay": sampled(graph.replay),
    "capture_once_ms": round(capture_ms, 2),
    "capture_is_in_replay_figures": False,
    "max_abs_difference": difference,
}
report["median_eager_over_replay"] = round(report["eager"]["median_us"] / report["replay"]["median_us"], 2)
print(json.dumps(report, indent=2))
