"""The upsampling step of the camera pipeline: 270 x 480 to 540 x 960, three channels, one frame at a time.

The pipeline has this shape and no other, so the default is what is measured and what the result is for. Other shapes
can be asked for; they get their own figure, and it is for them alone.
"""
import argparse
import sys

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401

import labkit


def parse(argv):
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--height", type=int, default=270)
    p.add_argument("--width", type=int, default=480)
    p.add_argument("--channels", type=int, default=3)
    p.add_argument("--mode", choices=("bilinear", "nearest", "bicubic"), default="bilinear")
    p.add_argument("--frames", type=int, default=50, help="samples")
    p.add_argument("--skip", type=int, default=10, help="frames before the first sample")
    return p.parse_args(argv)


def upsample(frame, mode):
    corners = {} if mode == "nearest" else {"align_corners": False}
    return F.interpolate(frame, scale_factor=2, mode=mode, **corners)


def main(argv):
    a = parse(argv)
    torch.manual_seed(0)
    frame = torch.rand(1, a.channels, a.height, a.width).npu()
    torch.testing.assert_close(upsample(frame, a.mode).cpu(), upsample(frame.cpu(), a.mode), rtol=1e-4, atol=1e-4)

    for _ in range(a.skip):
        upsample(frame, a.mode)
    torch.npu.synchronize()
    begins, ends = [], []
    for _ in range(a.frames):
        labkit.device.clear_l2()  # between two frames the detector runs, and leaves nothing of ours in the L2
        torch.npu._sleep(60_000)
        begins.append(torch.npu.Event(enable_timing=True))
        ends.append(torch.npu.Event(enable_timing=True))
        begins[-1].record()
        upsample(frame, a.mode)
        ends[-1].record()
    torch.npu.synchronize()
    us = np.array([1e3 * b.elapsed_time(e) for b, e in zip(begins, ends)])

    low, mid, high, tail = np.percentile(us, [10, 50, 90, 99])
    shape = f"1 x {a.channels} x {a.height} x {a.width} -> {2 * a.height} x {2 * a.width}"
    print(f"interpolate, {a.mode}, float32, {shape}, L2 empty before each frame, device time")
    print(f"  median {mid:.2f} us, P10 {low:.2f}, P90 {high:.2f}, P99 {tail:.2f}, {len(us)} frames after {a.skip}")
    print("  For this shape only: nothing is said here about other resolutions, modes or batches.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
