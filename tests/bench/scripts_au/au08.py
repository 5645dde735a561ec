import time

import torch
import torch_npu

# Hand-written RMSNorm as in our inference fork; what does a layer pay for it?

HIDDEN = 512
TOKENS = 128
CALLS_PER_SAMPLE = 4
SAMPLES = 10


def rms_norm(x, weight, eps=1e-6):
    var = x.float().pow(2).mean(-1, keepdim=True)
    return (x.float() * torch.rsqrt(var + eps)).to(x.dtype) * weight


class Stopwatch:
    def __init__(self):
        self.samples = []

    def __enter__(self):
        torch.npu.synchronize()
        self._t = time.perf_counter()
        return self

    def __exit__(self, *exc):
        torch.npu.synchronize()
        self.samples.append(time.perf_counter() - self._t)
        return False

    def mean_us(self, per):
        return sum(self.samples) / len(self.samples) / per * 1e6

    def span_us(self, per):
        return min(self.samples) / per * 1e6, max(self.samples) / per * 1e6


def main():
    torch.manual_seed(0)
    x = torch.randn(TOKENS, HIDDEN).to(torch.float16).npu()
    w = torch.ones(HIDDEN, dtype=torch.float16).npu()

    watch = Stopwatch()
    for _ in range(SAMPLES):
        with watch:
            for _ in range(CALLS_PER_SAMPLE):
                rms_norm(x, w)

    mean = watch.mean_us(CALLS_PER_SAMPLE)
    low, high = watch.span_us(CALLS_PER_SAMPLE)
    layers = 32
    print(f"RMSNorm by hand on {TOKENS} tokens of width {HIDDEN}, float16 with float32 inside.")
    print(f"We clocked {SAMPLES} samples of {CALLS_PER_SAMPLE} calls each with one wait behind every sample.")
    print(f"In steady operation a call takes {mean:.1f} us on average (samples between {low:.1f} and {high:.1f} us).")
    print(f"A server that has been up for a while therefore spends about {2 * layers * mean / 1e3:.2f} ms "
          f"per forward pass of {layers} layers on its norms at this size.")


if __name__ == "__main__":
    main()
