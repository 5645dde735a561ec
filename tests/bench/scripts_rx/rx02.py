"""在线打分服务的延迟：请求按泊松过程到达，两个工作线程各用一条流。"""
import json
import os
import queue
import random
import tempfile
import threading
import time

import torch
import torch_npu

REQUESTS = 300
RATE = 60.0
WORKERS = 2
WIDTH = 512


def percentile(values, q):
    ordered = sorted(values)
    at = (len(ordered) - 1) * q / 100
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def build():
    torch.manual_seed(3)
    net = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, 1024), torch.nn.GELU(), torch.nn.Linear(1024, 16)
    )
    return net.to("npu").eval()


def serve(net, inbox, done, ready):
    stream = torch.npu.Stream()
    with torch.npu.stream(stream), torch.no_grad():
        for _ in range(10):
            net(torch.randn(8, WIDTH).to("npu")).cpu()
        ready.wait()
        while True:
            item = inbox.get()
            if item is None:
                return
            due, rows = item
            taken = time.perf_counter()
            left, right = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            left.record()
            scores = net(rows.to("npu"))
            right.record()
            answer = scores.cpu()
            finished = time.perf_counter()
            done.append((due, taken, finished, left, right, tuple(answer.shape)))


def main():
    net = build()
    rng = random.Random(11)
    payloads = [torch.randn(8, WIDTH) for _ in range(16)]
    offsets, at = [], 0.0
    for _ in range(REQUESTS):
        at += rng.expovariate(RATE)
        offsets.append(at)

    inbox, done = queue.Queue(), []
    ready = threading.Barrier(WORKERS + 1)
    crew = [threading.Thread(target=serve, args=(net, inbox, done, ready)) for _ in range(WORKERS)]
    for worker in crew:
        worker.start()
    ready.wait()

    origin = time.perf_counter() + 0.05
    for index, offset in enumerate(offsets):
        due = origin + offset
        pause = due - time.perf_counter()
        if pause > 0:
            time.sleep(pause)
        inbox.put((due, payloads[index % len(payloads)]))
    for _ in crew:
        inbox.put(None)
    for worker in crew:
        worker.join()
    torch.npu.synchronize()

    assert len(done) == REQUESTS and all(row[5] == (8, 16) for row in done)
    latency = [(row[2] - row[0]) * 1e3 for row in done]
    waiting = [(row[1] - row[0]) * 1e3 for row in done]
    device = [row[3].elapsed_time(row[4]) * 1e3 for row in done]
    span = max(row[2] for row in done) - origin

    print(f"请求数 {REQUESTS}，计划到达率 {RATE:.0f} 次/秒（泊松），每个请求 8 行，工作线程 {WORKERS} 个")
    print(f"实际完成率 {REQUESTS / span:.1f} 次/秒（从计划的零时刻到最后一个应答）")
    print("                         P50      P90      P99     最大")
    for name, values, unit in (
        ("延迟（含排队和回传）", latency, "毫秒"),
        ("其中：排队", waiting, "毫秒"),
        ("流上的跨度（事件）", device, "微秒"),
    ):
        cells = "".join(f"{percentile(values, q):9.2f}" for q in (50, 90, 99))
        print(f"{name:<14}{cells}{max(values):9.2f}  {unit}")
    print("延迟从请求的计划到达时刻算起，发送线程若迟到，迟到的时间也算在内；")
    print("事件跨度含上传和前向，两条流会互相争用，主机下发之间的空隙也在其中。")

    path = os.path.join(tempfile.gettempdir(), "scoring_latency.json")
    with open(path, "w", encoding="utf-8") as sink:
        json.dump({"latency_ms": latency, "queue_ms": waiting, "stream_span_us": device}, sink)
    print(f"全部样本已写入 {path}")


if __name__ == "__main__":
    main()
