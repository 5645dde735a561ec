"""Masked softmax through torch.compile over ragged sequence lengths, as the serving loop sends them."""
import logging
import time

import torch
import torch_npu

logging.basicConfig(format="%(asctime)s | %(message)s", datefmt="%H:%M:%S", level=logging.INFO)

HEADS = 4
LENGTHS = [96, 128, 160, 192]
PASSES = 15


def masked_softmax(scores, bias):
    return torch.softmax(scores * 0.125 + bias, dim=-1)


compiled = torch.compile(masked_softmax, dynamic=False, backend="npugraphs")


def batch(length):
    scores = torch.randn(HEADS, length, length).half()
    bias = torch.full((length, length), -1e4).triu(1).half()
    return scores.npu(), bias.npu()


def timed_pass(fn, batches):
    t = time.perf_counter()
    for scores, bias in batches:
        fn(scores, bias)
    torch.npu.synchronize()
    return time.perf_counter() - t


def main():
    torch.manual_seed(0)
    batches = [batch(n) for n in LENGTHS]
    logging.info("device %s, %d heads, lengths %s", torch.npu.get_device_name(0), HEADS, LENGTHS)

    warm = batch(128)
    for fn in (masked_softmax, compiled):
        for _ in range(10):
            fn(*warm)
    torch.npu.synchronize()
    for scores, bias in batches:
        masked_softmax(scores, bias)
    torch.npu.synchronize()

    for label, fn in ("eager", masked_softmax), ("compiled", compiled):
        seconds = [timed_pass(fn, batches) for _ in range(PASSES)]
        per_call = sum(seconds) / PASSES / len(batches) * 1e6
        logging.info("%-8s warm, mean of %d passes over %d batches: %.1f us per softmax call",
                     label, PASSES, len(batches), per_call)


if __name__ == "__main__":
    main()
