"""推理服务的端到端延迟：从 host 数据到 host 结果，拷贝与等待都算在内（这正是调用者看到的时间）。"""

import argparse
import json
import time

import numpy as np
import torch
import torch_npu  # noqa: F401


def build(width):
    layers = [torch.nn.Linear(width, width), torch.nn.ReLU()] * 3
    return torch.nn.Sequential(*layers).npu().eval()


def request(model, features):
    """一次请求：上传、计算、下载。.cpu() 会等到结果到达。"""
    return model(features.npu()).cpu()


def latencies_ms(model, inputs):
    values = []
    for features in inputs:
        begin = time.perf_counter()
        request(model, features)
        values.append((time.perf_counter() - begin) * 1e3)
    return values


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    report = []
    with torch.inference_mode():
        for batch, width in ((1, 256), (16, 256), (32, 512)):
            model = build(width)
            fresh = list(torch.rand(options.requests + 20, batch, width))  # 每个请求的输入都不同
            latencies_ms(model, fresh[:20])
            ms = latencies_ms(model, fresh[20:])
            p50, p90, p99 = np.percentile(ms, [50, 90, 99])
            report.append(
                {
                    "what": "end-to-end request latency: H2D copy + 3 layer MLP + D2H copy, host wait included",
                    "input": [batch, width],
                    "dtype": "float32",
                    "requests": len(ms),
                    "ms": {"p50": round(p50, 3), "p90": round(p90, 3), "p99": round(p99, 3), "max": round(max(ms), 3)},
                }
            )
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
