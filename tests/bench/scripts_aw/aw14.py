# -*- coding: utf-8 -*-
"""用 NPUGraph 回放一个解码步（单 token 的线性层链）。"""
import time

import torch
import torch_npu

层数 = 8
宽度 = 2048
回放次数 = 16


class 解码步:
    def __init__(self):
        torch.manual_seed(1)
        self.权重 = [(torch.randn(宽度, 宽度) / 宽度**0.5).to("npu") for _ in range(层数)]
        # 注意力部分另测，这里只按真实服务占住 KV 缓存
        self.缓存 = torch.zeros(2, 层数, 4096, 宽度 // 2, device="npu")
        self.输入 = torch.randn(1, 宽度, device="npu")
        self.图 = torch.npu.NPUGraph()

    def 前向(self):
        x = self.输入
        for w in self.权重:
            x = torch.relu(x @ w)
        return x

    def 捕获(self):
        with torch.npu.graph(self.图):
            self.输出 = self.前向()
        torch.npu.synchronize()

    def 回放(self):
        self.图.replay()


def 计时(步):
    """回放一次并等它结束，返回微秒。"""
    开始 = time.perf_counter()
    步.回放()
    torch.npu.synchronize()
    return (time.perf_counter() - 开始) * 1e6


def main():
    步 = 解码步()
    步.捕获()

    样本 = [计时(步) for _ in range(回放次数)]
    平均 = sum(样本) / len(样本)

    参考 = 步.前向()
    误差 = (参考 - 步.输出).abs().max().item()

    print(f"设备：{torch.npu.get_device_name(0)}")
    print(f"模型：{层数} 层 {宽度}×{宽度} 线性层 + ReLU，float32，batch 1")
    print("捕获在计时之外；每次回放之后等待设备，时间含这次等待")
    print(f"稳态下一步的时间：{平均:.1f} us（{回放次数} 次回放的平均）")
    print(f"与逐算子执行的最大误差：{误差:.1e}")


if __name__ == "__main__":
    main()
