"""Sweeps nn.Linear over batch and width by splitting: a rectangle of sizes is halved until it is small enough."""
import statistics

import torch
import torch_npu  # noqa: F401

import labkit

BLOCKS, CALLS = 9, 8


def tick():
    return labkit.device.clock().host_us


def layer_us(batch, width):
    """[microseconds a call] of BLOCKS blocks."""
    layer = torch.nn.Linear(width, width).npu()
    x = torch.randn(batch, width).npu()
    with torch.no_grad():
        for _ in range(CALLS):
            layer(x)
        out = []
        for _ in range(BLOCKS):
            torch.npu.synchronize()
            start = tick()
            for _ in range(CALLS):
                y = layer(x)
            out.append((tick() - start) / CALLS)
        assert y.shape == (batch, width) and bool(torch.isfinite(y).all())
    return out


def sweep(batches, widths, depth=0):
    """Yields ((batch, width), samples); splits the longer list in two until both have one entry."""
    if len(batches) == len(widths) == 1:
        yield (batches[0], widths[0]), layer_us(batches[0], widths[0])
        return
    if len(batches) >= len(widths):
        half = len(batches) // 2
        yield from sweep(batches[:half], widths, depth + 1)
        yield from sweep(batches[half:], widths, depth + 1)
    else:
        half = len(widths) // 2
        yield from sweep(batches, widths[:half], depth + 1)
        yield from sweep(batches, widths[half:], depth + 1)


def main():
    torch.manual_seed(11)
    print(f"Linear(width, width), float32, same input in each call; us per call, {BLOCKS} blocks of {CALLS}")
    print(f"{'batch':>6} {'width':>6} {'median':>8} {'least':>8} {'most':>8} {'TFLOP/s':>9}")
    rates = {}
    for (batch, width), us in sweep([128, 512, 1024], [512, 1024, 2048]):
        mid = statistics.median(us)
        rates[batch, width] = 2e-6 * batch * width * width / mid
        print(f"{batch:>6} {width:>6} {mid:8.2f} {min(us):8.2f} {max(us):8.2f} {rates[batch, width]:9.1f}")
    (batch, width), rate = max(rates.items(), key=lambda item: item[1])
    print(f"Best of the grid: batch {batch}, width {width}, {rate:.0f} TFLOP/s")


if __name__ == "__main__":
    main()
