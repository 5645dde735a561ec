"""addcmul against mul and add: rounds in drawn order, a rest between them, pandas for the summary."""

import random
import time

import pandas as pd
import torch
import torch_npu  # noqa: F401

ROUNDS, CALLS = 20, 10


def two_launches(a, b, c):
    return a + b * c


def one_launch(a, b, c):
    return torch.addcmul(a, b, c)


def seconds_per_call(function, operands):
    torch.npu.synchronize()
    begin = time.monotonic_ns()
    for _ in range(CALLS):
        function(*operands)
    torch.npu.synchronize()
    return (time.monotonic_ns() - begin) / CALLS


rows = []
for shape in ((256, 256), (1024, 512), (1024, 1024)):
    operands = [torch.rand(shape).npu() for _ in range(3)]
    candidates = [two_launches, one_launch]
    for function in candidates * 2:
        seconds_per_call(function, operands)  # not kept
    draw = random.Random(str(shape))
    for number in range(ROUNDS):
        draw.shuffle(candidates)
        for function in candidates:
            rows.append((str(shape), number, function.__name__, seconds_per_call(function, operands) / 1e3))
        time.sleep(0.01)

frame = pd.DataFrame(rows, columns=["shape", "round", "candidate", "us"])
print("float32, operands warm in L2, us a call (a wait behind each", CALLS, "calls)")
print(frame.groupby(["shape", "candidate"], sort=False)["us"].quantile([0.1, 0.5, 0.9]).unstack().round(2).to_string())
wide = frame.pivot(index=["shape", "round"], columns="candidate", values="us")
ratio = (wide["two_launches"] / wide["one_launch"]).groupby("shape", sort=False)
print("\ntwo_launches / one_launch within a round")
print(ratio.describe(percentiles=[0.1, 0.5, 0.9]).round(3).to_string())
