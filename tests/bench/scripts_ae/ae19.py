"""Steps per second of a tiny language-model head in training, in windows, from the steady state on."""
import itertools
import time

import numpy as np
import torch
from torch import nn
import labkit  # noqa: F401

VOCAB, WIDTH, TOKENS, WINDOW, KEEP = 512, 128, 64, 8, 12


def build():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Embedding(VOCAB, WIDTH), nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCAB)).npu()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    data = [(torch.randint(VOCAB, (TOKENS,)).npu(), torch.randint(VOCAB, (TOKENS,)).npu()) for _ in range(4)]
    return model, opt, itertools.cycle(data)


def windows(model, opt, data):
    """Seconds of windows of WINDOW steps. Each ends with loss.item(): the one wait, and the log that training has too."""
    while True:
        begin = time.perf_counter()
        for _ in range(WINDOW):
            x, y = next(data)
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            opt.step()
        shown = loss.item()
        yield time.perf_counter() - begin, shown


def settle(stream, span=4, within=0.05, most=40):
    """Takes windows away until the last `span` of them lie within 5 % of each other."""
    seen = []
    for seconds, _ in itertools.islice(stream, most):
        seen.append(seconds)
        tail = seen[-span:]
        if len(tail) == span and max(tail) / min(tail) < 1 + within:
            return len(seen), True
    return len(seen), False


def main():
    stream = windows(*build())
    thrown, steady = settle(stream)
    kept = list(itertools.islice(stream, KEEP))
    rate = np.array([WINDOW / s for s, _ in kept])
    q = np.percentile(rate, [0, 25, 50, 75, 100])
    print(f"{VOCAB} words, width {WIDTH}, {TOKENS} tokens a step, fp32, SGD with momentum, batches resident on the device")
    print(f"warm-up: {thrown} windows thrown away; " + ("then steady within 5 %" if steady else "NOT steady within 5 %, read the range"))
    print("steps/s in each window: " + " ".join(f"{r:.0f}" for r in rate))
    print(f"median {q[2]:.0f} steps/s (quartiles {q[1]:.0f} to {q[3]:.0f}, all {q[0]:.0f} to {q[4]:.0f}; {KEEP} windows of {WINDOW} steps, "
          f"each with one wait for the logged loss in it)")
    print(f"= {TOKENS * q[2]:,.0f} tokens/s of training in this process; loss {kept[0][1]:.3f} -> {kept[-1][1]:.3f}")


if __name__ == "__main__":
    main()
