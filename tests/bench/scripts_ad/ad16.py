"""Is the KV cache worth it for short answers? Decoding with and without, in interleaved rounds.

Same weights, same prompt, same number of new tokens; one attention layer, one head. Without a cache each step runs
over the whole sequence again, with it only over the last position. Rounds alternate which side begins. Host clock,
wait at the end of an answer, as the answer is sent as a whole.
"""
import time

import numpy as np
import torch
import torch_npu

ROUNDS = 12
WIDTH = 64


class Layer:
    def __init__(self):
        torch.manual_seed(16)
        self.q, self.k, self.v = ((torch.randn(WIDTH, WIDTH) / 8).npu() for _ in range(3))

    def attend(self, query, keys, values):
        return torch.softmax(query @ keys.T / WIDTH ** 0.5, -1) @ values

    def recompute(self, prompt, new):
        x = prompt
        for _ in range(new):
            y = self.attend(x[-1:] @ self.q, x @ self.k, x @ self.v)
            x = torch.cat([x, torch.tanh(y)])
        return x

    def cached(self, prompt, new):
        keys, values = prompt @ self.k, prompt @ self.v
        x, last = [prompt], prompt[-1:]
        for _ in range(1, new):
            last = torch.tanh(self.attend(last @ self.q, keys, values))
            x.append(last)
            keys = torch.cat([keys, last @ self.k])
            values = torch.cat([values, last @ self.v])
        return torch.cat(x)


def answer(function, prompt, new):
    torch.npu.synchronize()
    begin = time.perf_counter()
    function(prompt, new)
    torch.npu.synchronize()
    return (time.perf_counter() - begin) / new * 1e3


@torch.no_grad()
def main():
    layer = Layer()
    print("ms for a new token, median [P10, P90] of", ROUNDS, "interleaved rounds, float32")
    for length, new in ((32, 6), (128, 6), (128, 10)):
        prompt = torch.randn(length, WIDTH).npu()
        sides = [("recompute", layer.recompute), ("cached", layer.cached)]
        for _ in range(3):
            for _, function in sides:
                answer(function, prompt, new)
        times = {name: [] for name, _ in sides}
        for index in range(ROUNDS):
            for name, function in sides if index % 2 else sides[::-1]:
                times[name].append(answer(function, prompt, new))
        print(f"prompt {length}, {new} new tokens")
        for name, values in times.items():
            p10, p50, p90 = np.percentile(values, [10, 50, 90])
            print(f"   {name:10} {p50:8.3f} [{p10:.3f}, {p90:.3f}]")
        ratio = np.array(times["recompute"]) / np.array(times["cached"])
        low, middle, high = np.percentile(ratio, [10, 50, 90])
        print(f"   recompute / cached {middle:.2f} [{low:.2f}, {high:.2f}]")


main()
