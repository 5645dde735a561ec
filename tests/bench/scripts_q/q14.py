"""topk as a caller on the host sees it: scores are copied to the NPU, the best 16 of each row come back.

"end to end" has both copies and the wait in it, on purpose; "device only" is topk on scores that are there already.
"""
import torch
import torch_npu  # noqa: F401
from torch.utils.benchmark import Timer

SHAPES = ((64, 1000), (256, 4000), (1024, 1000))
K, REPEATS, NUMBER = 16, 9, 6


def end_to_end(scores):
    values, places = torch.topk(scores.npu(), K)
    return values.cpu(), places.cpu()


def check(scores):
    values, places = end_to_end(scores)
    want = torch.topk(scores, K)
    assert torch.equal(values, want.values) and torch.equal(scores.gather(1, places), values)


def spread(statement, names):
    timer = Timer(statement, globals=names)
    us = sorted(timer.timeit(NUMBER).mean * 1e6 for _ in range(REPEATS))
    return us[0], us[len(us) // 2], us[-1]


def main():
    torch.manual_seed(0)
    print(f"us a call: min, median, max of {REPEATS} blocks of {NUMBER} calls; float32, k = {K}")
    for rows, width in SHAPES:
        scores = torch.rand(rows, width)
        there = scores.npu()
        check(scores)
        names = {"torch": torch, "end_to_end": end_to_end, "scores": scores, "there": there, "K": K}
        whole = spread("end_to_end(scores)", names)
        device = spread("torch.topk(there, K)", names)
        shape = f"{rows} x {width}"
        print(f"{shape:12} end to end, copies in the clock {whole[0]:8.1f} {whole[1]:8.1f} {whole[2]:8.1f}")
        print(f"{'':12} device only, scores on the NPU  {device[0]:8.1f} {device[1]:8.1f} {device[2]:8.1f}")
        print(f"{'':12} copies and waits are {100 * (1 - device[1] / whole[1]):.0f} % of what the caller waits for")


if __name__ == "__main__":
    main()
