"""Latency of greedy decoding, token by token, in the server.

The id of each token goes to the host before the next step (the server streams it), so a token's time
is: issue the step, run it, read one integer back.
"""
import time

import torch
import torch.nn.functional as F
import torch_npu

LAYERS, WIDTH, HEADS, VOCABULARY = 2, 128, 4, 2048
PROMPT, NEW, REQUESTS = 64, 50, 6
LIMIT = PROMPT + NEW


class Decoder:
    def __init__(self):
        torch.manual_seed(3)
        make = lambda *shape: (torch.randn(*shape) / shape[0] ** 0.5).to("npu")
        self.table = make(VOCABULARY, WIDTH)
        self.qkv = [make(WIDTH, 3 * WIDTH) for _ in range(LAYERS)]
        self.up = [make(WIDTH, 4 * WIDTH) for _ in range(LAYERS)]
        self.down = [make(4 * WIDTH, WIDTH) for _ in range(LAYERS)]
        self.keys = [torch.zeros(HEADS, LIMIT, WIDTH // HEADS, device="npu") for _ in range(LAYERS)]
        self.values = [torch.zeros_like(k) for k in self.keys]

    def __call__(self, ids, position):
        """Next id, still on the device; `ids` are the tokens from `position` on."""
        count = ids.numel()
        x = F.embedding(ids, self.table)
        for i in range(LAYERS):
            q, k, v = (t.view(count, HEADS, -1).transpose(0, 1) for t in (x @ self.qkv[i]).split(WIDTH, dim=1))
            end = position + count
            self.keys[i][:, position:end] = k
            self.values[i][:, position:end] = v
            mixed = F.scaled_dot_product_attention(
                q[None], self.keys[i][None, :, :end], self.values[i][None, :, :end], is_causal=count > 1
            )
            x = x + mixed[0].transpose(0, 1).reshape(count, WIDTH)
            x = x + F.gelu(x @ self.up[i]) @ self.down[i]
        return (x[-1:] @ self.table.t()).argmax(dim=-1)


def request(decoder, prompt):
    """(seconds to the first token, seconds of each later one)"""
    torch.npu.synchronize()
    start = time.perf_counter()
    token = decoder(prompt, 0)
    token.item()
    first = time.perf_counter() - start
    later = []
    for position in range(PROMPT, LIMIT - 1):
        start = time.perf_counter()
        token = decoder(token, position)
        token.item()
        later.append(time.perf_counter() - start)
    return first, later


def main():
    decoder = Decoder()
    prompt = torch.randint(0, VOCABULARY, (PROMPT,), device="npu")
    request(decoder, prompt)  # warm: every length that is met below
    firsts, laters = [], []
    for _ in range(REQUESTS):
        first, later = request(decoder, prompt)
        firsts.append(first * 1e3)
        laters += [t * 1e3 for t in later]
    firsts.sort()
    laters.sort()
    at = lambda q: laters[int(q * len(laters))]
    print(f"device={torch.npu.get_device_name(0)!r}")
    print(f"model=layers:{LAYERS},width:{WIDTH},heads:{HEADS},vocabulary:{VOCABULARY},dtype:float32")
    print(f"batch=1 prompt_tokens={PROMPT} prompt_ids=on_device context={PROMPT + 1}..{LIMIT - 1} requests={REQUESTS} warm_requests=1")
    print(f"first_token_ms_min={firsts[0]:.3f} first_token_ms_max={firsts[-1]:.3f}")
    print(f"token_samples={len(laters)} token_ms_p50={at(0.5):.3f} token_ms_p95={at(0.95):.3f} token_ms_max={laters[-1]:.3f}")
    print("token_time=step+read_back_of_its_id")


if __name__ == "__main__":
    main()
