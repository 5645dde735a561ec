"""Batched inference of the scorer with torch.utils.benchmark."""
import labkit  # noqa: F401
import torch
import torch.utils.benchmark as benchmark
from torch import nn


class Scorer(nn.Module):
    def __init__(self, dim, classes):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.LayerNorm(dim), nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(x + self.trunk(x)).log_softmax(dim=-1)


def predict(model, batches):
    """Scores one batch after the other so that a caller never holds them all."""
    with torch.inference_mode():
        for x in batches:
            yield model(x)


def check(model, batches):
    total = torch.cat([p.exp().sum(-1) for p in predict(model, batches)])
    torch.testing.assert_close(total, torch.ones_like(total), rtol=1e-3, atol=1e-3)


def main(dim=128, classes=50, count=8, repeats=30):
    torch.manual_seed(0)
    model = Scorer(dim, classes).npu().eval()
    results = []
    for batch in (16, 64, 256):
        batches = [torch.randn(batch, dim, device="npu") for _ in range(count)]
        for _ in range(3):
            check(model, batches)
        torch.npu.synchronize()
        timer = benchmark.Timer(
            stmt="predict(model, batches)",
            globals={"predict": predict, "model": model, "batches": batches},
            label=f"scorer dim={dim} classes={classes} float32, {count} batches on the device",
            sub_label=f"batch={batch}", description="inference")
        runs = [timer.timeit(10) for _ in range(repeats)]
        merged = benchmark.Measurement.merge(runs)[0]
        results.append(merged)
        print(f"batch={batch:4d}: median {merged.median * 1e6:.2f} us per pass, "
              f"IQR {merged.iqr * 1e6:.2f} us, "
              f"{batch * count / merged.median:,.0f} samples/s ({len(merged.times)} blocks)")
    benchmark.Compare(results).print()


if __name__ == "__main__":
    main()
