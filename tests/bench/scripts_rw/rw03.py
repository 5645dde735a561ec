"""词表查找：缓存冷与缓存热。"""
import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu

VOCAB, DIM, TOKENS, TABLES, ROUNDS = 16384, 256, 16384, 4, 21

torch.manual_seed(3)
dev = torch.device("npu:0")
tables = [torch.randn(VOCAB, DIM, device=dev, dtype=torch.float16) for _ in range(TABLES)]
tokens = [torch.randint(0, VOCAB, (TOKENS,), device=dev) for _ in range(TABLES)]
sweep = torch.zeros(64 * 2**20, device=dev)  # 256 MiB，大于 192 MiB 的 L2


def lookups():
    for table, ids in zip(tables, tokens):
        F.embedding(ids, table)


def one_pass(evict):
    if evict:
        sweep.add_(1.0)
    head = torch.npu.Event(enable_timing=True)
    tail = torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()  # 两种状态都从空闲的队列开始
    head.record()
    lookups()
    tail.record()
    tail.synchronize()
    return head.elapsed_time(tail) * 1e3 / TABLES


def passes():
    """交替产出（状态，每次查找的微秒）。"""
    for _ in range(3):
        one_pass(True)
        one_pass(False)
    for _ in range(ROUNDS):
        yield "冷", one_pass(True)
        yield "热", one_pass(False)


collected = {"冷": [], "热": []}
for state, us in passes():
    collected[state].append(us)

moved = TOKENS * (2 * DIM * 2 + 8)
print(f"F.embedding：词表 {VOCAB} x {DIM} float16，一次查 {TOKENS} 个 token，下标随机（int64）")
print(f"每轮一对事件，之间是对 {TABLES} 张不同词表各查一次；单次 = 事件间隔 / {TABLES}。预热 3 轮，各 {ROUNDS} 轮。")
for state, note in (("冷", "每轮之前（事件之外）改写 256 MiB，词表和下标已不在 L2"), ("热", "紧接冷轮，同样的查找再做一遍，数据在 L2")):
    us = np.array(collected[state])
    print(f"  {state}：中位数 {np.median(us):7.2f} us，最小 {us.min():7.2f}，最大 {us.max():7.2f}；"
          f"有效带宽 {moved / np.median(us) / 1e3:6.1f} GB/s（{note}）")
print(f"冷 / 热 = {np.median(collected['冷']) / np.median(collected['热']):.2f}；接近 1 时，瓶颈不在数据从哪里来。")
print(f"有效带宽按读出的行、写出的行与下标计，共 {moved / 2**20:.2f} MiB；热轮的数字不是 HBM 带宽。设备时间，两种状态都从空闲的队列开始，含启动之间可能的空隙。")
