"""Growing a KV cache: torch.cat at every step, or one buffer that is written in place?"""
import statistics
import time

import torch
import torch_npu

HEADS, DIM, STEPS = 8, 64, 96
ROUNDS = 11


def grow_by_cat(tokens):
    cache = tokens[0]
    for token in tokens[1:]:
        cache = torch.cat((cache, token), dim=1)
    return cache


def grow_in_place(tokens):
    buffer = torch.empty(HEADS, len(tokens), DIM, device="npu")
    for at, token in enumerate(tokens):
        buffer[:, at : at + 1].copy_(token)
    return buffer


def once(grow, tokens):
    torch.npu.synchronize()
    started = time.perf_counter()
    grow(tokens)
    torch.npu.synchronize()
    return (time.perf_counter() - started) * 1e3


def describe(ms):
    return f"{statistics.median(ms):.2f} ms (from {min(ms):.2f} to {max(ms):.2f} ms)"


def main():
    torch.set_num_threads(1)
    tokens = [torch.randn(HEADS, 1, DIM, device="npu") for _ in range(STEPS)]
    assert torch.equal(grow_by_cat(tokens), grow_in_place(tokens))
    for _ in range(2):
        once(grow_by_cat, tokens)
        once(grow_in_place, tokens)

    cat, place = [], []
    for turn in range(ROUNDS):
        sides = [(grow_by_cat, cat), (grow_in_place, place)]
        for grow, into in sides if turn % 2 == 0 else reversed(sides):
            into.append(once(grow, tokens))

    print(f"A cache of {HEADS} heads and {DIM} float32 each grows from nothing to {STEPS} tokens, {ROUNDS} times each way.")
    print(f"With torch.cat the whole growth takes {describe(cat)}: it copies all earlier tokens again at every step.")
    print(f"Into one buffer it takes {describe(place)}; making that buffer is part of this time.")
    if max(place) < min(cat):
        print("Every run into the buffer was faster than any run with cat.")
    elif max(cat) < min(place):
        print("Every run with cat was faster than any run into the buffer.")
    else:
        print("The ranges overlap, so at this length we call neither the faster one.")
    print("The times are the host's, from the first call until the device has finished the last one.")


if __name__ == "__main__":
    main()
