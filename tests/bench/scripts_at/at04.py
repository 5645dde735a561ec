"""Label encoder (one_hot) under torch.compile, over a whole pass of the label stream."""
import logging
import time

import torch
import torch.nn.functional as F
import torch_npu

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("onehot")

CLASSES = 512
BATCH = 256
LABELS = 3000
PASSES = 2


def encode(labels):
    hot = F.one_hot(labels, CLASSES)
    return hot.to(torch.float16)


def batches(labels):
    return list(labels.split(BATCH))


def main():
    torch.manual_seed(5)
    labels = torch.randint(0, CLASSES, (LABELS,), dtype=torch.int64).npu()
    stream = batches(labels)
    log.info("%d labels, %d classes, %d batches of up to %d", LABELS, CLASSES, len(stream), BATCH)

    compiled = torch.compile(encode, backend="npu", dynamic=False)

    t = time.perf_counter()
    for _ in range(3):
        compiled(stream[0])
    torch.npu.synchronize()
    log.info("compile and warm-up: %.2f s (not part of the figures below)", time.perf_counter() - t)

    torch.npu.synchronize()
    begin = time.perf_counter()
    done = 0
    for _ in range(PASSES):
        for part in stream:
            compiled(part)
            done += 1
    torch.npu.synchronize()
    spent = time.perf_counter() - begin

    log.info("steady state, compiled: %.3f ms per batch, mean over %d batches", spent / done * 1e3, done)
    log.info("steady state, compiled: %.0f labels/s", PASSES * LABELS / spent)

    ok = torch.equal(compiled(stream[0]).cpu(), encode(stream[0]).cpu())
    log.info("result equal to eager: %s", ok)


if __name__ == "__main__":
    main()
