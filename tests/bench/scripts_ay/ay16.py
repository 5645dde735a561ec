"""dropout: kernel time and read + write rate from device events; CSV to stdout."""
import sys

import torch
import torch.nn.functional as F
import torch_npu

HEADER = "rows,cols,dtype,p,iters,kernel_us,gb_per_s"
CASES = [
    (1024, 2048, torch.float16),
    (1024, 2048, torch.float32),
    (2048, 2048, torch.float32),
]
P = 0.1


def kernel_us(x, iters=20):
    stream = torch.npu.current_stream()
    for _ in range(5):
        F.dropout(x, P, training=True)
    stream.synchronize()

    first = torch.npu.Event(enable_timing=True)
    last = torch.npu.Event(enable_timing=True)
    first.record(stream)
    for _ in range(iters):
        F.dropout(x, P, training=True)
        stream.synchronize()
    last.record(stream)
    last.synchronize()
    return first.elapsed_time(last) * 1000.0 / iters, iters


def main(out=sys.stdout):
    torch.manual_seed(1)
    print(f"# {torch.npu.get_device_name(0)}, inputs reused between iterations", file=out)
    print(HEADER, file=out)
    for rows, cols, dtype in CASES:
        x = torch.randn(rows, cols, dtype=torch.float32).to(dtype).npu()
        us, iters = kernel_us(x)
        moved = 2 * x.numel() * x.element_size()
        print(",".join(map(str, (rows, cols, str(dtype).split(".")[1], P, iters, f"{us:.2f}",
                                 f"{moved / us / 1e3:.0f}"))), file=out)


if __name__ == "__main__":
    main()
