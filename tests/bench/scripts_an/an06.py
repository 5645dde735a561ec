"""GELU on one stream against GELU split over two streams."""
import time
import torch
import torch_npu
import torch.nn.functional as F

dev = torch.device("npu")
left, right = torch.npu.Stream(), torch.npu.Stream()
SETS, ROUNDS = 9, 36


def make(rows, cols):
    items = []
    for _ in range(SETS):
        x = torch.randn(rows, cols, device=dev)
        top, bottom = (part.to(torch.float16).contiguous() for part in x.chunk(2))
        items.append((x, top, bottom))
    torch.npu.synchronize()
    return items


def one_stream(item):
    return F.gelu(item[0])


def two_streams(item):
    with torch.npu.stream(left):
        a = F.gelu(item[1])
    with torch.npu.stream(right):
        b = F.gelu(item[2])
    return a, b


def clock(fn, item):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    fn(item)
    torch.npu.synchronize()               # all streams of the device
    return 1e6 * (time.perf_counter() - t0)


def pct(xs, p):
    return sorted(xs)[int(p * (len(xs) - 1))]


print(f"latency from call to result, {SETS} inputs in turn, order of the two swapped each round")
for rows, cols in ((2048, 2048), (4096, 2048), (2048, 4096)):
    items = make(rows, cols)
    for item in items[:4]:
        one, two = one_stream(item), torch.cat(two_streams(item))
    torch.npu.synchronize()
    torch.testing.assert_close(one.float().cpu(), two.float().cpu(), rtol=1e-2, atol=1e-2)
    single, double = [], []
    for r in range(ROUNDS):
        a, b = items[r % SETS], items[(r + SETS // 2) % SETS]
        pair = [(single, one_stream, a), (double, two_streams, b)]
        for log, fn, item in pair if r % 2 == 0 else pair[::-1]:
            log.append(clock(fn, item))
    for name, xs in (("one stream", single), ("two streams", double)):
        print(f"[{rows}x{cols}] {name:11s} p10 {pct(xs, .1):8.2f}  p50 {pct(xs, .5):8.2f}  p90 {pct(xs, .9):8.2f} us")
    print(f"[{rows}x{cols}] the same float32 GELU of all {rows} rows takes "
          f"{pct(double, .5) / pct(single, .5):.2f} of the time when it is split over two streams")
