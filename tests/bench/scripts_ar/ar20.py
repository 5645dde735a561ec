"""cross_entropy: tokens per second in windows of fixed length."""
import time

import torch
import torch.nn.functional as F
import torch_npu

WINDOW = 0.002         # seconds
WINDOWS = 9
CHUNK = 4              # calls between two looks at the clock


def pool(tokens, vocab, n=4):
    return [(torch.randn(tokens, vocab).to("npu"), torch.randint(0, vocab, (tokens,)).to("npu")) for _ in range(n)]


def window(data, seconds):
    """Run for about `seconds`, wait for all of it, return (calls, real length)."""
    calls = 0
    torch.npu.synchronize()
    start = time.perf_counter()
    while True:
        for _ in range(CHUNK):
            logits, target = data[calls % len(data)]
            F.cross_entropy(logits, target)
            calls += 1
        torch.npu.synchronize()
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return calls, elapsed


def main():
    print(f"F.cross_entropy forward, fp32, mean reduction; {WINDOWS} windows of at least {WINDOW * 1e3:.0f} ms, "
          f"a wait after each {CHUNK} calls inside the window; logits hot in L2 (4 batches in turn)")
    for tokens, vocab in [(64, 1024), (256, 1024), (256, 4096)]:
        data = pool(tokens, vocab)
        for logits, target in data:
            got = F.cross_entropy(logits, target).cpu()
            torch.testing.assert_close(got, F.cross_entropy(logits.cpu(), target.cpu()), rtol=1e-4, atol=1e-4)
        window(data, WINDOW)               # warm-up window
        rates, total = [], 0
        for _ in range(WINDOWS):
            calls, elapsed = window(data, WINDOW)
            rates.append(calls * tokens / elapsed)
            total += calls
        rates.sort()
        print(f"{tokens} tokens x {vocab} classes: median {rates[WINDOWS // 2] / 1e6:.3f} Mtokens/s "
              f"(lowest window {rates[0] / 1e6:.3f}, highest {rates[-1] / 1e6:.3f}; {total} calls in all)")


if __name__ == "__main__":
    main()
