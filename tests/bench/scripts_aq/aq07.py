"""Copies from pageable host memory to the device, through a timing decorator."""
import functools
import statistics
import time

import torch
import torch_npu


def timed(warm, repeats):
    def wrap(fn):
        @functools.wraps(fn)
        def inner(items):
            for i in range(warm):
                fn(items[i % len(items)])
            torch.npu.synchronize()
            samples = []
            for i in range(repeats):
                item = items[i % len(items)]
                torch.npu.synchronize()
                t0 = time.perf_counter()
                fn(item)
                torch.npu.synchronize()
                samples.append(time.perf_counter() - t0)
            return samples
        return inner
    return wrap


@timed(warm=5, repeats=30)
def upload(host):
    return host.to("npu")


for kib in (4, 64, 1024, 4096):
    hosts = [torch.randn(kib * 256) for _ in range(4)]
    back = hosts[0].to("npu").cpu()
    assert torch.equal(back, hosts[0])
    samples = upload(hosts)
    q = statistics.quantiles(samples, n=4)
    size = kib * 1024
    print(f"{kib:5d} KiB fp32: upload median {q[1] * 1e6:9.2f} us "
          f"(quartiles {q[0] * 1e6:.2f} to {q[2] * 1e6:.2f}, n={len(samples)}), "
          f"{size / q[1] / 1e9:.3f} GB/s at the median")
print("Pageable host tensor to a newly allocated device tensor, call and wait included; "
      "four host tensors in turn. Pinned memory was not measured.")
