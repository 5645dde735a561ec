"""Training cost of the two GELUs (erf and tanh form): forward + backward through the activation."""
import logging
import time

import torch
import torch.nn.functional as F
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("gelu-train")

TOKENS, HIDDEN = 1024, 2048
WARMUP, CALLS = 10, 60


class Case:
    def __init__(self, approximate, x, upstream):
        self.approximate = approximate
        self.x = x
        self.upstream = upstream

    def __call__(self):
        y = F.gelu(self.x, approximate=self.approximate)
        if y.requires_grad:
            self.x.grad = None
            y.backward(self.upstream)
        return y


def measure(case):
    for _ in range(WARMUP):
        case()
    torch.npu.synchronize()
    begin = time.perf_counter()
    for _ in range(CALLS):
        case()
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / CALLS * 1e6


def main():
    torch.manual_seed(0)
    hidden = torch.randn(TOKENS, HIDDEN, device="npu", requires_grad=True)
    upstream = torch.randn(TOKENS, HIDDEN, device="npu")

    exact = Case("none", hidden, upstream)
    approx = Case("tanh", hidden.detach().clone(), upstream)

    gap = (exact() - approx()).abs().max().item()
    log.info("device %s, %d x %d float32, %d calls after %d", torch.npu.get_device_name(0), TOKENS, HIDDEN, CALLS, WARMUP)
    log.info("largest difference of the two forms: %.1e", gap)

    results = {}
    for name, case in (("erf", exact), ("tanh", approx)):
        results[name] = measure(case)
        log.info("%-4s forward + backward: %7.2f us a call", name, results[name])

    gain = results["erf"] / results["tanh"]
    if gain > 1.05:
        log.info("at this shape, training with the tanh form costs 1/%.2f of the erf form", gain)
    elif gain < 0.95:
        log.info("at this shape, training with the erf form costs 1/%.2f of the tanh form", 1 / gain)
    else:
        log.info("at this shape, the two forms cost the same in training (within 5 percent)")


if __name__ == "__main__":
    main()
