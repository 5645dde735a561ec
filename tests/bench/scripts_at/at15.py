# Square matmuls replayed as graphs: running time and TFLOP/s by size.
# Output: CSV
import torch
import torch_npu

SIZES = [128, 192]
DTYPE = torch.float16
CALLS = 20
ROUNDS = 3


def layer(a, w):
    return torch.matmul(a, w)


def timed(size):
    a = torch.randn(size, size, device="npu").to(DTYPE)
    w = torch.randn(size, size, device="npu").to(DTYPE)
    for _ in range(3):
        layer(a, w)
    torch.npu.synchronize()

    start = torch.npu.Event(enable_timing=True)
    end = torch.npu.Event(enable_timing=True)
    start.record()
    graphed = torch.npu.make_graphed_callables(layer, (a, w))
    for _ in range(CALLS):
        y = graphed(a, w)
    end.record()
    torch.npu.synchronize()

    err = (y.float() - layer(a, w).float()).abs().max().item()
    if err > 1e-2:
        raise SystemExit(f"size {size}: graph and eager differ by {err}")
    return start.elapsed_time(end) / CALLS * 1e3


def main():
    torch.manual_seed(8)
    print("size,dtype,rounds,replay_us_median,replay_us_min,replay_us_max,tflops")
    for size in SIZES:
        us = sorted(timed(size) for _ in range(ROUNDS))
        mid = us[ROUNDS // 2]
        tflops = 2 * size**3 / mid / 1e6
        print(f"{size},fp16,{ROUNDS},{mid:.2f},{us[0]:.2f},{us[-1]:.2f},{tflops:.3f}")
    print(f"# replay_us: running time of one graph replay, mean of {CALLS} back-to-back replays")


if __name__ == "__main__":
    main()
