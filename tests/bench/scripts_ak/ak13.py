"""x.t().contiguous(): how long the transposing copy takes."""
import functools
import random
import statistics
import time

import torch
import torch_npu  # noqa: F401


def benchmark(runs=60, warmup=4):
    """Calls the function `runs` times, one tensor each; gives the function's statistics in microseconds."""

    def decorate(fn):
        @functools.wraps(fn)
        def timed(tensors):
            for i in range(warmup):
                fn(tensors[i % len(tensors)])
            times = []
            for i in range(runs):
                x = tensors[i % len(tensors)]
                torch.npu.synchronize()
                start = time.perf_counter()
                fn(x)
                torch.npu.synchronize()
                times.append((time.perf_counter() - start) * 1e6)
            usual = statistics.median(times)
            times = sorted(t for t in times if t <= 1.5 * usual)
            at = lambda q: times[round(q * (len(times) - 1))]
            return {"runs": runs, "p10": at(0.1), "p50": at(0.5), "p90": at(0.9), "worst": times[-1]}

        return timed

    return decorate


@benchmark()
def transpose_copy(x):
    return x.t().contiguous()


def report(rows, cols, dtype):
    """`rows`: the row counts that occur, each as often as it is listed."""
    rows = [random.choice(rows) for _ in range(30)]
    tensors = [torch.randn(n, cols, device="npu").to(dtype) for n in rows]
    plain = transpose_copy.__wrapped__
    assert torch.equal(plain(tensors[0]).cpu(), tensors[0].cpu().t())
    s = transpose_copy(tensors)
    print(
        f"transpose copy {min(rows)}..{max(rows)} x {cols} {str(dtype)[6:]}: over {s['runs']} runs p10 {s['p10']:.2f}, p50 {s['p50']:.2f}, "
        f"p90 {s['p90']:.2f}, worst {s['worst']:.2f} us"
    )


if __name__ == "__main__":
    random.seed(2)
    torch.manual_seed(2)
    print("Latency of one call on an idle device, launch and wait included; 30 batches of mixed length go round (L2 warm).")
    mix = [256, 256, 256, 384, 384, 512, 1024, 2048]
    report(mix, 512, torch.float32)
    report(mix, 1024, torch.float32)
    report(mix, 1024, torch.bfloat16)
