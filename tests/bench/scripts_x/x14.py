import torch
import torch_npu
import statistics
import time


class Head(torch.nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.norm = torch.nn.LayerNorm(hidden)
        self.act = torch.nn.GELU()

    def forward(self, x):
        return self.act(self.norm(x))


class Runner:
    def __init__(self, rows, hidden, warmup=10, rounds=6, calls=6):
        torch.manual_seed(4)
        self.model = Head(hidden).eval()
        self.x = torch.randn(rows, hidden)
        self.rounds, self.calls = rounds, calls
        for _ in range(warmup):
            self.expected = self.model(self.x)
        self.model.npu()
        self.x = self.x.npu()
        torch.npu.synchronize()

    def round(self):
        torch.npu.synchronize()
        begin = time.perf_counter()
        for _ in range(self.calls):
            self.y = self.model(self.x)
        torch.npu.synchronize()
        return (time.perf_counter() - begin) / self.calls * 1e6

    def run(self):
        samples = [self.round() for _ in range(self.rounds)]
        torch.testing.assert_close(self.y.cpu(), self.expected, rtol=1e-3, atol=1e-4)
        return samples


@torch.no_grad()
def main():
    rows, hidden = 1024, 1024
    runner = Runner(rows, hidden)
    samples = runner.run()
    print(f"LayerNorm and GELU, float32 {rows} x {hidden}, {runner.rounds} rounds of {runner.calls} calls, one wait a round")
    print(f"steady time per call: mean {statistics.mean(samples):.1f} us, standard deviation {statistics.stdev(samples):.1f} us, "
          f"from {min(samples):.1f} to {max(samples):.1f} us")


if __name__ == "__main__":
    main()
