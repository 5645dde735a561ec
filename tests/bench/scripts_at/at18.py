"""Batched matmul as attention uses it: scores = q k^T, context = p v."""
import torch
import torch_npu

CASES = [  # batch*heads, length, head dim
    (16, 256, 128),
    (8, 256, 128),
    (4, 512, 128),
]
REPS = 8
ROUNDS = 5


def tensors(bh, length, dim):
    q = torch.randn(bh, length, dim, device="npu").half()
    k = torch.randn(bh, length, dim, device="npu").half()
    v = torch.randn(bh, length, dim, device="npu").half()
    p = torch.rand(bh, length, length, device="npu").half()
    return q, k.transpose(1, 2), p, v


def run(q, kt, p, v):
    torch.bmm(q, kt)
    torch.bmm(p, v)


def measure(args):
    for _ in range(3):
        run(*args)
    torch.npu.synchronize()
    spans = []
    for _ in range(ROUNDS):
        a = torch.npu.Event(enable_timing=True)
        b = torch.npu.Event(enable_timing=True)
        a.record()
        for _ in range(REPS):
            run(*args)
        b.record()
        b.synchronize()
        spans.append(a.elapsed_time(b) * 1e3 / REPS)
    spans.sort()
    return spans[ROUNDS // 2], spans[0], spans[-1]


def main():
    torch.manual_seed(17)
    for bh, length, dim in CASES:
        us, low, high = measure(tensors(bh, length, dim))
        flop = 2 * bh * length * length * dim  # of either of the two products
        print(f"With {bh} heads of {length} x {dim} in fp16 one torch.bmm takes {us:.2f} us "
              f"({low:.2f} to {high:.2f} over {ROUNDS} rounds); "
              f"at {flop / 1e9:.3f} GFLOP per bmm that is {flop / us / 1e6:.2f} TFLOP/s.")
    print("Times are from events on the stream, calls issued back to back.")


if __name__ == "__main__":
    main()
