import json
import logging
import sys
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
import torch_npu

logger = logging.getLogger("latency")


@dataclass
class Summary:
    batch: int
    features: int
    requests: int
    mean_us: float
    p50_us: float
    p90_us: float
    p99_us: float
    max_us: float


class Service:
    def __init__(self, features):
        self.net = nn.Sequential(nn.Linear(features, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 8)).eval().npu()

    @torch.inference_mode()
    def answer(self, rows):
        return self.net(rows.npu()).argmax(-1).tolist()


def serve(service, batch, features, requests):
    us = np.empty(requests)
    for i in range(requests):
        rows = torch.randn(batch, features)
        begin = time.perf_counter()
        service.answer(rows)
        us[i] = 1e6 * (time.perf_counter() - begin)
    return us


def main():
    logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(name)s: %(message)s")
    logger.info("time of a request as its caller sees it: rows to the card, network, argmax, classes as a Python list; one at a time")
    logger.info("the mean serves to plan capacity, the percentiles are the promise")
    for batch, features in (1, 128), (16, 128), (64, 512):
        service = Service(features)
        serve(service, batch, features, 40)
        us = serve(service, batch, features, 300)
        p50, p90, p99 = np.percentile(us, [50, 90, 99])
        summary = Summary(batch, features, len(us), *map(float, (us.mean(), p50, p90, p99, us.max())))
        logger.info(json.dumps({k: round(v, 1) for k, v in asdict(summary).items()}))


if __name__ == "__main__":
    main()
