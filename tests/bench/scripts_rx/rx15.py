"""批大小扫描：一个两层 MLP，看吞吐怎样随批增长。"""
from collections import deque

import torch
import torch_npu

宽度 = 512
批 = (1, 4, 16, 64, 128)
窗口数 = 12
每窗调用 = 4


def 建模型():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(宽度, 1024), torch.nn.SiLU(), torch.nn.Linear(1024, 宽度)
    ).to("npu").eval()


def 一批(net, x):
    for _ in range(4):
        net(x)
    torch.npu.synchronize()
    边界 = deque()
    for _ in range(窗口数):
        起, 止 = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        起.record()
        for _ in range(每窗调用):
            net(x)
        止.record()
        边界.append((起, 止))
    torch.npu.synchronize()
    样本 = deque()
    while 边界:
        起, 止 = 边界.popleft()
        样本.append(起.elapsed_time(止) * 1e3 / 每窗调用)
    return torch.tensor(list(样本), dtype=torch.float64)


@torch.no_grad()
def main():
    net = 建模型()
    print(f"MLP {宽度}-1024-{宽度}，fp32，输入已在设备上；设备事件计时，{窗口数} 个窗口，每窗 {每窗调用} 次前向")
    print("批大小 | 每批中位数 us | 每批 P90 us | 摊到每条 us | 吞吐 条/秒 | 吞吐对比批 1")
    基准 = None
    for n in 批:
        us = 一批(net, torch.randn(n, 宽度).to("npu"))
        中位, p90 = us.quantile(0.5).item(), us.quantile(0.9).item()
        吞吐 = n / 中位 * 1e6
        基准 = 基准 or 吞吐
        print(f"{n:6d} | {中位:12.2f} | {p90:10.2f} | {中位 / n:10.3f} | {吞吐:11,.0f} | {吞吐 / 基准:8.1f} 倍")
    print("“摊到每条”是每批时间除以批大小，不是单条请求的延迟：同一批里的每一条都要等整批算完。")
    print("P90 取自各窗口的平均值，单次前向的抖动会被窗口抹平；权重和输入每次相同，可能留在 L2 中。")


if __name__ == "__main__":
    main()
