"""topk against a full sort, for the largest k of each row."""
import itertools
import time
import torch
import torch_npu

RING, ROUNDS, WARM = 4, 40, 6


def by_topk(x, k):
    return torch.topk(x, k, dim=-1).values


def by_sort(x, k):
    return torch.sort(x, dim=-1, descending=True).values[:, :k].contiguous()


def inputs(rows, cols):
    yield from itertools.cycle([torch.randn(rows, cols, device="npu") for _ in range(RING)])


def samples(rows, cols, k):
    """Yields (name, us) without end; the two take turns in being first, each on its own input."""
    source = inputs(rows, cols)
    turn = [("topk", by_topk), ("sort", by_sort)]
    while True:
        for name, fn in turn:
            x = next(source)
            torch.npu.synchronize()
            t0 = time.perf_counter()
            fn(x, k)
            torch.npu.synchronize()
            yield name, (time.perf_counter() - t0) * 1e6
        turn.reverse()


def collect(rows, cols, k):
    stream = samples(rows, cols, k)
    for _ in itertools.islice(stream, 2 * WARM):
        pass
    got = {"topk": [], "sort": []}
    for name, us in itertools.islice(stream, 2 * ROUNDS):
        got[name].append(us)
    return {name: sorted(xs) for name, xs in got.items()}


print(f"latency of one call until done, float32, us; {RING} inputs in turn, all in the L2 cache;")
print(f"{WARM} rounds of warm-up, then {ROUNDS} samples each")
for rows, cols, k in ((64, 1024, 8), (64, 4096, 8), (256, 2048, 32), (256, 2048, 256)):
    x = torch.randn(rows, cols, device="npu")
    assert torch.equal(by_topk(x, k).cpu(), by_sort(x, k).cpu())
    got = collect(rows, cols, k)
    line = []
    for name, xs in got.items():
        line.append(f"{name} p50 {xs[len(xs) // 2]:.2f} (p10 {xs[len(xs) // 10]:.2f}, p90 {xs[len(xs) * 9 // 10]:.2f})")
    ratio = got["sort"][ROUNDS // 2] / got["topk"][ROUNDS // 2]
    print(f"{rows}x{cols}, k={k}: " + ", ".join(line) + f"; sort/topk {ratio:.2f} at this shape")
