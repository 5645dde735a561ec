import torch
import torch_npu
import argparse
import statistics


def arguments():
    parser = argparse.ArgumentParser(description="feed-forward block of a small transformer")
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--inner", type=int, default=1024)
    parser.add_argument("--dtype", choices=("float32", "float16"), default="float16")
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--samples", type=int, default=50)
    return parser.parse_args()


def prepare(args):
    tensors = {
        "x": torch.randn(args.tokens, args.hidden),
        "up": torch.randn(args.hidden, args.inner) / args.hidden**0.5,
        "down": torch.randn(args.inner, args.hidden) / args.inner**0.5,
    }
    tensors = {name: tensor.npu() for name, tensor in tensors.items()}
    if args.dtype == "float16":
        for tensor in tensors.values():
            tensor.half()
    return tensors


def feed_forward(x, up, down):
    return torch.nn.functional.gelu(x @ up) @ down


def measure(args, tensors):
    for _ in range(args.warmup):
        feed_forward(**tensors)
    torch.npu.synchronize()
    marks = [torch.npu.Event(enable_timing=True) for _ in range(args.samples + 1)]
    marks[0].record()
    for mark in marks[1:]:
        feed_forward(**tensors)
        mark.record()
    torch.npu.synchronize()
    return [a.elapsed_time(b) * 1000.0 for a, b in zip(marks, marks[1:])]


def main():
    args = arguments()
    torch.manual_seed(1)
    tensors = prepare(args)
    times = measure(args, tensors)
    deciles = statistics.quantiles(times, n=10)
    print(f"feed-forward {args.tokens} x {args.hidden} -> {args.inner} -> {args.hidden}, {args.dtype}, L2 warm")
    print(
        f"device time per call between events: P10 {deciles[0]:.1f} us, P50 {statistics.median(times):.1f} us, "
        f"P90 {deciles[-1]:.1f} us ({len(times)} samples after {args.warmup} warm-up calls)"
    )


main()
