# 卷积耗时统计，结果用 pandas 汇总
import time

import pandas as pd
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401


class Meter:
    """process_time 不受机器上其他用户的影响，数字更稳。"""

    def __init__(self, calls):
        self.calls = calls
        self.rows = []

    def __call__(self, label, function):
        for _ in range(5):
            function()
        torch.npu.synchronize()
        for turn in range(20):
            begin = time.process_time_ns()
            for _ in range(self.calls):
                function()
            torch.npu.synchronize()
            self.rows.append({"shape": label, "round": turn, "us": (time.process_time_ns() - begin) / 1e3 / self.calls})

    def table(self):
        frame = pd.DataFrame(self.rows)
        return frame.groupby("shape", sort=False)["us"].describe(percentiles=[0.1, 0.5, 0.9]).round(1)


meter = Meter(calls=10)
for batch, channels, side in ((1, 16, 56), (4, 16, 28), (8, 32, 14)):
    image = torch.rand(batch, channels, side, side).npu()
    weight = torch.rand(channels, channels, 3, 3).npu()
    meter(f"({batch},{channels},{side},{side})", lambda image=image, weight=weight: F.conv2d(image, weight, padding=1))

print("conv2d 3x3 float32，每次调用的耗时（us，输入重复使用，L2 为热）")
print(meter.table().to_string())
