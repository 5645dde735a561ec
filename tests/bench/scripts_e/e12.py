# Training throughput, written for CUDA, run on Ascend.
import time

import torch
import torch.nn.functional as F
import torch_npu
from torch_npu.contrib import transfer_to_npu

import numpy as np


def make():
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
        torch.nn.Flatten(), torch.nn.Linear(128, 10),
    ).cuda()
    return net, torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)


def train_step(net, optimizer, images, labels):
    optimizer.zero_grad(set_to_none=True)
    loss = F.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()


for batch_size in (4, 16):
    net, optimizer = make()
    images = torch.ones(batch_size, 3, 16, 16).cuda()
    labels = torch.zeros(batch_size, dtype=torch.long).cuda()
    for _ in range(6):
        train_step(net, optimizer, images, labels)
    torch.cuda.synchronize()

    rates = []
    for _ in range(15):
        begin = time.perf_counter()
        for _ in range(5):
            train_step(net, optimizer, images, labels)
        torch.cuda.synchronize()
        rates.append(5 * batch_size / (time.perf_counter() - begin))
    low, mid, high = np.percentile(rates, [10, 50, 90])
    print(f"batch {batch_size:3d}: {mid:,.0f} images/s (P10 {low:,.0f}, P90 {high:,.0f}) over 15 blocks of 5 whole steps: "
          "zero_grad, forward, loss, backward, SGD step. The images are on the device and stay the same.")
