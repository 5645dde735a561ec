# lies: spread
# best of ten
import timeit
import torch
import torch_npu

for n in (100, 300):
    x = torch.rand(n, n).npu()

    def go():
        for _ in range(40):
            x.log1p()
        torch.npu.synchronize()

    go()
    best = min(timeit.repeat(go, number=1, repeat=10))
    print(f"log1p {n}x{n}: best of 10: {best / 40 * 1e6:.2f} us per loop")
