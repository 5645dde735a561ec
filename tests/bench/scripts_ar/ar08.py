"""Host-to-device copies: pageable or pinned source memory."""
import time

import torch
import torch_npu


class CopyBench:
    """Copies fp32 buffers of one size into preallocated device memory."""

    sources = 3

    def __init__(self, kib):
        self.n = kib * 256
        self.bytes = self.n * 4
        plain = [torch.randn(self.n) for _ in range(self.sources)]
        self.host = {"pageable": plain, "pinned": [p.clone().pin_memory() for p in plain]}
        self.dst = {k: torch.empty(self.n, device="npu") for k in self.host}
        self.us = {k: [] for k in self.host}

    def copy(self, kind, i):
        self.dst[kind].copy_(self.host[kind][i % self.sources], non_blocking=(kind == "pinned"))

    def check(self):
        for i in range(self.sources):
            for kind in self.host:
                self.copy(kind, i)
            torch.npu.synchronize()
            for kind in self.host:
                assert torch.equal(self.dst[kind].cpu(), self.host[kind][i]), kind

    def timed(self, kind, i):
        torch.npu.synchronize()
        t0 = time.perf_counter()
        self.copy(kind, i)
        torch.npu.synchronize()
        return (time.perf_counter() - t0) * 1e6

    def run(self, rounds=21, warmup=4):
        self.check()
        for r in range(rounds + warmup):
            kinds = list(self.host)
            if r % 2:
                kinds.reverse()
            for kind in kinds:
                us = self.timed(kind, r)
                if r >= warmup:
                    self.us[kind].append(us)
        return self

    def show(self):
        for kind, us in self.us.items():
            s = sorted(us)
            mid = s[len(s) // 2]
            print(f"{self.bytes / 2**20:7.2f} MiB {kind:9s} median {mid:9.2f} us  [{s[2]:.2f} .. {s[-3]:.2f}]"
                  f"  {self.bytes / mid / 1e3:7.2f} GB/s")


if __name__ == "__main__":
    print("copy host to device, one copy per wait, issue and wait included; brackets: p10 .. p90 of 21;")
    print("destination allocated beforehand, 3 source buffers in turn; GB/s = bytes / median")
    for kib in (64, 1024, 8192):
        CopyBench(kib).run().show()
