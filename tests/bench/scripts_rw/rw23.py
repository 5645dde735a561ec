"""Greedy decoding of a toy transformer by threads, each with a stream of its own."""
import statistics
import threading
import time

import torch
import torch.nn.functional as F
import torch_npu

torch.set_num_threads(1)
DIM, HEADS, LAYERS, VOCAB, LENGTH = 64, 4, 2, 256, 32
CASES = {
    "one thread": {"threads": 1, "batch": 4},
    "two threads": {"threads": 2, "batch": 4},
    "two threads, half the batch": {"threads": 2, "batch": 2},
    "four threads": {"threads": 4, "batch": 4},
}

torch.manual_seed(17)
rand = lambda *shape: (torch.randn(*shape) * shape[-1] ** -0.5).half().npu()
embed = rand(VOCAB, DIM)
layers = [(rand(DIM, 3 * DIM), rand(DIM, DIM), rand(DIM, 2 * DIM), rand(2 * DIM, DIM)) for _ in range(LAYERS)]


@torch.no_grad()
def decode(batch, count, caches, pairs=None):
    token = torch.zeros(batch, dtype=torch.long, device="npu")
    for position in range(count):
        before, after = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        before.record()
        h = F.embedding(token, embed)
        for (qkv, proj, up, down), cache in zip(layers, caches):
            q, k, v = (h @ qkv).view(batch, 3, HEADS, 1, DIM // HEADS).unbind(1)
            cache[0][:, :, position:position + 1].copy_(k)
            cache[1][:, :, position:position + 1].copy_(v)
            seen = F.scaled_dot_product_attention(q, cache[0][:, :, :position + 1], cache[1][:, :, :position + 1])
            h = h + seen.reshape(batch, DIM) @ proj
            h = h + F.gelu(h @ up) @ down
        token = (h @ embed.t()).argmax(-1)
        after.record()
        if pairs is not None:
            pairs.append((before, after))
    return token


def case(threads, batch):
    clock = {}
    gate = threading.Barrier(threads, action=lambda: clock.setdefault("start", time.perf_counter()))
    stops, steps, last = [0.0] * threads, [[] for _ in range(threads)], [None] * threads

    def work(me):
        torch.npu.set_device(0)
        stream = torch.npu.Stream()
        with torch.npu.stream(stream):
            caches = [[torch.zeros(batch, HEADS, LENGTH, DIM // HEADS, dtype=torch.float16, device="npu") for _ in "kv"] for _ in range(LAYERS)]
            decode(batch, LENGTH, caches)
            stream.synchronize()
            gate.wait()
            last[me] = decode(batch, LENGTH, caches, steps[me])
            stream.synchronize()
            stops[me] = time.perf_counter()

    crew = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for t in crew:
        t.start()
    for t in crew:
        t.join()
    assert all(torch.equal(last[0], other) for other in last)
    step_us = [a.elapsed_time(b) * 1e3 for pairs in steps for a, b in pairs]
    return max(stops) - clock["start"], step_us


torch.npu.synchronize()
for name, settings in CASES.items():
    runs = [case(**settings) for _ in range(3)]
    fast, middle, slow = sorted(span for span, _ in runs)
    step_us = [us for _, steps in runs for us in steps]
    tokens = settings["threads"] * settings["batch"] * LENGTH
    print(f"{name} x batch {settings['batch']}: {tokens} tokens in {middle * 1e3:.2f} ms from the common start to the end of the last thread (host clock, waits in; middle one of 3 runs, {fast * 1e3:.2f} to {slow * 1e3:.2f}), "
          f"{tokens / middle:.0f} tokens/s over all threads; a step between its events on its stream, gaps and the other threads' work in between included: median {statistics.median(step_us):.1f} us, max {max(step_us):.1f} us, {len(step_us)} steps")
print(f"({LAYERS} layers of {DIM}, float16, greedy, {LENGTH} steps from an empty cache, no prompt; each thread decodes the same {LENGTH} steps once before each start)")
