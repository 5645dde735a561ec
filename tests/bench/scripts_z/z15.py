"""Row softmax at the widths of our models, by Triton's own helper."""
import numpy as np
import torch
import torch_npu
from triton.testing import do_bench

QUANTILES = (0.1, 0.5, 0.9)


def shapes():
    yield from ((rows, width) for width in (512, 2048) for rows in (64, 512))


def report(rows, width):
    x = torch.randn(rows, width, dtype=torch.float16, device="npu")
    torch.testing.assert_close(torch.softmax(x, -1).cpu().float(), torch.softmax(x.cpu().float(), -1), rtol=1e-2, atol=1e-3)
    samples = do_bench(lambda: torch.softmax(x, -1), warmup=0.5, rep=1, return_mode="all")
    low, middle, high = (1e3 * float(ms) for ms in np.quantile(samples, QUANTILES))
    return f"{rows:5d} x {width:<5d} P10 {low:7.2f}  P50 {middle:7.2f}  P90 {high:7.2f} us of {len(samples)} calls"


if __name__ == "__main__":
    print("float16 softmax of rows, by triton.testing.do_bench; with an empty L2, as do_bench does it")
    for shape in shapes():
        print(" ", report(*shape))
