"""Host-to-device copies, written as tests: each test measures, prints and asserts what it claims."""
import time

import torch
import torch_npu

SIZES_KIB = (64, 512, 4096)
N = 60


def sources(kib, pinned):
    bufs = [torch.randint(0, 255, (kib * 1024,), dtype=torch.uint8) for _ in range(4)]
    return [b.pin_memory() for b in bufs] if pinned else bufs


def copy_once(src, dst, non_blocking):
    torch.npu.synchronize()
    t0 = time.perf_counter()
    dst.copy_(src, non_blocking=non_blocking)
    torch.npu.synchronize()
    return (time.perf_counter() - t0) * 1e6


def spread(us):
    s = sorted(us)
    return s[len(s) // 10], s[len(s) // 2], s[-1 - len(s) // 10]


def measure(kib):
    """{kind: samples}; the kinds take turns, and who begins alternates."""
    dst = torch.empty(kib * 1024, dtype=torch.uint8, device="npu")
    kinds = {"pageable": (sources(kib, False), False), "pinned": (sources(kib, True), True)}
    out = {k: [] for k in kinds}
    for bufs, nb in kinds.values():
        for _ in range(2):
            for b in bufs:
                copy_once(b, dst, nb)
    for i in range(N):
        for k in (list(kinds) if i % 2 else list(kinds)[::-1]):
            bufs, nb = kinds[k]
            out[k].append(copy_once(bufs[i % 4], dst, nb))
    return out


def test_bytes_arrive():
    for pinned in (False, True):
        for src in sources(64, pinned):
            dst = torch.empty_like(src, device="npu")
            copy_once(src, dst, pinned)
            assert torch.equal(dst.cpu(), src)


def test_bigger_copies_reach_a_higher_rate():
    medians = {"pageable": [], "pinned": []}
    for kib in SIZES_KIB:
        for kind, us in measure(kib).items():
            p10, p50, p90 = spread(us)
            assert len(us) == N and p10 > 0
            medians[kind].append(kib * 1024 / p50 / 1e3)
            print(f"  {kib:5d} KiB {kind:8s} p50 {p50:8.2f} us (p10 {p10:.2f}, p90 {p90:.2f}) {medians[kind][-1]:7.2f} GB/s")
    for kind, rates in medians.items():
        assert rates == sorted(rates), (kind, rates)


print(f"copy host -> device, uint8, call to finished on the device; {N} samples, 4 source buffers in turn, destination reused")
for test in (test_bytes_arrive, test_bigger_copies_reach_a_higher_rate):
    test()
    print(f"PASSED {test.__name__}")
print("Measured for 64 KiB, 512 KiB and 4 MiB; the source buffers may be in the host's cache.")
