"""Mini-Decoder: Prefill und Decode getrennt gemessen (TTFT / TPOT)."""
import time
from statistics import mean, median

import torch
import torch_npu
import torch.nn.functional as F

torch.set_num_threads(1)
VOCAB, D, HEADS, LAYERS, PROMPT, NEW = 512, 128, 4, 2, 32, 24


class Decoder:
    def __init__(self):
        torch.manual_seed(6)
        mk = lambda *s: (torch.randn(*s) * s[0] ** -0.5).half().to("npu")
        self.emb = mk(VOCAB, D)
        self.blocks = [(mk(D, 3 * D), mk(D, D), mk(D, 2 * D), mk(2 * D, D)) for _ in range(LAYERS)]
        self.head = mk(D, VOCAB)

    def forward(self, ids, cache):
        x = F.embedding(ids, self.emb)
        for layer, (qkv, o, up, down) in enumerate(self.blocks):
            q, k, v = (t.view(1, -1, HEADS, D // HEADS).transpose(1, 2) for t in (F.layer_norm(x, (D,)) @ qkv).chunk(3, -1))
            if layer in cache:
                k, v = torch.cat([cache[layer][0], k], 2), torch.cat([cache[layer][1], v], 2)
            cache[layer] = k, v
            y = F.scaled_dot_product_attention(q, k, v, is_causal=ids.shape[1] > 1)
            x = x + y.transpose(1, 2).reshape(1, -1, D) @ o
            x = x + F.gelu(F.layer_norm(x, (D,)) @ up) @ down
        return (x[:, -1] @ self.head).argmax(-1, keepdim=True)


def anfrage(model, prompt):
    """One request. Returns tokens, seconds to the first one, and per further token (wall s, event ms)."""
    cache, steps = {}, []
    torch.npu.synchronize()
    t0 = time.perf_counter()
    nxt = model.forward(prompt, cache)
    tokens = [nxt.item()]
    ttft = time.perf_counter() - t0
    for _ in range(NEW - 1):
        a, b = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        t = time.perf_counter()
        a.record()
        nxt = model.forward(nxt, cache)
        b.record()
        tokens.append(nxt.item())
        steps.append((time.perf_counter() - t, a, b))
    torch.npu.synchronize()
    return tokens, ttft, [(w, a.elapsed_time(b)) for w, a, b in steps]


@torch.inference_mode()
def test_ttft_und_tpot():
    model, prompt = Decoder(), torch.arange(PROMPT).view(1, -1).to("npu")
    anfrage(model, prompt)  # Aufwärmrunde, geht nicht in die Zahlen ein
    runs = [anfrage(model, prompt) for _ in range(5)]
    assert all(r[0] == runs[0][0] for r in runs), "greedy decoding must repeat itself"
    wall = [w * 1e3 for r in runs for w, _ in r[2]]
    dev = [d for r in runs for _, d in r[2]]
    print(f"Anfrage: {PROMPT} Prompt-Token, {NEW} neue, Batch 1, float16, {len(runs)} Läufe nach einem Aufwärmlauf")
    print(f"TTFT (Prefill bis das erste Token auf dem Host liegt): Median {median(r[1] for r in runs) * 1e3:.2f} ms")
    print(f"TPOT, Host-Uhr: Median {median(wall):.2f} ms, Mittel {mean(wall):.2f} ms pro Token, without the first token;")
    print("     jedes Token wird per .item() abgeholt, so every step has its wait inside, as in the real loop")
    print(f"TPOT, Device-Events: Median {median(dev):.3f} ms pro Token (Stream-Spanne inkl. Lücken, ohne .item())")
    print(f"n = {len(wall)} Schritte; der KV-Cache wächst dabei von {PROMPT} auf {PROMPT + NEW - 1} Einträge")


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
