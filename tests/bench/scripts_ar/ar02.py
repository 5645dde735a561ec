# Row lookup: F.embedding or index_select?  Run directly or with pytest.
import time

import torch
import torch.nn.functional as F
import torch_npu

DEV = "npu"
ROWS, REPEATS, CALLS = 16384, 12, 8
CASES = [(4096, 256), (8192, 256), (8192, 512)]


def make_case(n, dim):
    g = torch.Generator().manual_seed(n)
    weights = torch.randn(ROWS, dim, generator=g)
    idx = [torch.randint(0, ROWS, (n,), generator=g).to(DEV) for _ in range(4)]
    table = weights.to(DEV)
    tokens = [i[: n // 2].view(-1, 16) for i in idx]
    torch.npu.synchronize()
    return {
        "index_select": lambda i: torch.index_select(table, 0, idx[i % 4]),
        "embedding": lambda i: F.embedding(tokens[i % 4], table),
    }


def once(fn):
    torch.npu.synchronize()
    t = time.perf_counter()
    for i in range(CALLS):
        fn(i)
    torch.npu.synchronize()
    return (time.perf_counter() - t) / CALLS * 1e6


def quantiles(samples):
    s = sorted(samples)
    return s[len(s) // 10], s[len(s) // 2], s[len(s) * 9 // 10]


def measure(fns):
    names = list(fns)
    for name in names:
        for i in range(8):
            fns[name](i)
    got = {name: [] for name in names}
    for r in range(REPEATS):
        for name in (names if r % 2 == 0 else names[::-1]):
            got[name].append(once(fns[name]))
    return {name: quantiles(v) for name, v in got.items()}


def test_same_rows():
    for n, dim in CASES:
        a, b = (f(0).cpu().view(-1, dim) for f in make_case(n, dim).values())
        assert torch.equal(a[: len(b)], b)


def test_embedding_is_not_slower():
    for n, dim in CASES:
        res = measure(make_case(n, dim))
        for name, (p10, p50, p90) in res.items():
            print(f"{n:5d} rows x {dim:3d}  {name:13s} p50 {p50:7.2f} us/call  (p10 {p10:.2f}, p90 {p90:.2f})")
        ratio = res["index_select"][1] / res["embedding"][1]
        print(f"      the same lookup by F.embedding is {ratio:.2f} times as fast as index_select")
        assert ratio > 0.9, "embedding is slower"


if __name__ == "__main__":
    print("fp32 embedding table, 4 index vectors in turn, table warm, time per call over 8 calls in a row, 12 repeats")
    test_same_rows()
    test_embedding_is_not_slower()
