"""What a row softmax costs when its input was just used, and when it was not."""
import time

import numpy as np
import torch
import torch_npu

ROWS, COLS = 2048, 4096
BYTES = ROWS * COLS * 4
L2 = torch.npu.get_device_properties(0).L2_cache_size
RING = 3 * L2 // (2 * BYTES) + 1


def clocked(launch, calls):
    """One window: (device us, host us) per call. The host figure ends after the synchronize."""
    begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    torch.npu.synchronize()
    t = time.perf_counter()
    begin.record()
    for i in range(calls):
        launch(i)
    end.record()
    torch.npu.synchronize()
    return begin.elapsed_time(end) * 1e3 / calls, (time.perf_counter() - t) * 1e6 / calls


def compare(cases, windows):
    table = {}
    for label, (launch, calls) in cases.items():
        clocked(launch, calls)
        table[label] = np.array([clocked(launch, calls) for _ in range(windows)])
    return table


def main(windows=7):
    seed = torch.randn(ROWS, COLS, generator=torch.Generator().manual_seed(1)).to("npu")
    ins = [seed.clone() for _ in range(RING)]
    outs = [torch.empty_like(seed) for _ in range(RING)]

    def again(i):
        torch.softmax(ins[0], dim=-1, out=outs[0])

    def round_the_ring(i):
        torch.softmax(ins[i], dim=-1, out=outs[i])

    table = compare({"same pair of buffers": (again, RING), "ring of buffers": (round_the_ring, RING)}, windows)
    worst = (outs[-1].cpu().double() - torch.softmax(seed.cpu().double(), -1)).abs().max().item()

    print(f"softmax over the last axis, fp32 {ROWS} x {COLS}, preallocated outputs")
    print(f"ring: {RING} inputs and {RING} outputs, {2 * RING * BYTES >> 20} MiB in all against {L2 >> 20} MiB of L2\n")
    print("| input | device us, median | device us, range | host us, median | in + out GB/s (device) |")
    print("|:--|--:|--:|--:|--:|")
    for label, us in table.items():
        dev, host = np.median(us, axis=0)
        print(f"| {label} | {dev:.2f} | {us[:, 0].min():.2f}-{us[:, 0].max():.2f} | {host:.0f} | {2 * BYTES / dev / 1e3:.0f} |")
    print(f"\n{windows} windows of {RING} calls each, after one unrecorded window; per-call figures are window / {RING}.")
    print("The first row is a warm-cache figure and not memory bandwidth; the second goes out to HBM.")
    print(f"Largest deviation of an output from a float64 softmax: {worst:.1e}")


if __name__ == "__main__":
    main()
