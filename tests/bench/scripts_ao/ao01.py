"""How long does one AdamW step take for small MLPs?"""
import statistics
import time

import torch
import torch.nn as nn
import torch_npu

torch.manual_seed(0)


def build(width, depth=3):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(width, width), nn.GELU()]
    net = nn.Sequential(*layers).to("npu")
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.01)
    return net, opt


def train(net, opt, batch):
    loss = net(batch).square().mean()
    loss.backward()
    opt.step()
    return loss


def steps(net, opt, batch, warmup=5, count=25):
    for _ in range(warmup):
        opt.zero_grad()
        train(net, opt, batch)
    for _ in range(count):
        opt.zero_grad()
        torch.npu.synchronize()
        begin = time.perf_counter()
        opt.step()
        torch.npu.synchronize()
        yield (time.perf_counter() - begin) * 1e6


def main():
    print("wall time of one optimizer.step(), AdamW, fp32; weights and state stay in L2 (hot)")
    for width in (64, 128, 256):
        net, opt = build(width)
        batch = torch.randn(32, width, device="npu")
        params = sum(p.numel() for p in net.parameters())
        times = sorted(steps(net, opt, batch))
        p10, p50, p90 = times[len(times) // 10], statistics.median(times), times[9 * len(times) // 10]
        print(f"width {width:4d}  {params:8d} parameters: AdamW updates them all in {p50:8.1f} us "
              f"(p10 {p10:.1f}, p90 {p90:.1f}, n={len(times)}), {params / p50:8.1f} parameters/us")


if __name__ == "__main__":
    main()
