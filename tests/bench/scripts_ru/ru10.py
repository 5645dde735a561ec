"""开环请求：按泊松过程到达，逐个处理，记录每个请求的延迟。"""

import csv
import os
import random
import tempfile
import time

import numpy as np
import torch
import torch_npu

REQUESTS = 80
MEAN_GAP_S = 0.010


def build():
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(128, 256), torch.nn.GELU(), torch.nn.Linear(256, 16)).npu().eval()
    return net


@torch.no_grad()
def serve(net, payload):
    """上传、前向、取回；cpu() 会等到结果可用。"""
    return net(payload.npu()).cpu()


def arrivals(seed):
    rng, t = random.Random(seed), 0.0
    for _ in range(REQUESTS):
        t += rng.expovariate(1 / MEAN_GAP_S)
        yield t


net = build()
payloads = [torch.randn(4, 128) for _ in range(8)]
for p in payloads:
    serve(net, p)
torch.npu.synchronize()

rows = []
zero = time.perf_counter()
for i, due in enumerate(arrivals(11)):
    ahead = zero + due - time.perf_counter()
    if ahead > 0:
        time.sleep(ahead)
    begin = time.perf_counter()
    serve(net, payloads[i % len(payloads)])
    end = time.perf_counter()
    rows.append((i, due, begin - zero, end - zero))

path = os.path.join(tempfile.mkdtemp(prefix="latency_"), "requests.csv")
with open(path, "w", newline="") as f:
    writer = csv.writer(f)
    writer.writerow(["id", "due_s", "begin_s", "end_s"])
    writer.writerows(rows)

_, due, begin, end = np.array(rows).T
latency, service = (end - due) * 1e3, (end - begin) * 1e3
p50, p90, p99 = np.percentile(latency, [50, 90, 99])
print(f"请求数 {REQUESTS}，计划到达率 {1 / MEAN_GAP_S:.0f} 个/秒（泊松），单线程逐个处理，批大小 4")
print(f"延迟从计划到达时刻算起，到结果回到 host 为止，包含排队，单位 ms：P50 {p50:.3f}，P90 {p90:.3f}，P99 {p99:.3f}，最大 {latency.max():.3f}")
print(f"最好情况（{REQUESTS} 个里最小的一个，不代表一般水平）：{latency.min():.3f} ms")
print(f"其中处理时间（不含排队）的中位数：{np.median(service):.3f} ms")
print(f"实际完成率：{REQUESTS / end[-1]:.1f} 个/秒（从零时刻到最后一个完成）")
print("处理之前已用同样的形状热身 8 次；样本只有 80 个，P99 接近最大值，仅供参考")
print(f"逐个请求的记录：{path}")
