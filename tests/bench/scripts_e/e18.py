"""Decorate a function with @timed to see what it costs on the NPU."""
import functools
import time

import torch
import torch_npu

device = torch.device("npu")


def timed(calls=30, warm=5):
    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args):
            for _ in range(warm):
                function(*args)
            torch.npu.synchronize()
            begin = time.perf_counter()
            for _ in range(calls):
                result = function(*args)
            torch.npu.synchronize()
            end = time.perf_counter()
            shapes = " ".join(str(tuple(a.shape)) for a in args)
            print(f"{function.__name__:<16} {shapes:<28} {(end - begin) / calls * 1e6:8.1f} us  (L2 warm)")
            return result

        return wrapper

    return decorate


@timed(calls=30)
def attention_scores(q, k):
    return torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)


@timed(calls=50)
def gate(a, b):
    return torch.nn.functional.silu(a) * b


for length in (128, 256, 512):
    q = torch.ones(8, length, 64, device=device, dtype=torch.float16)
    attention_scores(q, q)
for width in (512, 2048, 8192):
    a = torch.ones(64, width, device=device)
    gate(a, a)
