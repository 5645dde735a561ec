"""Greedy decoding of a toy language model: time to first token and between tokens.

A user sees a token when it is on the host, so each token is fetched with .item() inside of the timed part, and the
loop cannot run ahead: exactly that latency is asked for. Throughput with many users is another question and not
answered here. Making the empty state is part
of a session and of its first token. Batch 1, float32, no KV cache (the model is a small recurrent one and carries a state).
"""
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch_npu


@dataclass
class Session:
    first_ms: float
    between_ms: list


class Toy(torch.nn.Module):
    def __init__(self, vocabulary, width):
        super().__init__()
        self.embedding = torch.nn.Embedding(vocabulary, width)
        self.mix = torch.nn.Linear(2 * width, width)
        self.head = torch.nn.Linear(width, vocabulary)

    def forward(self, token, state):
        state = torch.tanh(self.mix(torch.cat([self.embedding(token), state], -1)))
        return self.head(state).argmax(-1), state


@torch.no_grad()
def decode(model, prompt, width, tokens):
    torch.npu.synchronize()
    last = time.perf_counter()
    state = torch.zeros(1, width, device="npu")
    for token in prompt:
        following, state = model(token, state)
    following.item()
    now = time.perf_counter()
    session = Session((now - last) * 1e3, [])
    for _ in range(tokens - 1):
        last = now
        following, state = model(following, state)
        following.item()
        now = time.perf_counter()
        session.between_ms.append((now - last) * 1e3)
    return session


def main():
    torch.manual_seed(12)
    print("latency as a user sees it: every token is brought to the host; batch 1; 12 sessions a row, warm")
    for width, prompt_length in ((64, 4), (64, 12), (128, 4)):
        model = Toy(200, width).npu().eval()
        prompt = [torch.randint(0, 200, (1,)).npu() for _ in range(prompt_length)]
        for _ in range(2):
            decode(model, prompt, width, 8)
        sessions = [decode(model, prompt, width, 16) for _ in range(12)]
        first = np.percentile([s.first_ms for s in sessions], [0, 50, 100])
        between = np.percentile([v for s in sessions for v in s.between_ms], [10, 50, 90, 99])
        print(f"width {width:3d}, prompt {prompt_length:2d} tokens")
        print("   first token     min {:.3f}  P50 {:.3f}  max {:.3f} ms".format(*first))
        print("   between tokens  P10 {:.3f}  P50 {:.3f}  P90 {:.3f}  P99 {:.3f} ms".format(*between))


main()
