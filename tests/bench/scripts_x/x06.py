import torch
import torch_npu
import timeit

CALLS = 10
REPEATS = 9


def make_case(rows, hidden):
    x = torch.randn(rows, hidden).npu()
    gate = torch.randn(rows, hidden).npu()

    def gated():
        return torch.nn.functional.silu(gate) * x

    expected = torch.nn.functional.silu(gate.cpu()) * x.cpu()
    torch.testing.assert_close(gated().cpu(), expected, rtol=1e-4, atol=1e-4)
    return gated


def batch_of(function):
    def run():
        for _ in range(CALLS):
            function()
        torch.npu.synchronize()

    return run


def describe(rows, hidden):
    run = batch_of(make_case(rows, hidden))
    run()
    run()
    seconds = timeit.repeat(run, number=1, repeat=REPEATS)
    per_call = sorted(s / CALLS * 1e6 for s in seconds)
    typical = per_call[0]
    print(f"SiLU gating of {rows} x {hidden} float32 typically takes {typical:.1f} us a call "
          f"({REPEATS} repeats of {CALLS} calls and one wait; the slowest repeat had {per_call[-1]:.1f} us)")
    return typical


if __name__ == "__main__":
    torch.manual_seed(0)
    figures = {shape: describe(*shape) for shape in ((1024, 1024), (2048, 1024), (3072, 1024))}
    print("expected time in service, by shape:", ", ".join(f"{a} x {b}: {us:.1f} us" for (a, b), us in figures.items()))
