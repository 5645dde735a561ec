"""Matrix products of our three layer sizes: what the cube unit gives.

The left sides come as a stream of batches (each product has another left side, as in service), the right side is the
layer's weight and stays. One row per size: median over blocks of products.
"""
import pandas as pd
import torch
import torch_npu  # noqa: F401

import labkit

BLOCKS, PER_BLOCK = 9, 6
LAYERS = {"query": (256, 512, 512), "up": (256, 512, 2048), "wide": (512, 1024, 2048)}


def clock_us():
    return labkit.device.clock().host_us


def batches(m, k):
    """PER_BLOCK left sides."""
    return [torch.randn(m, k).half().pin_memory() for _ in range(PER_BLOCK)]


def block(left, weight, out):
    """Microseconds for a product, over one pass through the batches."""
    torch.npu.synchronize()
    begin = clock_us()
    for rows in left:
        torch.matmul(rows.to(weight.device, non_blocking=True), weight, out=out)
    torch.npu.synchronize()
    return (clock_us() - begin) / len(left)


def main():
    torch.manual_seed(2)
    records = []
    for layer, (m, k, n) in LAYERS.items():
        left = batches(m, k)
        weight = torch.randn(k, n).half().npu()
        out = torch.empty(m, n, dtype=torch.half, device="npu")
        for _ in range(3):
            block(left, weight, out)
        want = left[-1].float() @ weight.cpu().float()
        torch.testing.assert_close(out.cpu().float(), want, rtol=1e-2, atol=0.5)
        for i in range(BLOCKS):
            records.append({"layer": layer, "m": m, "k": k, "n": n, "block": i, "us": block(left, weight, out)})
    frame = pd.DataFrame(records)
    table = frame.groupby(["layer", "m", "k", "n"], sort=False)["us"].describe(percentiles=[0.1, 0.5, 0.9])
    table = table[["count", "10%", "50%", "90%", "max"]].reset_index()
    table["TFLOP/s"] = 2e-6 * table["m"] * table["k"] * table["n"] / table["50%"]
    print(f"matmul, float16, us per product: blocks of {PER_BLOCK} products, weight resident")
    print(table.round(2).to_string(index=False))
    best = table.loc[table["TFLOP/s"].idxmax()]
    print(f"Of these sizes the cube does best on {best['layer']!r}: {best['TFLOP/s']:.1f} TFLOP/s.")


if __name__ == "__main__":
    main()
