"""How much device work is a sampling step? Temperature, top-k, softmax, draw; batch 1, vocabulary 32000."""
import argparse

import numpy as np
import torch
import labkit

EOS = 2


def clock_us():
    return labkit.device.clock().host_us


class Sampler:
    def __init__(self, vocab, k, temperature):
        g = torch.Generator().manual_seed(5)
        self.logits = torch.randn(16, 1, vocab, generator=g).half().npu()
        self.k, self.temperature, self.i = k, temperature, 0

    def step(self):
        logits = self.logits[self.i % 16]
        self.i += 1
        values, places = torch.topk(logits / self.temperature, self.k)
        p = torch.softmax(values, dim=-1)
        choice = p.argmax(dim=-1, keepdim=True)      # greedy inside the top k: every run makes the same tokens
        return places.gather(1, choice)


def generate(sampler, limit):
    """Tokens until EOS or the limit; microseconds a token."""
    made = []
    begin = clock_us()
    while len(made) < limit:
        token = sampler.step().item()
        made.append(token)
        if token == EOS:
            break
    return made, (clock_us() - begin) / len(made)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--vocab", type=int, default=32000)
    p.add_argument("--topk", type=int, default=50)
    p.add_argument("--tokens", type=int, default=32)
    p.add_argument("--runs", type=int, default=15)
    args = p.parse_args()

    sampler = Sampler(args.vocab, args.topk, 0.8)
    for _ in range(3):
        generate(sampler, args.tokens)               # warm
    torch.npu.synchronize()
    runs = np.array([generate(sampler, args.tokens)[1] for _ in range(args.runs)])
    p10, p50, p90 = np.percentile(runs, [10, 50, 90])
    print(f"vocabulary {args.vocab}, top {args.topk}, batch 1, fp16, 16 sets of logits in turn (1 MB, in the L2)")
    print(f"{args.runs} runs of {args.tokens} tokens: P10 {p10:.1f}, P50 {p50:.1f}, P90 {p90:.1f} us a token")
    print(f"The sampling kernels keep the device busy for {p50:.1f} us a token; "
          f"behind a 400 us decoder step they are {100 * p50 / (p50 + 400):.0f} % of the device's time.")


if __name__ == "__main__":
    main()
