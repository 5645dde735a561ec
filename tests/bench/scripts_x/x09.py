import torch
import torch_npu

import numpy as np
import pandas as pd

RUNS, CALLS = 3, 30


def samples_of(function):
    for _ in range(15):
        function()
    torch.npu.synchronize()
    for run in range(RUNS):
        marks = [torch.npu.Event(enable_timing=True) for _ in range(CALLS + 1)]
        function()
        marks[0].record()
        for mark in marks[1:]:
            function()
            mark.record()
        torch.npu.synchronize()
        for index, (a, b) in enumerate(zip(marks, marks[1:])):
            yield {"run": run, "call": index, "us": a.elapsed_time(b) * 1e3}


def report(name, frame):
    us = frame["us"]
    limit = 3 * us.median()
    kept, aside = us[us <= limit], us[us > limit]
    p50, p90, p99 = np.percentile(us, [50, 90, 99])
    print(f"{name}: all {len(us)} calls: P50 {p50:.2f} us, P90 {p90:.2f} us, P99 {p99:.2f} us, longest {us.max():.2f} us, "
          f"mean {us.mean():.2f} us, standard deviation {us.std():.2f} us")
    by_run = frame.groupby("run")["us"].median()
    print(f"    medians of the {RUNS} runs: {', '.join(f'{v:.2f}' for v in by_run)} us")
    print(f"    mean without the {len(aside)} calls beyond three medians ({limit:.1f} us): {kept.mean():.2f} us; "
          f"set aside: {', '.join(f'{v:.1f} us' for v in aside) or 'none'}")


def main():
    torch.manual_seed(11)
    for rows in (2048, 3072, 4096):
        x = torch.randn(rows, 1024).npu()
        torch.testing.assert_close(torch.sigmoid(x).cpu(), torch.sigmoid(x.cpu()), rtol=1e-4, atol=1e-5)
        frame = pd.DataFrame(samples_of(lambda: torch.sigmoid(x)))
        report(f"sigmoid, float32 {rows} x 1024, device time", frame)


if __name__ == "__main__":
    main()
