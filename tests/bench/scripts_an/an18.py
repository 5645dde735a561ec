import time
import torch
import torch_npu

# A compiled sort under a stream of requests with several lengths
LENGTHS = (256, 384, 512, 640, 768, 1024)
PER_LENGTH = 20
ROWS = 64


def make_sorter(descending):
    def ranked(x):
        values, _ = torch.sort(x, dim=-1, descending=descending)
        return values * 0.5
    return torch.compile(ranked, dynamic=False), ranked


def make_clock(fn):
    def clock(x):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        y = fn(x)
        torch.npu.synchronize()
        return (time.perf_counter() - t0) * 1e6, y
    return clock


def requests():
    torch.manual_seed(6)
    for n in LENGTHS:
        pool = [torch.randn(ROWS, n, device="npu") for _ in range(4)]
        for i in range(PER_LENGTH):
            yield n, pool[i % 4]


fast, plain = make_sorter(descending=True)
clock = make_clock(fast)

first = torch.randn(ROWS, LENGTHS[0], device="npu")
for _ in range(10):                       # compile and warm up
    clock(first)

times = {n: [] for n in LENGTHS}
for n, x in requests():
    us, y = clock(x)
    times[n].append(us)
    if len(times[n]) == PER_LENGTH:
        assert torch.equal(y.cpu(), plain(x).cpu())

print(f"compiled sort, {ROWS} rows, float32, inputs in cache; us from call to result, {PER_LENGTH} requests each")
for n, xs in times.items():
    xs = sorted(xs)
    print(f"  length {n:5d}: mean {sum(xs) / len(xs):9.2f}  p10 {xs[PER_LENGTH // 10]:9.2f}  p50 {xs[PER_LENGTH // 2]:9.2f}"
          f"  p90 {xs[PER_LENGTH * 9 // 10]:9.2f}  max {xs[-1]:9.2f}")
every = [t for xs in times.values() for t in xs]
print(f"Running time of the compiled sort once it is compiled: {sum(every) / len(every):.2f} us a request on average.")
