"""Greedy decoder loop: the next token by argmax or by topk(1). One line of CSV per variant."""
import csv
import sys
import time

import torch
import torch_npu

WIDTH, VOCAB, BATCH, TOKENS = 1024, 8192, 2, 2
ROUNDS = 7


class Decoder:
    def __init__(self):
        self.mix = torch.randn(WIDTH, WIDTH, device="npu") * 0.03
        self.embedding = torch.randn(VOCAB, WIDTH, device="npu")

    def logits(self, x):
        return torch.matmul(torch.tanh(torch.matmul(x, self.mix)), self.embedding.t())

    def argmax(self, tokens):
        for _ in range(TOKENS):
            tokens = self.logits(self.embedding[tokens]).argmax(-1)
        return tokens

    def topk(self, tokens):
        for _ in range(TOKENS):
            tokens = self.logits(self.embedding[tokens]).topk(1, -1).indices[:, 0]
        return tokens


def loop_us(decode, tokens):
    torch.npu.synchronize()
    begin = time.perf_counter()
    decode(tokens)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) * 1e6


def main():
    torch.manual_seed(4)
    model = Decoder()
    tokens = torch.arange(BATCH).npu()
    between = torch.zeros(52 * 1024 * 1024, device="npu")  # the rest of the server's memory traffic

    assert torch.equal(model.argmax(tokens).cpu(), model.topk(tokens).cpu())
    laps = {"argmax": [], "topk": []}
    for r in range(ROUNDS + 1):
        between.fill_(float(r))
        for name in laps:
            us = loop_us(getattr(model, name), tokens)
            if r:  # round 0 is the warm-up
                laps[name].append(us)

    out = csv.writer(sys.stdout)
    out.writerow(("variant", "tokens", "batch", "vocab", "rounds", "median_loop_us", "min_us", "max_us"))
    for name, us in laps.items():
        us.sort()
        out.writerow((name, TOKENS, BATCH, VOCAB, ROUNDS, f"{us[ROUNDS // 2]:.1f}", f"{us[0]:.1f}", f"{us[-1]:.1f}"))
    ratio = laps["argmax"][ROUNDS // 2] / laps["topk"][ROUNDS // 2]
    out.writerow((f"# loop with argmax takes {ratio:.2f} times the loop with topk",))


if __name__ == "__main__":
    main()
