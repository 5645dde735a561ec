# lies: spread
import torch
import torch_npu


class Bench:
    def __init__(self, fn, warm=10, n=100):
        self.fn, self.warm, self.n = fn, warm, n

    def run(self):
        for _ in range(self.warm):
            self.fn()
        torch.npu.synchronize()
        begin, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
        begin.record()
        for _ in range(self.n):
            self.fn()
        end.record()
        torch.npu.synchronize()
        return begin.elapsed_time(end) / self.n * 1000


if __name__ == "__main__":
    for rows in (64, 512, 2048):
        x = torch.rand(rows, 1024).npu()
        print(f"layer_norm {rows}x1024: {Bench(lambda: torch.nn.functional.layer_norm(x, (1024,))).run():.2f} us")
