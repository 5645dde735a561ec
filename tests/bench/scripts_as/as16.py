"""LayerNorm 在 NPU 上的单次延迟与连续下发耗时。"""
import logging
import time

import numpy as np
import torch
import torch_npu  # noqa: F401

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
日志 = logging.getLogger("layer_norm")

预热, 次数, 连发 = 30, 200, 50


def 单次延迟(层, x):
    """下发一次并等到结果可用：在线服务里一个请求看到的就是这个。"""
    t = time.perf_counter()
    层(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6


def 连续耗时(层, x):
    """连续下发若干次，最后只等一次，再除以次数。"""
    t = time.perf_counter()
    for _ in range(连发):
        层(x)
    torch.npu.synchronize()
    return (time.perf_counter() - t) * 1e6 / 连发


@torch.no_grad()
def main():
    torch.set_num_threads(1)
    日志.info("设备：%s，float32", torch.npu.get_device_name())
    for 行, 列 in ((8, 256), (32, 256), (16, 1024)):
        层 = torch.nn.LayerNorm(列).npu().eval()
        x = torch.randn(行, 列).npu()
        首次 = 单次延迟(层, x)
        for _ in range(预热):
            单次延迟(层, x)
        延迟 = np.array([单次延迟(层, x) for _ in range(次数)])
        连续 = np.array([连续耗时(层, x) for _ in range(11)])
        p50, p90, p95 = np.percentile(延迟, [50, 90, 95])
        日志.info("[%d, %d] 该形状首次调用 %.0f us（不计入下列数字）", 行, 列, 首次)
        日志.info("[%d, %d] 单次延迟（含每次同步，%d 个样本）：P50 %.1f us，P90 %.1f us，P95 %.1f us，最大 %.1f us",
                  行, 列, 次数, p50, p90, p95, 延迟.max())
        日志.info("[%d, %d] 连续下发（%d 次等一次，11 组）：每次 %.1f us（%.1f ~ %.1f）",
                  行, 列, 连发, np.median(连续), 连续.min(), 连续.max())
    日志.info("说明：以上均为 host 墙钟时间；单次延迟不能当作 kernel 耗时。输入始终是同一块数据。")


if __name__ == "__main__":
    main()
