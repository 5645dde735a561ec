import torch
import torch_npu
import time

import numpy as np

VOCABULARY, HIDDEN, TOKENS = 1024, 256, 24


class TinyDecoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(VOCABULARY, HIDDEN)
        self.up = torch.nn.Linear(HIDDEN, 2 * HIDDEN)
        self.down = torch.nn.Linear(2 * HIDDEN, HIDDEN)
        self.head = torch.nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, token, state):
        state = torch.tanh(state + self.embed(token))
        state = state + self.down(torch.nn.functional.silu(self.up(state)))
        return self.head(state), state


def generate(model, device, batch):
    """Yields (token ids, seconds from the wish for them to having them on the host)."""
    token = torch.zeros(batch, dtype=torch.long, device=device)
    state = torch.zeros(batch, HIDDEN, device=device)
    torch.npu.synchronize()
    for _ in range(TOKENS):
        begin = time.perf_counter()
        logits, state = model(token, state)
        token = logits.argmax(-1)
        ids = token.tolist()
        yield ids, time.perf_counter() - begin


@torch.no_grad()
def main():
    torch.manual_seed(3)
    model = TinyDecoder().eval()
    wanted = {batch: [ids for ids, _ in generate(model, "cpu", batch)] for batch in (1, 4)}
    model.npu()
    print("Latency of a token as the caller sees it: launches, device, and bringing the token id to the host,")
    print("which streaming output needs for each token. float32, hidden 256, vocabulary 1024.")
    for batch in (1, 4):
        for _ in range(2):
            assert [ids for ids, _ in generate(model, "npu", batch)] == wanted[batch]
        runs = [[seconds * 1e6 for _, seconds in generate(model, "npu", batch)] for _ in range(5)]
        p50, p90, p99 = np.percentile(np.concatenate(runs), [50, 90, 99])
        medians = [np.median(run) for run in runs]
        print(f"  batch {batch}: P50 {p50:.0f} us, P90 {p90:.0f} us, P99 {p99:.0f} us over 5 generations of {TOKENS} tokens; "
              f"median of a generation {min(medians):.0f} to {max(medians):.0f} us")


if __name__ == "__main__":
    main()
