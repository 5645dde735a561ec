import functools

import torch
import torch_npu

CALLS, SHOTS = 5, 24
torch.set_num_threads(1)


def stopwatch(fn):
    """Turns fn into something that returns SHOTS times in us, each a fifth of five calls in a row."""
    @functools.wraps(fn)
    def measured(*args):
        for _ in range(6):
            fn(*args)
        torch.npu.synchronize()
        film = []
        for _ in range(SHOTS):
            on, off = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
            on.record()
            for _ in range(CALLS):
                fn(*args)
            off.record()
            film.append((on, off))
        film[-1][1].synchronize()
        return [on.elapsed_time(off) / CALLS * 1e3 for on, off in film]
    return measured


@stopwatch
def turned(x):
    return x.t().contiguous()


@stopwatch
def straight(x):
    return x.clone()


def tell(name, us, nbytes):
    us = sorted(us)
    typical = (us[SHOTS // 2 - 1] + us[SHOTS // 2]) / 2
    print(f"  {name} usually took {typical:.2f} us (best case {us[0]:.2f}, worst {us[-1]:.2f}), which is "
          f"{2 * nbytes / typical / 1e3:.0f} GB a second if you count what is read and what is written.")
    return typical


for side in 256, 768:
    x = torch.randn(side, side).half().to("npu")
    assert torch.equal(x.t().contiguous().cpu(), x.cpu().t())
    size = x.numel() * x.element_size()
    print(f"A half-precision square of side {side}, {size >> 10} KiB, so it never leaves the L2 and HBM has no part in this:")
    slow = tell("Transposing it", turned(x), size)
    fast = tell("A plain copy of the same bytes", straight(x), size)
    print(f"  Turning it costs {slow / fast:.2f} times a copy.")
print(f"Times are the stream's own (two events around {CALLS} calls, divided by {CALLS}, gaps between launches included, the device not being waited for in "
      f"between); each call gets its output from the allocator, and {SHOTS} such shots make a line.")
