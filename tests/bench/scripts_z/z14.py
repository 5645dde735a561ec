import time

import numpy as np
import torch
import torch.nn.functional as F
import torch_npu


class Decoder:
    def __init__(self, heads=2, dim=16, prompt=32):
        width = heads * dim
        self.heads, self.dim = heads, dim
        self.w = torch.randn(width, 3 * width).npu() * 0.1
        self.keys = torch.randn(1, heads, prompt, dim).npu()
        self.values = torch.randn(1, heads, prompt, dim).npu()
        self.x = torch.randn(1, width).npu()
        self.step = torch.compile(self._step, dynamic=False)

    def _step(self, x, w, keys, values):
        q, k, v = (part.reshape(1, self.heads, 1, self.dim) for part in (x @ w).chunk(3, dim=-1))
        keys, values = torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2)
        return F.scaled_dot_product_attention(q, keys, values).reshape(1, -1), keys, values

    def token(self, keep=True):
        x, keys, values = self.step(self.x, self.w, self.keys, self.values)
        if keep:
            self.x, self.keys, self.values = F.normalize(x), keys, values
        torch.npu.synchronize()


def main(warm=10, tokens=4):
    torch.manual_seed(2)
    decoder = Decoder()
    with torch.no_grad():
        for _ in range(warm):
            decoder.token(keep=False)
        decoder.token()
        ms = []
        for _ in range(tokens):
            begin = time.perf_counter()
            decoder.token()
            ms.append(1e3 * (time.perf_counter() - begin))
    print("Decoding with torch.compile, float32, 2 heads of 16, prompt of 32, one request: latency from one token to the next")
    print(f"median {np.median(ms):.2f} ms, {min(ms):.2f} to {max(ms):.2f} ms over {tokens} tokens, after {warm} warm-up calls")


if __name__ == "__main__":
    main()
