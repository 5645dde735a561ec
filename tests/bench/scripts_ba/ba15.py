import torch
import torch_npu

# One torch.bmm, or a matmul per head: what does batching give at head counts we meet?

SEQ, DIM = 64, 64
HEADS = (1, 4, 16)
SAMPLES, INNER = 15, 3


def batched(q, k, out):
    torch.bmm(q, k, out=out)


def per_head(q, k, out):
    for h in range(q.shape[0]):
        torch.mm(q[h], k[h], out=out[h])


def span_us(fn, q, k, out):
    e0 = torch.npu.Event(enable_timing=True)
    e1 = torch.npu.Event(enable_timing=True)
    e0.record()
    for _ in range(INNER):
        fn(q, k, out)
    e1.record()
    torch.npu.synchronize()
    return e0.elapsed_time(e1) * 1e3 / INNER


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def main():
    torch.manual_seed(9)
    print(f"fp32, {SEQ} x {DIM} times {DIM} x {SEQ} per head; events around {INNER} rounds, {SAMPLES} samples each")
    print("both write all heads into a buffer made beforehand; per-head time holds the host's issue of each mm")
    print(f"{'heads':>5}  {'bmm us':>18}  {'per head us':>20}  {'ratio':>6}")
    for heads in HEADS:
        q = torch.randn(heads, SEQ, DIM, device="npu")
        k = torch.randn(heads, DIM, SEQ, device="npu")
        left = torch.empty(heads, SEQ, SEQ, device="npu")
        right = torch.empty_like(left)
        for _ in range(3):
            batched(q, k, left)
            per_head(q, k, right)
        torch.npu.synchronize()
        torch.testing.assert_close(left.cpu(), right.cpu(), rtol=1e-4, atol=1e-4)

        a, b = [], []
        for s in range(SAMPLES):
            if s % 2:
                a.append(span_us(batched, q, k, left))
                b.append(span_us(per_head, q, k, right))
            else:
                b.append(span_us(per_head, q, k, right))
                a.append(span_us(batched, q, k, left))
        ma, mb = middle(a), middle(b)
        print(f"{heads:>5}  {ma:>6.1f} ({min(a):.1f}-{max(a):.1f})".ljust(27)
              + f"{mb:>8.1f} ({min(b):.1f}-{max(b):.1f})".ljust(22) + f"{mb / ma:>6.2f}")


if __name__ == "__main__":
    main()
