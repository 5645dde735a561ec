"""Which layer of the vision head does the card spend its time on? A table by module, without the profiler."""
import time
from collections import defaultdict

import numpy as np
import torch
import torch.nn as nn
import torch_npu

TOKENS, WIDTH, PASSES = 512, 256, 50


class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.widen = nn.Linear(WIDTH, 4 * WIDTH)
        self.act = nn.GELU()
        self.narrow = nn.Linear(4 * WIDTH, WIDTH)
        self.gate = nn.Sigmoid()
        self.classes = nn.Linear(WIDTH, 100)

    def forward(self, x):
        y = self.narrow(self.act(self.widen(self.norm(x))))
        return self.classes(x * self.gate(y))


class DeviceTimes:
    """Collects the device time of each leaf module by hooks."""

    def __init__(self, model):
        self.begun, self.us, self.handles = {}, defaultdict(list), []
        for name, module in model.named_modules():
            if not list(module.children()):
                self.handles.append(module.register_forward_pre_hook(self._before(name)))
                self.handles.append(module.register_forward_hook(self._after(name)))

    def _before(self, name):
        def hook(module, inputs):
            torch.npu.synchronize()
            self.begun[name] = time.perf_counter()

        return hook

    def _after(self, name):
        def hook(module, inputs, output):
            torch.npu.synchronize()
            self.us[name].append(1e6 * (time.perf_counter() - self.begun[name]))

        return hook

    def remove(self):
        for handle in self.handles:
            handle.remove()

    def table(self):
        for name, values in self.us.items():
            p10, p50, p90 = np.percentile(values, [10, 50, 90])
            yield f"{name:10}{p50:10.1f}{p10:10.1f}{p90:10.1f}{len(values):6}"


@torch.no_grad()
def main():
    torch.manual_seed(0)
    host = Head().eval()
    x = torch.randn(TOKENS, WIDTH)
    wanted = host(x)
    model = host.npu()
    on_card = x.npu()
    assert torch.allclose(model(on_card).cpu(), wanted, atol=1e-4)

    for _ in range(10):
        model(on_card)
    torch.npu.synchronize()

    times = DeviceTimes(model)
    for _ in range(PASSES):
        model(on_card)
    times.remove()

    print(f"vision head, {TOKENS} tokens of {WIDTH}, float32, {PASSES} passes")
    print(f"{'layer':10}{'P50':>10}{'P10':>10}{'P90':>10}{'n':>6}   device time, us")
    for line in times.table():
        print(line)


if __name__ == "__main__":
    main()
